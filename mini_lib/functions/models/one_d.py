"""The 1d transformer of Garg et al. (2022): it sees the values themselves ("Comparison model")."""

import torch
from jaxtyping import Float
from torch import Tensor

from mini_lib.functions.models.network import FunctionTransformer
from mini_lib.functions.models.window import Tokens


class OneDTransformer(FunctionTransformer):
    """Tokens (x_i, y_i) for i = 1..N and one query (x_{N+1}, 0), whose answer is the prediction of y_{N+1}.

    It gives one estimate, so it knows nothing of its uncertainty. Options are those of `FunctionTransformer`.
    """

    axes = 1

    def input_tokens(self, first: int, last: int) -> Tokens:
        """(i,) for i = first..last."""
        places = torch.arange(first, last + 1, dtype=torch.float32)[:, None]
        return Tokens(places, torch.zeros(len(places), dtype=torch.bool))

    def query_tokens(self, place: int) -> Tokens:
        """One query, at `place`."""
        return Tokens(torch.tensor([[float(place)]]), torch.tensor([True]))

    def values(self, y: Float[Tensor, "B N"], tokens: Tokens) -> Float[Tensor, "B T"]:
        """y_i."""
        return y[:, tokens.places[:, 0].long() - 1]

    def estimates(self, y: Float[Tensor, "B N"], answers: Float[Tensor, "B 1"]) -> Float[Tensor, "B 1"]:
        """The answer as it is."""
        return answers
