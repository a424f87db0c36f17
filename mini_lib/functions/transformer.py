"""The relational and the 1d transformer: observations and queries as tokens, GPT-2's layers, a given mask."""

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from mini_lib.errors import UsageError, check_names, check_positive, check_positive_int
from mini_lib.functions.tasks import SHORTEST
from mini_lib.functions.window import GATES, LENGTH, MASKS, Tokens, Window, make_gate
from mini_lib.layers import attention
from mini_lib.module import Module, check_floats

SD = 0.02  # of initial weights, as in GPT-2
Device = torch.device | str | None


class Block(nn.Module):
    """Attention of H heads of E = D / H features, then a two-layer perceptron, each after a layer normalization."""

    def __init__(self, dim: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norm_attention, self.norm_perceptron = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out_proj = nn.Linear(dim, dim)
        self.up, self.down = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

    def project(self, x: Float[Tensor, "B S D"], keys: int) -> tuple[Tensor, Tensor, Tensor]:
        """Queries q of all S tokens, keys k and values v of the first T: [B, H, S, E], twice [B, H, T, E]."""
        parts = self.qkv(self.norm_attention(x)).chunk(3, dim=-1)
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts)
        return q, k[:, :, :keys], v[:, :, :keys]

    def update(self, x: Float[Tensor, "B S D"], read: Float[Tensor, "B H S E"]) -> Float[Tensor, "B S D"]:
        """The tokens after this block, given what attention read for them."""
        x = x + self.out_proj(read.transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.norm_perceptron(x)), approximate="tanh"))


class Transformer(nn.Module):
    """The layers of a decoder-only transformer, GPT-2's (Radford et al. 2019), without a code of positions.

    Weights start as in GPT-2: normal with standard deviation 0.02, those that write into the residual stream smaller
    by sqrt(2 layers), biases zero.
    """

    def __init__(self, dim: int, layers: int, heads: int):
        super().__init__()
        check_positive_int(dim=dim, layers=layers, heads=heads)
        if dim % heads:
            raise UsageError(f"heads has to divide dim; {heads} heads do not divide {dim} features")
        self.blocks = nn.ModuleList(Block(dim, heads) for _ in range(layers))
        self.final_norm = nn.LayerNorm(dim)
        for block in self.blocks:
            for layer in (block.qkv, block.out_proj, block.up, block.down):
                residual = layer in (block.out_proj, block.down)
                nn.init.normal_(layer.weight, std=SD / math.sqrt(2 * layers) if residual else SD)
                nn.init.zeros_(layer.bias)


def summarize(estimates: Float[Tensor, "B E"]) -> tuple[Float[Tensor, "B"], Float[Tensor, "B"]]:
    """Median of estimates (of an even number the mean of the two in the middle) and sample standard deviation."""
    count, ordered = estimates.shape[1], estimates.sort(dim=1).values
    point = (ordered[:, (count - 1) // 2] + ordered[:, count // 2]) / 2
    return point, estimates.std(dim=1) if count > 1 else torch.zeros_like(point)


class FunctionTrace(NamedTuple):
    """The inside of a network that predicts y_{N+1}."""

    answers: Float[Tensor, "B Q"]  #: as `forward` returns them.
    estimates: Float[Tensor, "B E"]  #: of y_{N+1}: N in a relational network, one in a 1d one.
    point: Float[Tensor, "B"]  #: their median, the prediction.
    spread: Float[Tensor, "B"]  #: their sample standard deviation, 0 for one estimate.
    attention: Float[Tensor, "L B H T T"]  #: weights of every layer and head.
    tokens: Tokens  #: the T tokens: inputs, then queries.


class FunctionTransformer(Module):
    """A transformer that reads observations at x = 1..N as a set of tokens and answers queries about the next value.

    `network(y)` returns the answers to the queries, which the loss compares with their targets; `network.predict(y)`
    the prediction of y_{N+1}, and `network.trace(y)` everything inside.

    Args:
        dim, layers, heads: D = 256, 12 and H = 8, as in the paper by default.
        window: with a learned window, whose length starts at `length` and has a learning rate of its own, times
            `window_rate`.
        mask: "strict" as the paper prints it, "causal", the standard one, or "none".
        gate: whether the weights of attention sum to 1 again after the window ("renormalized") or not ("post").
        scale: places are multiplied by it before they are read in; 1 in the paper.
    """

    axes: int  #: number of places of a token.
    sees_offset: bool  #: whether a constant added to a curve changes the answers.
    input_tokens: Callable[..., Tokens]  #: those of N observations.
    query_tokens: Callable[..., Tokens]  #: the queries about the observation at a place.
    values: Callable[[Tensor, Tokens], Tensor]  #: the values of input tokens; a query has 0.
    estimates: Callable[[Tensor, Tensor], Tensor]  #: of y_{N+1}, from observations and the last answers.

    def __init__(
        self,
        dim: int = 256,
        layers: int = 12,
        heads: int = 8,
        window: bool = False,
        length: float = LENGTH,
        window_rate: float = 1.0,
        mask: str = "strict",
        gate: str = "renormalized",
        scale: float = 1.0,
    ):
        super().__init__()
        check_names("mask", [mask], MASKS)
        check_names("gate", [gate], GATES)
        check_positive(scale=scale)
        if not window and (length, window_rate, gate) != (LENGTH, 1.0, GATES[0]):
            raise UsageError("length, window_rate and gate are about the window; give window=True with them")
        self.mask, self.gate, self.scale = mask, gate, scale
        self.transformer = Transformer(dim, layers, heads)
        self.read_in = nn.Linear(self.axes + 1, dim)
        self.read_out = nn.Linear(dim, 1)
        self.window = Window(length, window_rate) if window else None

    def forward(
        self, y: Float[Tensor, "B N"], prefixes: bool = False, attention_weights: list[Tensor] | None = None
    ) -> Float[Tensor, "B Q"]:
        """Return the answers to the queries about y_{N+1}, given N observations at x = 1..N.

        With `prefixes` every place from the third is asked about in one causal pass: the answers about y_3, then
        those about y_4, and so on to y_{N+1}; each depends only on what comes before. Each layer's attention weights
        [B, H, T + Q, keys] are appended to `attention_weights`.
        """
        if prefixes and self.mask == "none":
            raise UsageError("with mask='none' every token sees every other; prefixes need a causal mask")
        check_floats(y, self, "a batch of curves")
        if y.dim() != 2 or y.shape[1] < SHORTEST:
            raise UsageError(f"a batch of curves is [B, N] with N from {SHORTEST}, got {list(y.shape)}")
        inputs, tokens = self.tokens(y.shape[1], prefixes, y.device)  # T inputs; they and Q queries
        keys = inputs if self.mask == "strict" else tokens  # strictly, no token attends to a query
        gate = make_gate(tokens, keys, self.window, self.mask, self.gate)
        bias, factor = (part.to(y.dtype) for part in gate)  # [T + Q, keys]
        places = (self.scale * tokens.places).to(y.dtype).expand(len(y), -1, -1)  # [B, T + Q, A]
        values = F.pad(self.values(y, inputs), (0, len(tokens.query) - len(inputs.query)))  # [B, T + Q]
        x = self.read_in(torch.cat([places, values[..., None]], dim=-1))  # [B, T + Q, D]
        for block in self.transformer.blocks:
            q, k, v = block.project(x, keys=len(keys.query))
            # weights = factor softmax(q k^T / sqrt(E) + bias), read = weights v
            read, weights = attention(q, k, v, bias, factor)
            x = block.update(x, read)
            if attention_weights is not None:
                attention_weights.append(weights)
        x = self.transformer.final_norm(x)
        return self.read_out(x[:, len(inputs.query) :]).squeeze(-1)

    def tokens(self, observed: int, prefixes: bool = False, device: Device = None) -> tuple[Tokens, Tokens]:
        """The tokens of N observations; these and the queries about y_{N+1}, or about y_3..y_{N+1}."""
        asked = range(SHORTEST + 1 if prefixes else observed + 1, observed + 2)
        inputs = self.input_tokens(observed, device)
        return inputs, inputs.cat(*(self.query_tokens(place, device) for place in asked))

    def predict(self, y: Float[Tensor, "B N"]) -> Float[Tensor, "B"]:
        """Predict y_{N+1}: the median of the estimates."""
        return summarize(self.estimates(y, self(y)))[0]

    def trace(self, y: Float[Tensor, "B N"]) -> FunctionTrace:
        """Predict y_{N+1} and return everything that leads to it."""
        weights: list[Tensor] = []
        answers = self(y, attention_weights=weights)
        estimates, tokens = self.estimates(y, answers), self.tokens(y.shape[1], device=y.device)[1]
        unseen = len(tokens.query) - weights[0].shape[-1]  # with a strict mask queries are no keys
        seen = F.pad(torch.stack(weights), (0, unseen))
        return FunctionTrace(answers, estimates, *summarize(estimates), seen, tokens)


class OneDTransformer(FunctionTransformer):
    """The comparison model of Garg et al. (2022): tokens (x_i, y_i), i = 1..N, and one query (x_{N+1}, 0).

    The answer to the query is the prediction of y_{N+1}. Options: see `FunctionTransformer`.

    >>> network = OneDTransformer(dim=16, layers=2, heads=2, scale=1 / 20)
    >>> network.predict(0.1 * torch.arange(1.0, 8.0)[None]).shape  # of one curve, the next value
    torch.Size([1])
    """

    axes, sees_offset = 1, True

    @staticmethod
    def input_tokens(observed: int, device: Device = None) -> Tokens:
        """(i,) for i = 1..N."""
        return Tokens.at(torch.arange(1.0, observed + 1, device=device)[:, None], query=False)

    @staticmethod
    def query_tokens(place: int, device: Device = None) -> Tokens:
        """One query, at `place`."""
        return Tokens.at(torch.full((1, 1), float(place), device=device), query=True)

    @staticmethod
    def values(y: Float[Tensor, "B N"], tokens: Tokens) -> Float[Tensor, "B T"]:
        """y_i."""
        return y[:, tokens.places[:, 0].long() - 1]

    @staticmethod
    def estimates(y: Float[Tensor, "B N"], answers: Float[Tensor, "B _"]) -> Float[Tensor, "B 1"]:
        """The last answer as it is."""
        return answers[:, -1:]


class LevelHiddenTransformer(OneDTransformer):
    """A control of ours: the 1d transformer on y_i - y_1, so that it does not receive the level of a curve.

    The answer to the query is the prediction of y_{N+1} - y_1. Options: see `FunctionTransformer`.
    """

    sees_offset = False

    @staticmethod
    def values(y: Float[Tensor, "B N"], tokens: Tokens) -> Float[Tensor, "B T"]:
        """y_i - y_1."""
        return OneDTransformer.values(y - y[:, :1], tokens)

    @staticmethod
    def estimates(y: Float[Tensor, "B N"], answers: Float[Tensor, "B _"]) -> Float[Tensor, "B 1"]:
        """The last answer and y_1."""
        return answers[:, -1:] + y[:, :1]


class RelationalTransformer(FunctionTransformer):
    """Tokens (i, j, y_j - y_i) for i < j <= N, queries (i, N + 1, 0) for i = 1..N+1; the answers are z_i.

    z_i stands for y_{N+1} - y_i, the last column of the matrix of differences, so for every i <= N z_i + y_i is an
    estimate of y_{N+1}. A difference is the later value minus the earlier one: the paper writes S(y_i, y_j) with
    S(x, y) = x - y, but its z_i + y_i needs the other sign. Options: see `FunctionTransformer`.

    >>> network = RelationalTransformer(dim=16, layers=2, heads=2, scale=1 / 20)
    >>> y = 0.1 * torch.arange(1.0, 8.0).repeat(4, 1)  # your curves [B, N + 1]: four times one line
    >>> (network(y[:, :-1]) - (y[:, -1:] - y)).square().mean().backward()  # z_i against y_{N+1} - y_i
    >>> network.predict(y).shape, network.trace(y).estimates.shape  # one estimate from each observation
    (torch.Size([4]), torch.Size([4, 7]))
    """

    axes, sees_offset = 2, False

    @staticmethod
    def input_tokens(observed: int, device: Device = None) -> Tokens:
        """(i, j) for j = 2..N and i < j, column by column."""
        j, i = torch.tril_indices(observed, observed, -1, device=device)
        return Tokens.at(torch.stack([i, j], dim=1) + 1.0, query=False)

    @staticmethod
    def query_tokens(place: int, device: Device = None) -> Tokens:
        """(i, place) for i = 1..place."""
        i = torch.arange(1.0, place + 1, device=device)
        return Tokens.at(torch.stack([i, torch.full_like(i, place)], dim=1), query=True)

    @staticmethod
    def values(y: Float[Tensor, "B N"], tokens: Tokens) -> Float[Tensor, "B T"]:
        """y_j - y_i."""
        i, j = tokens.places.long().unbind(dim=-1)
        return y[:, j - 1] - y[:, i - 1]

    @staticmethod
    def estimates(y: Float[Tensor, "B N"], answers: Float[Tensor, "B _"]) -> Float[Tensor, "B N"]:
        """z_i + y_i for i <= N."""
        return answers[:, -y.shape[1] - 1 : -1] + y


MODELS: dict[str, Callable[..., FunctionTransformer]] = {
    "one_d": OneDTransformer,
    "one_d_window": partial(OneDTransformer, window=True),
    "one_d_level_hidden": LevelHiddenTransformer,
    "relational": RelationalTransformer,
    "relational_window": partial(RelationalTransformer, window=True),
}
