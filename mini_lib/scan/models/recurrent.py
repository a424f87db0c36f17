"""Recurrent parts that networks share: each loop over time bare, and beside it a fast form with the same gradients.

`align` and `lstm_over_time` read like the equations; `Align` and `LSTMOverTime` are what networks run. A command has
about ten words and its actions are some fifteen steps, at batch size 1: there automatic differentiation would spend
its time on bookkeeping, and would make and add up a weight gradient at every step. So in the fast forms a whole loop
is one operation, whose backward pass collects what it needs and multiplies once.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from mini_lib.layers import LSTMCell, lstm_step, rnn_uniform_


def align(
    h: Float[Tensor, "B T K"],
    query: Float[Tensor, "B K"],
    cell: LSTMCell,
    mask: Float[Tensor, "B T"],
    steps: int,
) -> Float[Tensor, "B N T"]:
    """How much each step looks at each word: equations 4 to 6 as they stand in the paper.

    The query is s_1, the cell is g of equation 6, whose state starts at zero; the mask is 0 at words and -inf at
    padding.
    """
    s, state, alphas = query, cell.initial_state(query), []
    for _ in range(steps):
        e = (h @ s[..., None]).squeeze(-1) + mask  # e_ij [B, T]  # Eq. 5
        alpha = e.softmax(dim=-1)  # alpha_ij [B, T]  # Eq. 4
        context = (alpha[:, None] @ h).squeeze(1)  # c_i [B, K]
        s, _ = state = cell(context, state)  # s_{i+1} [B, K]  # Eq. 6
        alphas.append(alpha)
    return torch.stack(alphas, dim=1)


def lstm_over_time(x: Float[Tensor, "D B T G"], weight: Float[Tensor, "D G H"]) -> Float[Tensor, "D B T H"]:
    """Hidden states of D LSTMs side by side that start at zero; x are the gates' inputs from below, with biases."""
    h = c = x.new_zeros(*x.shape[:2], weight.shape[-1])
    hidden = []
    for x_t in x.unbind(2):
        h, c = lstm_step(x_t + h @ weight.mT, c)
        hidden.append(h)
    return torch.stack(hidden, dim=2)


# ------------------------------------------------------------------------------------------------ the fast forms


class LSTMSteps(NamedTuple):
    """What the steps of an LSTM leave for the backward pass, over a first axis of T steps."""

    #: of all gates' inputs, in PyTorch's order i, f, g, o on the last axis; that of g is not used.
    sigmoid: Tensor
    g: Tensor  #: tanh of its input.
    c: Tensor  #: the new cells.
    tanh_c: Tensor  #: tanh of the new cells.


def step_forward(x: Tensor, c: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
    """One LSTM step from the gates' inputs and the cells: h', and the four entries of `LSTMSteps`."""
    sigmoid, g = torch.sigmoid(x), torch.tanh(x.chunk(4, dim=-1)[2])
    i, f, _, o = sigmoid.chunk(4, dim=-1)
    new = torch.addcmul(f * c, i, g)
    tanh_c = torch.tanh(new)
    return o * tanh_c, (sigmoid, g, new, tanh_c)


def local_gradients(steps: LSTMSteps) -> tuple[Tensor, Tensor, Tensor]:
    """Local derivatives of all steps at once, before backpropagation through time: dh'/dc', dc'/dc, and those of
    c', c', c' and h' by the inputs of i, f, g and o, on an axis of 4 before the last.
    """
    sigmoid, g, c, tanh_c = steps
    i, f, _, o = sigmoid.chunk(4, dim=-1)
    before = torch.cat([torch.zeros_like(c[:1]), c[:-1]])
    inputs = (g * i * (1 - i), before * f * (1 - f), i * (1 - g * g), tanh_c * o * (1 - o))
    return o * (1 - tanh_c * tanh_c), f, torch.stack(inputs, dim=-2)


def step_backward(
    dh: Tensor, dc: Tensor, by_c: Tensor, by_before: Tensor, by_inputs: Tensor
) -> tuple[Tensor, Tensor]:
    """Gradients of the gates' inputs and of c, from those of h' and c' and the local gradients of the step."""
    dc = torch.addcmul(dc, dh, by_c)
    return (torch.stack((dc, dc, dc, dh), dim=-2) * by_inputs).flatten(-2), dc * by_before


class LSTMOverTime(Function):
    """`lstm_over_time`, made fast: (x [D, B, T, 4H], weight [D, 4H, H]) -> h [D, B, T, H]."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, weight: Tensor) -> tuple[Tensor, ...]:
        """Also returns the entries of `LSTMSteps`, each [T, D, B, ...], for the backward pass."""
        h = torch.zeros_like(x[:, :, 0, : weight.shape[-1]])
        c, hidden, kept = h, [], []
        for now in x.unbind(2):
            h, parts = step_forward(torch.baddbmm(now, h, weight.mT), c)
            c = parts[2]
            hidden.append(h)
            kept.append(parts)
        return torch.stack(hidden, dim=2), *map(torch.stack, zip(*kept, strict=True))

    @staticmethod
    def setup_context(ctx, inputs, output):
        """Keep the weight, the hidden states and the gates."""
        ctx.save_for_backward(inputs[1], *output)
        ctx.mark_non_differentiable(*output[1:])

    @staticmethod
    @once_differentiable
    def backward(ctx, dhidden: Tensor, *_):
        """Gradients of x and of the weight."""
        weight, hidden, *kept = ctx.saved_tensors
        dc, back = torch.zeros_like(hidden[:, :, 0]), []
        parts = zip(
            dhidden.unbind(2), *(each.unbind() for each in local_gradients(LSTMSteps(*kept))), strict=True
        )
        for dh, *local in reversed(list(parts)):
            dh = torch.baddbmm(dh, back[-1], weight) if back else dh
            d, dc = step_backward(dh, dc, *local)
            back.append(d)
        dx = torch.stack(back[::-1], dim=2)
        return dx, dx[:, :, 1:].flatten(1, 2).mT @ hidden[:, :, :-1].flatten(1, 2)


class BiLSTM(nn.Module):
    """A bidirectional LSTM over sequences of unequal lengths, as `torch.nn.LSTM(bidirectional=True)` when packed.

    The parameters of both directions lie in one tensor each, forward first; initial weights are uniform up to
    1 / sqrt(H), PyTorch's own.
    """

    def __init__(self, inputs: int, hidden: int):
        super().__init__()
        self.weight_ih = nn.Parameter(torch.empty(2, 4 * hidden, inputs))
        self.weight_hh = nn.Parameter(torch.empty(2, 4 * hidden, hidden))
        self.bias_ih = nn.Parameter(torch.empty(2, 4 * hidden))
        self.bias_hh = nn.Parameter(torch.empty(2, 4 * hidden))
        rnn_uniform_(self, hidden)

    def forward(
        self, forwards: Float[Tensor, "B T I"], backwards: Float[Tensor, "B T I"], lengths: Int[Tensor, "B"]
    ) -> tuple[Float[Tensor, "B T H"], Float[Tensor, "B T H"], Float[Tensor, "B H2"]]:
        """Hidden states of the two directions, at the words they belong to, and both final states side by side.

        Each direction reads an input of its own, commonly the same one. What stands at padding is of no meaning.
        """
        back = reversal(lengths, forwards.shape[1])[..., None]
        both = torch.stack([forwards, backwards.gather(1, back.expand(backwards.shape))])
        bias = (self.bias_ih + self.bias_hh)[:, None]
        inputs = torch.baddbmm(bias, both.flatten(1, 2), self.weight_ih.mT)
        hidden, *_ = LSTMOverTime.apply(inputs.unflatten(1, forwards.shape[:2]), self.weight_hh)
        last = (lengths - 1)[None, :, None, None].expand(2, -1, 1, hidden.shape[-1])
        final = torch.cat(list(hidden.gather(2, last).squeeze(2)), dim=-1)
        return hidden[0], hidden[1].gather(1, back.expand(hidden.shape[1:])), final


def both_directions(
    x: Float[Tensor, "B T I"],
    inside: Bool[Tensor, "B T"],
    weight: Float[Tensor, "2 G I"],
    bias: Float[Tensor, "2 1 G"],
    step: Callable[..., tuple[Tensor, ...]],
    state: tuple[Tensor, ...],
) -> tuple[Float[Tensor, "B T H2"], tuple[Tensor, ...]]:
    """Run cells forwards and backwards over the words x of whole batches, for large ones.

    `step(W x + b, *state)` gives the new state, whose first entry is h; entries of the first state are [2, B, H].
    Padding, which is not `inside`, leaves a state as it is. Returns both directions' h at each word side by side,
    and so each entry of the last state, [B, 2H].
    """
    both = torch.stack([x, x.flip(1)]).flatten(1, 2)
    projected = (both @ weight.mT + bias).unflatten(1, x.shape[:2])
    inside, hidden = torch.stack([inside, inside.flip(1)])[..., None], []
    for place in range(x.shape[1]):
        new, here = step(projected[:, :, place], *state), inside[:, :, place]
        state = tuple(torch.where(here, after, before) for after, before in zip(new, state, strict=True))
        hidden.append(state[0])
    forwards, backwards = torch.stack(hidden, dim=2)
    memory = torch.cat([forwards, backwards.flip(1)], dim=-1)
    return memory, tuple(torch.cat([entry[0], entry[1]], dim=-1) for entry in state)


def reversal(lengths: Int[Tensor, "B"], steps: int) -> Int[Tensor, "B T"]:
    """Where each step's word comes from when every sequence is reversed within its length; padding stays."""
    steps = torch.arange(steps, device=lengths.device)
    turned = lengths[:, None] - 1 - steps
    return torch.where(turned >= 0, turned, steps)


class Align(Function):
    """`align`, made fast: the steering of the syntax stream.

    (h [B, T, K], W_ih h + b [B, T, 4K], s_1 [B, K], W_hh [4K, K], mask [B, T], steps N) -> weights alpha [B, N, T].

    As attention weights sum to 1 and the gates are linear in the context, h goes through the gates' weights once.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(memory, projected, query, weight, mask, steps):
        """Also returns the queries [N, B, K] and the entries of `LSTMSteps`, each [N - 1, B, ...]."""
        h, c, mask = torch.zeros_like(query), torch.zeros_like(query), mask[..., None].to(memory.dtype)
        alphas, queries, kept = [], [query], []
        for i in range(steps):
            scores = torch.baddbmm(mask, memory, queries[-1][..., None])
            alphas.append(torch.softmax(scores, dim=1))
            if i + 1 < steps:
                context = (alphas[-1].mT @ projected).squeeze(1)
                h, parts = step_forward(torch.addmm(context, h, weight.mT), c)
                c = parts[2]
                queries.append(h)
                kept.append(parts)
        entries = zip(*kept, strict=True) if kept else [[query[:0]]] * 4
        return torch.cat(alphas, dim=-1).mT.contiguous(), torch.stack(queries), *map(torch.stack, entries)

    @staticmethod
    def setup_context(ctx, inputs, output):
        """Keep what the backward pass needs."""
        memory, projected, _, weight, _, _ = inputs
        ctx.save_for_backward(memory, projected, weight, *output)
        ctx.mark_non_differentiable(*output[1:])

    @staticmethod
    @once_differentiable
    def backward(ctx, dalphas, *_):
        """Gradients of the memory, its share of the gates, the first query and the recurrent weight."""
        memory, projected, weight, alphas, queries, *kept = ctx.saved_tensors
        alphas, dalphas = alphas.mT, dalphas.mT
        last = alphas.shape[-1] - 1
        local = (
            list(zip(*(each.unbind() for each in local_gradients(LSTMSteps(*kept))), strict=True))
            if last
            else []
        )
        dscores, dgates, d = [], [], None
        dquery = dc = torch.zeros_like(queries[0])
        for i in reversed(range(last + 1)):
            alpha, dalpha = alphas[..., i, None], dalphas[..., i, None]
            if i < last:
                d, dc = step_backward(dquery, dc, *local[i])
                dgates.append(d)
                dalpha = torch.baddbmm(dalpha, projected, d[..., None])
            share = alpha * dalpha
            dscores.append(share - alpha * share.sum(1, keepdim=True))
            dquery = (dscores[-1].mT @ memory).squeeze(1)
            if 0 < i < last:
                dquery = torch.addmm(dquery, d, weight)
        dmemory = torch.cat(dscores[::-1], dim=-1) @ queries.movedim(0, 1)
        if not last:
            return dmemory, torch.zeros_like(projected), dquery, torch.zeros_like(weight), None, None
        dgates = torch.stack(dgates[::-1], dim=1)
        dprojected = alphas[..., :-1] @ dgates
        states = queries[1:-1].movedim(0, 1)
        dweight = dgates[:, 1:].flatten(0, 1).mT @ states.flatten(0, 1)
        return dmemory, dprojected, dquery, dweight, None, None
