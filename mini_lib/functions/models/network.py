"""What the 1d and the relational transformer have in common."""

import math
from functools import lru_cache
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from mini_lib.errors import UsageError, check_names
from mini_lib.functions.models.transformer import KeysValues, Transformer, TransformerOutput
from mini_lib.functions.models.window import GATES, LENGTH, MASKS, Mask, Tokens, Window, make_mask
from mini_lib.functions.tasks import SHORTEST

KEPT = 4  # layouts; of 200 observations one takes 48 MB, and an extrapolation asks for two at each step


class KVCache(NamedTuple):
    """What a network keeps of N observations, so that the next one need not begin anew."""

    layers: list[KeysValues]  #: keys and values of all input tokens, a pair for each layer.
    y: Float[Tensor, "B N"]  #: the observations.


class Layout(NamedTuple):
    """The tokens of one pass, and what they may look at."""

    inputs: Tokens  #: those that carry values.
    tokens: Tokens  #: the inputs, and then the queries.
    #: of the tokens; they look at tokens from earlier passes, and at one another. The queries are no keys where
    #: nobody sees them.
    mask: Mask

    @property
    def queries(self) -> int:
        """How many tokens are queries."""
        return len(self.tokens.query) - len(self.inputs.query)


@lru_cache(maxsize=KEPT)
def layout(
    network: type["FunctionTransformer"],
    known: int,
    observed: int,
    asked: range,
    mask: str,
    device: torch.device,
) -> Layout:
    """The pass that takes in the observations after the first `known`, and queries about the places `asked`.

    It is the same for all curves of as many points, so it is made once for each device. Inference mode and the
    transforms of `torch.func` are off meanwhile: what was made within them could not be trained with, or copied,
    later. The latter has no public switch.
    """
    with torch.inference_mode(False), torch._C._DisableFuncTorch():
        inputs = network.input_tokens(known + 1, observed, device)
        tokens = inputs.cat(*(network.query_tokens(place, device) for place in asked))
        keys = network.input_tokens(1, known, device).cat(inputs if mask == "strict" else tokens)
        return Layout(inputs, tokens, make_mask(tokens, keys, mask))


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
        own_windows: a window for each head of each layer, rather than one that all share.
        mask: "causal", the standard one, "strict" as the paper prints it, or "none"; see `visible`.
        gate: "renormalised" or "post"; see `make_gate`.
        scale: places are multiplied by it before they are read in; 1 in the paper.
    """

    axes: int  # how many places a token has

    def __init__(
        self,
        dim: int = 256,
        layers: int = 12,
        heads: int = 8,
        window: bool = False,
        length: float = LENGTH,
        window_rate: float = 1.0,
        own_windows: bool = False,
        mask: str = "causal",
        gate: str = "renormalised",
        scale: float = 1.0,
    ):
        super().__init__()
        check_names("mask", [mask], MASKS)
        check_names("gate", [gate], GATES)
        if not 0 < scale < math.inf:
            raise UsageError(f"scale has to be above 0, got {scale!r}")
        if not isinstance(own_windows, bool):
            raise UsageError(f"own_windows has to be True or False, got {own_windows!r}")
        self.mask, self.gate, self.scale = mask, gate, scale
        self.transformer = Transformer(dim, layers, heads)  # first, as it checks sizes
        self.read_in = nn.Linear(self.axes + 1, dim)
        self.read_out = nn.Linear(dim, 1)
        shape = (layers, heads) if own_windows else (1, 1)
        self.window = Window(length, window_rate, *shape) if window else None

    @staticmethod
    def input_tokens(first: int, last: int, device: torch.device | str | None = None) -> Tokens:
        """The input tokens that come in with observations `first` to `last`."""
        raise NotImplementedError

    @staticmethod
    def query_tokens(place: int, device: torch.device | str | None = None) -> Tokens:
        """The queries about the observation at x = `place`."""
        raise NotImplementedError

    @staticmethod
    def values(y: Float[Tensor, "B N"], tokens: Tokens) -> Float[Tensor, "B T"]:
        """What input tokens carry, given the observations."""
        raise NotImplementedError

    @staticmethod
    def estimates(y: Float[Tensor, "B N"], answers: Float[Tensor, "B Q"]) -> Float[Tensor, "B E"]:
        """The estimates of y_{N+1} that the answers to the queries about it amount to."""
        raise NotImplementedError

    def forward(self, y: Float[Tensor, "B N"], prefixes: bool = False) -> Float[Tensor, "B Q"]:
        """The answers to the queries about y_{N+1}, given N observations at x = 1..N.

        With `prefixes` every position from the third is predicted in one causal pass: the answers to the queries
        about y_3, then those about y_4, and so on to y_{N+1}; each sees only what came before it.
        """
        if prefixes and self.mask == "none":
            raise UsageError("with mask='none' every token sees every other; prefixes need a causal mask")
        if prefixes and y.shape[1] < SHORTEST:
            raise UsageError(f"the shortest prefix has {SHORTEST} observations; got {y.shape[1]} in all")
        following = y.shape[1] + 1
        return self._answers(y, range(SHORTEST + 1 if prefixes else following, following + 1))

    def prefill(self, y: Float[Tensor, "B N"], cache: KVCache | None = None) -> KVCache:
        """Take in observations; those of `cache`, the first ones of y, are not worked out again.

        Equal to starting anew, since an input token sees only what came in with it or before.
        """
        if not self.cacheable:
            raise UsageError("with mask='none' inputs see later ones, so that nothing of them can be kept")
        known = 0 if cache is None else cache.y.shape[1]
        if known > y.shape[1]:
            raise UsageError(
                f"the cache has {known} observations and y {y.shape[1]}; give all of them, the cache's first"
            )
        if known == y.shape[1]:
            return cache
        plan = layout(type(self), known, y.shape[1], range(0), self.mask, y.device)
        # Of the last block only keys and values count.
        return KVCache(self._pass(self._values(y, plan), plan, cache, last=1, keep=True).layers, y)

    def decode(self, cache: KVCache) -> Float[Tensor, "B Q"]:
        """The answers to the queries about y_{N+1}, as `forward` gives them, from what is kept of y."""
        following = cache.y.shape[1] + 1
        return self._answers(cache.y, range(following, following + 1), cache)

    def attention(self, y: Float[Tensor, "B N"]) -> tuple[list[Float[Tensor, "B H T T"]], Tokens]:
        """The attention weights of every layer, and the tokens (inputs, then the queries about y_{N+1})."""
        following = y.shape[1] + 1
        plan = layout(type(self), 0, y.shape[1], range(following, following + 1), self.mask, y.device)
        weights = self._pass(self._values(y, plan), plan, trace=True).weights
        unseen = len(plan.tokens.query) - weights[0].shape[-1]
        return [F.pad(each, (0, unseen)) for each in weights], plan.tokens

    @property
    def cacheable(self) -> bool:
        """Whether keys and values of earlier observations stay as they are when another comes in."""
        return self.mask != "none"

    def _answers(self, y: Tensor, asked: range, cache: KVCache | None = None) -> Float[Tensor, "B Q"]:
        """The answers to the queries about the places that are asked for."""
        known = 0 if cache is None else y.shape[1]
        plan = layout(type(self), known, y.shape[1], asked, self.mask, y.device)
        passed = self._pass(self._values(y, plan), plan, cache, last=plan.queries)
        return self.read_out(passed.out).squeeze(-1)

    def _values(self, y: Float[Tensor, "B N"], plan: Layout) -> Float[Tensor, "B S"]:
        """What the tokens of a pass carry: queries 0."""
        return torch.cat([self.values(y, plan.inputs), y.new_zeros(len(y), plan.queries)], dim=1)

    def _pass(
        self,
        values: Float[Tensor, "B S"],
        plan: Layout,
        cache: KVCache | None = None,
        last: int | None = None,
        keep: bool = False,
        trace: bool = False,
    ) -> TransformerOutput:
        """Tokens of these values through the transformer; what `cache` holds is there to be looked at."""
        places = (self.scale * plan.tokens.places).expand(len(values), -1, -1)  # [B, S, A]
        x = self.read_in(torch.cat([places, values[..., None]], dim=-1))  # [B, S, D]
        gate = plan.mask.gate(self.window, self.gate)
        return self.transformer(x, gate, None if cache is None else cache.layers, last, keep, trace)
