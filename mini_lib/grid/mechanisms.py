"""Mechanisms for sequences of any vectors: three whose answer depends on relations, a pointer, a Kanerva Machine.

In shapes B are problems, T steps, D features, C classes, H heads, K numbers of a state, P pairs.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from mini_lib.errors import UsageError, check_names
from mini_lib.esbn.network import SequenceNetwork
from mini_lib.esbn.relational_baselines import Transformer
from mini_lib.kanerva.memory import MachineWeights, Prior, addresses, initial_means, predictive, write_item
from mini_lib.layers import attention, linear
from mini_lib.scan.recurrent import BiLSTM

RELATIONS = ("fixed", "tied", "learned")
LEAST_NOISE = 0.05


class CoRelNet(SequenceNetwork):
    """R = softmax(Z Z'), row by row over the vectors up to each one's own; then two linear layers.

    R_tj, for j <= t, is the similarity of z_t and z_j, not scaled. The T (T + 1) / 2 numbers below and on the
    diagonal go through one rectified layer of `hidden` units (Kerg et al. 2022).

    The `relation` is "fixed", of the vectors themselves, as in the paper; "learned", of W_q z with W_k z, its
    asymmetric variant; or "tied", W_q = W_k. With `content` the answer depends on the vectors too: no bottleneck.

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
        content: the values are S + Z, not S: the same network without its bottleneck. It needs size = features.
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
    input is W (z_j - z_i) + W' z_i: no bottleneck.

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


class Pointer(SequenceNetwork):
    """alpha = softmax_j(s . h_j): a bidirectional LSTM computes h_j and, from its last states, the query s.

    Where the answer is one of the sequence's own steps, `places`, the logits are s . h_j of those steps. Otherwise
    they are linear functions of sum_j alpha_j m_j, with m_j = W z_j, as in Russin et al. (2020, equations 1 to 6).
    `syntax` are the states of each direction of h_j, `semantics` the features of m_j.
    """

    def __init__(
        self,
        features: int = 128,
        classes: int = 4,
        length: int = 9,
        places: tuple[int, ...] = (),
        syntax: int = 64,
        semantics: int = 64,
    ):
        super().__init__(features, length, classes=classes, syntax=syntax, semantics=semantics)
        if places and (len(places) != classes or not all(0 <= place < length for place in places)):
            raise UsageError(f"{classes} classes need as many places among {length} steps, got {places}")
        self.register_buffer("places", torch.tensor(places, dtype=torch.long), persistent=False)
        self.roles = BiLSTM(features, syntax)
        self.first_query = nn.Linear(2 * syntax, 2 * syntax)
        self.points = bool(places)
        if not self.points:
            self.meaning = nn.Linear(features, semantics, bias=False)
            self.answer = nn.Linear(semantics, classes)

    def states(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B T K"]:
        """h_j."""
        return self._roles_and_query(z)[0]

    def scores(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B T"]:
        """The score of each step, s . h_j."""
        roles, query = self._roles_and_query(z)
        return (roles @ query[:, :, None])[:, :, 0]

    def attention(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B T"]:
        """alpha, the attention to each step."""
        return self.scores(z).softmax(dim=-1)

    def _logits(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B C"]:
        if self.points:
            return self.scores(z)[:, self.places]
        return self.answer((self.attention(z)[:, None] @ self.meaning(z))[:, 0])

    def _roles_and_query(self, z: Float[Tensor, "B T D"]) -> tuple[Tensor, Tensor]:
        lengths = torch.full((len(z),), z.shape[1], device=z.device)
        before, after, final = self.roles(z, z, lengths)
        return torch.cat([before, after], dim=-1), torch.relu(self.first_query(final))


class KanervaReader(SequenceNetwork):
    """One Kanerva Machine in which each vector of a sequence is first looked up, and then written.

    Before z_t is written, three numbers are read: the squared error of the memory's answer and its squared length,
    both relative to that of z_t, and the variance that it expects. Those of all steps go through one rectified layer
    of `hidden` units to the answer. The prior means, of `columns`, and the noise are learned (Wu et al. 2018;
    Marblestone et al. 2020 with k = 1).

    >>> network, z = KanervaReader(features=8, classes=2, length=5, columns=12, hidden=16), torch.randn(16, 5, 8)
    >>> z[:, 4] = z[:, 1]  # written at step 1, so at step 4 less variance is expected
    >>> bool((network.states(z)[:, 4, 2] < network.states(z)[:, 1, 2]).all())
    True
    """

    def __init__(
        self, features: int = 128, classes: int = 4, length: int = 9, columns: int = 32, hidden: int = 256
    ):
        super().__init__(features, length, classes=classes, columns=columns, hidden=hidden)
        self.means = nn.Parameter(initial_means(1, features, columns))
        self.noise = nn.Parameter(torch.zeros(1))  # softplus(0) = .69
        self.hidden = linear(3 * length, hidden)
        self.answer = linear(hidden, classes, "xavier")

    def states(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B T 3"]:
        """Error, length and expected variance of the memory's answer to each vector."""
        eta = (F.softplus(self.noise) + LEAST_NOISE).expand(len(z), 1)  # [B, K = 1]
        weights = MachineWeights(eta, torch.ones_like(eta))
        each = MachineWeights(*(part[:, None] for part in weights))  # of one item: [B, 1, K]
        state, read = Prior(self.means, torch.ones_like(self.noise)).state(len(z)), []
        for code in z.unbind(dim=1):
            w = addresses(state.R, code[:, None])  # [B, 1, K, M]
            mean, variance = predictive(state, w, each)  # before writing: [B, 1, D], [B, 1]
            size = code.square().mean(dim=-1) + 1e-6
            error = (code - mean[:, 0]).square().mean(dim=-1) / size
            read.append(torch.stack([error, mean[:, 0].square().mean(dim=-1) / size, variance[:, 0]], dim=-1))
            state, _ = write_item(state, code, w[:, 0], weights)
        return torch.stack(read, dim=1).to(z.dtype)

    def _logits(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B C"]:
        return self.answer(torch.relu(self.hidden(self.states(z).flatten(1))))
