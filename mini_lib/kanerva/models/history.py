"""The history of an episode: a running mean Omega of its items, and the variable h drawn from it (A.2.1)."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from mini_lib.kanerva.models.assignment import perceptron, positive
from mini_lib.kanerva.models.noise import Normal

SIZE = 10  # H
WIDTH = 50  # of Omega; the paper does not give it
HIDDEN = 10  # units of MLP_a and MLP_b


class History(nn.Module):
    """q(h | z_1..t) = N(MLP_a(Omega_t), softplus(MLP_b(Omega_t)) + .0001).

    Omega_t = Psi([z_t, gamma_t]) / t + (t - 1) Omega_{t-1} / t, the mean of Psi over the items, and
    Omega_0 = 0. Psi is linear, Linear_0 in Algorithm 1, and reads gamma as there; A.2.1 has r in its place.

    Args:
        dim: D, features of a code z.
        machines: K.
    """

    size, width = SIZE, WIDTH

    def __init__(self, dim: int, machines: int):
        super().__init__()
        self.psi = nn.Linear(dim + machines, WIDTH)  # Linear_0
        self.mean, self.sd = (perceptron(WIDTH, HIDDEN, SIZE) for _ in range(2))  # MLP_a, MLP_b

    def forward(self, omega: Float[Tensor, "*B W"]) -> Normal:
        """q(h | z_1..t), of the mean Omega_t."""
        return Normal(self.mean(omega), positive(self.sd(omega)))

    def add(
        self,
        omega: Float[Tensor, "B W"],
        code: Float[Tensor, "B D"],
        gamma: Float[Tensor, "B K"],
        items: int,
    ) -> Float[Tensor, "B W"]:
        """The mean with one more item, after `items` others."""
        new = self.psi(torch.cat([code, gamma], dim=-1))  # Psi([z_t, gamma_t]) [B, W]
        return new / (items + 1) + omega * (items / (items + 1))
