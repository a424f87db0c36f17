"""What is inferred beside a code: the history of its episode (A.2.1), and how much each machine counts (A.1.3).

Letters: D features of a code z, K machines, L features of the history variable h, Q of the running mean Omega.
"""

from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from mini_lib.errors import UsageError, check_names
from mini_lib.kanerva.memory import MachineWeights, gaussian_kl, weights_from_eta
from mini_lib.kanerva.models.noise import GIVEN, Normal

HIDDEN = (40, 20)  # units of MLP_1, which ends in one for each machine
LEAST_SD = 1e-4  # of what is drawn; the paper takes a linear layer's output for a standard deviation
LEAST_NOISE = 1e-3  # of eta, so that 1 / eta^2 stays a number
IDLE = 40.0  # noise multiplier of a machine that an item is not assigned to: a weight of 1 / 1,600
PRIORS = ("learned", "unit")


def perceptron(*sizes: int) -> nn.Sequential:
    """Linear layers between these sizes, with ReLU between them and none at the end."""
    layers = [layer for pair in pairwise(sizes) for layer in (nn.ReLU(), nn.Linear(*pair))]
    return nn.Sequential(*layers[1:])


def positive(x: Float[Tensor, "*B F"]) -> Float[Tensor, "*B F"]:
    """A standard deviation from any number: softplus(x) + .0001."""
    return F.softplus(x) + LEAST_SD


class History(nn.Module):
    """q(h | z_1..t) = N(MLP_a(Omega_t), softplus(MLP_b(Omega_t)) + .0001), of D = `dim` features and K machines.

    Omega_t = Psi([z_t, gamma_t]) / t + (t - 1) Omega_{t-1} / t, the mean of Psi over the items, and
    Omega_0 = 0. Psi is linear, Linear_0 in Algorithm 1, and reads gamma as there; A.2.1 has r in its place.
    """

    size = 10  # L
    width = 50  # Q; the paper does not give it
    hidden = 10  # units of MLP_a and MLP_b

    def __init__(self, dim: int, machines: int):
        super().__init__()
        self.psi = nn.Linear(dim + machines, self.width)  # Linear_0
        self.mean, self.sd = (
            perceptron(self.width, self.hidden, self.size) for _ in range(2)
        )  # MLP_a, MLP_b

    def forward(self, omega: Float[Tensor, "*B Q"]) -> Normal:
        """q(h | z_1..t), of the mean Omega_t."""
        return Normal(self.mean(omega), positive(self.sd(omega)))

    def add(
        self, omega: Float[Tensor, "B Q"], code: Float[Tensor, "B D"], gamma: Float[Tensor, "B K"], items: int
    ) -> Float[Tensor, "B Q"]:
        """The mean with one more item, after `items` others."""
        new = self.psi(torch.cat([code, gamma], dim=-1))  # Psi([z_t, gamma_t]) [B, Q]
        return new / (items + 1) + omega * (items / (items + 1))


class FromCodes(nn.Module):
    """What all that infer machines from codes begin with: MLP_1."""

    def __init__(self, dim: int, machines: int, stop_grad: bool):
        super().__init__()
        self.stop_grad = stop_grad
        self.mlp = perceptron(dim, *HIDDEN, machines)  # MLP_1

    def features(self, codes: Float[Tensor, "*B D"]) -> Float[Tensor, "*B K"]:
        """MLP_1(z), the part that does not wait for the history."""
        return self.mlp(codes)


class AssignmentNetwork(FromCodes):
    """q(r | z, h) and p(r | h), as normal distributions of a variable u that stands for r.

    q: mu_r = Linear_1([MLP_1(z), h]), sigma_r = softplus(Linear_2([MLP_1(z), h])) + .0001, when writing and reading.
    p: the same with Linear_3(h) and Linear_4(h), when generating.
    eta = softplus(u) + .001 stands for sigma_i / sqrt(r_i), and gamma_i = eta_i^-2 / sum_j eta_j^-2.

    The paper calls u the logarithm of r, draws eta itself in Algorithm 1, and has a softplus between them in A.1.3,
    which is followed here. A larger u is a smaller r.

    `dim` is D, `history` L. `stop_grad` keeps everything from learning through r, the ablation of Figure 2C; the
    divergence is 0 then. With the `prior` "unit", p is N(0, 1) whatever h is, and there is no Linear_3 and Linear_4:
    another reading, in which p cannot follow q.
    """

    noise_name = "assignment"

    def __init__(
        self, dim: int, machines: int, history: int, stop_grad: bool = False, *, prior: str = "learned"
    ):
        check_names("prior of u", [prior], PRIORS)
        super().__init__(dim, machines, stop_grad)
        self.machines, self.learns_prior = machines, prior == "learned"
        self.mean, self.sd = (nn.Linear(machines + history, machines) for _ in range(2))  # Linear_1, Linear_2
        if self.learns_prior:
            self.prior_mean = nn.Linear(history, machines)  # Linear_3
            self.prior_sd = nn.Linear(history, machines)  # Linear_4

    def posterior(self, features: Float[Tensor, "*B K"], h: Float[Tensor, "*B L"]) -> Normal:
        """q(r | z, h), of u."""
        both = torch.cat([features, h], dim=-1)  # [*B, K + L]
        return Normal(self.mean(both), positive(self.sd(both)))

    def prior(self, h: Float[Tensor, "*B L"]) -> Normal:
        """p(r | h), of u."""
        if not self.learns_prior:
            zeros = h.new_zeros(*h.shape[:-1], self.machines)
            return Normal(zeros, torch.ones_like(zeros))
        return Normal(self.prior_mean(h), positive(self.prior_sd(h)))

    def weights(
        self,
        features: Float[Tensor, "*B K"],
        h: Float[Tensor, "*B L"],
        noise: Float[Tensor, "*B K"] | None = None,
    ) -> MachineWeights:
        """Noise eta and weight gamma from a draw of q; without noise, from its mean."""
        return self.weights_at(self.posterior(features, h).draw(noise))

    def imagined_weights(self, h: Float[Tensor, "*B L"], noise: Float[Tensor, "*B K"]) -> MachineWeights:
        """Noise eta and weight gamma from a draw of p, when generating."""
        return self.weights_at(self.prior(h).draw(noise))

    def weights_at(self, u: Float[Tensor, "*B K"]) -> MachineWeights:
        """Noise eta and weight gamma at u."""
        u = u.detach() if self.stop_grad else u
        return weights_from_eta(F.softplus(u) + LEAST_NOISE)

    def divergence(self, features: Float[Tensor, "*B K"], h: Float[Tensor, "*B L"]) -> Float[Tensor, "*B K"]:
        """KL(q(r | z, h) || p(r | h)) of each machine.

        It is worked out for u: eta is a function of u, and r one of eta, and a divergence does not change when both
        of its sides are mapped alike.
        """
        if self.stop_grad:
            return torch.zeros_like(features)
        return gaussian_kl(*self.posterior(features, h), *self.prior(h))  # Eq. 24


class AssignmentByRule(nn.Module):
    """Weights that do not depend on codes, in the place of the assignment network; not the paper's.

    What is learned is one number, from which the machines' noise comes.
    """

    def __init__(self, machines: int):
        super().__init__()
        self.machines = machines
        self.u = nn.Parameter(torch.zeros(()))

    @property
    def eta(self) -> Float[Tensor, ""]:
        """The noise of a machine that has an item."""
        return F.softplus(self.u) + LEAST_NOISE

    def features(self, codes: Float[Tensor, "*B D"]) -> Float[Tensor, "*B K"]:
        """Nothing."""
        return codes.new_zeros(*codes.shape[:-1], self.machines)


class GivenAssignment(AssignmentByRule):
    """Weights that the caller has chosen.

    A control: it shows what a memory could do if it knew which machine is to have an item. The network's noise then
    holds "given" and "given_read", each machine's share of each item and of each query. [B, T, K]
    """

    noise_name = GIVEN

    def weights(
        self,
        features: Float[Tensor, "*B K"],
        h: Float[Tensor, "*B L"],
        shares: Float[Tensor, "*B K"] | None = None,
    ) -> MachineWeights:
        """eta, 40 times as large for a machine whose share of the item is 0 as for one that has all of it."""
        if shares is None:
            raise UsageError(
                f"this network's machines are given: pass noise with {GIVEN!r} and '{GIVEN}_read', each machine's"
                " share of each item and query [B, T, K]"
            )
        return weights_from_eta(self.eta * (shares + IDLE * (1 - shares)))


class EvenAssignment(AssignmentByRule):
    """The weight 1 / K for every machine and every item.

    A control: r is fixed, as the paper finds it to be nearly on sprites, so that no machine can take over. All
    machines share one noise. Nothing is drawn; noise is wanted under the assignment network's name, so that a run
    has all its other noise in common with the run of the same seed that learns r.
    """

    noise_name = AssignmentNetwork.noise_name

    def weights(
        self,
        features: Float[Tensor, "*B K"],
        h: Float[Tensor, "*B L"],
        noise: Float[Tensor, "*B K"] | None = None,
    ) -> MachineWeights:
        """The noise that all machines share, and 1 / K."""
        return weights_from_eta(self.eta.expand_as(features))

    def imagined_weights(self, h: Float[Tensor, "*B L"], noise: Float[Tensor, "*B K"]) -> MachineWeights:
        """The same, when generating."""
        return weights_from_eta(self.eta.expand_as(noise))

    def divergence(self, features: Float[Tensor, "*B K"], h: Float[Tensor, "*B L"]) -> Float[Tensor, "*B K"]:
        """0, as r is no random variable."""
        return torch.zeros_like(features)
