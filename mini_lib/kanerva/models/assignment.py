"""How much each machine counts for a code, inferred by a network (A.1.3, A.2.1)."""

from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from mini_lib.errors import UsageError
from mini_lib.kanerva.memory import MachineWeights, assignment_kl, weights_from_eta
from mini_lib.kanerva.models.noise import GIVEN, Normal

HIDDEN = (40, 20)  # units of MLP_1, which ends in one for each machine
LEAST_SD = 1e-4  # of what is drawn; the paper takes a linear layer's output for a standard deviation
LEAST_NOISE = 1e-3  # of eta, so that 1 / eta^2 stays a number
IDLE = 40.0  # noise multiplier of a machine that an item is not assigned to: a weight of 1 / 1,600


def perceptron(*sizes: int) -> nn.Sequential:
    """Linear layers between these sizes, with ReLU between them and none at the end."""
    layers = [layer for pair in pairwise(sizes) for layer in (nn.ReLU(), nn.Linear(*pair))]
    return nn.Sequential(*layers[1:])


def positive(x: Float[Tensor, "*B F"]) -> Float[Tensor, "*B F"]:
    """A standard deviation from any number: softplus(x) + .0001."""
    return F.softplus(x) + LEAST_SD


class AssignmentNetwork(nn.Module):
    """q(r | z, h) and p(r | h), as normal distributions of a variable u that stands for r.

    q: mu_r = Linear_1([MLP_1(z), h]), sigma_r = softplus(Linear_2([MLP_1(z), h])) + .0001, when writing and reading.
    p: the same with Linear_3(h) and Linear_4(h), when generating.
    eta = softplus(u) + .001 stands for sigma_i / sqrt(r_i), and gamma_i = eta_i^-2 / sum_j eta_j^-2.

    The paper calls u the logarithm of r, draws eta itself in Algorithm 1, and has a softplus between them in A.1.3,
    which is followed here. A larger u is a smaller r.

    Args:
        dim: D, features of a code z.
        machines: K.
        history: H, features of h.
        stop_grad: keep everything from learning through r: the ablation of Figure 2C. The divergence is 0 then.
    """

    noise_name = "assignment"

    def __init__(self, dim: int, machines: int, history: int, stop_grad: bool = False):
        super().__init__()
        self.stop_grad = stop_grad
        self.mlp = perceptron(dim, *HIDDEN, machines)  # MLP_1
        self.mean, self.sd = (nn.Linear(machines + history, machines) for _ in range(2))  # Linear_1, Linear_2
        self.prior_mean, self.prior_sd = (
            nn.Linear(history, machines) for _ in range(2)
        )  # Linear_3, Linear_4

    def features(self, codes: Float[Tensor, "*B D"]) -> Float[Tensor, "*B K"]:
        """MLP_1(z), the part that does not wait for the history."""
        return self.mlp(codes)

    def posterior(self, features: Float[Tensor, "*B K"], h: Float[Tensor, "*B H"]) -> Normal:
        """q(r | z, h), of u."""
        both = torch.cat([features, h], dim=-1)  # [*B, K + H]
        return Normal(self.mean(both), positive(self.sd(both)))

    def prior(self, h: Float[Tensor, "*B H"]) -> Normal:
        """p(r | h), of u."""
        return Normal(self.prior_mean(h), positive(self.prior_sd(h)))

    def weights(
        self,
        features: Float[Tensor, "*B K"],
        h: Float[Tensor, "*B H"],
        noise: Float[Tensor, "*B K"] | None = None,
    ) -> MachineWeights:
        """Noise eta and weight gamma from a draw of q; without noise, from its mean."""
        return self.weights_at(self.posterior(features, h).draw(noise))

    def weights_at(self, u: Float[Tensor, "*B K"]) -> MachineWeights:
        """Noise eta and weight gamma at u."""
        u = u.detach() if self.stop_grad else u
        return weights_from_eta(F.softplus(u) + LEAST_NOISE)

    def divergence(self, features: Float[Tensor, "*B K"], h: Float[Tensor, "*B H"]) -> Float[Tensor, "*B K"]:
        """KL(q(r | z, h) || p(r | h)) of each machine."""
        if self.stop_grad:
            return torch.zeros_like(features)
        return assignment_kl(*self.posterior(features, h), *self.prior(h))


class GivenAssignment(nn.Module):
    """Weights that the caller has chosen, in the place of the assignment network; not the paper's.

    A control: it shows what a memory could do if it knew which machine is to have an item. The network's noise then
    holds "given" and "given_read", each machine's share of each item and of each query. [B, T, K]

    Args:
        machines: K.
    """

    noise_name = GIVEN

    def __init__(self, machines: int):
        super().__init__()
        self.machines = machines
        self.u = nn.Parameter(torch.zeros(()))  # sets the noise of a machine that has an item

    def features(self, codes: Float[Tensor, "*B D"]) -> Float[Tensor, "*B K"]:
        """Nothing: the choice does not depend on codes."""
        return codes.new_zeros(*codes.shape[:-1], self.machines)

    def weights(
        self,
        features: Float[Tensor, "*B K"],
        h: Float[Tensor, "*B H"],
        shares: Float[Tensor, "*B K"] | None = None,
    ) -> MachineWeights:
        """eta, 40 times as large for a machine whose share of the item is 0 as for one that has all of it."""
        if shares is None:
            raise UsageError(
                f"this network's machines are given: pass noise with {GIVEN!r} and '{GIVEN}_read', each machine's"
                " share of each item and query [B, T, K]"
            )
        return weights_from_eta((F.softplus(self.u) + LEAST_NOISE) * (shares + IDLE * (1 - shares)))
