"""Syntactic Attention (Russin et al. 2020) for any vectors: one stream says where to look, another what is there."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from mini_lib.errors import UsageError, check_positive_int
from mini_lib.layers import check_sequences
from mini_lib.scan.recurrent import BiLSTM


class Pointer(nn.Module):
    """alpha = softmax_j(s . h_j): a bidirectional LSTM makes h_j and, from where it ends, the query s.

    Where the answer is one of the sequence's own steps, `places`, the network points at it: the logits are s . h_j
    of those steps. Otherwise it says what it finds: a linear function of sum_j alpha_j m_j, with m_j = W z_j of each
    vector by itself, so that order reaches the answer through alpha alone, as in equations 1 to 6 of the paper.

    Args:
        features: D.
        classes: C, as many as there are `places` if these are given.
        length: T.
        places: of the steps that may be the answer.
        syntax: states of each direction of h_j; K is twice that.
        semantics: features of m_j.

    >>> from torch.nn import functional as F
    >>> network, z = Pointer(features=8, classes=2, length=5, places=(3, 4), syntax=6), torch.randn(16, 5, 8)
    >>> F.cross_entropy(network(z), torch.arange(16) % 2).backward()
    >>> network(z).shape, network.attention(z).shape
    (torch.Size([16, 2]), torch.Size([16, 5]))
    """

    def __init__(
        self,
        features: int = 128,
        classes: int = 4,
        length: int = 9,
        places: tuple[int, ...] = (),
        syntax: int = 64,
        semantics: int = 64,
    ):
        super().__init__()
        check_positive_int(
            features=features, classes=classes, length=length, syntax=syntax, semantics=semantics
        )
        if places and (len(places) != classes or not all(0 <= place < length for place in places)):
            raise UsageError(f"{classes} classes need as many places among {length} steps, got {places}")
        self.register_buffer("places", torch.tensor(places, dtype=torch.long), persistent=False)
        self.length, self.features = length, features
        self.roles = BiLSTM(features, syntax)
        self.first_query = nn.Linear(2 * syntax, 2 * syntax)
        self.points = bool(places)
        if not self.points:
            self.meaning = nn.Linear(features, semantics, bias=False)
            self.answer = nn.Linear(semantics, classes)

    def states(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B T K"]:
        """h_j."""
        return self._roles_and_query(z)[0]

    def scores(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B T"]:
        """The score of each step, s . h_j."""
        roles, query = self._roles_and_query(z)
        return (roles @ query[:, :, None])[:, :, 0]

    def attention(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B T"]:
        """How much it looks at each step, alpha."""
        return self.scores(z).softmax(dim=-1)

    def forward(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B C"]:
        """The answer to each problem, as logits."""
        check_sequences(z, self.length, self)
        if self.points:
            return self.scores(z)[:, self.places]
        found = (self.attention(z)[:, None] @ self.meaning(z))[:, 0]
        return self.answer(found)

    def _roles_and_query(self, z: Float[Tensor, "B T D"]) -> tuple[Tensor, Tensor]:
        lengths = torch.full((len(z),), z.shape[1], device=z.device)
        before, after, final = self.roles(z, z, lengths)
        return torch.cat([before, after], dim=-1), torch.relu(self.first_query(final))
