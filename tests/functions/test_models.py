"""The networks in all their forms against NumPy; what they may and may not depend on; how they learn."""

import math

import numpy as np
import pytest
import torch
from slopes import slopes

from functions import oracles
from functions.helpers import CASES, FORMS, every_case, every_model, make, observations
from mini_lib.functions.extrapolation import extrapolate
from mini_lib.functions.runs import loss_and_score
from mini_lib.functions.transformer import MODELS, LevelHiddenTransformer
from mini_lib.functions.window import Tokens
from mini_lib.seeding import torch_rng

causal_case = pytest.mark.parametrize(("name", "form"), [case for case in CASES if case[1] != "no mask"])


def oracle(network, y, form):
    weights = {name: value.numpy() for name, value in network.state_dict().items()}
    options = {name: value for name, value in FORMS[form].items() if name in ("mask", "gate", "scale")}
    level_hidden = isinstance(network, LevelHiddenTransformer)
    return oracles.forward(weights, y.numpy(), heads=2, **options, level_hidden=level_hidden)


@every_case
def test_equals_the_numpy_forward_pass(name, form):
    network, y = make(name, form), observations(2, 4)
    with torch.no_grad():
        answers, trace = network(y), network.trace(y)
        assert network.predict(y).equal(trace.point)
    assert answers.equal(trace.answers)
    for row in range(2):
        z, estimates, attention = oracle(network, y[row], form)
        np.testing.assert_allclose(answers[row], z, rtol=0, atol=1e-8)
        np.testing.assert_allclose(trace.estimates[row], estimates, rtol=0, atol=1e-8)
        assert trace.point[row].item() == pytest.approx(np.median(estimates), abs=1e-8)
        np.testing.assert_allclose(trace.attention[:, row], attention, rtol=0, atol=1e-8)
    assert np.ptp(answers.numpy()) > 1e-3  # it matters what was observed


def test_parameters_are_as_many_as_derived():
    dim, hidden = 256, 1024
    attention, norms = dim * 3 * dim + 3 * dim + dim * dim + dim, 2 * 2 * dim
    block = norms + attention + dim * hidden + hidden + hidden * dim + dim
    shared = 12 * block + 2 * dim + dim + 1  # blocks, final norm, read-out
    with torch.device("meta"):
        counts = {name: sum(p.numel() for p in network().parameters()) for name, network in MODELS.items()}
    one_d, relational = shared + 3 * dim, shared + 4 * dim
    assert counts == {
        **{"one_d": one_d, "one_d_window": one_d + 2, "one_d_level_hidden": one_d},
        **{"relational": relational, "relational_window": relational + 2},
    }


@every_case
def test_a_constant_added_to_the_curve_moves_the_estimates_by_itself(name, form):
    """But not those of the 1d transformer, which sees the level."""
    network, y = make(name, form), observations()
    answers, moved = network(y), network(y + 5)
    shift = network.estimates(y + 5, moved) - network.estimates(y, answers)
    if network.sees_offset:
        assert (shift - 5).abs().min() > 1e-3
    else:
        assert moved.equal(answers)
        torch.testing.assert_close(shift, torch.full_like(shift, 5), rtol=0, atol=1e-12)


@every_case
def test_permuting_tokens_leaves_the_answers_unchanged(name, form, monkeypatch):
    network, y = make(name, form), observations()
    expected, tokens = network(y), network.input_tokens(y.shape[1])
    order = torch.randperm(len(tokens.query), generator=torch_rng(0, "order"))
    mixed = Tokens(*(part[order] for part in tokens))
    monkeypatch.setattr(network, "input_tokens", lambda observed, device: mixed)
    torch.testing.assert_close(network(y), expected, rtol=0, atol=1e-10)


@causal_case
def test_prefixes_are_the_answers_of_one_prefix_at_a_time(name, form):
    network, y = make(name, form), observations(2, 6)
    one_by_one = torch.cat([network(y[:, :seen]) for seen in range(2, 7)], dim=1)
    torch.testing.assert_close(network(y, prefixes=True), one_by_one, rtol=0, atol=1e-10)


@every_case
def test_gradients_equal_differences_of_the_loss(name, form):
    """By all parameters and observations at once, in a random direction; no parameter is left out."""
    network, y = make(name, form), observations(2, 6).requires_grad_()

    def loss():
        return loss_and_score(network, {"y": y}, form != "no mask", type(network))[0]

    gradients, along, expected = slopes(loss, [y, *network.parameters()])
    assert all(gradient.any() for gradient in gradients)
    torch.testing.assert_close(along, expected, rtol=1e-5, atol=0)


def test_initial_weights_are_those_of_gpt_2():
    torch.manual_seed(0)
    layers = 6
    network = MODELS["relational_window"](dim=64, layers=layers, heads=4)
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


@every_model
def test_half_precision_is_close_to_single(name):
    """Converted as a whole, and under autocast, forward and backward; and extrapolated."""
    dtype = torch.float16
    form = "everything" if name == "one_d_window" else "default"
    network, y = make(name, form).float(), observations(3, 6).float()
    expected = network(y, prefixes=True).detach()
    forecast = extrapolate(network, y, 2)
    with torch.autocast("cpu", dtype):
        mixed = network(y, prefixes=True)
    half = make(name, form).to(dtype)
    answers = half(y.to(dtype), prefixes=True)
    for each, one in ((mixed, network), (answers, half)):
        each.float().square().mean().backward()
        assert all(p.grad.isfinite().all() for p in one.parameters())
        assert each.dtype == dtype
        torch.testing.assert_close(each.float(), expected, rtol=0, atol=0.04)
    assert half.predict(y.to(dtype)).dtype == dtype
    torch.testing.assert_close(extrapolate(half, y, 2).point, forecast.point, rtol=0, atol=0.06)
