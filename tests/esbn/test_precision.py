"""Half precision, autocast and torch.compile of every network, encoder and norm."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch.nn import functional as F

from esbn.networks import CLASSES, network
from mini_lib.esbn.network import ENCODERS
from mini_lib.esbn.runs import MODELS

IDS = torch.randint(5, (8, 9), generator=torch.Generator().manual_seed(0))
POOL = torch.rand(5, 32, 32, generator=torch.Generator().manual_seed(0))
ANSWERS = torch.arange(8) % CLASSES[9]
KINDS = [(model, "conv") for model in MODELS] + [("lstm", kind) for kind in ENCODERS if kind != "conv"]
every_kind = pytest.mark.parametrize(("model", "encoder"), KINDS)


def logits_after_backward(made, pool):
    logits, extra = made.forward_with_loss(pool, IDS)
    (F.cross_entropy(logits.float(), ANSWERS) + extra).backward()
    for name, parameter in made.named_parameters():
        assert parameter.grad is None or parameter.grad.isfinite().all(), name
    assert any(parameter.grad is not None and parameter.grad.any() for parameter in made.parameters())
    return logits.float()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@every_kind
def test_half_precision_and_autocast_are_near_single_precision(model, encoder, dtype):
    wanted = logits_after_backward(network(model, encoder=encoder), POOL)
    close = {"rtol": 0.1, "atol": 0.1 * wanted.abs().max().item() + 0.01}
    with torch.autocast("cpu", dtype):
        torch.testing.assert_close(
            logits_after_backward(network(model, encoder=encoder), POOL), wanted, **close
        )
    half = network(model, encoder=encoder).to(dtype)
    torch.testing.assert_close(logits_after_backward(half, POOL.to(dtype)), wanted, **close)


BARE = """
import numpy as np
import pytest
import torch
from esbn.test_precision import IDS, KINDS, POOL, network
from mini_lib import ESBN, LSTM, TemporalContextNorm, UsageError
from mini_lib.esbn import Network
for model, encoder in KINDS:
    torch._dynamo.reset()
    made = network(model, encoder=encoder)
    compiled = torch.compile(made, fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(POOL, IDS), made(POOL, IDS))
assert ESBN(np.int64(8), np.int32(2))(torch.ones(1, 2, 8)).shape == (1, 2)
for bad in (
    lambda: ESBN(confidence=2),
    lambda: ESBN(confidence=None),
    lambda: TemporalContextNorm(3, 5),
    lambda: TemporalContextNorm(3, (2.0,)),
    *(lambda z=z: ESBN(1)(z) for z in ([[1.0]], None, np.ones((1, 2, 1)), torch.ones(1, 2, 1).long())),
    lambda: LSTM(1)(torch.ones(1, 2, 1), [2]),
    *(lambda n=n: LSTM(1)(torch.ones(1, 2, 1), torch.tensor(n)) for n in ([2.0], [2, 2], [[2]])),
    *(lambda ids=ids: network("esbn")(POOL, ids) for ids in (IDS[0], IDS.float())),
    lambda: network("esbn")(POOL, IDS.tolist()),
    lambda: network("esbn")(POOL.numpy(), IDS),
    lambda: network("esbn")(None),
):
    with pytest.raises(UsageError):
        bad()
"""


@pytest.mark.slow
def test_without_checks_of_types_networks_compile_as_one_graph_and_name_bad_input():
    """In a process of its own: the types that other tests check cannot be compiled, and refuse bad input before."""
    tests = Path(__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", BARE], cwd=tests, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
