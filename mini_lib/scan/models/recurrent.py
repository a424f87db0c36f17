"""Recurrent parts of Syntactic Attention, with gradients worked out by hand.

A command has about ten words and its actions are some fifteen steps, at batch size 1: automatic differentiation
would spend its time on bookkeeping, and would make and add up a weight gradient at every step. Here each loop over
time is one operation whose backward pass collects what it needs and multiplies once. Same function, same gradient.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.autograd import Function

from mini_lib.layers import uniform_by_width


def gates(x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The gates i, f, g, o of an LSTM from their inputs, in PyTorch's order on the last axis."""
    i, f, g, o = x.chunk(4, dim=-1)
    return torch.sigmoid(i), torch.sigmoid(f), torch.tanh(g), torch.sigmoid(o)


def step(x: Tensor, c: Tensor) -> tuple[Tensor, Tensor, tuple[Tensor, ...]]:
    """One LSTM step: h' and c' from the gates' inputs and c; also what `step_backward` needs."""
    i, f, g, o = gates(x)
    new = f * c + i * g
    squashed = torch.tanh(new)
    return o * squashed, new, (i, f, g, o, c, squashed)


def step_backward(dh: Tensor, dc: Tensor, kept: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
    """Gradients of the gates' inputs and of c, from those of h' and c'."""
    i, f, g, o, c, squashed = kept
    dc = dc + dh * o * (1 - squashed * squashed)
    inputs = (
        dc * g * i * (1 - i),
        dc * c * f * (1 - f),
        dc * i * (1 - g * g),
        dh * squashed * o * (1 - o),
    )
    return torch.cat(inputs, dim=-1), dc * f


class LSTMOverTime(Function):
    """Hidden states of LSTMs that start at zero: (x [D, B, T, 4H], weight [D, 4H, H]) -> h [D, B, T, H].

    x are the gates' inputs from below, biases included; D LSTMs run side by side (two directions).
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
        """Also returns all gates and cells, [T, 6, D, B, H], for the backward pass."""
        h = torch.zeros_like(x[:, :, 0, : weight.shape[-1]])
        c, hidden, kept = h, [], []
        for t in range(x.shape[2]):
            h, c, parts = step(x[:, :, t] + h @ weight.mT, c)
            hidden.append(h)
            kept.append(torch.stack(parts))
        return torch.stack(hidden, dim=2), torch.stack(kept)

    @staticmethod
    def setup_context(ctx, inputs, output):
        """Keep the weight, the hidden states and the gates."""
        hidden, kept = output
        ctx.save_for_backward(inputs[1], hidden, kept)
        ctx.mark_non_differentiable(kept)

    @staticmethod
    def backward(ctx, dhidden: Tensor, _):
        """Gradients of x and of the weight."""
        weight, hidden, kept = ctx.saved_tensors
        steps = hidden.shape[2]
        dh, dc, dx = 0, torch.zeros_like(hidden[:, :, 0]), []
        for t in reversed(range(steps)):
            d, dc = step_backward(dhidden[:, :, t] + dh, dc, tuple(kept[t]))
            dh = d @ weight
            dx.append(d)
        dx = torch.stack(dx[::-1], dim=2)
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
        uniform_by_width(self, hidden)

    def forward(
        self,
        forwards: Float[Tensor, "B T I"],
        backwards: Float[Tensor, "B T I"],
        lengths: Int[Tensor, "B"],
    ) -> tuple[Float[Tensor, "B T H"], Float[Tensor, "B T H"], Float[Tensor, "B H2"]]:
        """Hidden states of the two directions, at the words they belong to, and both final states side by side.

        Each direction reads an input of its own, commonly the same one. What stands at padding is of no meaning.
        """
        back = reversal(lengths, forwards.shape[1])[..., None]
        both = torch.stack([forwards, backwards.gather(1, back.expand(backwards.shape))])
        bias = (self.bias_ih + self.bias_hh)[:, None]
        inputs = torch.baddbmm(bias, both.flatten(1, 2), self.weight_ih.mT)
        hidden, _ = LSTMOverTime.apply(inputs.unflatten(1, forwards.shape[:2]), self.weight_hh)
        last = (lengths - 1)[None, :, None, None].expand(2, -1, 1, hidden.shape[-1])
        final = torch.cat(list(hidden.gather(2, last).squeeze(2)), dim=-1)
        return hidden[0], hidden[1].gather(1, back.expand(hidden.shape[1:])), final


def reversal(lengths: Int[Tensor, "B"], steps: int) -> Int[Tensor, "B T"]:
    """Where each step's word comes from when every sequence is reversed within its length; padding stays."""
    steps = torch.arange(steps, device=lengths.device)
    turned = lengths[:, None] - 1 - steps
    return torch.where(turned >= 0, turned, steps)


class Align(Function):
    """The steering of the syntax stream: attention weights of every step of the decoder (equations 4 to 6).

    (memory h [B, T, K], its share of the gates [B, T, 4K], first query s_1 [B, K], recurrent weight [4K, K], 0 at
    words and -inf at padding [B, T], steps N) -> weights alpha [B, N, T].

    From a zero state, e_ij = s_i . h_j, alpha_i = softmax e_i, s_{i+1} = LSTM(sum_j alpha_ij h_j). As the attention
    weights sum to 1 and the gates are linear in the context, the memory goes through the gates' weights once.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(memory, projected, query, weight, mask, steps):
        """Also returns the queries [N, B, K] and the gates [N - 1, 6, B, K] for the backward pass."""
        h, c = torch.zeros_like(query), torch.zeros_like(query)
        alphas, queries, kept = [], [], []
        for i in range(steps):
            scores = (memory @ query[..., None]).squeeze(-1)  # Eq. 5
            alpha = torch.softmax(scores + mask, dim=-1)  # Eq. 4
            alphas.append(alpha)
            queries.append(query)
            if i + 1 < steps:
                context = (alpha[:, None] @ projected).squeeze(1)
                h, c, parts = step(context + h @ weight.mT, c)  # Eq. 6
                query = h
                kept.append(torch.stack(parts))
        kept = torch.stack(kept) if kept else query.new_zeros(0)
        return torch.stack(alphas, dim=1), torch.stack(queries), kept

    @staticmethod
    def setup_context(ctx, inputs, output):
        """Keep what the backward pass needs."""
        memory, projected, _, weight, _, _ = inputs
        ctx.save_for_backward(memory, projected, weight, *output)
        ctx.mark_non_differentiable(*output[1:])

    @staticmethod
    def backward(ctx, dalphas, *_):
        """Gradients of the memory, its share of the gates, the first query and the recurrent weight."""
        memory, projected, weight, alphas, queries, kept = ctx.saved_tensors
        steps = alphas.shape[1]
        dscores, dgates = [], []
        dquery = dc = torch.zeros_like(queries[0])
        for i in reversed(range(steps)):
            dalpha = dalphas[:, i]
            if i + 1 < steps:
                d, dc = step_backward(dquery, dc, tuple(kept[i]))
                dgates.append(d)
                dalpha = dalpha + (projected @ d[..., None]).squeeze(-1)
            alpha = alphas[:, i]
            dscore = alpha * (dalpha - (alpha * dalpha).sum(-1, keepdim=True))
            dscores.append(dscore)
            dquery = (dscore[:, None] @ memory).squeeze(1)
            if 0 < i < steps - 1:
                dquery = dquery + d @ weight
        dscores = torch.stack(dscores[::-1], dim=1)
        dmemory = dscores.mT @ queries.movedim(0, 1)
        if steps == 1:
            return dmemory, torch.zeros_like(projected), dquery, torch.zeros_like(weight), None, None
        dgates = torch.stack(dgates[::-1], dim=1)
        dprojected = alphas[:, :-1].mT @ dgates
        states = queries[1:-1].movedim(0, 1)
        dweight = dgates[:, 1:].flatten(0, 1).mT @ states.flatten(0, 1)
        return dmemory, dprojected, dquery, dweight, None, None
