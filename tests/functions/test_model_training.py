"""Training: initial weights, gradients, stacks of networks, half precision, compilation."""

import math
import subprocess
import sys

import pytest
import torch
from torch.autograd.functional import jacobian
from torch.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, stack_module_state, vmap

from functions.helpers import CASES, every_case, every_model, make, observations
from mini_lib.functions.extrapolation import extrapolate
from mini_lib.functions.transformer import MODELS

# PyTorch scripts its own rules when the first forward derivative is taken.
forward_derivatives = pytest.mark.filterwarnings("ignore:`torch.jit.script` is:DeprecationWarning")
window_case = pytest.mark.parametrize(("name", "form"), [case for case in CASES if "window" in case[0]])


# ------------------------------------------------------------------------------------------------ initial weights


@every_model
def test_initial_weights_are_those_of_gpt_2(name):
    torch.manual_seed(0)
    layers = 6
    network = MODELS[name](dim=64, layers=layers, heads=4)
    for key, value in network.transformer.state_dict().items():
        if key.endswith("bias"):
            assert not value.any()
        elif "norm" in key:
            assert (value == 1).all()
        else:
            writes = key.split(".")[2] in ("out_proj", "down")
            expected = 0.02 / math.sqrt(2 * layers) if writes else 0.02
            assert value.std().item() == pytest.approx(expected, rel=0.05)
            assert value.mean().item() == pytest.approx(0, abs=0.1 * expected)
            assert value.abs().max() > 3 * expected  # normal rather than uniform
    for layer in (network.read_in, network.read_out):
        bound = layer.in_features**-0.5
        assert 0.5 * bound < layer.weight.abs().max() <= bound
        assert layer.bias.abs().max() <= bound


# ------------------------------------------------------------------------------------------- gradients, stacks


@every_case
def test_gradient_reaches_every_parameter(name, form):
    network, y = make(name, form), observations(3, 5)
    network(y).square().sum().backward()
    assert all(p.grad.isfinite().all() for p in network.parameters())
    without = [key for key, p in network.named_parameters() if not p.grad.any()]
    assert without == []
    if network.window is not None:
        for p in network.window.parameters():
            assert p.grad.abs().min() > 1e-9


@window_case
def test_gradients_of_the_window_equal_differences_of_the_loss(name, form):
    network, y = make(name, form), observations(2, 5)
    network(y).square().sum().backward()
    for parameter in network.window.parameters():
        values, step = parameter.data.flatten(), 1e-5
        for place, slope in enumerate(parameter.grad.flatten().tolist()):
            losses = []
            for sign in (1, -2):
                values[place] += sign * step
                losses.append(network(y).square().sum().item())
            values[place] += step
            assert (losses[0] - losses[1]) / (2 * step) == pytest.approx(slope, rel=1e-4, abs=1e-7)


@forward_derivatives
@every_case
def test_every_way_to_differentiate_by_the_observations_gives_the_same(name, form):
    network, y = make(name, form), observations(2, 4)
    slopes = jacobian(network, y)  # [B, Q, B, N]
    for transform in (jacrev, jacfwd):
        torch.testing.assert_close(transform(network)(y), slopes, rtol=1e-8, atol=1e-10)
    torch.testing.assert_close(
        grad(lambda y: network(y).sum())(y), slopes.sum(dim=(0, 1)), rtol=1e-8, atol=1e-10
    )
    direction = observations(2, 4, seed=1)
    answers, moved = jvp(network, (y,), (direction,))
    torch.testing.assert_close(answers, network(y), rtol=1e-8, atol=1e-10)
    torch.testing.assert_close(moved, (slopes * direction).sum(dim=(2, 3)), rtol=1e-8, atol=1e-10)


@forward_derivatives
@every_model
def test_second_derivatives_equal_differences_of_first_ones(name):
    network, y = make(name), observations(1, 4)

    def loss(y):
        return network(y).square().sum()

    curvature, step = hessian(loss)(y), 1e-5
    for place in range(y.shape[1]):
        moved = torch.zeros_like(y)
        moved[0, place] = step
        difference = (grad(loss)(y + moved) - grad(loss)(y - moved)) / (2 * step)
        torch.testing.assert_close(curvature[..., 0, place], difference, rtol=1e-5, atol=1e-7)


@every_case
def test_stacked_networks_equal_each_alone(name, form):
    networks = [make(name, form, seed) for seed in range(3)]
    y = torch.stack([observations(2, 5, seed) for seed in range(3)])
    skeleton = make(name, form)

    def loss(parameters, buffers, y):
        answers = functional_call(skeleton, (parameters, buffers), (y,))
        return answers.square().mean(), answers

    gradients, answers = vmap(grad(loss, has_aux=True))(*stack_module_state(networks), y)
    for number, network in enumerate(networks):
        own = network(y[number])
        torch.testing.assert_close(answers[number], own, rtol=1e-8, atol=1e-10)
        own.square().mean().backward()
        for key, parameter in network.named_parameters():
            assert gradients[key][number].isfinite().all()
            torch.testing.assert_close(gradients[key][number], parameter.grad, rtol=1e-7, atol=1e-10)


# ------------------------------------------------------------------------------------- half precision, compilation


@every_model
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("form", ["default", "everything"])
def test_half_precision_is_close_to_single(name, form, dtype):
    """Converted as a whole, and under autocast, forward and backward; and extrapolated."""
    network, y = make(name, form).float(), observations(3, 6).float()
    expected = network(y, prefixes=True).detach()
    forecast = extrapolate(network, y, 2)
    with torch.autocast("cpu", dtype):
        mixed = network(y, prefixes=True)
    mixed.float().square().mean().backward()
    assert all(p.grad.isfinite().all() and p.dtype == torch.float32 for p in network.parameters())
    half = make(name, form).to(dtype)
    answers = half(y.to(dtype), prefixes=True)
    answers.square().mean().backward()
    assert all(p.grad.isfinite().all() for p in half.parameters())
    assert half.predict(y.to(dtype)).dtype == dtype
    for each in (mixed, answers):
        assert each.dtype == dtype
        torch.testing.assert_close(each.float(), expected, rtol=0, atol=0.04)
    torch.testing.assert_close(extrapolate(half, y, 2).point, forecast.point, rtol=0, atol=0.06)


COMPILED = """
import torch
from mini_lib.functions.transformer import MODELS
y = torch.linspace(0, 1, 10).reshape(2, 5)
for make in MODELS.values():
    torch._dynamo.reset()  # it counts all of these as one
    network = make(dim=8, layers=1, heads=2)
    compiled = torch.compile(network, fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(y), network(y))
    compiled(y, prefixes=True).sum().backward()
    assert all(p.grad is not None for p in network.parameters())
"""
NUMPY_INTEGERS = """
import numpy as np, torch
from mini_lib.functions import RelationalTransformer, extrapolate, sample_curves
y = sample_curves(np.int64(3), np.int32(5), torch.Generator().manual_seed(1), noise=np.float64(0.2)).y
network = RelationalTransformer(dim=np.int64(8), layers=np.int64(1), heads=np.int64(2))
assert extrapolate(network, y, steps=np.int64(2)).point.shape == (3, 2)
"""


@pytest.mark.slow
@pytest.mark.parametrize("code", [COMPILED, NUMPY_INTEGERS], ids=["compiled", "numpy integers"])
def test_what_works_without_the_types_that_tests_check(code):
    """Compilation without a break in the graph, and NumPy's integers, in a process of its own."""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)
