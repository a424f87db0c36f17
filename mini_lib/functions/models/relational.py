"""The relational transformer: it sees differences alone ("Incorporating Similarity Matrix Bottleneck")."""

import torch
from jaxtyping import Float
from torch import Tensor

from mini_lib.functions.models.network import FunctionTransformer
from mini_lib.functions.models.window import Tokens


class RelationalTransformer(FunctionTransformer):
    """Tokens (i, j, y_j - y_i) for i < j <= N, queries (i, N + 1, 0) for i = 1..N+1; the answers are z_i.

    z_i stands for y_{N+1} - y_i, the last column of the matrix of differences, so for every i <= N z_i + y_i is an
    estimate of y_{N+1}. A difference is always the later value minus the earlier one: the paper writes
    S(y_i, y_j) with S(x, y) = x - y, but recovers y_{N+1} as z_i + y_i, which needs the other sign.

    Options are those of `FunctionTransformer`.
    """

    axes = 2

    def input_tokens(self, first: int, last: int) -> Tokens:
        """(i, j) for j = first..last and i < j, column by column."""
        places = [(float(i), float(j)) for j in range(first, last + 1) for i in range(1, j)]
        return Tokens(torch.tensor(places).reshape(-1, 2), torch.zeros(len(places), dtype=torch.bool))

    def query_tokens(self, place: int) -> Tokens:
        """(i, place) for i = 1..place."""
        places = torch.tensor([(float(i), float(place)) for i in range(1, place + 1)])
        return Tokens(places, torch.ones(place, dtype=torch.bool))

    def values(self, y: Float[Tensor, "B N"], tokens: Tokens) -> Float[Tensor, "B T"]:
        """y_j - y_i."""
        i, j = tokens.places.long().unbind(dim=-1)
        return y[:, j - 1] - y[:, i - 1]

    def estimates(self, y: Float[Tensor, "B N"], answers: Float[Tensor, "B Q"]) -> Float[Tensor, "B N"]:
        """z_i + y_i for i <= N."""
        return answers[:, :-1] + y
