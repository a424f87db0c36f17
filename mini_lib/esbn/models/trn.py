"""The Temporal Relation Network baseline (Zhou et al. 2018; A.3.8 of the ESBN paper)."""

from itertools import combinations

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from mini_lib.errors import check_positive_int
from mini_lib.esbn.models.rn import with_tags
from mini_lib.layers import check_sequences, linear


class TemporalRelationNet(nn.Module):
    """Shared MLPs look at all pairs and all triples of objects in their temporal order.

    y = W relu(f(sum_{i<j} g2(u_i, u_j) + sum_{i<j<k} g3(u_i, u_j, u_k))), u_t = [z_t, t].
    Where T = 2 there are no triples. The first layer of g2 and g3, with `hidden` units H, is linear in the tuple, so
    it is applied to each object once per slot and added up per tuple; g2, g3 and f give `relation_size` numbers R.

    With `paper_form` each of the two sums passes through a layer of its own, relu(f_n(sum)), before they are added,
    as A.3.8 describes. The authors' code has these layers and does not use what they compute; by default they are
    left out.

    >>> from torch.nn import functional as F
    >>> network, z = TemporalRelationNet(features=8, classes=2, length=9, hidden=16), torch.randn(5, 9, 8)
    >>> F.cross_entropy(network(z), torch.arange(5) % 2).backward()
    >>> network(z).shape
    torch.Size([5, 2])
    """

    def __init__(
        self,
        features: int = 128,
        classes: int = 4,
        length: int = 9,
        hidden: int = 512,
        relation_size: int = 256,
        paper_form: bool = False,
    ):
        super().__init__()
        check_positive_int(
            features=features, classes=classes, length=length, hidden=hidden, relation_size=relation_size
        )
        self.features, self.length = features, length
        self.paper_form, self.triples = paper_form, length > 2
        self.pair_hidden = linear(2 * (features + 1), hidden)
        self.pair_out = linear(hidden, relation_size)
        if paper_form:
            self.pair_sum = linear(relation_size, relation_size)
        self.register_buffer("pair_members", _members(length, 2), persistent=False)
        if self.triples:
            self.triple_hidden = linear(3 * (features + 1), hidden)
            self.triple_out = linear(hidden, relation_size)
            if paper_form:
                self.triple_sum = linear(relation_size, relation_size)
            self.register_buffer("triple_members", _members(length, 3), persistent=False)
        self.hidden = linear(relation_size, relation_size)
        self.answer = linear(relation_size, classes, "xavier")

    def forward(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B C"]:
        """The answer to each problem, as logits."""
        check_sequences(z, self.length, self)
        u = with_tags(z)  # [B, T, D + 1]
        total = _relate(u, self.pair_members, self.pair_hidden, self.pair_out)  # [B, R]
        if self.paper_form:
            total = F.relu(self.pair_sum(total))
        if self.triples:
            triples = _relate(u, self.triple_members, self.triple_hidden, self.triple_out)
            total = total + (F.relu(self.triple_sum(triples)) if self.paper_form else triples)
        return self.answer(F.relu(self.hidden(total)))


def _relate(
    u: Float[Tensor, "B T E"], members: Float[Tensor, "tuples slots"], hidden: nn.Linear, out: nn.Linear
) -> Float[Tensor, "B R"]:
    """Sum, over all pairs or all triples, of what their MLP g gives."""
    arity = members.shape[1] // u.shape[1]
    slots = hidden.weight.chunk(arity, dim=1)  # g's first layer for each place in a tuple
    parts = torch.cat([F.linear(u, slot) for slot in slots], dim=1)  # [B, slots, H]
    tuples = F.relu(members @ parts + hidden.bias)  # [B, tuples, H]
    return F.relu(out(tuples)).sum(dim=1)


def _members(length: int, arity: int) -> Float[Tensor, "tuples slots"]:
    """Row n has a 1 at slot * T + t where the n-th tuple has step t in that slot.

    Multiplying by it adds up each tuple's members; it is faster than indexing, above all backwards.
    """
    tuples = torch.tensor(list(combinations(range(length), arity)))
    return F.one_hot(tuples, length).flatten(1).float()
