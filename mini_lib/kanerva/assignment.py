"""What is inferred besides a code: the history of its episode (A.2.1), and the machines' weights (A.1.3, A.5).

Random numbers are arguments, so that a pass can be repeated: all are standard normal, but those whose names begin
with "gumbel". Names that begin with "given" are not drawn; they hold weights of machines that the caller chooses.

Letters: D features of a code z, K machines, L features of the history variable h, Q of the running mean Omega.
"""

from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise
from typing import ClassVar, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from mini_lib.errors import UsageError
from mini_lib.kanerva.memory import MachineWeights, gaussian_kl, weights_from_eta

HIDDEN = (40, 20)  # units of MLP_1, which ends in one for each machine
MIN_SD = 1e-4  # of what is drawn; the paper takes a linear layer's output for a standard deviation
MIN_ETA = 1e-3  # so that 1 / eta^2 stays finite
IDLE = 40.0  # noise multiplier of a machine that an item is not assigned to: a weight of 1 / 1,600
GUMBEL, GIVEN = "gumbel", "given"

Shapes = Mapping[str, tuple[int, ...]]
PerMachine = Float[Tensor, "*B K"]  # a number for each machine
Hidden = Float[Tensor, "*B L"]
Omega = Float[Tensor, "*B Q"]


class Normal(NamedTuple):
    """Independent normal distributions, one for each feature."""

    mean: Float[Tensor, "*B F"]
    sd: Float[Tensor, "*B F"]

    def draw(self, noise: Float[Tensor, "*B F"] | None = None) -> Float[Tensor, "*B F"]:
        """A sample, by standard normal numbers; without them, the mean."""
        return self.mean if noise is None else self.mean + self.sd * noise.to(self.mean.dtype)


def draw_all(shapes: Shapes, generator: torch.Generator | None = None) -> dict[str, Tensor]:
    """Draw tensors of these names and shapes, in their order, on the device of the generator."""
    noise, device = {}, None if generator is None else generator.device
    for name, shape in shapes.items():
        if name.startswith(GUMBEL):
            waiting = torch.empty(shape, device=device).exponential_(generator=generator)
            noise[name] = -waiting.clamp(min=torch.finfo(waiting.dtype).tiny).log()
        elif not name.startswith(GIVEN):
            noise[name] = torch.randn(shape, generator=generator, device=device)
    return noise


def check_noise(noise: Mapping[str, Tensor], shapes: Shapes) -> dict[str, Tensor]:
    """The tensors of these names; UsageError if one is missing or has another shape."""
    for name, shape in shapes.items():
        if name not in noise:
            raise UsageError(f"noise lacks {name!r}; it needs {', '.join(shapes)}, see draw_noise")
        if tuple(noise[name].shape) != tuple(shape):
            raise UsageError(f"noise {name!r} has to be {[*shape]}, got {[*noise[name].shape]}")
    return {name: noise[name] for name in shapes}


def perceptron(*sizes: int) -> nn.Sequential:
    """Linear layers between these sizes, with ReLU between them and none at the end."""
    layers = [layer for pair in pairwise(sizes) for layer in (nn.ReLU(), nn.Linear(*pair))]
    return nn.Sequential(*layers[1:])


def positive(x: Float[Tensor, "*B"], least: float = MIN_SD) -> Float[Tensor, "*B"]:
    """A standard deviation from any number: softplus(x) + .0001, or another least value."""
    return F.softplus(x) + least


class History(nn.Module):
    """q(h | z_1..t) = N(MLP_a(Omega_t), softplus(MLP_b(Omega_t)) + .0001), of D = `dim` features and K machines.

    Omega_t = Psi([z_t, gamma_t]) / t + (t - 1) Omega_{t-1} / t is the mean of Psi over the items, Omega_0 = 0.
    """

    size = 10  # L
    width = 50  # Q
    hidden = 10  # units of MLP_a and MLP_b

    def __init__(self, dim: int, machines: int):
        super().__init__()
        self.psi = nn.Linear(dim + machines, self.width)  # Linear_0
        self.mean = perceptron(self.width, self.hidden, self.size)  # MLP_a
        self.sd = perceptron(self.width, self.hidden, self.size)  # MLP_b

    def forward(self, omega: Float[Tensor, "*B Q"]) -> Normal:
        """q(h | z_1..t), of the mean Omega_t."""
        return Normal(self.mean(omega), positive(self.sd(omega)))

    def add(self, omega: Omega, code: Float[Tensor, "B D"], gamma: PerMachine, items: int) -> Omega:
        """The mean with one more item, after `items` others."""
        new = self.psi(torch.cat([code, gamma.to(code.dtype)], dim=-1))  # Psi([z_t, gamma_t]) [B, Q]
        return new / (items + 1) + omega * (items / (items + 1))


class Assignment(nn.Module):
    """Base of all that gives K machines their weights, from codes of D features and L of the history.

    With `stop_grad` nothing learns through r, the ablation of Figure 2C; the divergence is 0 then.
    """

    noise_name: ClassVar[str] = "assignment"

    def __init__(self, dim: int, machines: int, history: int, stop_grad: bool = False):
        super().__init__()
        self.machines, self.stop_grad = machines, stop_grad

    def features(self, codes: Float[Tensor, "*B D"]) -> PerMachine:
        """MLP_1(z), which needs no history."""
        return self.mlp(codes)

    def shares(self, gamma: PerMachine, features: PerMachine, h: Hidden) -> PerMachine:
        """Share of each machine in each item, on which their balance is measured."""
        return gamma

    def divergence(self, features: PerMachine, h: Hidden) -> PerMachine | None:
        """The divergence of r for each machine; None where there is none."""


class AssignmentNetwork(Assignment):
    """q(r | z, h) and p(r | h), as normal distributions of a variable u that stands for r.

    q: mu_r = Linear_1([MLP_1(z), h]), sigma_r = softplus(Linear_2([MLP_1(z), h])) + .0001, when writing and reading.
    p: the same with Linear_3(h) and Linear_4(h), when generating; with `unit_prior` N(0, 1) whatever h is.
    eta = softplus(u) + .001 stands for sigma_i / sqrt(r_i), and gamma_i = eta_i^-2 / sum_j eta_j^-2. A larger u is a
    smaller r.
    """

    def __init__(
        self, dim: int, machines: int, history: int, stop_grad: bool = False, unit_prior: bool = False
    ):
        super().__init__(dim, machines, history, stop_grad)
        self.unit_prior = unit_prior
        self.mlp = perceptron(dim, *HIDDEN, machines)  # MLP_1
        self.mean, self.sd = (nn.Linear(machines + history, machines) for _ in range(2))  # Linear_1, Linear_2
        if not unit_prior:
            self.prior_mean = nn.Linear(history, machines)  # Linear_3
            self.prior_sd = nn.Linear(history, machines)  # Linear_4

    def posterior(self, features: PerMachine, h: Hidden) -> Normal:
        """q(r | z, h), of u."""
        both = torch.cat([features, h], dim=-1)  # [*B, K + L]
        return Normal(self.mean(both), positive(self.sd(both)))

    def prior(self, h: Hidden) -> Normal:
        """p(r | h), of u."""
        if self.unit_prior:
            zeros = h.new_zeros(*h.shape[:-1], self.machines)
            return Normal(zeros, torch.ones_like(zeros))
        return Normal(self.prior_mean(h), positive(self.prior_sd(h)))

    def weights(self, features: PerMachine, h: Hidden, noise: PerMachine | None = None) -> MachineWeights:
        """Noise eta and weight gamma from a draw of q; without noise, from its mean."""
        return self.weights_at(self.posterior(features, h).draw(noise))

    def imagined_weights(self, h: Hidden, noise: PerMachine) -> MachineWeights:
        """Noise eta and weight gamma from a draw of p, when generating."""
        return self.weights_at(self.prior(h).draw(noise))

    def weights_at(self, u: Float[Tensor, "*B K"]) -> MachineWeights:
        """Noise eta and weight gamma at u."""
        return weights_from_eta(positive(u.detach() if self.stop_grad else u, MIN_ETA))

    def divergence(self, features: PerMachine, h: Hidden) -> PerMachine:
        """KL(q(r | z, h) || p(r | h)) of each machine, that of u: a bijection does not change it."""
        if self.stop_grad:
            return torch.zeros_like(features)
        return gaussian_kl(*self.posterior(features, h), *self.prior(h))  # Eq. 24


class GivenAssignment(Assignment):
    """Weights that the caller chooses, a control: the noise "given" and "given_read" are shares [B, T, K].

    What is learned is one number, the noise of a machine that has an item.
    """

    noise_name = GIVEN

    def __init__(self, dim: int, machines: int, history: int, stop_grad: bool = False):
        super().__init__(dim, machines, history, stop_grad)
        self.u = nn.Parameter(torch.zeros(()))

    def features(self, codes: Float[Tensor, "*B D"]) -> PerMachine:
        """Zeros, as weights do not depend on codes."""
        return codes.new_zeros(*codes.shape[:-1], self.machines)

    def weights(self, features: PerMachine, h: Hidden, noise: PerMachine | None = None) -> MachineWeights:
        """eta, 40 times as large for a machine with a share of 0 as for one with all of the item."""
        if noise is None:
            raise UsageError("machines are given: pass noise with 'given' and 'given_read', shares [B, T, K]")
        return weights_from_eta(positive(self.u, MIN_ETA) * (noise + IDLE * (1 - noise)))


class EvenAssignment(GivenAssignment):
    """The weight 1 / K for every machine and every item, a control: r is fixed, and no machine can take over."""

    noise_name = Assignment.noise_name  # drawn though unused: the rest is then that of a seed that learns r

    def weights(self, features: PerMachine, h: Hidden, noise: PerMachine | None = None) -> MachineWeights:
        """The noise that all machines share, and 1 / K."""
        return weights_from_eta(positive(self.u, MIN_ETA).expand_as(features))

    def imagined_weights(self, h: Hidden, noise: PerMachine) -> MachineWeights:
        """The same, when generating."""
        return self.weights(noise, h)

    def divergence(self, features: PerMachine, h: Hidden) -> PerMachine:
        """0, as r is no random variable."""
        return torch.zeros_like(features)


def straight_through(soft: Float[Tensor, "*B K"]) -> PerMachine:
    """One-hot, 1 at the largest; its gradient is that of the soft weights (Jang et al. 2017, Bengio et al. 2013)."""
    largest = soft.argmax(dim=-1, keepdim=True)
    hard = torch.zeros_like(soft).scatter(-1, largest, 1.0)
    return hard + (soft - soft.detach())


class Choice(Assignment):
    """The one-hot choice of a machine, drawn from softmax(Linear_1([MLP_1(z), h])) with Gumbel noise (A.5).

    Gumbel-softmax sampling: gamma = softmax((logits + g) / tau), the choice is its largest, gradients are those of
    gamma, and sigma of a machine is 1. With `stop_grad`, the paper's control, no gradient reaches the logits.
    """

    noise_name = GUMBEL

    def __init__(self, dim: int, machines: int, history: int, stop_grad: bool = False):
        super().__init__(dim, machines, history, stop_grad)
        self.mlp = perceptron(dim, *HIDDEN, machines)  # MLP_1
        self.logits = nn.Linear(machines + history, machines)

    def shares(self, gamma: PerMachine, features: PerMachine, h: Hidden) -> PerMachine:
        """The probabilities, which have a gradient also where a machine is never chosen, whatever tau is."""
        soft = torch.softmax(self.logits(torch.cat([features, h], dim=-1)), dim=-1)
        return soft.detach() if self.stop_grad else soft

    def weights(
        self, features: PerMachine, h: Hidden, noise: PerMachine | None = None, tau: float | Tensor = 1.0
    ) -> MachineWeights:
        """sigma, and the choice for standard Gumbel noise; without noise, the most probable machine.

        tau, the temperature, is one for all or one for each of B episodes.
        """
        logits = self.logits(torch.cat([features, h], dim=-1))
        logits = logits if noise is None else logits + noise.to(logits.dtype)
        if isinstance(tau, Tensor) and tau.dim():
            tau = tau.reshape(-1, *[1] * (logits.dim() - 1))
        chosen = straight_through(torch.softmax(logits / tau, dim=-1))
        chosen = chosen.detach() if self.stop_grad else chosen
        return MachineWeights(torch.ones_like(chosen), chosen)


# By coupling: what the option "assignment" of a network may be.
ASSIGNMENTS: dict[str, dict[str, Callable[..., Assignment]]] = {
    "product": {
        "learned": AssignmentNetwork,
        "unit prior": partial(AssignmentNetwork, unit_prior=True),
        "given": GivenAssignment,
        "even": EvenAssignment,
    },
    "mixture": {"learned": Choice},
}
