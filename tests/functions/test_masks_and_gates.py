"""Which tokens see which, against a statement in words; how windows gate attention, against the formula."""

import math

import numpy as np
import pytest
import torch

from functions import oracles
from functions.helpers import every_gate, every_kind, every_mask, set_window, spelled_out, tokens_of
from mini_lib.functions.models import Tokens, Window
from mini_lib.functions.models.transformer import attention_weights
from mini_lib.functions.models.window import GATES, make_gate, visible

# ------------------------------------------------------------------------------------------------------- masks


@every_kind
@every_mask
def test_masks_are_what_the_words_say(kind, mask):
    tokens = tokens_of(kind, 4, places=(3, 4, 5))
    layout = spelled_out(tokens)
    expected = [[oracles.sees(row, key, mask) for key in layout] for row in layout]
    assert visible(tokens, tokens, mask).tolist() == expected


@every_kind
@pytest.mark.parametrize("mask", ["causal", "strict"])
def test_nothing_leaks(kind, mask):
    tokens = tokens_of(kind, 5, places=(3, 4, 5, 6))
    seen, query, column = visible(tokens, tokens, mask), tokens.query, tokens.places[:, -1]
    assert not seen[~query][:, query].any()  # inputs never see queries
    later = column[None] > column[:, None]
    assert not seen[later].any()
    asked = query[:, None] & ~query & (column[None] == column[:, None])
    assert asked.any()
    assert not seen[asked].any()  # a query does not see what was observed at its place
    other = query[:, None] & query & (column[None] != column[:, None])
    assert other.any()
    assert not seen[other].any()  # nor queries about another point


@every_kind
def test_causal_tokens_see_themselves_and_the_last_query_every_input(kind):
    tokens = tokens_of(kind)
    seen = visible(tokens, tokens)
    assert seen.diagonal().all()
    assert seen[-1].all()


def test_the_first_query_sees_the_differences_with_the_first_point_alone():
    """They determine every other difference, so that every query has full information."""
    tokens = tokens_of("relational")
    row = visible(tokens, tokens)[int((~tokens.query).sum())]
    assert tokens.places[row].tolist() == [[1, j] for j in range(2, 7)]


def test_strict_rows_that_see_nothing():
    for kind, first in (("one_d", [[1]]), ("relational", [[1, j] for j in range(2, 7)])):
        tokens = tokens_of(kind)
        blind = ~visible(tokens, tokens, "strict").any(dim=1)
        assert tokens.places[blind].tolist() == first


@every_kind
@every_mask
def test_a_part_of_the_rows_sees_what_it_sees_among_all(kind, mask):
    tokens = tokens_of(kind, 4, places=(4, 5))
    rows = Tokens(*(part[3:] for part in tokens))
    assert visible(rows, tokens, mask).equal(visible(tokens, tokens, mask)[3:])


# ------------------------------------------------------------------------------------------------------- gates


def attention_of(tokens, window, mask, gate, seed=0):
    """Weights of one layer of 2 heads with 3 features each, and the scores they came from. [H, T, T]"""
    generator = torch.Generator().manual_seed(seed)
    q, k = torch.randn(2, 1, 2, len(tokens.query), 3, generator=generator, dtype=torch.float64)
    weights = attention_weights(q, k, *make_gate(tokens, tokens, window, mask, gate))
    return weights[0].detach().numpy(), (q @ k.mT)[0].numpy() / math.sqrt(3)


@every_kind
@every_mask
@every_gate
@pytest.mark.parametrize("with_window", [True, False])
def test_gates_equal_the_explicit_formula(kind, mask, gate, with_window):
    tokens, own = tokens_of(kind, 4, places=(4, 5)), (1.5, 2.0)
    window = set_window(Window().double(), *own) if with_window else None
    weights, scores = attention_of(tokens, window, mask, gate)
    layout = spelled_out(tokens)
    for head in range(2):
        for s, row in enumerate(layout):
            expected = oracles.weights_of(
                row, layout, scores[head, s], own if with_window else None, mask, gate
            )
            np.testing.assert_allclose(weights[head, s], expected, rtol=1e-6, atol=1e-9)


@every_kind
@every_mask
def test_rows_sum_to_one_when_renormalised_and_to_less_when_not(kind, mask):
    tokens = tokens_of(kind)
    seen = visible(tokens, tokens, mask)
    blind = ~seen.any(dim=1).numpy()
    alone = ((seen.sum(dim=1) == 1) & seen.diagonal()).numpy()
    sums = attention_of(tokens, Window(3.0).double(), mask, "renormalised")[0].sum(axis=2)
    np.testing.assert_allclose(sums, np.broadcast_to(~blind, sums.shape), rtol=1e-9)
    sums = attention_of(tokens, Window(3.0).double(), mask, "post")[0].sum(axis=2)
    assert (sums[:, ~blind & ~alone] < 1 - 1e-6).all()
    assert (sums[:, ~blind] > 0).all()
    np.testing.assert_allclose(sums[:, alone], 1, rtol=1e-9)
    assert not sums[:, blind].any()


@every_kind
@every_gate
def test_blind_rows_have_zero_weights_and_finite_gradients(kind, gate):
    tokens, window = tokens_of(kind), Window(3.0)
    q = torch.randn(1, 1, len(tokens.query), 2, requires_grad=True)
    weights = attention_weights(q, q, *make_gate(tokens, tokens, window, "strict", gate))
    blind = ~visible(tokens, tokens, "strict").any(dim=1)
    assert not weights[:, :, blind].any()
    (weights @ q).sum().backward()
    assert all(part.grad.isfinite().all() for part in (q, window.log_a, window.log_b))
    assert window.log_a.grad.any()


@every_kind
def test_without_a_window_the_gate_is_the_mask(kind):
    tokens = tokens_of(kind)
    for gate in GATES:
        attn_bias, attn_scale = make_gate(tokens, tokens, None, "causal", gate)
        assert attn_scale is None
        assert attn_bias.exp().bool().equal(visible(tokens, tokens)[None, None])
        assert set(attn_bias.unique().tolist()) == {-math.inf, 0.0}
