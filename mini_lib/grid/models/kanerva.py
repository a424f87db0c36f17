"""One Kanerva Machine (Wu et al. 2018; Marblestone et al. 2020 with k = 1) that tells how known each vector is."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from mini_lib.kanerva.memory import MachineWeights, Prior, address, initial_means, predictive, write_item
from mini_lib.layers import check_sequences, linear

LEAST_NOISE = 0.05


class KanervaReader(nn.Module):
    """Each vector of a sequence is looked for in the memory, and then written into it.

    What the memory says of z_t before it is written are three numbers: how far its answer lies from z_t, how long
    the answer is, both against the length of z_t, and the variance that it expects. The numbers of all steps go
    through one rectified layer to the answer; the vectors themselves do not. Prior means and the noise are learned.

    Args:
        features: D.
        classes: C.
        length: T.
        columns: of the machine.
        hidden: units of the rectified layer.

    >>> network, z = KanervaReader(features=8, classes=2, length=5, columns=12, hidden=16), torch.randn(16, 5, 8)
    >>> F.cross_entropy(network(z), torch.arange(16) % 2).backward()
    >>> z[:, 4] = z[:, 1]  # written at step 1, so at step 4 less variance is expected
    >>> seen = network.states(z)
    >>> seen.shape, bool((seen[:, 4, 2] < seen[:, 1, 2]).all())
    (torch.Size([16, 5, 3]), True)
    """

    def __init__(
        self, features: int = 128, classes: int = 4, length: int = 9, columns: int = 32, hidden: int = 256
    ):
        super().__init__()
        self.length, self.features = length, features
        self.means = nn.Parameter(initial_means(1, features, columns))
        self.noise = nn.Parameter(torch.zeros(1))  # softplus(0) = .69
        self.hidden = linear(3 * length, hidden)
        self.answer = linear(hidden, classes, "xavier")

    def states(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B T 3"]:
        """How far the memory's answer is from each vector, how long it is, and the variance that it expects."""
        eta = (F.softplus(self.noise) + LEAST_NOISE).expand(len(z), 1)  # [B, K = 1]
        weights = MachineWeights(eta, torch.ones_like(eta))
        state, known = Prior(self.means, torch.ones_like(self.noise)).state(len(z)), []
        for code in z.unbind(dim=1):
            w = address(state.R, code)
            each = MachineWeights(*(part[:, None] for part in weights))
            mean, variance = predictive(state, w[:, None], each)  # before writing: [B, 1, D], [B, 1]
            size = code.square().mean(dim=-1) + 1e-6
            apart = (code - mean[:, 0]).square().mean(dim=-1) / size
            known.append(
                torch.stack([apart, mean[:, 0].square().mean(dim=-1) / size, variance[:, 0]], dim=-1)
            )
            state, _ = write_item(state, code, w, weights)
        return torch.stack(known, dim=1)

    def forward(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B C"]:
        """The answer to each problem, as logits."""
        check_sequences(z, self.length, self)
        return self.answer(torch.relu(self.hidden(self.states(z).flatten(1))))
