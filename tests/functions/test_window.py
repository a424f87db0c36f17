"""The window's factor against its formula, and windows inside a network."""

import math

import numpy as np
import pytest
import torch

from functions import oracles
from functions.helpers import make, observations, set_window
from mini_lib.functions.window import Window

DISTANCES = torch.arange(41, dtype=torch.float64)[None]


def factors(window, distances=DISTANCES):
    return window.log_factor(distances).exp().detach()


# -------------------------------------------------------------------------------------------------- the factor


@pytest.mark.parametrize(("a", "b"), [(2.0, 5.0), (0.01, 1.0), (8.0, 0.7), (1.3, 40.0)])
def test_log_form_equals_the_ratio(a, b):
    window = set_window(Window().double(), a, b)
    expected = oracles.factor(DISTANCES.numpy(), a, b)
    np.testing.assert_allclose(factors(window), expected, rtol=1e-6, atol=1e-12)


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
    assert logs.exp()[0, 1].item() == 0
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


# -------------------------------------------------------------------------------------------- inside a network


def test_the_rate_of_learning_is_part_of_the_state():
    """Weights of a window that learned 10 times as fast mean the same in a network that was made without that."""
    fast, plain = make("one_d_window", window_rate=10.0, length=10.0), make("one_d_window", seed=1)
    assert plain.window.length.item() != pytest.approx(fast.window.length.item(), rel=0.01)
    plain.load_state_dict(fast.state_dict())
    assert plain.window.length.equal(fast.window.length)
    assert plain(observations()).equal(fast(observations()))
