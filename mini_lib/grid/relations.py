"""Mechanisms whose answer depends on relations between vectors: CoRelNet, the Abstractor, and differences.

In shapes B are problems, T steps, D features, C classes, H heads, K numbers of a state, P pairs.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from mini_lib.errors import UsageError, check_names
from mini_lib.esbn.network import SequenceNetwork
from mini_lib.esbn.relational_baselines import Transformer
from mini_lib.layers import attention, linear

RELATIONS = ("fixed", "tied", "learned")


class CoRelNet(SequenceNetwork):
    """R = softmax(Z Z'), row by row over the vectors up to each one's own; then two linear layers.

    R_tj, for j <= t, is the similarity of z_t and z_j, not scaled. The T (T + 1) / 2 numbers below and on the
    diagonal go through one rectified layer of `hidden` units (Kerg et al. 2022).

    The `relation` is "fixed", of the vectors themselves, as in the paper; "learned", of W_q z with W_k z, its
    asymmetric variant; or "tied", W_q = W_k. With `content` the answer depends on the vectors too: no wall.

    >>> network, z = CoRelNet(features=8, classes=2, length=5), torch.randn(16, 5, 8)
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
        super().__init__(features, length, classes=classes, hidden=hidden)
        check_names("relation", [relation], RELATIONS)
        self.content = content
        self.register_buffer("places", torch.tril_indices(length, length), persistent=False)  # j <= t
        self.register_buffer("later", torch.ones(length, length).triu(1) > 0, persistent=False)  # j > t
        # Initial weights are PyTorch's own, as theirs.
        self.hidden = nn.Linear(length * (length + 1) // 2, hidden)
        self.answer = nn.Linear(hidden, classes)
        # What twins do not share is drawn last; these weights are drawn for a network without them, too.
        from_content = nn.Linear(length * features, hidden, bias=False)
        self.from_content = from_content if content else None
        self.query, self.key = relation_maps(relation, features, features)

    def relate(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B T T"]:
        """R, with zeros above the diagonal."""
        similarity = self.query(z) @ (self.key or self.query)(z).mT  # Z Z' [B, T, T]
        return similarity.masked_fill(self.later, -torch.inf).softmax(dim=-1)

    def states(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B T K"]:
        """All that the answer depends on of each vector: its row of R."""
        relations = self.relate(z)
        return torch.cat([relations, z], dim=-1) if self.content else relations

    def _logits(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B C"]:
        hidden = self.hidden(self.relate(z)[:, self.places[0], self.places[1]])  # of [B, T (T + 1) / 2]
        if self.content:
            hidden = hidden + self.from_content(z.flatten(1))
        return self.answer(torch.relu(hidden))


def relation_maps(
    relation: str, features: int, size: int, identity: bool = False
) -> tuple[nn.Module, nn.Module | None]:
    """Maps of queries and keys: W_q and W_k of a "learned" relation, one for both, or the identity.

    They start Glorot-uniform, or with `identity` so that the relation is the fixed one at first.
    """
    if relation == "fixed":
        return nn.Identity(), None
    maps = [linear(features, size, "glorot", bias=False) for _ in range(1 if relation == "tied" else 2)]
    if identity:
        for each in maps:
            nn.init.eye_(each.weight)
    return maps[0], maps[1] if len(maps) > 1 else None


class Abstractor(SequenceNetwork):
    """Relations between objects pass messages between symbols of their places (Altabaa et al. 2024, section 3).

    S' = norm(S + concat_h(R_h S W_v) W_o), then norm(S' + MLP(S')), with R_h = softmax(Z W_q (Z W_k)' / sqrt(d)).
    S are learned symbols, one for each place; Z are the objects. The states of all places, side by side, go through
    one rectified layer of `answer_hidden` units to the answer.

    Args:
        size, heads, head_size, hidden: numbers of a symbol, relations, d, and units of the MLP.
        relation: "learned"; "tied", with W_q = W_k; or "fixed": W_q = W_k = I, one relation, of whole objects.
        content: the values are S + Z in place of S: the same network without its wall. It needs size = features.
        from_identity: W_q and W_k start as the identity, for one relation of whole objects.

    >>> network, z = Abstractor(features=8, classes=2, length=5), torch.randn(16, 5, 8)
    >>> network(z).shape, network.relate(z).shape
    (torch.Size([16, 2]), torch.Size([16, 4, 5, 5]))
    """

    def __init__(
        self,
        features: int = 128,
        classes: int = 4,
        length: int = 9,
        size: int = 64,
        heads: int = 4,
        head_size: int = 16,
        hidden: int = 64,
        answer_hidden: int = 32,
        relation: str = "learned",
        content: bool = False,
        from_identity: bool = False,
    ):
        sizes = {"heads": heads, "head_size": head_size, "hidden": hidden, "answer_hidden": answer_hidden}
        super().__init__(features, length, classes=classes, size=size, **sizes)
        check_names("relation", [relation], RELATIONS)
        if size % heads:
            raise UsageError(f"{heads} heads cannot share symbols of {size} numbers evenly")
        if (relation == "fixed" or from_identity) and (heads, head_size) != (1, features):
            raise UsageError(
                f"this relation needs heads=1, head_size={features}, not {heads} and {head_size}"
            )
        if content and size != features:
            raise UsageError(f"content adds objects to symbols: size={features}, not {size}")
        self.heads, self.content = heads, content
        self.symbols = nn.Parameter(torch.randn(length, size))
        self.value = linear(size, size, "glorot", bias=False)
        self.out = linear(size, size, "glorot", bias=False)
        self.norm1, self.norm2 = nn.LayerNorm(size), nn.LayerNorm(size)
        self.expand, self.contract = linear(size, hidden, "glorot"), linear(hidden, size, "glorot")
        self.hidden = linear(length * size, answer_hidden, "glorot")
        self.answer = linear(answer_hidden, classes, "glorot")
        # What twins do not share is drawn last.
        self.query, self.key = relation_maps(relation, features, heads * head_size, from_identity)

    def attention(
        self, z: Float[Tensor, "B T D"]
    ) -> tuple[Float[Tensor, "B H T s"], Float[Tensor, "B H T T"]]:
        """Messages R_h S W_v, and the relations R_h."""
        values = self.symbols + z if self.content else self.symbols.expand(len(z), -1, -1)
        parts = self.query(z), (self.key or self.query)(z), self.value(values)
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts)  # [B, H, T, ...]
        return attention(q, k, v)

    def relate(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B H T T"]:
        """R_h, the relation of each object to each, rows summing to 1."""
        return self.attention(z)[1]

    def states(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B T K"]:
        """The symbols of all places after the messages."""
        messages = self.attention(z)[0].transpose(1, 2).flatten(2)  # concat_h(R_h S W_v) [B, T, K]
        symbols = self.norm1(self.symbols + self.out(messages))
        return self.norm2(symbols + self.contract(torch.relu(self.expand(symbols))))

    def _logits(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B C"]:
        return self.answer(torch.relu(self.hidden(self.states(z).flatten(1))))


class Differences(SequenceNetwork):
    """A transformer over the pairs i < j of a sequence, whose input is W (z_j - z_i) and the pair's place alone.

    A bottleneck of differences as in the relational transformer (Segert and Cohen 2023), for any vectors; a place is
    a sinusoidal code of the pair's number. `size`, a multiple of 8, is that of a pair's state. With `content` the
    input is W (z_j - z_i) + W' z_i: no wall.

    >>> network, z = Differences(features=8, classes=2, length=5, size=16), torch.randn(16, 5, 8)
    >>> torch.allclose(network(z), network(z + 3), atol=1e-5)  # what all vectors share makes no difference
    True
    """

    def __init__(
        self,
        features: int = 128,
        classes: int = 4,
        length: int = 9,
        size: int = 64,
        hidden: int = 512,
        answer_hidden: int = 256,
        content: bool = False,
    ):
        super().__init__(features, length, classes=classes, size=size)
        if length < 2:
            raise UsageError("a sequence needs two vectors or more for a difference, got length=1")
        pairs = torch.tril_indices(length, length, -1)
        self.register_buffer("pairs", pairs, persistent=False)  # j, the later one, and i
        member = torch.zeros(length, pairs.shape[1])
        member[pairs, torch.arange(pairs.shape[1])] = 1 / (length - 1)
        self.register_buffer("member", member, persistent=False)  # a vector's weight in each of its pairs
        self.read = linear(features, size, bias=False)
        self.transformer = Transformer(size, classes, pairs.shape[1], hidden, answer_hidden)
        self.from_content = linear(features, size, bias=False) if content else None

    def inputs(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B P S"]:
        """The transformer's input for each pair."""
        later, earlier = z[:, self.pairs[0]], z[:, self.pairs[1]]
        inputs = self.read(later - earlier)
        return inputs if self.from_content is None else inputs + self.from_content(earlier)

    def states(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B T K"]:
        """The mean state of the pairs that each vector is part of."""
        return self.member @ self.transformer.states(self.inputs(z))

    def _logits(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B C"]:
        return self.transformer(self.inputs(z))
