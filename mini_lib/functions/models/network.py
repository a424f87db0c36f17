"""What the 1d and the relational transformer have in common."""

import math
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from mini_lib.errors import UsageError, unknown_name_error
from mini_lib.functions.models.transformer import KeysValues, Trace, Transformer
from mini_lib.functions.models.window import Tokens, Window, check_gating, make_gate
from mini_lib.functions.tasks import SHORTEST

OWN_WINDOWS = {"shared": (False, False), "layer": (True, False), "head": (False, True), "both": (True, True)}


class Memory(NamedTuple):
    """What a network keeps of N observations, so that the next one need not begin anew.

    Attributes:
        tokens: all input tokens so far.
        layers: their keys and values.
        y: the observations. [B, N]
    """

    tokens: Tokens
    layers: list[KeysValues]
    y: Float[Tensor, "B N"]


class FunctionTransformer(nn.Module):
    """A transformer that reads observations as a set of tokens and answers queries about the next one.

    A token is its places and its value; a query has the value 0. Subclasses say which tokens there are
    (`input_tokens`, `query_tokens`), what values they carry (`values`), and what an answer means (`estimates`).

    Args:
        dim: D, 256 in the paper.
        layers: 12 in the paper.
        heads: H, 8 in the paper.
        window: with a learned window.
        length: of the window at the start; see `Window`.
        window_rate: see `Window`.
        own_windows: "shared" (one for all), or one for each "layer", each "head" or "both".
        mask: "causal", "strict" or "none"; see `visible`.
        gate: "renormalised" or "post"; see `make_gate`.
        scale: places are multiplied by it before they are read in; 1 in the paper.
        hidden: see `Transformer`.
        norm: see `Transformer`.
        activation: see `Transformer`.

    Raises:
        UsageError: for an option that cannot be.
    """

    axes: int  # how many places a token has

    def __init__(
        self,
        dim: int = 256,
        layers: int = 12,
        heads: int = 8,
        window: bool = False,
        length: float = 10.0,
        window_rate: float = 1.0,
        own_windows: str = "shared",
        mask: str = "causal",
        gate: str = "renormalised",
        scale: float = 1.0,
        hidden: int | None = None,
        norm: str = "pre",
        activation: str = "gelu",
    ):
        super().__init__()
        check_gating(mask, gate)
        if own_windows not in OWN_WINDOWS:
            raise unknown_name_error("kind of windows", own_windows, OWN_WINDOWS)
        if not 0 < scale < math.inf:
            raise UsageError(f"scale has to be above 0, got {scale!r}")
        self.mask, self.gate, self.scale = mask, gate, scale
        # First, as it checks sizes.
        self.transformer = Transformer(dim, layers, heads, hidden, norm, activation)
        self.read_in = nn.Linear(self.axes + 1, dim)
        self.read_out = nn.Linear(dim, 1)
        by_layer, by_head = OWN_WINDOWS[own_windows]
        shape = layers if by_layer else 1, heads if by_head else 1
        self.window = Window(length, window_rate, *shape) if window else None

    def input_tokens(self, first: int, last: int) -> Tokens:
        """The input tokens that come in with observations `first` to `last`."""
        raise NotImplementedError

    def query_tokens(self, place: int) -> Tokens:
        """The queries about the observation at x = `place`."""
        raise NotImplementedError

    def values(self, y: Float[Tensor, "B N"], tokens: Tokens) -> Float[Tensor, "B T"]:
        """What input tokens tell, given the observations."""
        raise NotImplementedError

    def estimates(self, y: Float[Tensor, "B N"], answers: Float[Tensor, "B Q"]) -> Float[Tensor, "B E"]:
        """The estimates of y_{N+1} that the answers to the queries about it amount to."""
        raise NotImplementedError

    def forward(self, y: Float[Tensor, "B N"], prefixes: bool = False) -> Float[Tensor, "B Q"]:
        """The answers to the queries about y_{N+1}.

        Args:
            y: N observations, at x = 1..N.
            prefixes: answer instead, in one pass, the queries about every observation from the third to y_{N+1}, in
                this order; each sees only what came before it.

        Raises:
            UsageError: for prefixes where nothing is masked, since the answers would be seen, or of fewer than two
                observations.
        """
        if prefixes and self.mask == "none":
            raise UsageError("with mask='none' every token sees every other; prefixes need a causal mask")
        if prefixes and y.shape[1] < SHORTEST:
            raise UsageError(f"the shortest prefix has {SHORTEST} observations; got {y.shape[1]} in all")
        inputs, end = self.input_tokens(1, y.shape[1]), y.shape[1] + 1
        first, *more = (self.query_tokens(x) for x in range(SHORTEST + 1 if prefixes else end, end + 1))
        queries = first.joined(*more)
        found = self._pass(
            self._told_and_asked(y, inputs, queries),
            inputs.joined(queries),
            last=len(queries.query),
            keep=False,
        )
        return self._answers(found.out)

    def remember(self, y: Float[Tensor, "B N"], memory: Memory | None = None) -> Memory:
        """Take in observations; those of `memory`, the first ones of y, are not worked out again.

        Equal to starting anew, since an input token sees only what came in with it or before.
        """
        self._check_reusable()
        known = 0 if memory is None else memory.y.shape[1]
        new = self.input_tokens(known + 1, y.shape[1])
        # Of the last block only keys and values count.
        found = self._pass(self.values(y, new), new, memory, last=1)
        tokens = new if memory is None else memory.tokens.joined(new)
        return Memory(tokens, found.memory, y)

    def answer(self, memory: Memory) -> Float[Tensor, "B Q"]:
        """The answers to the queries about y_{N+1}, as `forward` gives them, from what is remembered of y."""
        queries = self.query_tokens(memory.y.shape[1] + 1)
        zeros = memory.y.new_zeros(len(memory.y), len(queries.query))
        return self._answers(self._pass(zeros, queries, memory, keep=False).out)

    def attention(self, y: Float[Tensor, "B N"]) -> tuple[list[Float[Tensor, "B H T T"]], Tokens]:
        """The attention weights of every layer, and the tokens (inputs, then the queries about y_{N+1})."""
        inputs, queries = self.input_tokens(1, y.shape[1]), self.query_tokens(y.shape[1] + 1)
        values, tokens = self._told_and_asked(y, inputs, queries), inputs.joined(queries)
        return self._pass(values, tokens, keep=False, trace=True).weights, tokens

    def _told_and_asked(self, y: Tensor, inputs: Tokens, queries: Tokens) -> Float[Tensor, "B T"]:
        """The values of input tokens, and then the zeros of queries."""
        return torch.cat([self.values(y, inputs), y.new_zeros(len(y), len(queries.query))], dim=1)

    @property
    def reusable(self) -> bool:
        """Whether keys and values of earlier observations stay as they are when another comes in."""
        return self.mask != "none"

    def _check_reusable(self) -> None:
        if not self.reusable:
            raise UsageError(
                "with mask='none' inputs see later ones: nothing can be kept; extrapolate with cached=False"
            )

    def _pass(
        self,
        values: Float[Tensor, "B S"],
        tokens: Tokens,
        memory: Memory | None = None,
        last: int | None = None,
        keep: bool = True,
        trace: bool = False,
    ) -> Trace:
        """Tokens of these values through the transformer; what `memory` holds is there to be looked at."""
        tokens = tokens.to(values.device)
        keys = tokens if memory is None else memory.tokens.to(values.device).joined(tokens)
        gate = make_gate(tokens, keys, self.window, self.mask, self.gate)
        places = (self.scale * tokens.places).expand(len(values), -1, -1)
        x = self.read_in(torch.cat([places, values[..., None]], dim=-1))
        return self.transformer(x, gate, None if memory is None else memory.layers, last, keep, trace)

    def _answers(self, out: Float[Tensor, "B Q D"]) -> Float[Tensor, "B Q"]:
        return self.read_out(out).squeeze(-1)
