"""The memory one machine after the other, to be timed against the batched form (Figure 1D, A.1.4).

The batched form solves for all machines in one call on [B, K, M, M]; here each machine makes its own calls. Both
find addresses by a Cholesky decomposition, as the paper does.
"""

import torch
from jaxtyping import Float
from torch import Tensor, einsum

from mini_lib.kanerva.memory import RIDGE, MachineWeights, ReadResult, State, read_at, write_item


def by_cholesky(R: Float[Tensor, "B K D M"], codes: Float[Tensor, "B N D"]) -> Float[Tensor, "B N K M"]:
    """`addresses` by a Cholesky decomposition; without a gradient it takes half the time for many columns."""
    gram = R.mT @ R + RIDGE * torch.eye(R.shape[-1], dtype=R.dtype, device=R.device)
    w = torch.cholesky_solve((codes[:, None] @ R).mT, torch.linalg.cholesky_ex(gram).L)
    return w.permute(0, 3, 1, 2)


def split(state: State) -> list[State]:
    """The machines one by one, each a state with K = 1."""
    return [State(*parts) for parts in zip(*(part.split(1, dim=1) for part in state), strict=True)]


def write_looped(state: State, codes: Float[Tensor, "B T D"], weights: MachineWeights) -> State:
    """The last state of `write_episode`, machine by machine."""
    machines, psi = split(state), state.V.diagonal(dim1=-2, dim2=-1).amax(-1).split(1, dim=1)
    for z, eta, gamma in zip(codes.unbind(1), weights.eta.unbind(1), weights.gamma.unbind(1), strict=True):
        w = [by_cholesky(each.R, z[:, None])[:, 0] for each in machines]
        parts = [einsum("bkdm,bkm->bd", each.R, own) for each, own in zip(machines, w, strict=True)]
        error = z - einsum("kbd,bk->bd", torch.stack(parts), gamma)  # of all machines together
        each = zip(machines, parts, w, eta.split(1, dim=1), psi, strict=True)
        machines = [
            write_item(one, part + error, own, MachineWeights(noise, noise), "independent", variance)[0]
            for one, part, own, noise, variance in each
        ]
    return State(*(torch.cat(parts, dim=1) for parts in zip(*machines, strict=True)))


def read_looped(state: State, queries: Float[Tensor, "B N D"], gamma: Float[Tensor, "B N K"]) -> ReadResult:
    """`read`, machine by machine."""
    ones = torch.ones_like(gamma[..., :1])
    answers = [read_batched(each, queries, ones) for each in split(state)]
    parts, w = (torch.cat([getattr(each, name) for each in answers], dim=2) for name in ("parts", "w"))
    return ReadResult(einsum("bnk,bnkd->bnd", gamma, parts), parts, w)


def write_batched(state: State, codes: Float[Tensor, "B T D"], weights: MachineWeights) -> State:
    """The last state of `write_episode`, all machines at once."""
    psi = state.V.diagonal(dim1=-2, dim2=-1).amax(-1)
    for t, z in enumerate(codes.unbind(1)):
        item = MachineWeights(weights.eta[:, t], weights.gamma[:, t])
        state, _ = write_item(state, z, by_cholesky(state.R, z[:, None])[:, 0], item, psi=psi)
    return state


def read_batched(state: State, queries: Float[Tensor, "B N D"], gamma: Float[Tensor, "B N K"]) -> ReadResult:
    """`read` at the addresses that the Cholesky decomposition finds."""
    w = by_cholesky(state.R, queries)
    return ReadResult(*read_at(state.R, w, gamma), w)


FORMS = {"batched": (write_batched, read_batched), "loop": (write_looped, read_looped)}
