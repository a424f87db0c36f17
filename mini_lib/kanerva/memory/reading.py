"""Reading a memory that no longer changes: answers to queries, the novelty of a code, machines that are drawn."""

import math
from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor

from mini_lib.kanerva.memory.addressing import RIDGE, addresses, root
from mini_lib.kanerva.memory.state import State
from mini_lib.kanerva.memory.writing import MachineWeights, combine


class ReadResult(NamedTuple):
    """A memory's answers to N queries."""

    codes: Float[Tensor, "B N D"]  #: mu_z = sum_i gamma_i R_i w_i.
    parts: Float[Tensor, "B N K D"]  #: R_i w_i, each machine's answer; times gamma_i, its part in mu_z.
    w: Float[Tensor, "B N K M"]  #: addresses by least squares, without noise.


def read(
    state: State,
    queries: Float[Tensor, "B N D"],
    gamma: Float[Tensor, "B N K"],
    *,
    solver: str = "ridge",
    ridge: float = RIDGE,
    noise: Float[Tensor, "B N K M"] | None = None,
    w: Float[Tensor, "B N K M"] | None = None,
) -> ReadResult:  # Algorithm 2
    """Read a memory at N queries at once; the answer to one does not depend on the others.

    In a mixture gamma is the choice, one-hot or soft, and this is Eq. 60. Where addresses are sampled, `noise` is
    added to them, chi times standard normal numbers; for `solver` and `ridge` see `addresses`. `w` gives other
    addresses than those of least squares.
    """
    if w is None:
        w = addresses(state.R, queries, solver, ridge)  # least squares [B, N, K, M]
    sampled = w if noise is None else w + noise
    parts = (sampled.transpose(1, 2) @ state.R.mT).transpose(1, 2)  # R_i w_i [B, N, K, D]
    codes = combine(parts, gamma)  # mu_z [B, N, D]
    return ReadResult(codes, parts, w)


def predictive(
    state: State, w: Float[Tensor, "B N K M"], weights: MachineWeights
) -> tuple[Float[Tensor, "B N D"], Float[Tensor, "B N"]]:
    """Mean and variance of the code that the memory expects at N addresses; every feature has this variance.

    Machine i expects N(R_i w_i, s_i I) with s_i = w_i.V_i w_i + eta_i^2 (Eq. 29), and the code is the average of
    what the machines expect: N(sum_i gamma_i R_i w_i, sum_i gamma_i^2 s_i I).

    With one machine, or one that was chosen (gamma one-hot), this is exact. With more, and gamma as it follows from
    eta, it is exact for a code that is drawn as in A.2.3: all machines are drawn, and then
    z ~ N(sum_i gamma_i M_i w_i, I / sum_i eta_i^-2), the normalised likelihood of the product. The marginal of
    Eq. 37 is another one, prod_i N(z; R_i w_i, s_i I) normalised: its mean is not the read-out.
    """
    columns = w.permute(0, 2, 3, 1)  # [B, K, M, N]
    known = (columns * (state.V @ columns)).sum(-2).permute(0, 2, 1)  # w_i . V_i w_i [B, N, K]
    variance = (weights.gamma.square() * (known + weights.eta.square())).sum(-1)  # [B, N]
    parts = (state.R @ columns).permute(0, 3, 1, 2)  # [B, N, K, D]
    return combine(parts, weights.gamma), variance


def log_likelihood(
    state: State,
    codes: Float[Tensor, "B N D"],
    weights: MachineWeights,
    *,
    solver: str = "ridge",
    ridge: float = RIDGE,
) -> Float[Tensor, "B N"]:
    """Log density in nats of each code under what the memory expects at the code's own address: low for the novel.

    See `predictive`. The address is fitted to the code, so this is no density over codes: it cannot be summed to 1.
    """
    mean, variance = predictive(state, addresses(state.R, codes, solver, ridge), weights)
    squares = (codes - mean).square().sum(-1) / variance
    return -0.5 * (squares + codes.shape[-1] * (2 * math.pi * variance).log())


def draw_machines(state: State, noise: Float[Tensor, "*S B K D M"]) -> Float[Tensor, "*S B K D M"]:
    """Machines drawn from N(vec(R), V x I), by standard normal numbers; any axes S of draws may come first."""
    return state.R + noise @ root(state.V).mT
