"""CoRelNet (Kerg et al. 2022): all that reaches the answer is how alike the vectors of a sequence are."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from mini_lib.errors import check_names, check_positive_int
from mini_lib.layers import check_sequences, glorot_linear

RELATIONS = ("fixed", "tied", "learned")


class CoRelNet(nn.Module):
    """R = softmax(Z Z'), row by row over the vectors up to each one's own; then two linear layers.

    z is a sequence [B, T, D]; R_tj, for j <= t, says how alike z_t and z_j are. The T (T + 1) / 2 numbers below and
    on the diagonal go through one rectified layer to the answer. The relation is not scaled (Kerg et al. 2022,
    section 3).

    Args:
        features: D.
        classes: C.
        length: T.
        hidden: units of the rectified layer, 256 in the paper.
        relation: "fixed" compares the vectors themselves, as the paper does; "learned" compares W_q z with W_k z,
            its asymmetric variant; in "tied" these are one map, so that equal vectors begin as the most alike.
        content: the answer sees the vectors too, beside their relations: the same network without its wall.

    >>> from torch.nn import functional as F
    >>> network, z = CoRelNet(features=8, classes=2, length=5), torch.randn(16, 5, 8)
    >>> F.cross_entropy(network(z), torch.arange(16) % 2).backward()
    >>> network(z).shape, network.relate(z).shape
    (torch.Size([16, 2]), torch.Size([16, 5, 5]))
    """

    def __init__(
        self,
        features: int = 128,
        classes: int = 4,
        length: int = 9,
        hidden: int = 256,
        relation: str = "fixed",
        content: bool = False,
    ):
        super().__init__()
        check_positive_int(features=features, classes=classes, length=length, hidden=hidden)
        check_names("relation", [relation], RELATIONS)
        self.content, self.length, self.features = content, length, features
        self.register_buffer("places", torch.tril_indices(length, length), persistent=False)  # j <= t
        self.register_buffer("later", torch.ones(length, length).triu(1) > 0, persistent=False)  # j > t
        # Initial weights are PyTorch's own, as theirs.
        self.hidden = nn.Linear(length * (length + 1) // 2, hidden)
        self.answer = nn.Linear(hidden, classes)
        # What twins do not share is drawn last, so that one seed gives them the same of all the rest; these weights
        # are drawn for a network without them, too.
        from_content = nn.Linear(length * features, hidden, bias=False)
        self.from_content = from_content if content else None
        self.query, self.key = relation_maps(relation, features, features)

    def relate(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B T T"]:
        """R, with zeros above the diagonal."""
        alike = self.query(z) @ (self.key or self.query)(z).mT  # Z Z' [B, T, T]
        return alike.masked_fill(self.later, -torch.inf).softmax(dim=-1)

    def states(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B T K"]:
        """What is known of each vector: its row of R."""
        relations = self.relate(z)
        return torch.cat([relations, z], dim=-1) if self.content else relations

    def forward(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B C"]:
        """The answer to each problem, as logits."""
        check_sequences(z, self.length, self)
        seen = self.relate(z)[:, self.places[0], self.places[1]]  # [B, T (T + 1) / 2]
        hidden = self.hidden(seen)
        if self.content:
            hidden = hidden + self.from_content(z.flatten(1))
        return self.answer(torch.relu(hidden))


def relation_maps(
    relation: str, features: int, size: int, identity: bool = False
) -> tuple[nn.Module, nn.Module | None]:
    """What queries and keys are made by: W_q and W_k of a "learned" relation, one map for both, or none.

    They start Glorot-uniform, or as the identity, which makes the relation the fixed one at first.
    """
    if relation == "fixed":
        return nn.Identity(), None

    def made() -> nn.Linear:
        layer = glorot_linear(features, size, bias=False)
        if identity:
            nn.init.eye_(layer.weight)
        return layer

    return made(), None if relation == "tied" else made()
