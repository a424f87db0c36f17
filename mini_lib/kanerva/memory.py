"""The memory of the Product Kanerva Machine as functions: addressing, writing, reading and divergences.

Machine i is an unknown matrix with D rows and M columns. Its rows are independent and normal: row d has mean R_i[d]
and covariance V_i, the same for all rows, so that p(vec(M_i)) = N(vec(R_i), V_i x I). z is a code, w_i its address
in machine i, eta_i the noise of the machine and gamma_i its weight.

The three couplings differ in the error that moves a machine, and in the machines that are moved:

- "product": all machines share the error of the joint read-out, z - sum_i gamma_i R_i w_i (Eqs. 2-4). With more
  than one machine this is a delta rule, not the Bayesian update: once z is known, nothing couples the machines.
- "independent": each machine has its own error, z - R_i w_i. This is the exact posterior under Eq. 37.
- "mixture": likewise, but in proportion to gamma, the choice of a machine, one-hot or soft (A.5); eta is sigma.

With one machine all three are the Kanerva Machine (Eqs. 26 and 27).

Letters: B memories, T items to write, N queries, K machines (the paper's k), D features of a code (c), M columns of
a machine (m_i). All functions are differentiable, run under `torch.vmap`, and compute in float32 or float64: half
precision is converted, and autocast is switched off.
"""

import math
from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, einsum, nn

from mini_lib.errors import UsageError, check_names, check_positive_int

RIDGE = 0.35  # lambda; the paper has .1 to .5, "typically 0.35"
COUPLINGS = ("product", "independent", "mixture")
CUTOFF = 2.0  # standard deviations at which the initial prior means are cut off
NOISE_FLOOR = 64  # least noise variance, in rounding errors of the prior's variance

Means = Float[Tensor, "B K D M"]
Codes = Float[Tensor, "B N D"]
Addresses = Float[Tensor, "B N K M"]
Gamma = Float[Tensor, "B N K"]
Psi = Float[Tensor, "K"] | None
Spread = Float[Tensor, "*#B #F"]


class State(NamedTuple):
    """The K machines of B memories."""

    R: Float[Tensor, "B K D M"]  #: means.
    V: Float[Tensor, "B K M M"]  #: covariances of the columns.
    logdet_drop: Float[Tensor, "B K"]  #: ln det V_0 - ln det V, a running sum that needs no determinant.


class Prior(NamedTuple):
    """The K machines of every memory before anything is written: N(vec(R_i), psi_i I)."""

    R: Float[Tensor, "K D M"]  #: means; they differ between machines, or these would stay alike.
    psi: Float[Tensor, "K"]  #: variances, one for each machine.

    def state(self, batch: int) -> State:
        """The state of B empty memories."""
        R, psi = map(_at_least_float32, self)
        V = torch.diag_embed(psi[:, None].expand(-1, R.shape[-1]))
        return State(*(part.expand(batch, *part.shape) for part in (R, V, torch.zeros_like(psi))))


class MachineWeights(NamedTuple):
    """How much the machines count, for one item, [B, K] each, or for T items, [B, T, K] each."""

    eta: Float[Tensor, "*B K"]  #: standard deviation of the noise with which a machine observes a code.
    gamma: Float[Tensor, "*B K"]  #: weight of a machine in the joint read-out; sums to 1.


class EpisodeMemory(NamedTuple):
    """What a network remembers of the items written."""

    state: State  #: the machines.
    omega: Float[Tensor, "B Q"]  #: the mean that the history is drawn from.
    items: int  #: how many there were.


class WriteResult(NamedTuple):
    """The writing of T items, step by step.

    The last three fields are of a network.
    """

    states: tuple[State, ...]  #: T + 1 of them, from before the first item to after the last.
    w: Float[Tensor, "B T K M"]  #: addresses; of a network those by least squares, without noise.
    eta: Float[Tensor, "B T K"]  #: noise of each machine.
    gamma: Float[Tensor, "B T K"]  #: weight of each machine.
    item_kl: Float[Tensor, "B T K"]  #: KL of the memory after each item from the memory before it, in nats.
    memory: EpisodeMemory | None = None  #: after the last item.
    shares: Float[Tensor, "B T K"] | None = None  #: gamma, or the probabilities of a mixture.
    kl: dict[str, Tensor] | None = None  #: see `KanervaTrace.kl`.

    @property
    def state(self) -> State:
        """The memory after the last item."""
        return self.states[-1]


class ReadResult(NamedTuple):
    """The answers of a memory to N queries."""

    codes: Float[Tensor, "B N D"]  #: mu_z = sum_i gamma_i R_i w_i.
    parts: Float[Tensor, "B N K D"]  #: R_i w_i, the answer of each machine.
    w: Float[Tensor, "B N K M"]  #: addresses by least squares, without noise.


def columns_of(total: int, machines: int) -> int:
    """M = m / k, the columns of each of k machines that share m columns; UsageError unless k divides m."""
    check_positive_int(total=total, machines=machines)
    if total % machines:
        divisors = ", ".join(str(k) for k in range(1, total + 1) if total % k == 0)
        raise UsageError(f"{machines} machines cannot share {total} columns evenly; {divisors} machines can")
    return total // machines


def initial_means(
    machines: int, dim: int, columns: int, generator: torch.Generator | None = None
) -> Float[Tensor, "K D M"]:
    """Draw prior means: standard normal, cut off at two standard deviations (A.4)."""
    check_positive_int(machines=machines, dim=dim, columns=columns)
    means = torch.empty(machines, dim, columns)
    return nn.init.trunc_normal_(means, a=-CUTOFF, b=CUTOFF, generator=generator)


def _at_least_float32(x: Any) -> Any:
    """Half precision as float32, also inside a state, a prior or weights; all else as it is."""
    if isinstance(x, Tensor):
        return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    return type(x)(*map(_at_least_float32, x)) if hasattr(x, "_fields") else x


def full_precision(function: Callable) -> Callable:
    """Make a function compute in float32 or float64, for arguments in half precision and under autocast too."""

    @wraps(function)
    def in_full_precision(*args: Any, **options: Any) -> Any:
        args = tuple(map(_at_least_float32, args))
        options = {name: _at_least_float32(each) for name, each in options.items()}
        device = (args[0] if isinstance(args[0], Tensor) else args[0][0]).device.type
        if torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device):
            with torch.autocast(device, enabled=False):
                return function(*args, **options)
        return function(*args, **options)

    return in_full_precision


@full_precision
def addresses(R: Means, codes: Codes, ridge: float = RIDGE) -> Addresses:
    """W = (R^T R + lambda I)^-1 R^T z, the weights of the columns that come nearest to each of N codes (A.1.2).

    Every machine is fitted to the whole code. lambda is raised by the rounding error of R^T R, its trace times the
    machine epsilon.
    """
    gram = R.mT @ R  # R^T R [B, K, M, M]
    rounding = torch.finfo(R.dtype).eps * gram.diagonal(dim1=-2, dim2=-1).sum(-1)  # [B, K]
    eye = torch.eye(R.shape[-1], dtype=R.dtype, device=R.device)
    gram = gram + (ridge + rounding)[..., None, None] * eye
    w = torch.linalg.solve_ex(gram, (codes[:, None] @ R).mT).result  # [B, K, M, N]
    return w.permute(0, 3, 1, 2)


@full_precision
def weights_from_eta(eta: Float[Tensor, "*B K"]) -> MachineWeights:
    """gamma_i = eta_i^-2 / sum_j eta_j^-2, where eta_i stands for sigma_i / sqrt(r_i) (A.3.3).

    Computed from logarithms, since 1 / eta^2 may overflow. An eta of 0 or below gives NaN.
    """
    return MachineWeights(eta, torch.softmax(-2 * eta.log(), dim=-1))  # Eq. 1, Eq. 51; # Eq. 45, Eq. 52


@full_precision
def write_item(
    state: State,
    z: Float[Tensor, "B D"],
    w: Float[Tensor, "B K M"],
    weights: MachineWeights,
    coupling: str = "product",
    psi: Float[Tensor, "*B K"] | None = None,
) -> tuple[State, Float[Tensor, "B K"]]:
    """Write one code at an address, and return the state after it and its KL from the state before, in nats.

    Of one machine Eq. 3 and Eq. 4 are Eq. 26 and Eq. 27, of a product Eq. 47 and Eq. 48, with powers Eq. 55 and
    Eq. 56, of a mixture Eq. 62 and Eq. 61. The new V is the inverse of Eq. 34, in the form of Eq. 35. psi is the
    variance of the prior; see `noise_variance`.
    """
    check_names("coupling", [coupling], COUPLINGS)
    R, V, logdet_drop = state  # [B, K, D, M], [B, K, M, M], [B, K]
    gamma, sigma2 = weights.gamma, noise_variance(weights.eta, w, psi)  # gamma_i, eta_i^2 [B, K]
    parts = einsum("bkdm,bkm->bkd", R, w)  # R_i w_i
    mu = einsum("bk,bkd->bd", gamma, parts)[:, None] if coupling == "product" else parts  # mu_z  # Eq. 44
    error = z[:, None] - mu  # Delta [B, 1 or K, D]  # Eq. 2; Eq. 46, Eq. 54, Eq. 59
    share = gamma if coupling == "mixture" else torch.ones_like(gamma)  # of the correction
    u = einsum("bkmn,bkn->bkm", V, w)  # V_i w_i, as V is symmetric
    address_variance = (w * u).sum(-1).clamp(min=0)  # w_i . V_i w_i [B, K]
    beta = share / (address_variance + sigma2)  # Eq. 57; Eq. 49 where eta is sigma
    R = R + error[..., None] * (beta[..., None] * u)[..., None, :]  # R_i + beta_i Delta u_i^T  # Eq. 3
    V = V - beta[..., None, None] * (u[..., None] * u[..., None, :])  # V_i - beta_i u_i u_i^T  # Eq. 4
    drop = torch.log1p(share * address_variance / (sigma2 + (1 - share) * address_variance))
    mean_shift = beta.square() * address_variance * error.square().sum(-1)
    kl = 0.5 * (z.shape[-1] * (drop - beta * address_variance) + mean_shift)
    return State(R, V, logdet_drop + drop), kl


def write_episode(
    state: State,
    codes: Float[Tensor, "B T D"],
    weights: MachineWeights,
    *,
    coupling: str = "product",
    ridge: float = RIDGE,
    w: Float[Tensor, "B T K M"] | None = None,
    psi: Psi = None,
) -> WriteResult:
    """Write T codes, one after the other, with eta and gamma of each item and machine, [B, T, K] each.

    `w` replaces the addresses by least squares; psi, the variance of the prior, is by default that of the state.
    """
    psi = state.V.diagonal(dim1=-2, dim2=-1).amax(-1) if psi is None else psi
    states, found, item_kl = [state], [], []
    for t, z in enumerate(codes.unbind(1)):  # z [B, D]
        at = addresses(state.R, z[:, None], ridge)[:, 0] if w is None else w[:, t]  # [B, K, M]
        item = MachineWeights(weights.eta[:, t], weights.gamma[:, t])
        state, kl = write_item(state, z, at, item, coupling, psi)
        states.append(state)
        found.append(at)
        item_kl.append(kl)
    return WriteResult(tuple(states), torch.stack(found, 1), *weights, torch.stack(item_kl, 1))


def noise_variance(
    eta: Float[Tensor, "*B K"], w: Float[Tensor, "*B K M"], psi: Float[Tensor, "*#B K"] | None
) -> Float[Tensor, "*B K"]:
    """eta^2, but at least ``64 eps psi |w|^2``, where eps is the machine epsilon; without psi, no least value.

    V would lose its positive eigenvalues if an item left less variance than rounding does.
    """
    if psi is None:
        return eta.square()
    floor = NOISE_FLOOR * torch.finfo(w.dtype).eps * psi.detach()
    return torch.maximum(eta.square(), floor * w.square().sum(-1))


@full_precision
def read_at(R: Means, w: Addresses, gamma: Gamma) -> tuple[Codes, Float[Tensor, "B N K D"]]:
    """mu_z = sum_i gamma_i R_i w_i at N addresses, and R_i w_i of each machine."""
    parts = einsum("bkdm,bnkm->bnkd", R, w)
    return einsum("bnk,bnkd->bnd", gamma, parts), parts  # Eq. 44; Eq. 53, Eq. 58


def read(state: State, queries: Codes, gamma: Gamma, *, ridge: float = RIDGE) -> ReadResult:
    """Read a memory at N queries at once; the answer to one does not depend on the others (Eq. 60 in a mixture)."""
    w = addresses(state.R, queries, ridge)
    return ReadResult(*read_at(state.R, w, gamma), w)


@full_precision
def predictive(
    state: State, w: Addresses, weights: MachineWeights, psi: Psi = None
) -> tuple[Codes, Float[Tensor, "B N"]]:
    """Mean and variance of the code expected at N addresses; all features have the same variance.

    Machine i expects N(R_i w_i, s_i I) with s_i = w_i . V_i w_i + eta_i^2 (Eq. 29), and the code is the average of
    these: N(sum_i gamma_i R_i w_i, sum_i gamma_i^2 s_i I). That is exact for one machine, for one-hot gamma, and if
    all machines are drawn and z ~ N(sum_i gamma_i M_i w_i, I / sum_i eta_i^-2), as in A.2.3.
    """
    mean, _ = read_at(state.R, w, weights.gamma)
    columns = w.permute(0, 2, 3, 1)  # [B, K, M, N]
    address_variance = (columns * (state.V @ columns)).sum(-2).mT  # w_i . V_i w_i [B, N, K]
    psi = psi if psi is None else psi.expand(len(w), 1, -1)
    s = address_variance + noise_variance(weights.eta, w, psi)
    return mean, (weights.gamma.square() * s).sum(-1)


def log_likelihood(
    state: State, codes: Codes, weights: MachineWeights, psi: Psi = None, *, ridge: float = RIDGE
) -> Float[Tensor, "B N"]:
    """Log density, in nats, of each code under `predictive` at the address fitted to it: low for novel codes."""
    mean, variance = predictive(state, addresses(state.R, codes, ridge), weights, psi)
    squares = (codes - mean).square().sum(-1) / variance
    return -0.5 * (squares + codes.shape[-1] * (2 * math.pi * variance).log())


@full_precision
def draw_machines(state: State, noise: Float[Tensor, "*S B K D M"]) -> Float[Tensor, "*S B K D M"]:
    """Draw machines from N(vec(R), V x I) with standard normal numbers; any axes S of draws may come first."""
    rounding = torch.finfo(state.V.dtype).eps * state.V.diagonal(dim1=-2, dim2=-1).sum(-1, keepdim=True)
    jitter = torch.diag_embed(rounding.expand(*state.V.shape[:-1]))
    return state.R + noise @ torch.linalg.cholesky_ex(state.V + jitter).L.mT


@full_precision
def memory_kl(state: State, prior: Prior) -> Float[Tensor, "B K"]:
    """KL(N(vec(R), V x I) || N(vec(R_0), psi I)) of each machine."""
    dim, columns = prior.R.shape[-2:]
    trace = state.V.diagonal(dim1=-2, dim2=-1).sum(-1)
    moved = (state.R - prior.R).square().sum((-2, -1))
    return 0.5 * ((dim * trace + moved) / prior.psi + dim * (state.logdet_drop - columns))  # Eq. 22


@full_precision
def gaussian_kl(
    mean: Float[Tensor, "*B F"], sd: Spread, prior_mean: Spread | float = 0.0, prior_sd: Spread | float = 1.0
) -> Float[Tensor, "*B F"]:
    """KL(N(mean, sd^2) || N(prior_mean, prior_sd^2)) of each feature; the prior is N(0, 1) unless given."""
    ratio = sd / prior_sd
    return 0.5 * (ratio.square() + ((mean - prior_mean) / prior_sd).square() - 1) - ratio.log()
