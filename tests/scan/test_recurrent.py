"""The fast recurrences against the bare loops, PyTorch's own LSTMs and differences, in double precision."""

import pytest
import torch
from torch import nn
from torch.autograd import gradcheck
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from mini_lib.layers import LSTMCell
from mini_lib.scan.models.recurrent import Align, BiLSTM, LSTMOverTime, align, lstm_over_time, reversal

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


def over_time(x, weight):
    """Hidden states of several LSTMs, a cell of PyTorch's for each: its input goes straight to the gates."""
    hidden = []
    for inputs, recurrent in zip(x, weight, strict=True):
        h = c = inputs.new_zeros(inputs.shape[0], recurrent.shape[1])
        states = []
        for t in range(inputs.shape[1]):
            h, c = torch.lstm_cell(inputs[:, t], (h, c), torch.eye(inputs.shape[2]), recurrent)
            states.append(h)
        hidden.append(torch.stack(states, dim=1))
    return torch.stack(hidden)


@pytest.mark.parametrize(("directions", "batch", "steps"), [(1, 1, 1), (2, 3, 1), (2, 3, 6), (1, 1, 4)])
def test_lstm_over_time_is_an_lstm_cell_step_by_step(directions, batch, steps):
    x, weight = leaf(directions, batch, steps, 12), leaf(directions, 12, 3)
    theirs = over_time(x, weight)
    expected = gradients(theirs, x, weight)
    for ours in (LSTMOverTime.apply(x, weight)[0], lstm_over_time(x, weight)):
        torch.testing.assert_close(ours, theirs, **CLOSE)
        torch.testing.assert_close(gradients(ours, x, weight), expected, **CLOSE)


def test_lstm_over_time_passes_the_check_by_differences():
    assert gradcheck(lambda x, w: LSTMOverTime.apply(x, w)[0], (leaf(2, 2, 4, 8), leaf(2, 8, 2)))


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
def test_bidirectional_lstm_is_pytorchs_on_packed_sequences(lengths):
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


def test_each_direction_reads_an_input_of_its_own():
    ours, lengths = BiLSTM(4, 3), torch.tensor([5, 2])
    one, other = leaf(2, 5, 4), leaf(2, 5, 4)
    ahead, back, final = ours(one, other, lengths)
    torch.testing.assert_close(ahead, ours(one, one, lengths)[0], **CLOSE)
    torch.testing.assert_close(back, ours(other, other, lengths)[1], **CLOSE)
    last = torch.stack([ahead[0, 4], ahead[1, 1]])
    torch.testing.assert_close(final, torch.cat([last, back[:, 0]], dim=-1), **CLOSE)


def test_bidirectional_lstm_passes_the_check_by_differences():
    ours, lengths = BiLSTM(2, 2), torch.tensor([3, 1])
    names = [name for name, _ in ours.named_parameters()]

    def run(x, *values):
        parameters = dict(zip(names, values, strict=True))
        ahead, back, final = torch.func.functional_call(ours, parameters, (x, x, lengths))
        return ahead[0], ahead[1, :1], back[0], back[1, :1], final

    assert gradcheck(run, (leaf(2, 3, 2), *ours.parameters()))


def test_padding_has_no_influence_and_no_gradient():
    ours, lengths = BiLSTM(4, 3), torch.tensor([2, 4])
    x = leaf(2, 6, 4)
    _, _, final = ours(x, x, lengths)
    (grad,) = gradients(final, x)
    present = torch.arange(6) < lengths[:, None]
    assert not grad[~present].any()
    assert grad[present].all()


def test_reversal_turns_each_sequence_within_its_length():
    assert reversal(torch.tensor([3, 1, 4]), 4).tolist() == [[2, 1, 0, 3], [0, 1, 2, 3], [3, 2, 1, 0]]


def test_weights_start_uniform_up_to_one_over_the_root_of_the_width():
    for name, value in BiLSTM(30, 100).named_parameters():
        assert 0.095 < value.abs().max() <= 0.1, name
        assert value.std().item() == pytest.approx(0.1 / 3**0.5, rel=0.05)


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


def steering(batch=3, words=5, size=3, lengths=None):
    mask = torch.zeros(batch, words)
    for row, length in enumerate(lengths or ()):
        mask[row, length:] = -torch.inf
    return (
        leaf(batch, words, size),
        leaf(batch, words, 4 * size),
        leaf(batch, size),
        leaf(4 * size, size),
        mask,
    )


@pytest.mark.parametrize("steps", [1, 2, 3, 7])
@pytest.mark.parametrize("lengths", [(5, 5, 5), (5, 2, 1)])
def test_alignment_is_attention_and_an_lstm_cell_step_by_step(steps, lengths):
    *leaves, mask = steering(lengths=lengths)
    ours, theirs = Align.apply(*leaves, mask, steps)[0], aligned(*leaves, mask, steps)
    assert ours.shape == (3, steps, 5)
    torch.testing.assert_close(ours, theirs, **CLOSE)
    weights = torch.linspace(-1, 2, theirs.numel()).view(theirs.shape)
    expected = torch.autograd.grad((theirs * weights).sum(), leaves, materialize_grads=True)
    torch.testing.assert_close(gradients(ours, *leaves), expected, **CLOSE)


@pytest.mark.parametrize("steps", [1, 2, 4])
def test_alignment_passes_the_check_by_differences(steps):
    *leaves, mask = steering(2, 3, 2, lengths=(3, 2))
    assert gradcheck(lambda *each: Align.apply(*each, mask, steps)[0], leaves)


@pytest.mark.parametrize("steps", [1, 2, 3, 7])
def test_alignment_is_its_bare_loop_with_the_words_projected_once(steps):
    h, _, query, _, mask = steering(lengths=(5, 2, 1))
    cell = LSTMCell(3, 3)
    fast = Align.apply(h, cell.project(h), query, cell.weight_hh, mask, steps)[0]
    bare = align(h, query, cell, mask, steps)
    torch.testing.assert_close(fast, bare, **CLOSE)
    leaves = (h, query, *cell.parameters()) if steps > 1 else (h, query)  # one step does not need the cell
    torch.testing.assert_close(gradients(fast, *leaves), gradients(bare, *leaves), **CLOSE)


def test_padding_is_never_attended_to_and_gets_no_gradient():
    *leaves, mask = steering(lengths=(5, 2, 1))
    alpha = Align.apply(*leaves, mask, 4)[0]
    assert not alpha[(mask < 0)[:, None].expand(alpha.shape)].any()
    torch.testing.assert_close(alpha.sum(dim=-1), torch.ones(3, 4), **CLOSE)
    for grad in gradients(alpha, *leaves[:2]):
        assert not grad[mask < 0].any()
        assert torch.isfinite(grad).all()


@pytest.mark.parametrize("steps", [1, 5])
def test_both_can_be_stacked(steps):
    *leaves, mask = steering(lengths=(5, 2, 4))
    stacks = [torch.stack([each.detach(), each.detach().flip(0)]) for each in leaves]

    def loss(*each):
        value = Align.apply(*each, mask, steps)[0]
        return (value * torch.linspace(-1, 2, value.numel()).view(value.shape)).sum()

    stacked = torch.vmap(torch.func.grad(loss, argnums=(0, 1, 2, 3)))(*stacks)
    for place in range(2):
        own = [each[place].clone().requires_grad_() for each in stacks]
        alone = torch.autograd.grad(loss(*own), own)
        torch.testing.assert_close(tuple(each[place] for each in stacked), alone, **CLOSE)
