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

    >>> from mini_lib import RelationalTransformer
    >>> network = RelationalTransformer(dim=16, layers=2, heads=2, scale=1 / 20)
    >>> adam = torch.optim.Adam(network.parameters(), lr=1e-3)
    >>> y = 0.1 * torch.arange(1.0, 8.0).repeat(4, 1)  # your curves [B, N + 1]: four times one line
    >>> for _ in range(3):
    ...     loss = (network(y[:, :-1]) - (y[:, -1:] - y)).square().mean()
    ...     adam.zero_grad()
    ...     loss.backward()
    ...     adam.step()
    >>> network.estimates(y, network(y)).shape  # of the next value, one from each of seven observations
    torch.Size([4, 7])
    """

    axes = 2

    @staticmethod
    def input_tokens(first: int, last: int, device: torch.device | str | None = None) -> Tokens:
        """(i, j) for j = first..last and i < j, column by column."""
        j, i = torch.tril_indices(last, last, -1, device=device)
        places = torch.stack([i, j], dim=1) + 1.0
        places = places[(first - 1) * (first - 2) // 2 :]  # less the columns before
        return Tokens(places, torch.zeros(len(places), dtype=torch.bool, device=device))

    @staticmethod
    def query_tokens(place: int, device: torch.device | str | None = None) -> Tokens:
        """(i, place) for i = 1..place."""
        i = torch.arange(1.0, place + 1, device=device)
        places = torch.stack([i, torch.full_like(i, place)], dim=1)
        return Tokens(places, torch.ones(place, dtype=torch.bool, device=device))

    @staticmethod
    def values(y: Float[Tensor, "B N"], tokens: Tokens) -> Float[Tensor, "B T"]:
        """y_j - y_i."""
        i, j = tokens.places.long().unbind(dim=-1)
        return y[:, j - 1] - y[:, i - 1]

    @staticmethod
    def estimates(y: Float[Tensor, "B N"], answers: Float[Tensor, "B Q"]) -> Float[Tensor, "B N"]:
        """z_i + y_i for i <= N."""
        return answers[:, :-1] + y
