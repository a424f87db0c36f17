"""Writing: each item moves the machines' means towards it and shrinks their covariances (Algorithm 1).

The three couplings differ in the error that moves a machine, and in who is moved:

- "product": all machines share the error of the joint read-out, z - sum_i gamma_i R_i w_i (Eqs. 2-4). With more
  than one machine this is a delta rule, not the Bayesian update: once z is known, nothing couples the machines.
- "independent": each machine has its own error, z - R_i w_i. This is the exact posterior under Eq. 37.
- "mixture": likewise, but only as far as the machine was chosen (A.5). gamma is the choice, one-hot or soft, and eta
  is the noise sigma.

With one machine all three are the Kanerva Machine (Eqs. 26 and 27).

The paper's letters: R_i and V_i are the mean and covariance of machine i, w_i its address, eta_i its noise and
gamma_i its weight; z is a code, mu_z the joint read-out.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from mini_lib.errors import UsageError, check_names
from mini_lib.kanerva.memory.addressing import RIDGE, address, gamma_from_eta
from mini_lib.kanerva.memory.state import State, WriteResult

COUPLINGS = ("product", "independent", "mixture")
PRECISION = 64  # the least noise, in rounding errors of the prior's variance


class MachineWeights(NamedTuple):
    """How much the machines count, for one item or for T items."""

    eta: Tensor  #: standard deviation of the noise with which a machine observes a code. [B, K] or [B, T, K]
    gamma: Tensor  #: weight of a machine in the joint read-out; sums to 1. [B, K] or [B, T, K]

    def item(self, t: int) -> "MachineWeights":
        """Those of item t, [B, K] each."""
        return MachineWeights(self.eta[:, t], self.gamma[:, t])


def weights_from_eta(eta: Float[Tensor, "*B K"]) -> MachineWeights:
    """The weights that follow from the noise; see `gamma_from_eta`."""
    return MachineWeights(eta, gamma_from_eta(eta))  # Eq. 1 and Eq. 51: the powers r are in eta


def readouts(R: Float[Tensor, "*B K D M"], w: Float[Tensor, "*B K M"]) -> Float[Tensor, "*B K D"]:
    """R_i w_i, what each machine holds at its address."""
    return times(w, R.mT)


def combine(parts: Float[Tensor, "*B K D"], gamma: Float[Tensor, "*B K"]) -> Float[Tensor, "*B D"]:
    """mu_z = sum_i gamma_i R_i w_i, the joint read-out."""
    return times(gamma, parts)  # Eq. 44; Eq. 53, Eq. 58


def prediction_errors(
    code: Float[Tensor, "B D"],
    parts: Float[Tensor, "B K D"],
    gamma: Float[Tensor, "B K"],
    coupling: str = "product",
) -> Float[Tensor, "B E D"]:
    """What moves the machines: one error for all (E = 1) or one for each (E = K)."""
    check_names("coupling", [coupling], COUPLINGS)
    expected = combine(parts, gamma)[:, None] if coupling == "product" else parts  # [B, E, D]
    return code[:, None] - expected  # Eq. 2; Eq. 46, Eq. 54, and spelt out Eq. 59


def update(
    state: State,
    error: Float[Tensor, "B E D"],
    w: Float[Tensor, "B K M"],
    eta: Float[Tensor, "B K"],
    share: Float[Tensor, "B K"] | None = None,
    floor: Float[Tensor, "*B K"] | None = None,
) -> tuple[State, Float[Tensor, "B K"]]:
    """Move every machine by an error, given addresses and noise; both lines start from the old V.

    Of one machine Eq. 3 and Eq. 4 are Eq. 26 and Eq. 27, of a product Eq. 47 and Eq. 48, with powers Eq. 55 and
    Eq. 56, with a share Eq. 62 and Eq. 61. The new V is the inverse of Eq. 34, in the form of Eq. 35.

    The error is z - mu_z, or each machine's own; `share` is a factor of each machine's corrections, `floor` the
    least variance of the noise for an address of length 1 (see `least_noise`). Returned are the state after the
    item, and its divergence from the state before it, in nats.
    """
    R, V, shrinkage = state  # [B, K, D, M], [B, K, M, M], [B, K]
    u = times(w, V)  # V_i w_i, as V is symmetric [B, K, M]
    known = (w * u).sum(-1).clamp(min=0)  # w_i . V_i w_i [B, K]
    noise = above_rounding(eta.square(), w, floor)  # eta_i^2 [B, K]
    share = torch.ones_like(known) if share is None else share
    beta = share / (known + noise)  # Eq. 57; Eq. 49 where eta is sigma [B, K]
    R = plus_outer(R, error, beta[..., None] * u)  # Eq. 3: R_i + beta_i Delta u_i^T
    V = minus_square(V, u, beta)  # Eq. 4: V_i - beta_i u_i u_i^T
    # ln det of the old V less that of the new
    shrunk = torch.log1p(share * known / (noise + (1 - share) * known))
    # KL of the new state from the old, with s = known + noise, kappa = known / s and the share g:
    # 1/2 [-D g kappa + g^2 kappa |Delta|^2 / s - D ln(1 - g kappa)]
    moved = beta.square() * known * error.square().sum(-1)
    kl = 0.5 * (error.shape[-1] * (shrunk - beta * known) + moved)
    return State(R, V, shrinkage + shrunk), kl


def write_item(
    state: State,
    code: Float[Tensor, "B D"],
    w: Float[Tensor, "B K M"],
    weights: MachineWeights,
    coupling: str = "product",
    floor: Float[Tensor, "*B K"] | None = None,
) -> tuple[State, Float[Tensor, "B K"]]:
    """Write one code at given addresses; `floor` and what is returned as in `update`."""
    eta, gamma = weights
    error = prediction_errors(code, readouts(state.R, w), gamma, coupling)  # Delta [B, E, D]
    return update(state, error, w, eta, gamma if coupling == "mixture" else None, floor)


def write_episode(
    state: State,
    codes: Float[Tensor, "B T D"],
    weights: MachineWeights,
    *,
    coupling: str = "product",
    solver: str = "ridge",
    ridge: float = RIDGE,
    noise: Float[Tensor, "B T K M"] | None = None,
    w: Float[Tensor, "B T K M"] | None = None,
    psi: Float[Tensor, "K"] | None = None,
) -> WriteResult:  # Algorithm 1
    """Write T codes, one after the other, with eta and gamma of each item and machine, [B, T, K] each.

    `coupling` is "product", "independent" or "mixture"; for `solver` and `ridge` see `addresses`. Where addresses
    are sampled, `noise` is added to them, chi times standard normal numbers; `w` gives other addresses than those of
    least squares. psi is the variance of the prior; without it the state is taken for one to which nothing has been
    written.
    """
    if codes.shape[1] < 1:
        raise UsageError("an episode needs at least one item")
    floor = least_noise(state, psi)
    states, means, divergences = [state], [], []
    for t, z in enumerate(codes.unbind(1)):  # z [B, D]
        mean = address(state.R, z, solver, ridge) if w is None else w[:, t]  # least squares [B, K, M]
        sampled = mean if noise is None else mean + noise[:, t]
        state, kl = write_item(state, z, sampled, weights.item(t), coupling, floor)
        states.append(state)
        means.append(mean)
        divergences.append(kl)
    return WriteResult(tuple(states), torch.stack(means, 1), *weights, torch.stack(divergences, 1))


# ---------------------------------------------------------------------------------------- exact in float32, and fast


def times(row: Float[Tensor, "*B N"], matrix: Float[Tensor, "*B N M"]) -> Float[Tensor, "*B M"]:
    """Rows times matrices; a batch of columns is slower."""
    return (row[..., None, :] @ matrix)[..., 0, :]


def plus_outer(
    matrix: Float[Tensor, "B K D M"], a: Float[Tensor, "B E D"], b: Float[Tensor, "B K M"]
) -> Float[Tensor, "B K D M"]:
    """Matrix + a b^T in one pass."""
    return torch.addcmul(matrix, a[..., None], b[..., None, :])


def minus_square(
    matrix: Float[Tensor, "B K M M"], a: Float[Tensor, "B K M"], factor: Float[Tensor, "B K"]
) -> Float[Tensor, "B K M M"]:
    """Matrix - factor a a^T; the product a a^T comes first, which keeps a matrix symmetric to the last bit."""
    return torch.addcmul(matrix, a[..., None] * a[..., None, :], -factor[..., None, None])


def least_noise(state: State, psi: Float[Tensor, "K"] | None = None) -> Float[Tensor, "*B K"]:
    """The least variance of noise that the precision of these numbers allows, for an address of length 1.

    V would lose its positive eigenvalues if an item left less variance than rounding does: a memory cannot be surer
    than its numbers are exact. So noise counts for no less than 64 times what rounding takes from psi, the variance
    of the prior: in float32 ``8e-6 psi |w|^2``, in float64 ``1e-14 psi |w|^2``. Without psi the state is taken for
    the prior. gamma is left as it is.
    """
    psi = state.V.diagonal(dim1=-2, dim2=-1).amax(-1) if psi is None else psi
    return PRECISION * torch.finfo(psi.dtype).eps * psi.detach()


def above_rounding(
    variance: Float[Tensor, "B K"], w: Float[Tensor, "B K M"], floor: Float[Tensor, "*B K"] | None
) -> Float[Tensor, "B K"]:
    """The variance of the noise, but no less than the floor times |w|^2."""
    return variance if floor is None else torch.maximum(variance, floor * w.square().sum(-1))
