"""Relational baselines: Relation Net (A.3.7), Temporal Relation Net (A.3.8), Transformer (A.3.9), PrediNet (A.3.10).

In shapes B are problems, T steps, D features, H hidden units, C classes.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from mini_lib.errors import UsageError
from mini_lib.esbn.network import SequenceNetwork
from mini_lib.layers import attention, linear, sinusoidal_positions

HEADS = 8  # of the Transformer
KEY, RELATIONS = 16, 16  # numbers in PrediNet's keys and in a relation


def with_tags(z: Float[Tensor, "B T D"]) -> Float[Tensor, "B T E"]:
    """Append to each embedding its position, the plain integer 0..T-1, as one more feature (E = D + 1)."""
    tags = torch.arange(z.shape[1], dtype=z.dtype, device=z.device).expand(len(z), -1)
    return torch.cat([z, tags[..., None]], dim=-1)


class RelationNet(SequenceNetwork):
    """A shared MLP for every ordered pair of objects; their sum goes through a second MLP (Santoro et al. 2017).

    y = W relu(f(sum_{i,j} g(u_i, u_j))), u_t = [z_t, t], over all T^2 pairs, each object with itself included.
    g's first layer, of `hidden` units, is applied to each object once and added up per pair. The outputs of g and f
    have `relation_size` numbers R.
    """

    def __init__(self, features: int = 128, classes: int = 4, hidden: int = 512, relation_size: int = 256):
        super().__init__(features, classes=classes, hidden=hidden, relation_size=relation_size)
        self.pair_hidden = linear(2 * (features + 1), hidden)
        self.pair_out = linear(hidden, relation_size)
        self.hidden = linear(relation_size, relation_size)
        self.answer = linear(relation_size, classes, "xavier")

    def _logits(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B C"]:
        u = with_tags(z)  # [B, T, D + 1]
        first, second = self.pair_hidden.weight.chunk(2, dim=1)
        left = F.linear(u, first, self.pair_hidden.bias)  # [B, T, H]
        pairs = F.relu(left[:, :, None] + F.linear(u, second)[:, None])  # [B, T, T, H]
        total = F.relu(self.pair_out(pairs)).sum(dim=(1, 2))  # [B, R]
        return self.answer(F.relu(self.hidden(total)))


class TemporalRelationNet(SequenceNetwork):
    """Shared MLPs for all pairs and all triples of objects in their temporal order (Zhou et al. 2018).

    y = W relu(f(sum_{i<j} g2(u_i, u_j) + sum_{i<j<k} g3(u_i, u_j, u_k))), u_t = [z_t, t]; pairs alone where T = 2.
    g2 and g3 have `hidden` units; their outputs and f's have `relation_size` numbers R. With `paper_form` each sum
    passes through a layer of its own (A.3.8).
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
        super().__init__(features, length, classes=classes, hidden=hidden, relation_size=relation_size)
        if length < 2:
            raise UsageError("a sequence needs two objects or more for a relation, got length=1")
        sizes = length, features + 1, hidden, relation_size, paper_form
        self.pairs = _Tuples(2, *sizes)
        self.triples = _Tuples(3, *sizes) if length > 2 else None
        self.hidden = linear(relation_size, relation_size)
        self.answer = linear(relation_size, classes, "xavier")

    def _logits(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B C"]:
        u = with_tags(z)  # [B, T, D + 1]
        total = self.pairs(u) if self.triples is None else self.pairs(u) + self.triples(u)  # [B, R]
        return self.answer(F.relu(self.hidden(total)))


class _Tuples(nn.Module):
    """Sum of g over all tuples of n objects; with `paper_form` relu(f_n(sum))."""

    def __init__(self, n: int, length: int, features: int, hidden: int, relation_size: int, paper_form: bool):
        super().__init__()
        steps = torch.combinations(torch.arange(length), n).T.contiguous()  # [n, tuples]
        self.register_buffer("steps", steps, persistent=False)
        self.hidden = linear(n * features, hidden)
        self.out = linear(hidden, relation_size)
        self.sum = linear(relation_size, relation_size) if paper_form else None

    def forward(self, u: Float[Tensor, "B T E"]) -> Float[Tensor, "B R"]:
        """Sum for each problem."""
        # The first layer is applied to each object once per place in a tuple, and added up per tuple: [B, tuples, H]
        weights = self.hidden.weight.chunk(len(self.steps), dim=1)
        tuples = sum(F.linear(u, w).index_select(1, i) for w, i in zip(weights, self.steps, strict=True))
        total = F.relu(self.out(F.relu(tuples + self.hidden.bias))).sum(dim=1)
        return total if self.sum is None else F.relu(self.sum(total))


class Transformer(SequenceNetwork):
    """One post-norm encoder layer over the embeddings, averaged over time, then a small MLP (Vaswani et al. 2017).

    x = z + positions; x = norm1(x + attention(x)); x = norm2(x + W2 relu(W1 x)); y = MLP(mean_t final_norm(x)),
    with attention in 8 heads. W1 has `hidden` units, the MLP `answer_hidden`. `final_norm` is the authors' code's.

    >>> Transformer(features=16, classes=2, length=9)(torch.randn(5, 9, 16)).shape
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
        super().__init__(features, length, classes=classes, hidden=hidden, answer_hidden=answer_hidden)
        if features % HEADS:
            raise UsageError(f"features have to be a multiple of the {HEADS} attention heads, got {features}")
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

    def states(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        """The encoder layer's output at each step."""
        x = z + self.positions
        q, k, v = self.qkv(x).unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)  # [B, 8, T, D / 8] each
        mixed = attention(q, k, v)[0].transpose(1, 2).flatten(2)  # [B, T, D]
        x = self.norm1(x + self.out_proj(mixed))
        x = self.norm2(x + self.contract(F.relu(self.expand(x))))
        return self.final_norm(x)

    def _logits(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B C"]:
        return self.answer(F.relu(self.hidden(self.states(z).mean(dim=1))))


class PrediNet(SequenceNetwork):
    """Each head attends to two objects and outputs their difference in shared relations (Shanahan et al. 2019).

    a_n = softmax_t(q_n . W_k u_t) for n = 1, 2, with q_n = W_qn [u_1; ...; u_T] and u_t = [z_t, t];
    e_n = sum_t a_n,t u_t; a head outputs [W_s e_1 - W_s e_2, tag of e_1, tag of e_2]; y = MLP(all heads).
    """

    def __init__(self, features: int = 128, classes: int = 4, length: int = 9, heads: int = 32):
        super().__init__(features, length, classes=classes, heads=heads)
        self.heads = heads
        self.key = linear(features + 1, KEY, "xavier", bias=False)
        self.query1 = linear(length * (features + 1), heads * KEY, "xavier", bias=False)
        self.query2 = linear(length * (features + 1), heads * KEY, "xavier", bias=False)
        self.relation = linear(features + 1, RELATIONS, "xavier", bias=False)
        self.hidden = linear(heads * (RELATIONS + 2), 8)
        self.answer = linear(8, classes, "xavier")

    def _logits(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B C"]:
        u = with_tags(z)  # [B, T, D + 1]
        queries = torch.stack([self.query1(u.flatten(1)), self.query2(u.flatten(1))])  # [2, B, heads * KEY]
        scores = queries.unflatten(2, (self.heads, KEY)) @ self.key(u).transpose(1, 2)
        first, second = scores.softmax(dim=-1)  # a_1, a_2: [B, heads, T] each
        difference = (first - second) @ self.relation(u)  # [B, heads, RELATIONS]
        tags = first @ u[:, :, -1:], second @ u[:, :, -1:]  # [B, heads, 1] each
        return self.answer(F.relu(self.hidden(torch.cat([difference, *tags], dim=-1).flatten(1))))
