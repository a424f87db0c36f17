"""Half precision, autocast, compilation, tracing and empty batches of both networks and of the memory."""

import subprocess
import sys

import pytest
import torch
from torch import nn

from kanerva.whole import make, noise_of, pictures
from mini_lib.kanerva.images import DECODERS, ENCODERS
from mini_lib.kanerva.objective import Loss
from mini_lib.kanerva.product_memory import ProductMemory

LOSSES = {"full": "full", "mixture": "mixture", "even": "full"}
every_network = pytest.mark.parametrize("form", LOSSES)
every_half = pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])


def loss_of(network, form, dtype=torch.float32):
    images, queries = (each.to(dtype) for each in pictures(items=5))
    noise = {name: each.float() for name, each in noise_of(network, items=5).items()}
    batch = {"images": images, "queries": queries, "noise": noise}
    return Loss(LOSSES[form], ae_weight=0.5, balance=1.0)(network, batch)[0]


@every_half
@every_network
def test_half_precision_is_near_single_precision(form, dtype):
    """Learning works, and what comes out is in the network's type; the memory inside is in float32."""
    network, sample = make(form).float(), make(form).to(dtype)
    images, _ = pictures(items=5)
    trace = sample.trace(images.to(dtype))
    assert trace.logits.dtype == trace.codes.dtype == trace.reading.codes.dtype == dtype
    assert trace.memory.state.R.dtype == torch.float32
    if form != "mixture":  # whose choices may differ
        torch.testing.assert_close(trace.logits.float(), network(images.float()), rtol=0.1, atol=0.1)
    loss = loss_of(sample, form, dtype)
    loss.backward()
    assert loss.isfinite()
    assert all(p.grad is None or p.grad.isfinite().all() for p in sample.parameters())
    assert sample.prior_means.grad.any()


@every_half
@every_network
def test_autocast_is_near_single_precision(form, dtype):
    network = make(form).float()
    plain = loss_of(network, form)
    with torch.autocast("cpu", dtype):
        loss = loss_of(network, form)
        assert network.trace(pictures()[0].float()).memory.state.R.dtype == torch.float32
    loss.backward()
    torch.testing.assert_close(loss.float(), plain, rtol=0.1 if form != "mixture" else 0.5, atol=0.1)
    assert network.prior_means.grad.isfinite().all()
    assert network.prior_means.grad.any()


@pytest.mark.parametrize("name", [*ENCODERS, *(f"decoder {name}" for name in DECODERS)])
@every_half
def test_networks_for_images_in_half_precision(name, dtype):
    kind, x = ENCODERS.get(name), torch.rand(2, 3, 1, 22, 22)
    if name.startswith("decoder"):
        kind, x = DECODERS[name.split()[1]], torch.rand(2, 3, 5)
    network = kind(1, 22, 5)
    plain, half = network(x), network.to(dtype)(x.to(dtype))
    torch.testing.assert_close(half.float(), plain, rtol=0.1, atol=0.1)
    half.sum().backward()


@every_half
def test_a_memory_within_a_model_under_autocast(dtype):
    memory, encoder = ProductMemory(4, 2, 5), nn.Linear(6, 4)
    with torch.autocast("cpu", dtype):
        memory.write(encoder(torch.randn(7, 6)))
        answers = memory.read(encoder(torch.randn(2, 6))).codes
    assert answers.dtype == memory.R.dtype == torch.float32
    answers.sum().backward()
    assert encoder.weight.grad.any()


# Without the tests' own type checks, which cannot be compiled.
COMPILED = """
import warnings, torch
warnings.simplefilter("ignore")
from mini_lib.kanerva import MixtureKanerva, MLPDecoder, MLPEncoder, ProductKanerva, ProductMemory
images = torch.rand(2, 4, 1, 2, 2).round()
parts = MLPEncoder(1, 2, 3), MLPDecoder(1, 2, 3), 3, 2, 2
full = ProductKanerva(*parts, sample="full")
for network in (full, ProductKanerva(*parts, assignment="even"), MixtureKanerva(*parts)):
    noise = network.draw_noise(2, 4)
    compiled = torch.compile(network, fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(images, noise=noise), network(images, noise=noise))
    network.eval()
    for made in (torch.jit.trace(network, images), torch.export.export(network, (images,)).module()):
        torch.testing.assert_close(made(images), network(images))
memory, codes = ProductMemory(4, 2, 5), torch.randn(6, 4)
def answers(codes):
    memory.reset()
    memory.write(codes, eta=0.5)
    return memory.read(codes).codes
expected = answers(codes)
torch.testing.assert_close(torch.compile(answers, fullgraph=True, backend="eager")(codes), expected)
"""


@pytest.mark.slow
def test_networks_and_memory_compile_trace_and_export():
    done = subprocess.run([sys.executable, "-c", COMPILED], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr


def test_an_empty_batch_has_no_answers():
    network = make().float()
    trace = network.trace(torch.zeros(0, 3, 1, 2, 2))
    assert trace.logits.shape == (0, 3, 1, 2, 2)
    assert trace.memory.state.R.shape == (0, 2, 3, 2)
