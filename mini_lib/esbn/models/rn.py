"""The Relation Net baseline (Santoro et al. 2017; A.3.7 of the ESBN paper)."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from mini_lib.errors import check_positive_int
from mini_lib.layers import check_sequences, linear


def with_tags(z: Float[Tensor, "B T D"]) -> Float[Tensor, "B T E"]:
    """Append to each embedding its position, the plain integer 0..T-1, as one more feature (E = D + 1)."""
    tags = torch.arange(z.shape[1], dtype=z.dtype, device=z.device)
    return torch.cat([z, tags.expand(z.shape[0], -1)[..., None]], dim=-1)


class RelationNet(nn.Module):
    """A shared MLP looks at every ordered pair of objects; the sum over pairs goes through a second MLP.

    y = W relu(f(sum_{i,j} g(u_i, u_j))), u_t = [z_t, t], over all T^2 pairs, each object with itself included.
    g's first layer is linear in the pair, so it is applied to each object once and added up per pair.

    In between, g has `hidden` units H; what g and f give has `relation_size` numbers R.

    >>> from torch.nn import functional as F
    >>> network, z = RelationNet(features=8, classes=2, hidden=32, relation_size=16), torch.randn(5, 9, 8)
    >>> F.cross_entropy(network(z), torch.arange(5) % 2).backward()
    >>> network(z).shape
    torch.Size([5, 2])
    """

    def __init__(self, features: int = 128, classes: int = 4, hidden: int = 512, relation_size: int = 256):
        super().__init__()
        check_positive_int(features=features, classes=classes, hidden=hidden, relation_size=relation_size)
        self.features = features
        self.pair_hidden = linear(2 * (features + 1), hidden)
        self.pair_out = linear(hidden, relation_size)
        self.hidden = linear(relation_size, relation_size)
        self.answer = linear(relation_size, classes, "xavier")

    def forward(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B C"]:
        """The answer to each problem, as logits."""
        check_sequences(z, None, self)
        u = with_tags(z)  # [B, T, D + 1]
        first, second = self.pair_hidden.weight.chunk(2, dim=1)
        left = F.linear(u, first, self.pair_hidden.bias)  # [B, T, H]
        pairs = F.relu(left[:, :, None] + F.linear(u, second)[:, None])  # [B, T, T, H]
        summed = F.relu(self.pair_out(pairs)).sum(dim=(1, 2))  # [B, R]
        return self.answer(F.relu(self.hidden(summed)))
