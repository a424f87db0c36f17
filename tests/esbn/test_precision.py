"""Half precision, autocast and torch.compile of every network, encoder and norm."""

import inspect
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch.nn import functional as F

from esbn.networks import CLASSES, network
from mini_lib.errors import UsageError
from mini_lib.esbn.esbn import ESBN
from mini_lib.esbn.network import ENCODERS, Network, TemporalContextNorm, check_integers
from mini_lib.esbn.recurrent_baselines import NTM
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


def test_small_spreads_are_normalized_in_half_precision_too():
    z = 0.001 * torch.randn(3, 6, 4, generator=torch.Generator().manual_seed(0)) + 0.1
    for dtype in (torch.float16, torch.bfloat16):
        norm, rounded = TemporalContextNorm(4, (6,)), z.to(dtype)
        expected = norm(rounded.float())
        torch.testing.assert_close(norm.to(dtype)(rounded).float(), expected, rtol=0.01, atol=0.01)


def test_an_ntm_that_reads_zeros_is_finite_in_half_precision():
    network = NTM(features=4, classes=2, hidden=8).half()
    assert network(torch.zeros(2, 3, 4).half()).isfinite().all()


@pytest.mark.parametrize("dtype", [torch.uint8, torch.bool, torch.int8, torch.float32])
def test_integers_that_would_index_as_a_mask_are_refused(dtype):
    check = inspect.unwrap(check_integers)  # in tests the checker of types would answer first
    with pytest.raises(UsageError, match=r"lengths have to be a tensor \[5\] of torch.int64"):
        check("lengths", torch.ones(5).to(dtype), (5,), 1, 4)


def test_a_whole_network_passes_lengths_on():
    network = Network(torch.nn.Identity(), torch.nn.Identity(), ESBN(features=4, key_size=3, hidden=5))
    z, lengths = torch.rand(3, 5, 4), torch.tensor([2, 5, 3])
    torch.testing.assert_close(network(z, lengths=lengths), network.core(z, lengths=lengths))
