"""The window's factor against its formula, and windows inside a network."""

import math

import numpy as np
import pytest
import torch

from functions import oracles
from functions.helpers import set_window, spelled_out, tokens_of
from mini_lib.functions.models import Window, build_network
from mini_lib.functions.models.window import make_gate

DISTANCES = torch.arange(41, dtype=torch.float64)[None]


def factors(window, distances=DISTANCES):
    return window.log_factor(distances).exp().detach()


# -------------------------------------------------------------------------------------------------- the factor


@pytest.mark.parametrize(("a", "b"), [(2.0, 5.0), (0.01, 1.0), (8.0, 0.7), (1.3, 40.0)])
def test_log_form_equals_the_ratio(a, b):
    window = set_window(Window().double(), a, b)
    expected = oracles.factor(DISTANCES.numpy(), a, b)
    np.testing.assert_allclose(factors(window)[0, 0], expected, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("length", [1.0, 3.0, 10.0, 30.0])
@pytest.mark.parametrize("rate", [1.0, 10.0])
def test_length_is_where_the_factor_is_about_a_half(length, rate):
    window = Window(length, rate)
    assert window.length.item() == pytest.approx(length)
    assert window.a.item() == pytest.approx(2)  # so that a default b is 5, as the facts say
    half = factors(window, torch.tensor([[length]])).item()
    assert half == pytest.approx((1 + math.exp(-window.a.item())) / 2, rel=1e-5)


def test_log_form_stays_finite_where_the_factor_vanishes():
    window = Window(1e-3)
    logs = window.log_factor(torch.tensor([[0.0, 30.0]]))
    assert logs.isfinite().all()
    assert logs.exp()[..., 1].item() == 0
    logs.sum().backward()
    assert window.log_a.grad.isfinite().all()
    assert window.log_b.grad.isfinite().all()


@pytest.mark.parametrize("rate", [0.5, 1.0, 10.0])
def test_one_step_of_adam_moves_the_logs_by_rate_times_the_learning_rate(rate):
    window, step = Window(10.0, rate).double(), 1e-3
    start = window.a.log().item(), window.b.log().item()
    optimizer = torch.optim.Adam(window.parameters(), step)
    factors_far = window.log_factor(DISTANCES)
    (-factors_far.mean()).backward()  # wants a longer window, so both grow
    optimizer.step()
    moved = window.a.log().item() - start[0], window.b.log().item() - start[1]
    assert moved == pytest.approx((rate * step, rate * step), rel=1e-4)


@pytest.mark.parametrize(("layers", "heads"), [(1, 1), (3, 1), (1, 2), (3, 2)])
def test_layers_and_heads_have_windows_of_their_own(layers, heads):
    window = Window(10.0, 1.0, layers, heads)
    assert window.log_a.shape == window.log_b.shape == window.length.shape == (layers, heads)
    a, b = 1.0 + torch.rand(layers, heads), 2.0 + torch.rand(layers, heads)
    tokens, layout = tokens_of("relational", 3), spelled_out(tokens_of("relational", 3))
    gate = make_gate(tokens, tokens, set_window(window, a, b), "none")
    assert gate.attn_bias.shape == (layers, heads, 7, 7)
    for layer in range(3):
        attn_bias, attn_scale = gate.of_layer(layer)
        assert attn_scale is None
        for head in range(heads):
            own = a[min(layer, layers - 1), head].item(), b[min(layer, layers - 1), head].item()
            expected = [[oracles.windowed(row, key, own) for key in layout] for row in layout]
            np.testing.assert_allclose(attn_bias[0, head].exp().detach(), expected, rtol=1e-4)


# -------------------------------------------------------------------------------------------- inside a network


@pytest.mark.parametrize(("own", "shape"), [(False, (1, 1)), (True, (3, 2))])
def test_networks_have_as_many_windows_as_they_are_told(own, shape):
    network = build_network(
        "one_d_window", dim=8, layers=3, heads=2, own_windows=own, length=4.0, window_rate=3.0
    )
    assert network.window.length.shape == shape
    torch.testing.assert_close(network.window.length, torch.full(shape, 4.0))
    assert network.window.rate == 3.0
