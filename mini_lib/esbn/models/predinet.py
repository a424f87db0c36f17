"""The PrediNet baseline (Shanahan et al. 2019; A.3.10 of the ESBN paper)."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from mini_lib.errors import check_positive_int
from mini_lib.esbn.models.rn import with_tags
from mini_lib.layers import check_sequences, linear

KEY = 16
RELATIONS = 16


class PrediNet(nn.Module):
    """Each head attends to two objects and reports their difference along shared relation axes.

    a_n = softmax_t(q_n . W_k u_t) for n = 1, 2, with q_n = W_qn [u_1; ...; u_T] and u_t = [z_t, t];
    e_n = sum_t a_n,t u_t; a head reports [W_s e_1 - W_s e_2, tag of e_1, tag of e_2]; y = MLP(all heads).
    Since W_s is linear it is applied to the T objects once, and the heads mix what comes out.

    >>> from torch.nn import functional as F
    >>> network, z = PrediNet(features=8, classes=2, length=9, heads=4), torch.randn(5, 9, 8)
    >>> F.cross_entropy(network(z), torch.arange(5) % 2).backward()
    >>> network(z).shape, network.attention(z).shape
    (torch.Size([5, 2]), torch.Size([2, 5, 4, 9]))
    """

    def __init__(self, features: int = 128, classes: int = 4, length: int = 9, heads: int = 32):
        super().__init__()
        check_positive_int(features=features, classes=classes, length=length, heads=heads)
        self.features, self.length = features, length
        self.heads = heads
        self.key = linear(features + 1, KEY, "xavier", bias=False)
        self.query1 = linear(length * (features + 1), heads * KEY, "xavier", bias=False)
        self.query2 = linear(length * (features + 1), heads * KEY, "xavier", bias=False)
        self.relation = linear(features + 1, RELATIONS, "xavier", bias=False)
        self.hidden = linear(heads * (RELATIONS + 2), 8)
        self.answer = linear(8, classes, "xavier")

    def attention(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "2 B heads T"]:
        """How much each head's first and its second object consist of each step."""
        u = with_tags(z)
        queries = torch.stack([self.query1(u.flatten(1)), self.query2(u.flatten(1))])  # [2, B, heads * KEY]
        scores = queries.unflatten(2, (self.heads, KEY)) @ self.key(u).transpose(1, 2)
        return scores.softmax(dim=-1)

    def forward(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B C"]:
        """The answer to each problem, as logits."""
        check_sequences(z, self.length, self)
        u = with_tags(z)  # [B, T, D + 1]
        first, second = self.attention(z)  # a_1, a_2: [B, heads, T] each
        difference = (first - second) @ self.relation(u)  # [B, heads, RELATIONS]
        tags = [weights @ u[:, :, -1:] for weights in (first, second)]  # [B, heads, 1] each
        reports = torch.cat([difference, *tags], dim=-1).flatten(1)
        return self.answer(F.relu(self.hidden(reports)))
