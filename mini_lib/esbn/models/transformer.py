"""The Transformer baseline (Vaswani et al. 2017; A.3.9 of the ESBN paper)."""

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from mini_lib.errors import check_positive_int
from mini_lib.layers import check_sequences, linear, sinusoidal_positions

HEADS = 8


class Transformer(nn.Module):
    """One post-norm encoder layer over the embeddings, averaged over time, then a small MLP.

    x = z + positions; x = norm1(x + attention(x)); x = norm2(x + W2 relu(W1 x)); y = MLP(mean_t final_norm(x)),
    with attention softmax(Q K' / sqrt(D / 8)) V in 8 heads, so that D is a multiple of 8. W1 has `hidden` units, the
    MLP that answers `answer_hidden`. The paper does not mention `final_norm`, which the authors' code has.

    >>> from torch.nn import functional as F
    >>> import torch
    >>> network, z = Transformer(features=16, classes=2, length=9, hidden=32), torch.randn(5, 9, 16)
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
        answer_hidden: int = 256,
        final_norm: bool = True,
    ):
        super().__init__()
        check_positive_int(
            features=features, classes=classes, length=length, hidden=hidden, answer_hidden=answer_hidden
        )
        self.features = features
        self.register_buffer("positions", sinusoidal_positions(length, features), persistent=False)
        self.qkv = linear(features, 3 * features, "xavier")
        self.out_proj = linear(features, features, "xavier")
        self.norm1 = nn.LayerNorm(features)
        self.expand = linear(features, hidden)
        self.contract = linear(hidden, features)
        self.norm2 = nn.LayerNorm(features)
        self.final_norm = nn.LayerNorm(features) if final_norm else nn.Identity()
        self.hidden = linear(features, answer_hidden)
        self.answer = linear(answer_hidden, classes, "xavier")

    def attention(self, x: Float[Tensor, "B T D"]) -> tuple[Float[Tensor, "B T D"], Float[Tensor, "B 8 T T"]]:
        """Self-attention's output, and its weights from each step (row) to each step."""
        q, k, v = (part.unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1))
        weights = (q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5).softmax(dim=-1)
        return self.out_proj((weights @ v).transpose(1, 2).flatten(2)), weights

    def states(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        """What the layer makes of each step."""
        check_sequences(z, len(self.positions), self)
        x = z + self.positions
        x = self.norm1(x + self.attention(x)[0])
        x = self.norm2(x + self.contract(F.relu(self.expand(x))))
        return self.final_norm(x)

    def forward(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B C"]:
        """The answer to each problem, as logits."""
        return self.answer(F.relu(self.hidden(self.states(z).mean(dim=1))))
