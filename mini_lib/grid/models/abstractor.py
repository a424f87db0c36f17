"""The Abstractor (Altabaa et al. 2024): relations between objects pass messages between symbols of their places."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from mini_lib.errors import UsageError, check_names, check_positive_int
from mini_lib.grid.models.corelnet import RELATIONS, relation_maps
from mini_lib.layers import check_sequences, glorot_linear


class Abstractor(nn.Module):
    """S' = norm(S + concat_h(R_h S W_v) W_o), then norm(S' + MLP(S')), with R_h = softmax(Z W_q (Z W_k)' / sqrt(d)).

    S are learned symbols, one for each place; Z are the objects, a sequence [B, T, D]. So an object acts on the
    answer through its relations to the others, and never by itself. The states of all places, side by side, go
    through one rectified layer to the answer (Altabaa et al. 2024, section 3; weights Glorot-uniform, biases zero).

    Args:
        features: D.
        classes: C.
        length: T.
        size: of a symbol.
        heads: relations, each with an equal part of the values.
        head_size: d, of W_q z and W_k z.
        hidden: units of the MLP.
        answer_hidden: units of the layer before the answer.
        relation: "learned"; "tied", with W_q = W_k; or "fixed": W_q = W_k = I, one relation, of the objects as they
            are.
        content: the values are symbols *and* objects, S + Z in the place of S: the same network without its wall. It
            needs symbols of the objects' size.
        from_identity: whether W_q and W_k start as the identity, for one relation of whole objects.

    >>> from torch.nn import functional as F
    >>> network, z = Abstractor(features=8, classes=2, length=5), torch.randn(16, 5, 8)
    >>> F.cross_entropy(network(z), torch.arange(16) % 2).backward()
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
        super().__init__()
        check_positive_int(features=features, classes=classes, length=length, size=size, heads=heads)
        check_positive_int(head_size=head_size, hidden=hidden, answer_hidden=answer_hidden)
        check_names("relation", [relation], RELATIONS)
        if size % heads:
            raise UsageError(f"{heads} heads cannot share symbols of {size} numbers evenly")
        if (relation == "fixed" or from_identity) and (heads, head_size) != (1, features):
            raise UsageError(
                f"this relation compares whole objects: heads=1, head_size={features}, not {heads} of {head_size}"
            )
        if content and size != features:
            raise UsageError(f"content adds objects to symbols: size={features}, not {size}")
        self.heads, self.head_size, self.content = heads, head_size, content
        self.length, self.features = length, features
        self.symbols = nn.Parameter(torch.randn(length, size))
        self.value = glorot_linear(size, size, bias=False)
        self.out = glorot_linear(size, size, bias=False)
        self.norm1, self.norm2 = nn.LayerNorm(size), nn.LayerNorm(size)
        self.expand, self.contract = glorot_linear(size, hidden), glorot_linear(hidden, size)
        self.hidden = glorot_linear(length * size, answer_hidden)
        self.answer = glorot_linear(answer_hidden, classes)
        # What twins do not share is drawn last, so that one seed gives them the same of all the rest.
        self.query, self.key = relation_maps(relation, features, heads * head_size, from_identity)

    def relate(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B H T T"]:
        """R_h: how each object is related to each other one, rows summing to 1."""
        q, k = (self.by_head(each(z)) for each in (self.query, self.key or self.query))
        return (q @ k.mT / self.head_size**0.5).softmax(dim=-1)

    def by_head(self, x: Float[Tensor, "B T S"]) -> Float[Tensor, "B H T s"]:
        """An equal part of the features for each head."""
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def states(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B T K"]:
        """The symbols of all places after the messages."""
        symbols = self.symbols.expand(len(z), -1, -1)  # S [B, T, K]
        values = self.by_head(self.value(symbols + z if self.content else symbols))  # S W_v [B, H, T, K / H]
        messages = (self.relate(z) @ values).transpose(1, 2).flatten(2)  # concat_h(R_h S W_v) [B, T, K]
        symbols = self.norm1(symbols + self.out(messages))
        return self.norm2(symbols + self.contract(torch.relu(self.expand(symbols))))

    def forward(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B C"]:
        """The answer to each problem, as logits."""
        check_sequences(z, self.length, self)
        return self.answer(torch.relu(self.hidden(self.states(z).flatten(1))))
