"""Which token may look at which, and how far: causal masks and the learned attention window."""

import math
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from mini_lib.errors import UsageError, unknown_name_error

MASKS = ("causal", "strict", "none")
GATES = ("renormalised", "post")
PLATEAU = 2.0  # a of a new window; b follows from its length


class Tokens(NamedTuple):
    """Where T tokens stand; relational ones have two places, i and j, others one.

    Attributes:
        places: x on every axis, from 1. [T, A]
        query: whether a token asks for a value rather than telling one. [T]
    """

    places: Float[Tensor, "T A"]
    query: Bool[Tensor, "T"]

    def joined(self, *others: "Tokens") -> "Tokens":
        """These tokens, and then the others."""
        return Tokens(*(torch.cat(parts) for parts in zip(self, *others, strict=True)))

    def to(self, device: torch.device) -> "Tokens":
        """The same on a device."""
        return Tokens(*(part.to(device) for part in self))


class Gate(NamedTuple):
    """What attention does with its scores, for S tokens that look at T tokens.

    Attributes:
        before: is added to the scores before the softmax. [1 or layers, 1 or H, S, T]
        after: multiplies the weights after it; None where nothing does. [1 or layers, 1 or H, S, T]
    """

    before: Float[Tensor, "L H S T"]
    after: Float[Tensor, "L H S T"] | None

    def of_layer(self, layer: int) -> tuple[Tensor, Tensor | None]:
        """Both tensors of one layer, each [1 or H, S, T]."""
        return tuple(None if part is None else part[min(layer, len(part) - 1)] for part in self)


def visible(rows: Tokens, keys: Tokens, mask: str = "causal") -> Bool[Tensor, "S T"]:
    """Whether each row may look at each key ("Incorporating Adaptive Attention Window").

    On every axis a row sees what stands at its own place or before; with "strict" only before, as the indicator
    1[x_i > x_j] is printed. A query is seen by the queries of its own column alone, so that several can be asked at
    once, and never sees what was observed at the place it asks for. With "none" everything is seen.
    """
    if mask == "none":
        return torch.ones(len(rows.query), len(keys.query), dtype=torch.bool, device=rows.query.device)
    ours, theirs = rows.places[:, None], keys.places[None]
    before = ((theirs < ours) if mask == "strict" else (theirs <= ours)).all(dim=-1)
    column, their_column = ours[..., -1], theirs[..., -1]
    told = ~keys.query & (~rows.query[:, None] | (their_column < column))
    asked = keys.query & rows.query[:, None] & (their_column == column)
    return before & (told | asked)


class Window(nn.Module):
    """How much a token minds another at distance d: F(d) = (1 - sigma(d / b - a)) / (1 - sigma(-a)).

    F(0) = 1, and F falls to about a half at d = a b, the window's length; beyond that log F falls with slope 1 / b.
    a and b are positive, as exp of what is learned.

    Args:
        length: a b at the start; a starts at 2.
        rate: how much faster than the network's other parameters log a and log b learn. Adam moves a parameter by
            about its learning rate an update, so that at rate 1 a window cannot grow or shrink far in a training.
        layers: windows of their own for so many layers; 1 for one that all share.
        heads: windows of their own for so many heads; 1 for one that all share.

    Raises:
        UsageError: for a length or a rate that is not above 0.
    """

    def __init__(self, length: float = 10.0, rate: float = 1.0, layers: int = 1, heads: int = 1):
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


def make_gate(
    rows: Tokens, keys: Tokens, window: Window | None, mask: str = "causal", gate: str = "renormalised"
) -> Gate:
    """The mask and the window's factor, one factor for each axis, as attention needs them.

    "renormalised" multiplies the weights by the factors before they are divided by their sum; "post" afterwards,
    so that they sum to less than 1. A row that sees nothing at all gets nothing from attention.
    """
    seen = visible(rows, keys, mask)
    before = torch.zeros(seen.shape, device=seen.device).masked_fill(~seen, -math.inf)
    blind = ~seen.any(dim=-1, keepdim=True)
    after = None
    if mask == "strict":
        before, after = before.masked_fill(blind, 0.0), (~blind).float().expand(seen.shape)[None, None]
    before = before[None, None]
    if window is None:
        return Gate(before, after)
    distances = (rows.places[:, None] - keys.places[None]).abs().unbind(dim=-1)
    logs = sum(window.log_factor(distance) for distance in distances)
    if gate == "renormalised":
        return Gate(before + logs, after)
    return Gate(before, logs.exp() if after is None else logs.exp() * after)


def check_gating(mask: str, gate: str) -> None:
    """UsageError unless both are known names."""
    for kind, name, known in (("mask", mask, MASKS), ("gate", gate, GATES)):
        if name not in known:
            raise unknown_name_error(kind, name, known)
