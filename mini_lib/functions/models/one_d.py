"""The 1d transformer of Garg et al. (2022): it sees the values themselves ("Comparison model")."""

import torch
from jaxtyping import Float
from torch import Tensor

from mini_lib.functions.models.network import FunctionTransformer
from mini_lib.functions.models.window import Tokens


class OneDTransformer(FunctionTransformer):
    """Tokens (x_i, y_i) for i = 1..N and one query (x_{N+1}, 0), whose answer is the prediction of y_{N+1}.

    It gives one estimate, so it knows nothing of its uncertainty. Options are those of `FunctionTransformer`.

    >>> from mini_lib import OneDTransformer
    >>> network = OneDTransformer(dim=16, layers=2, heads=2, scale=1 / 20)
    >>> adam = torch.optim.Adam(network.parameters(), lr=1e-3)
    >>> y = 0.1 * torch.arange(1.0, 8.0).repeat(4, 1)  # your curves [B, N + 1]: four times one line
    >>> for _ in range(3):
    ...     loss = (network(y[:, :-1]) - y[:, -1:]).square().mean()
    ...     adam.zero_grad()
    ...     loss.backward()
    ...     adam.step()
    >>> network(y).shape
    torch.Size([4, 1])
    """

    axes = 1

    @staticmethod
    def input_tokens(first: int, last: int, device: torch.device | str | None = None) -> Tokens:
        """(i,) for i = first..last."""
        places = torch.arange(first, last + 1, dtype=torch.float32, device=device)[:, None]
        return Tokens(places, torch.zeros(len(places), dtype=torch.bool, device=device))

    @staticmethod
    def query_tokens(place: int, device: torch.device | str | None = None) -> Tokens:
        """One query, at `place`."""
        one = torch.ones(1, dtype=torch.bool, device=device)
        return Tokens(torch.full((1, 1), float(place), device=device), one)

    @staticmethod
    def values(y: Float[Tensor, "B N"], tokens: Tokens) -> Float[Tensor, "B T"]:
        """y_i."""
        return y[:, tokens.places[:, 0].long() - 1]

    @staticmethod
    def estimates(y: Float[Tensor, "B N"], answers: Float[Tensor, "B 1"]) -> Float[Tensor, "B 1"]:
        """The answer as it is."""
        return answers
