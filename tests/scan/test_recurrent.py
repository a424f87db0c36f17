"""The fast loops and the plain lines against PyTorch's own LSTMs and against differences, in double precision."""

from functools import partial
from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch.autograd import gradgradcheck
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from mini_lib.layers import LSTMCell
from mini_lib.scan import attention_fast as fast
from mini_lib.scan.recurrent import BiLSTM
from mini_lib.scan.syntactic_attention import SyntacticAttention

CLOSE = {"rtol": 1e-10, "atol": 1e-12}
PARTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


@pytest.fixture(autouse=True)
def _double():
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def leaf(*shape: int):
    return torch.randn(*shape, requires_grad=True)


def gradients(value, *leaves):
    """Of a sum with weights that tell every entry from the others."""
    weights = torch.linspace(-1, 2, value.numel()).view(value.shape)
    return torch.autograd.grad((value * weights).sum(), leaves)


@pytest.fixture(params=[True, False], ids=["fast", "plain"])
def form(request, monkeypatch):
    """Each of the two forms; the plain one wherever the fast one does not apply."""
    if not request.param:
        monkeypatch.setattr(fast, "applies", lambda *tensors: False)
    return request.param


def twin(ours, inputs, hidden):
    """PyTorch's bidirectional LSTM with the weights of ours."""
    theirs = nn.LSTM(inputs, hidden, bidirectional=True, batch_first=True)
    with torch.no_grad():
        for part in PARTS:
            for direction, suffix in enumerate(("", "_reverse")):
                getattr(theirs, f"{part}_l0{suffix}").copy_(getattr(ours, part)[direction])
    return theirs


def packed(lstm, x, lengths):
    sequence = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    hidden, (final, _) = lstm(sequence)
    hidden, _ = pad_packed_sequence(hidden, batch_first=True, total_length=x.shape[1])
    return hidden, torch.cat(list(final), dim=-1)


@pytest.mark.parametrize("lengths", [(5, 5, 5), (3, 6, 1, 4), (1,), (7,)])
def test_bidirectional_lstm_is_pytorchs_on_packed_sequences(lengths, form):
    ours, lengths = BiLSTM(4, 3), torch.tensor(lengths)
    theirs, x = twin(ours, 4, 3), leaf(len(lengths), int(lengths.max()) + 1, 4)
    ahead, back, final = ours(x, x, lengths)
    expected, expected_final = packed(theirs, x, lengths)
    present = torch.arange(x.shape[1]) < lengths[:, None]
    hidden = torch.cat([ahead, back], dim=-1)[present]
    torch.testing.assert_close(hidden, expected[present], **CLOSE)
    torch.testing.assert_close(final, expected_final, **CLOSE)
    parts = [getattr(ours, part) for part in PARTS]
    mine = gradients(torch.cat([hidden.flatten(), final.flatten()]), x, *parts)
    both = torch.cat([expected[present].flatten(), expected_final.flatten()])
    pairs = [getattr(theirs, f"{part}_l0{suffix}") for part in PARTS for suffix in ("", "_reverse")]
    x_grad, *rest = gradients(both, x, *pairs)
    torch.testing.assert_close(mine[0], x_grad, **CLOSE)
    for part, forward, reverse in zip(mine[1:], rest[::2], rest[1::2], strict=True):
        torch.testing.assert_close(part, torch.stack([forward, reverse]), **CLOSE)


def aligned(memory, projected, query, weight, mask, steps):
    """Equations 4 to 6 word by word, with the context put together from what is projected, by PyTorch's own cell."""
    h = c = torch.zeros_like(query)
    alphas = []
    for _ in range(steps):
        scores = torch.einsum("bk,btk->bt", query, memory)
        alphas.append(torch.softmax(scores.masked_fill(mask < 0, -1e9), dim=-1))
        context = torch.einsum("bt,btg->bg", alphas[-1], projected)
        h, c = torch.lstm_cell(context, (h, c), torch.eye(context.shape[1]), weight)
        query = h
    return torch.stack(alphas, dim=1)


def given(lengths, words=5, size=3):
    """Roles, a first query and a mask."""
    mask = torch.zeros(len(lengths), words)
    for row, length in enumerate(lengths):
        mask[row, length:] = -torch.inf
    return leaf(len(lengths), words, size), leaf(len(lengths), size), mask


@pytest.mark.parametrize("steps", [1, 2, 3, 7])
@pytest.mark.parametrize("lengths", [(5, 5, 5), (5, 2, 1)])
def test_attention_is_equations_4_to_6_step_by_step(steps, lengths, form):
    h, query, mask = given(lengths)
    cell = LSTMCell(3, 3)
    theirs = aligned(h, cell.project(h), query, cell.weight_hh, mask, steps)
    leaves = (h, query, *cell.parameters()) if steps > 1 else (h, query)  # one step does not need the cell
    ours = SyntacticAttention.attend(SimpleNamespace(decoder=cell), h, query, torch.tensor(lengths), steps)
    assert ours.shape == (3, steps, 5)
    torch.testing.assert_close(ours, theirs, **CLOSE)
    torch.testing.assert_close(gradients(ours, *leaves), gradients(theirs, *leaves), **CLOSE)
    assert not ours[(mask < 0)[:, None].expand(ours.shape)].any()


@pytest.mark.parametrize("steps", [2, 3])
def test_the_fast_forms_have_second_derivatives(steps):
    h, query, _ = given((5, 2))
    cell, padding = LSTMCell(3, 3), torch.arange(5) >= torch.tensor([[5], [2]])
    assert gradgradcheck(lambda *x: fast.attend(*x, cell, padding, steps), (h, query))
    lstm = partial(fast.Loop.apply, fast.lstm_forward, fast.lstm_backward)
    assert gradgradcheck(lambda *x: lstm(*x)[0], (leaf(2, 2, steps, 8), leaf(2, 8, 2)))


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_the_fast_form_runs_where_it_applies_and_nowhere_else():
    x = torch.zeros(2)
    assert fast.applies(x, x.float())
    assert not fast.applies(x, x.bfloat16())
    with torch.autocast("cpu", torch.bfloat16):
        assert not fast.applies(x)
    with torch.autograd.forward_ad.dual_level():
        assert not fast.applies(x, torch.autograd.forward_ad.make_dual(x, x))
