"""What training relies on: weights at the start, savings that change nothing, gradients, stacks of networks."""

import copy
import math

import pytest
import torch
from torch.autograd.functional import jacobian
from torch.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, stack_module_state, vmap
from torch.nn import functional as F

from functions.helpers import CASES, every_case, every_model, make, observations, whole
from mini_lib.functions.models import build_network
from mini_lib.functions.models.network import layout

# PyTorch scripts its own rules when the first forward derivative is taken.
forward_derivatives = pytest.mark.filterwarnings("ignore:`torch.jit.script` is:DeprecationWarning")
window_case = pytest.mark.parametrize(("name", "form"), [case for case in CASES if "window" in case[0]])


# ------------------------------------------------------------------------------------------------ initial weights


@every_model
def test_initial_weights_are_those_of_gpt_2(name):
    torch.manual_seed(0)
    layers = 6
    network = build_network(name, dim=64, layers=layers, heads=4)
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


# ------------------------------------------------------------------------------- exact savings, stacks, gradients


@every_case
def test_leaving_tokens_out_of_the_last_block_changes_nothing(name, form):
    network, y = make(name, form), observations()
    values, plan = whole(network, y)
    full, part = (network._pass(values, plan, last=last, keep=True) for last in (None, plan.queries))
    assert part.out.shape[1] == plan.queries == int(plan.tokens.query.sum())
    torch.testing.assert_close(part.out, full.out[:, -plan.queries :], rtol=0, atol=1e-12)
    for ours, theirs in zip(part.layers, full.layers, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)


@every_case
def test_fused_attention_equals_the_formula(name, form):
    """Traced, it is worked out as it is written; else one kernel does it, where nothing is gated afterwards."""
    network, y = make(name, form).float(), observations(3, 7).float()
    values, plan = whole(network, y)
    fused, traced = (network._pass(values, plan, trace=trace).out for trace in (False, True))
    torch.testing.assert_close(fused, traced, rtol=0, atol=1e-5)
    slopes = [torch.autograd.grad(out.square().sum(), network.read_in.weight)[0] for out in (fused, traced)]
    torch.testing.assert_close(*slopes, rtol=1e-4, atol=1e-4)


def test_what_inference_or_a_stack_laid_out_can_be_trained_with_and_copied():
    network, y = make("relational_window"), observations(2, 4)
    stack = stack_module_state([network])
    layout.cache_clear()
    vmap(grad(lambda parameters: functional_call(network, parameters, (y,)).sum()))(stack[0])
    tokens = network.attention(y)[1]
    for ours, copied in zip(tokens, copy.deepcopy(tokens), strict=True):
        assert torch.equal(ours, copied)
    with torch.inference_mode():
        network(y, prefixes=True)
    network(y).sum().backward()
    network(y, prefixes=True).sum().backward()
    assert network.read_in.weight.grad.any()


@every_case
def test_gradient_reaches_every_parameter(name, form):
    """The windows' parameters too."""
    network, y = make(name, form), observations(3, 5)
    network(y).square().sum().backward()
    assert all(p.grad.isfinite().all() for p in network.parameters())
    without = [key for key, p in network.named_parameters() if not p.grad.any()]
    assert without == []
    if network.window is not None:
        for p in network.window.parameters():
            assert p.grad.abs().min() > 1e-9  # each layer's and each head's own


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


@every_model
@pytest.mark.parametrize("form", ["default", "own windows", "everything"])
def test_a_stack_reads_with_one_fused_kernel_a_layer_and_equals_each_alone(name, form, monkeypatch):
    """Differentiated as a whole, as in training; a kernel that PyTorch ran once a network would warn.

    Networks without a window share one mask, which is not copied.
    """
    networks, y = [make(name, form, seed) for seed in range(3)], observations(2, 4)
    skeleton, kernel, read = make(name, form), F.scaled_dot_product_attention, []

    def counted(q, k, v, attn_mask):
        read.append((len(q), len(attn_mask)))
        return kernel(q, k, v, attn_mask=attn_mask)

    def prefixes(parameters, buffers):
        return functional_call(skeleton, (parameters, buffers), (y,), {"prefixes": True})

    parameters, buffers = stack_module_state(networks)
    monkeypatch.setattr(F, "scaled_dot_product_attention", counted)
    together = vmap(prefixes)(parameters, buffers)
    sizes = (6, 6 if skeleton.window else 1)  # curves of all networks, and masks
    gated_after = form == "everything" and skeleton.window  # a gate after the softmax needs the formula
    assert read == ([] if gated_after else [sizes] * 2)
    together.square().sum().backward()
    for number, network in enumerate(networks):
        alone = network(y, prefixes=True)
        torch.testing.assert_close(together[number], alone, rtol=1e-8, atol=1e-10)
        alone.square().sum().backward()
        for key, parameter in network.named_parameters():
            torch.testing.assert_close(parameters[key].grad[number], parameter.grad, rtol=1e-7, atol=1e-10)
