"""Mechanisms of two of the papers for any vectors: a pointer, from Syntactic Attention, and a Kanerva Machine.

In shapes B are problems, T steps, D features, C classes, K numbers of a state.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from mini_lib.errors import UsageError
from mini_lib.esbn.network import SequenceNetwork
from mini_lib.kanerva.memory import MachineWeights, Prior, addresses, initial_means, predictive, write_item
from mini_lib.layers import linear
from mini_lib.scan.recurrent import BiLSTM

LEAST_NOISE = 0.05


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
