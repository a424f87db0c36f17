"""The Neural Turing Machine baseline (Graves et al. 2014; A.3.5 of the ESBN paper)."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from mini_lib.layers import LSTMCell, initialise, linear, scaled

ROWS = 10  # of the memory matrix
EPSILON = 1e-8  # under the cosine


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

    Args as for every sequence model of this package: see `ESBN`.
    """

    def __init__(self, features: int = 128, classes: int = 4, length: int = 9, width: float = 1.0):
        super().__init__()
        hidden, cell = scaled(512, width), scaled(256, width)
        self.controller = LSTMCell(features + cell, hidden)
        for head in ("read", "write"):
            self.add_module(f"{head}_key", linear(hidden, cell, "xavier_tanh"))
            self.add_module(f"{head}_strength", linear(hidden, 1, "kaiming"))
            self.add_module(f"{head}_gate", linear(hidden, 1, "xavier"))
            self.add_module(f"{head}_shift", linear(hidden, 3, "xavier"))
            self.add_module(f"{head}_sharpen", linear(hidden, 1, "kaiming"))
        self.erase = linear(hidden, cell, "xavier")
        self.add = linear(hidden, cell, "xavier_tanh")
        self.answer = linear(hidden, classes, "xavier")
        self.memory = nn.Parameter(torch.empty(ROWS, cell))
        initialise(self.memory, "xavier")
        # The first step at which the read and the write head have an earlier address of their own.
        self.register_buffer("since", torch.tensor([[2], [1]]), persistent=False)

    def forward(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B C"]:
        """The answer to each problem, as logits."""
        from_image, from_read = self.controller.weight_ih.split([z.shape[2], self.memory.shape[1]], dim=1)
        bias = self.controller.bias_ih + self.controller.bias_hh
        images = F.linear(z, from_image, bias)
        heads = self._joined_heads()
        memory = self.memory.expand(z.shape[0], -1, -1)
        state, weights = self.controller.initial_state(z), None
        gates = images[:, 0]
        for t in range(z.shape[1]):
            state = self.controller.step(gates, state)
            wishes = self._wishes(F.linear(state[0], *heads))
            weights = self._address(memory, wishes, weights, t)
            # The last step has no image, only what was read; step 0 reads nothing.
            gates = images[:, t + 1] if t + 1 < z.shape[1] else bias
            if t > 0:
                gates = gates + F.linear((weights[:, :1] @ memory)[:, 0], from_read)
            memory = _write(memory, weights[:, 1, :, None], wishes["erase"], wishes["add"])
        return self.answer(self.controller.step(gates, state)[0])

    def _joined_heads(self) -> tuple[Tensor, Tensor]:
        layers = [getattr(self, f"{head}_{part}") for part, _ in _PARTS for head in ("read", "write")]
        layers = [*layers, self.erase, self.add]
        return torch.cat([layer.weight for layer in layers]), torch.cat([layer.bias for layer in layers])

    def _wishes(self, joined: Float[Tensor, "B O"]) -> dict[str, Tensor]:
        """Cut the heads' outputs apart, the addressing ones as [B, 2, ...], and apply nonlinearities."""
        cell = self.memory.shape[1]
        sizes = [2 * (size or cell) for _, size in _PARTS]
        *shared, erase, add = joined.split([*sizes, cell, cell], dim=1)
        key, strength, gate, shift, sharpen = (part.unflatten(1, (2, -1)) for part in shared)
        return {
            "key": torch.tanh(key),
            "strength": F.softplus(strength),
            "gate": torch.sigmoid(gate),
            "shift": shift.softmax(dim=-1),
            "sharpen": 1 + F.softplus(sharpen),
            "erase": torch.sigmoid(erase),
            "add": torch.tanh(add),
        }

    def _address(
        self, memory: Float[Tensor, "B N V"], wishes: dict[str, Tensor], last: Tensor | None, t: int
    ) -> Float[Tensor, "B 2 N"]:
        key, rows = _unit(wishes["key"]), _unit(memory)
        weights = (wishes["strength"] * (key @ rows.transpose(1, 2))).softmax(dim=-1)
        if last is not None:
            gate = wishes["gate"].masked_fill(self.since > t, 1.0)
            weights = gate * weights + (1 - gate) * last
        turned = torch.stack([weights.roll(shift, dims=-1) for shift in (-1, 0, 1)], dim=-1)
        weights = (turned * wishes["shift"][:, :, None]).sum(dim=-1) ** wishes["sharpen"]
        return weights / weights.sum(dim=-1, keepdim=True)


# Outputs of either head and their sizes; None is the size of a memory row.
_PARTS = (("key", None), ("strength", 1), ("gate", 1), ("shift", 3), ("sharpen", 1))


def _unit(x: Float[Tensor, "*B V"]) -> Float[Tensor, "*B V"]:
    return x / x.norm(dim=-1, keepdim=True).clamp(min=EPSILON)


def _write(
    memory: Float[Tensor, "B N V"],
    weights: Float[Tensor, "B N 1"],
    erase: Float[Tensor, "B V"],
    add: Float[Tensor, "B V"],
) -> Float[Tensor, "B N V"]:
    return memory * (1 - weights * erase[:, None]) + weights * add[:, None]
