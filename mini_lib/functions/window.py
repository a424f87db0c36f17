"""Which token attends to which, and how far: causal masks and the learned attention window."""

import math
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from mini_lib.errors import check_positive

MASKS = ("causal", "strict", "none")
GATES = ("renormalized", "post")
LENGTH = 10.0  # a b of a new window


class Tokens(NamedTuple):
    """The places of T tokens; a relational token has two, i and j, any other one."""

    places: Float[Tensor, "T A"]  #: x on every axis, from 1.
    query: Bool[Tensor, "T"]  #: True for a token that asks for a value, False for one that carries a value.

    @classmethod
    def at(cls, places: Float[Tensor, "T A"], query: bool) -> "Tokens":
        """Make tokens at these places, all of them queries or none."""
        return cls(places, torch.full((len(places),), query, device=places.device))

    def cat(self, *others: "Tokens") -> "Tokens":
        """Concatenate these tokens and others."""
        return Tokens(*(torch.cat(parts) for parts in zip(self, *others, strict=True)))


def visible(rows: Tokens, keys: Tokens, mask: str = "strict") -> Bool[Tensor, "S T"]:
    """Return which row may attend to which key ("Incorporating Adaptive Attention Window").

    "strict" is 1[x_i > x_j] on every axis, as the paper prints it; "causal" is >=, the standard mask, by which a
    token attends to itself; with "none" everything is visible. A query is visible to the queries of its own column
    alone, so that several columns can be asked about at once, and never sees what was observed there.
    """
    if mask == "none":
        return torch.ones(len(rows.query), len(keys.query), dtype=torch.bool, device=rows.query.device)
    x, x_key = rows.places[:, None], keys.places[None]  # [S, 1, A], [1, T, A]
    before = ((x_key < x) if mask == "strict" else (x_key <= x)).all(dim=-1)  # [S, T]
    column, key_column = x[..., -1], x_key[..., -1]
    input_seen = ~keys.query & (~rows.query[:, None] | (key_column < column))
    query_seen = keys.query & rows.query[:, None] & (key_column == column)
    return before & (input_seen | query_seen)


def make_gate(
    rows: Tokens, keys: Tokens, window: "Window | None", mask: str = "strict", gate: str = "renormalized"
) -> tuple[Float[Tensor, "S T"], Float[Tensor, "S #T"]]:
    """The mask and the window's factor, one factor for each axis, as `bias` and `factor` of `layers.attention`.

    "renormalized" multiplies e^score by the factors before the softmax divides by the sum; "post" multiplies the
    attention weights, which then sum to less than 1. A row that sees no key gets zero weights.
    """
    seen = visible(rows, keys, mask)
    blind = ~seen.any(dim=-1, keepdim=True)
    bias = torch.zeros(seen.shape, device=seen.device).masked_fill(~(seen | blind), -math.inf)
    factor = (~blind).float()  # [S, 1]
    if window is None:
        return bias, factor
    distances = (rows.places[:, None] - keys.places[None]).abs()  # |x - x'| on every axis [S, T, A]
    log_factor = sum(window.log_factor(distance) for distance in distances.unbind(dim=-1))
    if gate == "post":
        return bias, factor * log_factor.exp()
    return bias + log_factor, factor  # F e^s / sum F e^s is the softmax of s + log F


class Window(nn.Module):
    """The attention that is left at distance d: F(d) = (1 - sigma(d / b - a)) / (1 - sigma(-a)).

    F(0) = 1, and F falls to about a half at d = a b, the window's length; beyond that log F falls with slope 1 / b.
    a and b are exponentials of parameters, so they stay positive. All layers, heads and axes share one window.

    Args:
        length: a b at the start; a starts at 2.
        rate: log a and log b learn this many times as fast as other parameters: a = exp(rate * log_a). Adam moves a
            parameter by about its learning rate an update, so at rate 1 a window stays near its length.

    >>> distance = torch.tensor([[0.0, 5.0, 10.0, 20.0]])
    >>> [round(factor, 2) for factor in Window(length=10.0).log_factor(distance).exp().flatten().tolist()]
    [1.0, 0.83, 0.57, 0.14]
    """

    rate: Tensor

    def __init__(self, length: float = LENGTH, rate: float = 1.0):
        super().__init__()
        check_positive(length=length, rate=rate)
        start = math.log(2.0), math.log(length / 2.0)
        self.log_a, self.log_b = (nn.Parameter(torch.full((1, 1), s / rate)) for s in start)
        self.register_buffer("rate", torch.tensor(float(rate)))

    @property
    def a(self) -> Float[Tensor, "1 1"]:
        """Width of the plateau, in units of b."""
        return (self.rate * self.log_a).exp()

    @property
    def b(self) -> Float[Tensor, "1 1"]:
        """Width of the slope, in steps of x."""
        return (self.rate * self.log_b).exp()

    @property
    def length(self) -> Float[Tensor, "1 1"]:
        """The length a b, in steps of x."""
        return self.a * self.b

    def log_factor(self, distance: Float[Tensor, "S T"]) -> Float[Tensor, "S T"]:
        """Return log F(d) = softplus(-a) - softplus(d / b - a), which stays finite where F underflows."""
        return F.softplus(-self.a) - F.softplus(distance / self.b - self.a)
