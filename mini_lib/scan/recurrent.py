"""Recurrence over sequences of different lengths, as loops that also run stacked, compiled and in half precision."""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from mini_lib.layers import lstm_step, rnn_uniform_
from mini_lib.scan import attention_fast as fast


class BiLSTM(nn.Module):
    """A bidirectional LSTM over sequences of unequal lengths, as `torch.nn.LSTM(bidirectional=True)` when packed.

    Each parameter holds both directions, forward first; they start uniform up to 1 / sqrt(H), as PyTorch's do.
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
        """Hidden states of both directions at each word, undefined at padding; both final states side by side."""
        place = torch.arange(forwards.shape[1], device=lengths.device)
        turned = lengths[:, None] - 1 - place  # each command reversed; padding stays
        back = torch.where(turned >= 0, turned, place)[..., None]
        both = torch.stack([forwards, backwards.gather(1, back.expand(backwards.shape))])  # [2, B, T, I]
        bias = (self.bias_ih + self.bias_hh)[:, None]
        gates = torch.baddbmm(bias, both.flatten(1, 2), self.weight_ih.mT)  # [2, B T, 4H]
        hidden = self.states(gates.unflatten(1, forwards.shape[:2]))  # [2, B, T, H]
        last = (lengths - 1)[None, :, None, None].expand(2, -1, 1, hidden.shape[-1])
        final = torch.cat(list(hidden.gather(2, last).squeeze(2)), dim=-1)
        return hidden[0], hidden[1].gather(1, back.expand(hidden.shape[1:])), final

    def states(self, gates: Float[Tensor, "2 B T G"]) -> Float[Tensor, "2 B T H"]:
        """Hidden states of both directions, from what the input adds to their gates."""
        if fast.applies(gates, self.weight_hh):
            return fast.Loop.apply(fast.lstm_forward, fast.lstm_backward, gates, self.weight_hh)[0]
        h = c = gates.new_zeros(*gates.shape[:2], self.weight_hh.shape[-1])
        hidden = []
        for x_t in gates.unbind(2):
            h, c = lstm_step(x_t + h @ self.weight_hh.mT, c)
            hidden.append(h)
        return torch.stack(hidden, dim=2)


def both_directions(
    x: Float[Tensor, "B T I"],
    inside: Bool[Tensor, "B T"],
    weight: Float[Tensor, "2 G I"],
    bias: Float[Tensor, "2 1 G"],
    step: Callable[..., tuple[Tensor, ...]],
    state: tuple[Tensor, ...],
) -> tuple[Float[Tensor, "B T H2"], tuple[Tensor, ...]]:
    """Run `step(W x + b, *state)`, which returns the new state, h first, forwards and backwards over the words x.

    Entries of the state are [2, B, H]. Returns h of both directions at each word, and each entry's last value, with
    the directions side by side.
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
