"""The Neural Turing Machine baseline (Graves et al. 2014; A.3.5 of the ESBN paper).

In shapes B are problems, T steps, D features, H hidden units, N rows of memory, V numbers in a row.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from mini_lib.errors import check_positive_int
from mini_lib.layers import LSTMCell, check_sequences, initialize_, linear

ROWS = 10  # N, of the memory matrix
EPSILON = 1e-8  # under the cosine


class _HeadOutputs(NamedTuple):
    """What the controller asks of its heads at one step; the first five [B, 2, ...], read head first."""

    key: Tensor  # k: [B, 2, V]
    strength: Tensor  # b: [B, 2, 1]
    gate: Tensor  # g: [B, 2, 1]
    shift: Tensor  # s: [B, 2, 3]
    sharpening: Tensor  # y: [B, 2, 1]
    erase: Tensor  # e, of the write head: [B, V]
    add: Tensor  # a, of the write head: [B, V]


class NTM(nn.Module):
    """An LSTM with a memory matrix that it reads and writes at places found by content and by shifting.

    Each of the two heads addresses the N rows of memory M by w = softmax(b cos(k, M_n)), then
    g w + (1 - g) w_last, w_n = s_0 w_{n+1} + s_1 w_n + s_2 w_{n-1} (around the ends), w_n^y / sum w^y. A step
    reads r = sum_n w_n M_n, which the controller gets at the next step, then writes
    M_n <- M_n (1 - w_n e) + w_n a. The controller answers after one more step without an image. As in the
    authors' code nothing is read at step 0, and a head's first address has no predecessor to be mixed with;
    the sharpening y is theirs, too.

    Both heads look at the same memory, so they are addressed together, read head first. The heads' layers
    stay separate parameters and are joined into one matrix for the length of a problem.

    >>> from torch.nn import functional as F
    >>> network, z = NTM(features=8, classes=2, hidden=32, row_size=16), torch.randn(5, 9, 8)
    >>> F.cross_entropy(network(z), torch.arange(5) % 2).backward()
    >>> network(z).shape
    torch.Size([5, 2])
    """

    def __init__(self, features: int = 128, classes: int = 4, hidden: int = 512, row_size: int = 256):
        super().__init__()
        check_positive_int(features=features, classes=classes, hidden=hidden, row_size=row_size)
        self.features = features
        self.controller = LSTMCell(features + row_size, hidden)
        self.read_key = linear(hidden, row_size, "xavier_tanh")
        self.read_strength = linear(hidden, 1, "kaiming")
        self.read_gate = linear(hidden, 1, "xavier")
        self.read_shift = linear(hidden, 3, "xavier")
        self.read_sharpen = linear(hidden, 1, "kaiming")
        self.write_key = linear(hidden, row_size, "xavier_tanh")
        self.write_strength = linear(hidden, 1, "kaiming")
        self.write_gate = linear(hidden, 1, "xavier")
        self.write_shift = linear(hidden, 3, "xavier")
        self.write_sharpen = linear(hidden, 1, "kaiming")
        self.erase = linear(hidden, row_size, "xavier")
        self.add = linear(hidden, row_size, "xavier_tanh")
        self.answer = linear(hidden, classes, "xavier")
        self.memory = nn.Parameter(torch.empty(ROWS, row_size))
        initialize_(self.memory, "xavier")
        # The first step at which the read and the write head have an earlier address of their own.
        self.register_buffer("since", torch.tensor([[2], [1]]), persistent=False)

    def forward(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B C"]:
        """The answer to each problem, as logits."""
        check_sequences(z, None, self)
        steps, (rows, row_size) = z.shape[1], self.memory.shape
        from_image, from_read = self.controller.weight_ih.split([z.shape[2], row_size], dim=1)
        bias = self.controller.bias_ih + self.controller.bias_hh
        images = F.linear(z, from_image, bias)  # the images' share of the LSTM's gates: [B, T, 4H]
        layers = self._joined_layers()
        memory = self.memory.expand(z.shape[0], rows, row_size)  # M: [B, N, V]
        state, address = self.controller.initial_state(z), None
        gates = images[:, 0]
        for t in range(steps):
            state = self.controller.step(gates, state)  # h and the LSTM's cell: [B, H] each
            heads = self._head_outputs(F.linear(state[0], *layers))
            address = self._address(memory, heads, address, t)  # w: [B, 2, N]
            gates = images[:, t + 1] if t + 1 < steps else bias  # the extra step has no image
            if t > 0:  # step 0 reads nothing
                read = (address[:, :1] @ memory)[:, 0]  # r: [B, V]
                gates = gates + F.linear(read, from_read)
            written = address[:, 1, :, None]  # [B, N, 1]
            memory = memory * (1 - written * heads.erase[:, None]) + written * heads.add[:, None]
        return self.answer(self.controller.step(gates, state)[0])

    def _joined_layers(self) -> tuple[Tensor, Tensor]:
        """Weight and bias of all the heads' layers as one, in the order of `_HeadOutputs`, read head first."""
        layers = (
            *(self.read_key, self.write_key),
            *(self.read_strength, self.write_strength),
            *(self.read_gate, self.write_gate),
            *(self.read_shift, self.write_shift),
            *(self.read_sharpen, self.write_sharpen),
            *(self.erase, self.add),
        )
        return torch.cat([layer.weight for layer in layers]), torch.cat([layer.bias for layer in layers])

    def _head_outputs(self, joined: Float[Tensor, "B O"]) -> _HeadOutputs:
        """Cut the joined layers' output apart, and apply nonlinearities."""
        row_size = self.memory.shape[1]
        *both, erase, add = joined.split([2 * row_size, 2, 2, 6, 2, row_size, row_size], dim=1)
        key, strength, gate, shift, sharpening = (part.unflatten(1, (2, -1)) for part in both)
        return _HeadOutputs(
            key=torch.tanh(key),
            strength=F.softplus(strength),
            gate=torch.sigmoid(gate),
            shift=shift.softmax(dim=-1),
            sharpening=1 + F.softplus(sharpening),
            erase=torch.sigmoid(erase),
            add=torch.tanh(add),
        )

    def _address(
        self, memory: Float[Tensor, "B N V"], heads: _HeadOutputs, last: Tensor | None, t: int
    ) -> Float[Tensor, "B 2 N"]:
        """Where both heads look at step t: by content, mixed with the last address, shifted, sharpened."""
        key, rows = (F.normalize(each, dim=-1, eps=EPSILON) for each in (heads.key, memory))
        cosine = key @ rows.transpose(1, 2)
        w = (heads.strength * cosine).softmax(dim=-1)
        if last is not None:
            gate = heads.gate.masked_fill(self.since > t, 1.0)
            w = gate * w + (1 - gate) * last
        turned = torch.stack([w.roll(shift, dims=-1) for shift in (-1, 0, 1)], dim=-1)  # [B, 2, N, 3]
        w = (turned * heads.shift[:, :, None]).sum(dim=-1) ** heads.sharpening
        return w / w.sum(dim=-1, keepdim=True)
