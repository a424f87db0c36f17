"""The Temporal Relation Network baseline (Zhou et al. 2018; A.3.8 of the ESBN paper)."""

from itertools import combinations

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from mini_lib.esbn.models.rn import with_tags
from mini_lib.layers import linear, scaled


class TemporalRelationNet(nn.Module):
    """Shared MLPs look at all pairs and all triples of objects in their temporal order.

    y = W relu(f(sum_{i<j} g2(u_i, u_j) + sum_{i<j<k} g3(u_i, u_j, u_k))), u_t = [z_t, t].
    Where T = 2 there are no triples. The first layer of g2 and g3 is linear in
    the tuple, so it is applied to each object once per slot and added up per tuple.

    Args:
        features: D, size of an embedding.
        classes: C, number of answers.
        length: T.
        width: scales the hidden layers; 1 is the paper's size.
        paper_form: pass each of the two sums through a layer of its own, relu(f_n(sum)), before they are
            added, as A.3.8 describes. The authors' code has these layers but does not use what they
            compute; False, the default, follows it and leaves them out.
    """

    def __init__(
        self,
        features: int = 128,
        classes: int = 4,
        length: int = 9,
        width: float = 1.0,
        paper_form: bool = False,
    ):
        super().__init__()
        hidden, out = scaled(512, width), scaled(256, width)
        self.paper_form = paper_form
        self.arities = (2, 3) if length > 2 else (2,)
        for arity in self.arities:
            name = {2: "pair", 3: "triple"}[arity]
            self.add_module(f"{name}_hidden", linear(arity * (features + 1), hidden))
            self.add_module(f"{name}_out", linear(hidden, out))
            if paper_form:
                self.add_module(f"{name}_sum", linear(out, out))
            self.register_buffer(f"{name}_members", _members(length, arity), persistent=False)
        self.hidden = linear(out, out)
        self.answer = linear(out, classes, "xavier")

    def relations(self, z: Float[Tensor, "B T D"], name: str) -> Float[Tensor, "B O"]:
        """Sum over all "pair"s or all "triple"s of what their MLP says."""
        first_layer, members = getattr(self, f"{name}_hidden"), getattr(self, f"{name}_members")
        slots = first_layer.weight.chunk(members.shape[1] // z.shape[1], dim=1)
        parts = torch.cat([F.linear(with_tags(z), slot) for slot in slots], dim=1)
        tuples = F.relu(members @ parts + first_layer.bias)
        return F.relu(getattr(self, f"{name}_out")(tuples)).sum(dim=1)

    def forward(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B C"]:
        """The answer to each problem, as logits."""
        sums = []
        for name in ("pair", "triple")[: len(self.arities)]:
            summed = self.relations(z, name)
            sums.append(F.relu(getattr(self, f"{name}_sum")(summed)) if self.paper_form else summed)
        return self.answer(F.relu(self.hidden(sum(sums))))


def _members(length: int, arity: int) -> Float[Tensor, "tuples slots"]:
    """Row n has a 1 at slot * T + t where the n-th tuple has step t in that slot.

    Multiplying by it adds up each tuple's members; it is faster than indexing, above all backwards.
    """
    tuples = torch.tensor(list(combinations(range(length), arity)))
    return F.one_hot(tuples, length).flatten(1).float()
