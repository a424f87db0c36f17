"""Writing: each item moves the machines' means towards it and shrinks their covariances (Algorithm 1).

The three rules differ in the error that moves a machine, and in who is moved:

- "product": all machines share the error of the joint read-out, z - sum_i gamma_i R_i w_i (Eqs. 2-4). With more
  than one machine this is a delta rule, not the Bayesian update: once z is known, nothing couples the machines.
- "independent": each machine has its own error, z - R_i w_i. This is the exact posterior under Eq. 37.
- "mixture": likewise, but only as far as the machine was chosen (A.5). gamma is the choice, one-hot or soft, and eta
  is the noise sigma.

With one machine all three are the Kanerva Machine (Eqs. 26 and 27).
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from mini_lib.errors import UsageError, unknown_name_error
from mini_lib.kanerva.memory.addressing import RIDGE, address, gamma_from_eta
from mini_lib.kanerva.memory.divergence import step_kl
from mini_lib.kanerva.memory.state import State, WriteResult

COUPLINGS = ("product", "independent")
RULES = (*COUPLINGS, "mixture")
PRECISION = 64  # times what rounding takes from a variance of the prior: no noise is taken for less than that


class MachineWeights(NamedTuple):
    """How much the machines count, for one item or for T items.

    Attributes:
        eta: standard deviation of the noise with which a machine observes a code. [B, K] or [B, T, K]
        gamma: weight of a machine in the joint read-out; sums to 1. [B, K] or [B, T, K]
    """

    eta: Tensor
    gamma: Tensor


def weights_from_eta(eta: Float[Tensor, "*B K"]) -> MachineWeights:
    """The weights that follow from the noise; see `gamma_from_eta`."""
    return MachineWeights(eta, gamma_from_eta(eta))  # Eq. 1 and Eq. 51: the powers r are in eta


def readouts(R: Float[Tensor, "*B K D M"], w: Float[Tensor, "*B K M"]) -> Float[Tensor, "*B K D"]:
    """What each machine says at its address, R_i w_i."""
    return (w[..., None, :] @ R.mT)[..., 0, :]


def combine(parts: Float[Tensor, "*B K D"], gamma: Float[Tensor, "*B K"]) -> Float[Tensor, "*B D"]:
    """mu_z = sum_i gamma_i R_i w_i, what the machines say together."""
    return (gamma[..., None, :] @ parts)[..., 0, :]  # Eq. 44; Eq. 53, Eq. 58


def prediction_errors(
    code: Float[Tensor, "B D"],
    parts: Float[Tensor, "B K D"],
    gamma: Float[Tensor, "B K"],
    rule: str = "product",
) -> Float[Tensor, "B E D"]:
    """What moves the machines: one error for all (E = 1) or one for each (E = K)."""
    if rule not in RULES:
        raise unknown_name_error("coupling", rule, RULES)
    said = combine(parts, gamma)[:, None] if rule == "product" else parts
    return code[:, None] - said  # Eq. 2; Eq. 46, Eq. 54, and spelt out Eq. 59


def update(
    state: State,
    error: Float[Tensor, "B E D"],
    w: Float[Tensor, "B K M"],
    eta: Float[Tensor, "B K"],
    share: Float[Tensor, "B K"] | None = None,
    floor: Float[Tensor, "*B K"] | None = None,
) -> tuple[State, Float[Tensor, "B K"]]:
    """Move every machine by an error, given addresses and noise.

    Both lines start from the old V. The product u u^T keeps V symmetric to the last bit. V would lose its positive
    eigenvalues if an item left less variance than rounding does; `floor` prevents that.

    Args:
        state: before the item.
        error: z - mu_z, or each machine's own.
        w: addresses.
        eta: noise.
        share: factor of each machine's corrections; by default 1.
        floor: the least variance of the noise, for an address of length 1; by default none.

    Returns:
        The state after the item, and the divergence from the state before it, in nats.
    """
    u = (w[..., None, :] @ state.V)[..., 0, :]  # V is symmetric
    known, noise = (w * u).sum(-1).clamp(min=0), eta.square()
    if floor is not None:
        noise = torch.maximum(noise, floor * w.square().sum(-1))
    share = torch.ones_like(known) if share is None else share
    beta = share / (known + noise)  # Eq. 57; Eq. 49 where eta is sigma
    # Of one machine these are Eq. 26 and Eq. 27, of a product Eq. 47 and Eq. 48, with powers Eq. 55 and Eq. 56, with
    # a share Eq. 62 and Eq. 61. The new V is the inverse of Eq. 34, in the form of Eq. 35.
    R = torch.addcmul(state.R, error[..., None], (beta[..., None] * u)[..., None, :])  # Eq. 3
    V = torch.addcmul(state.V, u[..., None] * u[..., None, :], -beta[..., None, None])  # Eq. 4
    shrunk = torch.log1p(share * known / (noise + (1 - share) * known))
    kl = step_kl(beta * known, beta.square() * known * error.square().sum(-1), shrunk, error.shape[-1])
    return State(R, V, state.shrinkage + shrunk), kl


def write_item(
    state: State,
    code: Float[Tensor, "B D"],
    w: Float[Tensor, "B K M"],
    weights: MachineWeights,
    coupling: str = "product",
    floor: Float[Tensor, "*B K"] | None = None,
) -> tuple[State, Float[Tensor, "B K"]]:
    """Write one code at given addresses; `floor` as in `update`.

    Returns:
        The state after it, and each machine's divergence from the state before it, in nats.

    Raises:
        UsageError: for an unknown coupling.
    """
    error = prediction_errors(code, readouts(state.R, w), weights.gamma, coupling)
    share = weights.gamma if coupling == "mixture" else None
    return update(state, error, w, weights.eta, share, floor)


def least_noise(state: State, psi: Float[Tensor, "K"] | None = None) -> Float[Tensor, "*B K"]:
    """The least variance of noise that the precision of these numbers allows, for an address of length 1.

    In proportion to psi, the variance of the prior; without it the state is taken for the prior.
    """
    psi = state.V.diagonal(dim1=-2, dim2=-1).amax(-1) if psi is None else psi
    return PRECISION * torch.finfo(psi.dtype).eps * psi.detach()


def write_episode(
    state: State,
    codes: Float[Tensor, "B T D"],
    weights: MachineWeights | Callable[[int, Tensor], MachineWeights],
    *,
    coupling: str = "product",
    solver: str = "ridge",
    ridge: float = RIDGE,
    noise: Float[Tensor, "B T K M"] | None = None,
    w: Float[Tensor, "B T K M"] | None = None,
    psi: Float[Tensor, "K"] | None = None,
) -> WriteResult:  # Algorithm 1
    """Write T codes, one after the other.

    The noise eta^2 of an item counts for no less than 64 times what rounding takes from the prior's variance, in
    float32 ``8e-6 psi |w|^2``, in float64 ``1e-14 psi |w|^2``: a memory cannot be surer than its numbers are exact.
    The weights gamma are taken as they are given.

    Args:
        state: to begin with, such as `Prior.state`.
        codes: the items.
        weights: [B, T, K] each; or what makes those of one item, [B, K] each, from its place 0..T-1 and its code
            [B, D]. It is called once for each item in order, so that it may remember what came before.
        coupling: "product", "independent" or "mixture".
        solver: "ridge" or "dkm"; see `addresses`.
        ridge: lambda.
        noise: is added to the addresses, chi times standard normal numbers; none where they are not sampled.
        w: addresses to write at, in place of those of least squares.
        psi: variance of the prior; by default the state is taken for one to which nothing has been written.

    Raises:
        UsageError: for an option that is not there, or an episode without items.
    """
    if codes.shape[1] < 1:
        raise UsageError("an episode needs at least one item")
    floor = least_noise(state, psi)
    states, found, used, moved = [state], [], [], []
    for t, code in enumerate(codes.unbind(1)):
        given = (
            weights(t, code) if callable(weights) else MachineWeights(weights.eta[:, t], weights.gamma[:, t])
        )
        here = address(states[-1].R, code, solver, ridge) if w is None else w[:, t]
        sampled = here if noise is None else here + noise[:, t]
        after, kl = write_item(states[-1], code, sampled, given, coupling, floor)
        for kept, new in ((states, after), (found, here), (used, given), (moved, kl)):
            kept.append(new)
    eta, gamma = (torch.stack(parts, dim=1) for parts in zip(*used, strict=True))
    return WriteResult(tuple(states), torch.stack(found, dim=1), eta, gamma, torch.stack(moved, dim=1))
