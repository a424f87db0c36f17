"""Kullback-Leibler divergences of the evidence bound (Eqs. 22-25), in closed form and in nats."""

import torch
from jaxtyping import Float
from torch import Tensor

from mini_lib.errors import check_names
from mini_lib.kanerva.memory.state import Prior, State, WriteResult

KL_MEMORY = ("final", "sum", "steps")


def memory_kl(state: State, prior: Prior) -> Float[Tensor, "B K"]:
    """KL(N(vec(R), V x I) || N(vec(R_0), psi I)) of each machine.

    ``1/2 [D tr(V) / psi + |R - R_0|^2 / psi - D M + D (ln det V_0 - ln det V)]``, whose last term is the running
    sum of `State.shrinkage`.
    """
    dim, columns = prior.R.shape[-2:]
    trace = state.V.diagonal(dim1=-2, dim2=-1).sum(-1)
    moved = (state.R - prior.R).square().sum((-2, -1))
    return 0.5 * ((dim * trace + moved) / prior.psi + dim * (state.shrinkage - columns))


def episode_kl(written: WriteResult, prior: Prior, kl_memory: str = "final") -> Float[Tensor, "B K"]:
    """Divergence that a written episode costs each machine.

    The memory is one latent variable of the whole episode, so one divergence bounds the evidence: "final", that of
    the last state from the prior. "sum" is Eq. 22 as printed, that of every state from the prior, all added up.
    "steps" adds up those of every state from the one before it. Writing has to have begun at the prior's own state.
    """
    check_names("kl_memory", [kl_memory], KL_MEMORY)
    if kl_memory == "steps":
        return written.kl.sum(1)
    if kl_memory == "final":
        return memory_kl(written.state, prior)
    return torch.stack([memory_kl(state, prior) for state in written.states[1:]]).sum(0)  # Eq. 22


def gaussian_kl(
    mean: Float[Tensor, "*B F"],
    sd: Float[Tensor, "*#B F"],
    prior_mean: Float[Tensor, "*#B F"],
    prior_sd: Float[Tensor, "*#B F"],
) -> Float[Tensor, "*B F"]:
    """KL(N(mean, sd^2) || N(prior_mean, prior_sd^2)), feature by feature."""
    ratio = sd / prior_sd
    return 0.5 * (ratio.square() + ((mean - prior_mean) / prior_sd).square() - 1) - ratio.log()


def address_kl(w: Float[Tensor, "*B K M"], chi: Float[Tensor, "K"]) -> Float[Tensor, "*B K"]:
    """KL(N(w_i, chi_i^2 I) || N(0, I)) of each machine's address.

    ``1/2 [M (chi_i^2 - 1 - 2 ln chi_i) + |w_i|^2]``; w as least squares gave it, whether or not it was sampled.
    """
    spread = chi.square() - 1 - 2 * chi.log()
    return 0.5 * (w.shape[-1] * spread + w.square().sum(-1))  # Eq. 23


def history_kl(mean: Float[Tensor, "*B F"], sd: Float[Tensor, "*B F"]) -> Float[Tensor, "*B"]:
    """KL(N(mean, sd^2) || N(0, I)) of the history variable h, over all of its features."""
    return gaussian_kl(mean, sd, torch.zeros_like(mean), torch.ones_like(sd)).sum(-1)  # Eq. 25
