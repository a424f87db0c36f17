"""Which tokens see which, against a statement in words; how windows gate attention, against the formula."""

import math

import numpy as np
import pytest
import torch

from functions import oracles
from functions.helpers import every_gate, every_kind, every_mask, set_window, spelled_out, tokens_of
from mini_lib.functions.window import Window, make_gate, visible
from mini_lib.layers import attention

# ------------------------------------------------------------------------------------------------------- masks


@every_kind
@every_mask
def test_masks_are_what_the_words_say(kind, mask):
    tokens = tokens_of(kind, 4, places=(3, 4, 5))
    layout = spelled_out(tokens)
    expected = [[oracles.sees(row, key, mask) for key in layout] for row in layout]
    assert visible(tokens, tokens, mask).tolist() == expected


def test_the_first_query_sees_the_differences_with_the_first_point_alone():
    """They determine every other difference, so that every query has full information."""
    tokens = tokens_of("relational")
    row = visible(tokens, tokens, "causal")[int((~tokens.query).sum())]
    assert tokens.places[row].tolist() == [[1, j] for j in range(2, 7)]


# ------------------------------------------------------------------------------------------------------- gates


def attention_of(tokens, window, mask, gate, seed=0):
    """Weights of one layer of 2 heads with 3 features each, and the scores they came from. [H, T, T]"""
    generator = torch.Generator().manual_seed(seed)
    q, k = torch.randn(2, 1, 2, len(tokens.query), 3, generator=generator, dtype=torch.float64)
    weights = attention(q, k, k, *make_gate(tokens, tokens, window, mask, gate))[1]
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
@every_gate
def test_blind_rows_have_zero_weights_and_finite_gradients(kind, gate):
    tokens, window = tokens_of(kind), Window(3.0)
    q = torch.randn(1, 1, len(tokens.query), 2, requires_grad=True)
    weights = attention(q, q, q, *make_gate(tokens, tokens, window, "strict", gate))[1]
    blind = ~visible(tokens, tokens, "strict").any(dim=1)
    assert not weights[:, :, blind].any()
    (weights @ q).sum().backward()
    assert all(part.grad.isfinite().all() for part in (q, window.log_a, window.log_b))
    assert window.log_a.grad.any()
