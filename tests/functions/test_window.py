"""Which tokens see which, against a statement in words; the window's factor and its gate, against the formulas."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st

from functions import oracles
from functions.helpers import make, observations
from mini_lib.functions.transformer import OneDTransformer, RelationalTransformer
from mini_lib.functions.window import GATES, MASKS, Window, make_gate
from mini_lib.layers import attention
from mini_lib.seeding import torch_rng

DISTANCES = torch.arange(41, dtype=torch.float64)[None]


def tokens_of(network):
    """Four observations and queries about two points, one of them observed; and the same spelled out."""
    tokens = network.input_tokens(4).cat(network.query_tokens(4), network.query_tokens(5))
    rows = zip(tokens.places.tolist(), tokens.query.tolist(), strict=True)
    return tokens, [oracles.Token(tuple(places), 0.0, query) for places, query in rows]


def window_of(a, b):
    window = Window().double()
    with torch.no_grad():
        window.log_a.fill_(math.log(a))
        window.log_b.fill_(math.log(b))
    return window


@pytest.mark.parametrize("network", [OneDTransformer, RelationalTransformer])
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize("own", [(1.5, 2.0), None])
def test_gates_equal_the_explicit_formula(network, mask, gate, own):
    """Masks are what the words of `oracles.sees` say; a row that sees nothing has no weights at all."""
    tokens, layout = tokens_of(network)
    q, k = torch.randn(2, len(layout), 3, generator=torch_rng(0, "test"), dtype=torch.float64)
    weights = attention(q, k, k, *make_gate(tokens, tokens, own and window_of(*own), mask, gate))[1]
    scores = (q @ k.T / math.sqrt(3)).numpy()
    expected = [oracles.weights_of(row, layout, scores[s], own, mask, gate) for s, row in enumerate(layout)]
    np.testing.assert_allclose(weights.detach(), expected, rtol=1e-6, atol=1e-9)


@given(st.floats(0.01, 8), st.floats(0.5, 40))
def test_log_form_equals_the_ratio(a, b):
    factor = window_of(a, b).log_factor(DISTANCES).exp().detach()
    np.testing.assert_allclose(factor, oracles.factor(DISTANCES.numpy(), a, b), rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("rate", [1.0, 10.0])
@pytest.mark.parametrize("length", [1.0, 10.0, 30.0])
def test_length_is_where_the_factor_is_about_a_half(length, rate):
    window = Window(length, rate)
    assert window.length.item() == pytest.approx(length)
    assert window.a.item() == pytest.approx(2)  # so that a default b is 5, as the facts say
    half = window.log_factor(torch.tensor([[length]])).exp().item()
    assert half == pytest.approx((1 + math.exp(-2)) / 2, rel=1e-5)


def test_log_form_stays_finite_where_the_factor_vanishes():
    window = Window(1e-3)
    logs = window.log_factor(torch.tensor([[0.0, 30.0]]))
    assert logs.isfinite().all()
    assert logs.exp()[0, 1].item() == 0
    logs.sum().backward()
    assert window.log_a.grad.isfinite().all()
    assert window.log_b.grad.isfinite().all()


@pytest.mark.parametrize("rate", [0.5, 10.0])
def test_one_step_of_adam_moves_the_logs_by_rate_times_the_learning_rate(rate):
    window, step = Window(10.0, rate).double(), 1e-3
    start = torch.cat([window.a, window.b]).log()
    optimizer = torch.optim.Adam(window.parameters(), step)
    (-window.log_factor(DISTANCES).mean()).backward()  # wants a longer window, so both grow
    optimizer.step()
    moved = torch.cat([window.a, window.b]).log() - start
    torch.testing.assert_close(moved, torch.full_like(moved, rate * step), rtol=1e-4, atol=0)


def test_the_rate_of_learning_is_part_of_the_state():
    """Weights of a window that learned 10 times as fast mean the same in a network that was made without that."""
    fast, plain = make("one_d_window", "post gate"), make("one_d_window", seed=1)
    plain.load_state_dict(fast.state_dict())
    assert plain.window.length.equal(fast.window.length)
    plain.gate = "post"
    assert plain(observations()).equal(fast(observations()))
