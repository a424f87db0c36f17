"""Which token may look at which, and how far: causal masks and the learned attention window."""

import math
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from mini_lib.errors import UsageError

MASKS = ("causal", "strict", "none")
GATES = ("renormalised", "post")
PLATEAU = 2.0  # a of a new window; b follows from its length
LENGTH = 10.0  # a b of a new window


class Tokens(NamedTuple):
    """Where T tokens stand; relational ones have two places, i and j, others one."""

    places: Float[Tensor, "T A"]  #: x on every axis, from 1.
    query: Bool[Tensor, "T"]  #: whether a token asks for a value rather than carrying one.

    def cat(self, *others: "Tokens") -> "Tokens":
        """These tokens, and then the others."""
        return Tokens(*(torch.cat(parts) for parts in zip(self, *others, strict=True)))

    def to(self, device: torch.device | str) -> "Tokens":
        """The same on a device."""
        return Tokens(*(part.to(device) for part in self))


class Gate(NamedTuple):
    """How attention of S tokens to T tokens is masked and gated, for 1 or all layers and 1 or all heads."""

    attn_bias: Float[Tensor, "L H S T"]  #: is added to the scores before the softmax.
    #: multiplies the weights after it, one for each key or one for all keys; None where nothing does.
    attn_scale: Float[Tensor, "L H S #T"] | None

    def of_layer(self, layer: int) -> "Gate":
        """Both parts of one layer, each [1, 1 or H, S, T]."""
        return Gate(*(part if part is None or len(part) == 1 else part[layer : layer + 1] for part in self))

    def last(self, rows: int) -> "Gate":
        """Both parts for the last so many of the S tokens."""
        return Gate(*(part if part is None else part[:, :, -rows:] for part in self))


class Mask(NamedTuple):
    """All that gates attention of S tokens to T tokens, but for what is learned."""

    #: 0 where a token may look, -inf where not; 0 everywhere for one that sees nothing.
    attn_bias: Float[Tensor, "S T"]
    #: 0 for a token that sees nothing, else 1; None where every token sees something.
    attn_scale: Float[Tensor, "S 1"] | None
    distances: Float[Tensor, "A S T"]  #: |x - x'| on every axis.

    def gate(self, window: "Window | None", gate: str = "renormalised") -> Gate:
        """With the window's factor, one factor for each axis; see `make_gate`."""
        attn_bias, attn_scale = (part if part is None else part[None, None] for part in self[:2])
        if window is None:
            return Gate(attn_bias, attn_scale)
        log_factor = sum(window.log_factor(distance) for distance in self.distances)  # [L, H, S, T]
        if gate == "renormalised":  # g e^s / sum g e^s is the softmax of s + log g
            return Gate(attn_bias + log_factor, attn_scale)
        factor = log_factor.exp()
        return Gate(attn_bias, factor if attn_scale is None else factor * attn_scale)


def visible(rows: Tokens, keys: Tokens, mask: str = "causal") -> Bool[Tensor, "S T"]:
    """Whether each row may look at each key ("Incorporating Adaptive Attention Window").

    On every axis a row sees what stands at its own place or before; with "strict" only before, as the indicator
    1[x_i > x_j] is printed. A query is seen by the queries of its own column alone, so that several can be asked at
    once, and never sees what was observed at the place it asks for. With "none" everything is seen.
    """
    if mask == "none":
        return torch.ones(len(rows.query), len(keys.query), dtype=torch.bool, device=rows.query.device)
    x, x_key = rows.places[:, None], keys.places[None]  # [S, 1, A], [1, T, A]
    before = ((x_key < x) if mask == "strict" else (x_key <= x)).all(dim=-1)  # [S, T]
    column, key_column = x[..., -1], x_key[..., -1]
    input_seen = ~keys.query & (~rows.query[:, None] | (key_column < column))
    query_seen = keys.query & rows.query[:, None] & (key_column == column)
    return before & (input_seen | query_seen)


def make_mask(rows: Tokens, keys: Tokens, mask: str = "causal") -> Mask:
    """What rows may look at, and how far away it stands."""
    seen = visible(rows, keys, mask)
    distances = (rows.places[:, None] - keys.places[None]).abs().permute(2, 0, 1)
    attn_bias = torch.zeros(seen.shape, device=seen.device).masked_fill(~seen, -math.inf)
    if mask != "strict":
        return Mask(attn_bias, None, distances)
    blind = ~seen.any(dim=-1, keepdim=True)
    return Mask(attn_bias.masked_fill(blind, 0.0), (~blind).float(), distances)


def make_gate(
    rows: Tokens, keys: Tokens, window: "Window | None", mask: str = "causal", gate: str = "renormalised"
) -> Gate:
    """The mask and the window's factor, one factor for each axis, as attention needs them.

    "renormalised" multiplies the weights by the factors before they are divided by their sum; "post" afterwards,
    so that they sum to less than 1. A row that sees nothing at all gets nothing from attention.
    """
    return make_mask(rows, keys, mask).gate(window, gate)


class Window(nn.Module):
    """How much attention is left at distance d: F(d) = (1 - sigma(d / b - a)) / (1 - sigma(-a)).

    F(0) = 1, and F falls to about a half at d = a b, the window's length; beyond that log F falls with slope 1 / b.
    a and b are positive, as exp of what is learned.

    Args:
        length: a b at the start; a starts at 2.
        rate: how much faster than the network's other parameters log a and log b learn. Adam moves a parameter by
            about its learning rate an update, so that at rate 1 a window cannot grow or shrink far in a training.
        layers: windows of their own for so many layers; 1 for one that all share.
        heads: windows of their own for so many heads; 1 for one that all share.

    >>> distance = torch.tensor([[0.0, 5.0, 10.0, 20.0]])
    >>> [round(factor, 2) for factor in Window(length=10.0).log_factor(distance).exp().flatten().tolist()]
    [1.0, 0.83, 0.57, 0.14]
    """

    def __init__(self, length: float = LENGTH, rate: float = 1.0, layers: int = 1, heads: int = 1):
        super().__init__()
        for name, value in (("length", length), ("rate", rate)):
            if not 0 < value < math.inf:
                raise UsageError(f"a window's {name} has to be above 0, got {value!r}")
        self.rate = rate
        start = math.log(PLATEAU), math.log(length / PLATEAU)
        self.log_a, self.log_b = (nn.Parameter(torch.full((layers, heads), s / rate)) for s in start)

    @property
    def a(self) -> Float[Tensor, "L H"]:
        """How wide the plateau is, in units of b."""
        return (self.rate * self.log_a).exp()

    @property
    def b(self) -> Float[Tensor, "L H"]:
        """How gently F falls, in steps of x."""
        return (self.rate * self.log_b).exp()

    @property
    def length(self) -> Float[Tensor, "L H"]:
        """Its length a b, in steps of x."""
        return self.a * self.b

    def log_factor(self, distance: Float[Tensor, "S T"]) -> Float[Tensor, "L H S T"]:
        """The logarithm of F: log F(d) = softplus(-a) - softplus(d / b - a), which stays finite where F vanishes."""
        a, b = self.a[..., None, None], self.b[..., None, None]
        return F.softplus(-a) - F.softplus(distance / b - a)
