"""The bottleneck of differences, as in the relational transformer (Segert and Cohen 2023), for any vectors."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from mini_lib.errors import check_positive_int
from mini_lib.esbn.relational_baselines import Transformer
from mini_lib.layers import check_sequences, linear


class Differences(nn.Module):
    """A transformer over the pairs i < j of a sequence, each shown as W (z_j - z_i) and by its place alone.

    The places of a pair are those of its row and its column; the relational transformer for curves gives them as
    numbers, this one, through `esbn.relational_baselines.Transformer`, as a sinusoidal code of the pair's number.

    Args:
        features: D.
        classes: C.
        length: T; there are T (T - 1) / 2 pairs.
        size: of a pair's state, a multiple of 8.
        hidden: units of the transformer's layer.
        answer_hidden: units of the layer before the answer.
        content: a pair is shown as W (z_j - z_i) + W' z_i: the same network without its wall.

    >>> from torch.nn import functional as F
    >>> network, z = Differences(features=8, classes=2, length=5, size=16), torch.randn(16, 5, 8)
    >>> F.cross_entropy(network(z), torch.arange(16) % 2).backward()
    >>> torch.allclose(network(z), network(z + 3), atol=1e-5)  # what all vectors share is not seen
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
        super().__init__()
        check_positive_int(features=features, classes=classes, length=length, size=size)
        self.length, self.features = length, features
        pairs = torch.tril_indices(length, length, -1)
        self.register_buffer("pairs", pairs, persistent=False)  # j, the later one, and i
        member = torch.zeros(length, pairs.shape[1])
        member[pairs, torch.arange(pairs.shape[1])] = 1 / max(length - 1, 1)
        self.register_buffer("member", member, persistent=False)  # a vector's share in each of its pairs
        self.read = linear(features, size, bias=False)
        sizes = {"hidden": hidden, "answer_hidden": answer_hidden}
        self.transformer = Transformer(features=size, classes=classes, length=pairs.shape[1], **sizes)
        self.from_content = linear(features, size, bias=False) if content else None

    def shown(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B P S"]:
        """What the transformer is given of all pairs."""
        later, earlier = z[:, self.pairs[0]], z[:, self.pairs[1]]
        shown = self.read(later - earlier)
        return shown if self.from_content is None else shown + self.from_content(earlier)

    def states(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B T K"]:
        """The mean state of the pairs that each vector is part of."""
        return self.member @ self.transformer.states(self.shown(z))

    def forward(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B C"]:
        """The answer to each problem, as logits."""
        check_sequences(z, self.length, self)
        return self.transformer(self.shown(z))
