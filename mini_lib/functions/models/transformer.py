"""A decoder-only transformer that is told what each token may look at (Radford et al. 2019; Garg et al. 2022)."""

import math
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from mini_lib.errors import UsageError, unknown_name_error
from mini_lib.functions.models.window import Gate

NORMS = ("pre", "post")
ACTIVATIONS = {"gelu": lambda x: F.gelu(x, approximate="tanh"), "relu": F.relu}
SD = 0.02  # of initial weights, as in GPT-2

KeysValues = tuple[Float[Tensor, "B H _ E"], Float[Tensor, "B H _ E"]]  # of T tokens


class Trace(NamedTuple):
    """What a pass through all blocks leaves behind.

    Attributes:
        out: the transformed tokens. [B, S, D]
        memory: keys and values of all tokens so far, a pair for each layer; empty unless they are to be kept.
        weights: attention of each layer, each [B, H, S, T]; empty unless they are asked for.
    """

    out: Float[Tensor, "B S D"]
    memory: list[KeysValues]
    weights: list[Float[Tensor, "B H _ T"]]


class Block(nn.Module):
    """Attention and a two-layer perceptron, each added to what comes in.

    Args:
        dim: D.
        heads: H, each with D / H features.
        hidden: units of the perceptron.
        norm: layer normalisation "pre" (before each part) or "post" (after each sum).
        activation: "gelu" (its tanh form) or "relu".
    """

    def __init__(self, dim: int, heads: int, hidden: int, norm: str, activation: str):
        super().__init__()
        self.heads, self.norm, self.activation = heads, norm, activation
        self.norm_attention, self.norm_perceptron = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.queries_keys_values = nn.Linear(dim, 3 * dim)
        self.mix = nn.Linear(dim, dim)
        self.up, self.down = nn.Linear(dim, hidden), nn.Linear(hidden, dim)

    def forward(
        self,
        x: Float[Tensor, "B S D"],
        gate: tuple[Tensor, Tensor | None],
        past: KeysValues | None = None,
        last: int | None = None,
    ) -> tuple[Float[Tensor, "B R D"], KeysValues, Float[Tensor, "B H R T"]]:
        """The tokens after this block, keys and values of all tokens, and the attention weights.

        Args:
            x: the tokens.
            gate: of this layer, for these tokens (or the last of them) and all keys.
            past: keys and values of tokens that came before.
            last: how many tokens, from the end, are wanted; all without it.
        """
        rest = x if last is None else x[:, -last:]
        q, k, v = self._project(self.norm_attention(x) if self.norm == "pre" else x)
        if past is not None:
            k, v = torch.cat([past[0], k], dim=2), torch.cat([past[1], v], dim=2)
        read, weights = attend(q[:, :, -rest.shape[1] :], k, v, *gate)
        rest = rest + self.mix(read.transpose(1, 2).flatten(2))
        if self.norm == "post":
            rest = self.norm_attention(rest)
            return self.norm_perceptron(rest + self._perceptron(rest)), (k, v), weights
        return rest + self._perceptron(self.norm_perceptron(rest)), (k, v), weights

    def _project(self, x: Tensor) -> tuple[Tensor, ...]:
        """Queries, keys and values, each [B, H, S, E]."""
        parts = self.queries_keys_values(x).chunk(3, dim=-1)
        return tuple(part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts)

    def _perceptron(self, x: Tensor) -> Tensor:
        return self.down(ACTIVATIONS[self.activation](self.up(x)))


def attend(
    q: Float[Tensor, "B H S E"],
    k: Float[Tensor, "B H T E"],
    v: Float[Tensor, "B H T E"],
    before: Float[Tensor, "_ S T"],
    after: Float[Tensor, "_ S T"] | None = None,
) -> tuple[Float[Tensor, "B H S E"], Float[Tensor, "B H S T"]]:
    """softmax(q k^T / sqrt(E) + before) v, the weights multiplied by `after` where it is given; and the weights.

    A weight g e^s / sum g e^s, gated by g, is the softmax of s + log g.
    """
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    weights = torch.softmax(scores + before, dim=-1)
    weights = weights if after is None else weights * after
    return weights @ v, weights


class Transformer(nn.Module):
    """Blocks one after the other; which token sees which is said from outside, and there is no code of positions.

    Weights start as in GPT-2: normal with standard deviation 0.02, those that write into the residual stream smaller
    by sqrt(2 layers), biases zero.

    Args:
        dim: D.
        layers: blocks.
        heads: H.
        hidden: units of each perceptron; 4 D without it.
        norm: see `Block`.
        activation: see `Block`.

    Raises:
        UsageError: if H does not divide D, a size is no whole number from 1, or a name is unknown.
    """

    def __init__(
        self,
        dim: int = 256,
        layers: int = 12,
        heads: int = 8,
        hidden: int | None = None,
        norm: str = "pre",
        activation: str = "gelu",
    ):
        super().__init__()
        hidden = 4 * dim if hidden is None else hidden
        for name, size in (("dim", dim), ("layers", layers), ("heads", heads), ("hidden", hidden)):
            if not isinstance(size, int) or size < 1:
                raise UsageError(f"{name} has to be a whole number from 1, got {size!r}")
        if dim % heads:
            raise UsageError(f"heads has to divide dim; {heads} heads do not divide {dim} features")
        for kind, name, known in (("norm", norm, NORMS), ("activation", activation, ACTIVATIONS)):
            if name not in known:
                raise unknown_name_error(kind, name, known)
        self.blocks = nn.ModuleList(Block(dim, heads, hidden, norm, activation) for _ in range(layers))
        self.final_norm = nn.LayerNorm(dim) if norm == "pre" else nn.Identity()
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """GPT-2's initial weights."""
        for block in self.blocks:
            for layer in (block.queries_keys_values, block.mix, block.up, block.down):
                writes = layer in (block.mix, block.down)
                nn.init.normal_(layer.weight, std=SD / math.sqrt(2 * len(self.blocks)) if writes else SD)
                nn.init.zeros_(layer.bias)

    def forward(
        self,
        x: Float[Tensor, "B S D"],
        gate: Gate,
        past: list[KeysValues] | None = None,
        last: int | None = None,
        keep: bool = True,
        trace: bool = False,
    ) -> Trace:
        """Pass tokens through all blocks.

        Args:
            x: the embedded tokens.
            gate: for these tokens and all keys, those of `past` first.
            past: keys and values of earlier tokens, a pair a layer.
            last: how many tokens, from the end, are wanted; the last block works out no others.
            keep: keep keys and values.
            trace: keep the attention weights.
        """
        memory, attention = [], []
        for number, block in enumerate(self.blocks):
            before, after = gate.of_layer(number)
            wanted = last if number == len(self.blocks) - 1 else None
            if wanted is not None:
                before, after = (part if part is None else part[:, -wanted:] for part in (before, after))
            x, now, weights = block(x, (before, after), None if past is None else past[number], wanted)
            if keep:
                memory.append(now)
            if trace:
                attention.append(weights)
        return Trace(self.final_norm(x), memory, attention)
