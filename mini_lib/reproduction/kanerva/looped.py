"""The memory one machine after the other, to be timed beside the batched form (Figure 1D, A.1.4).

The batched form solves for all machines in one Cholesky call on [B, K, M, M]; here each machine makes its own calls.
Both take a solver, a function that finds addresses from columns and codes. `addresses` is the memory's own;
`by_features` finds the same ones by a smaller system.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from mini_lib.kanerva.memory.addressing import RIDGE, add_jitter, addresses, solve
from mini_lib.kanerva.memory.reading import ReadResult, read
from mini_lib.kanerva.memory.state import State, join
from mini_lib.kanerva.memory.writing import (
    MachineWeights,
    combine,
    least_noise,
    prediction_errors,
    readouts,
    update,
    write_episode,
    write_item,
)

Solver = Callable[[Float[Tensor, "B K D M"], Float[Tensor, "B N D"]], Float[Tensor, "B N K M"]]


def by_features(
    R: Float[Tensor, "B K D M"], codes: Float[Tensor, "B N D"], ridge: float = RIDGE
) -> Float[Tensor, "B N K M"]:
    """`addresses` by a system of D x D in place of M x M: w = R^T (R R^T + lambda I)^-1 z, the same numbers.

    It costs the cube of the features, however many columns there are.
    """
    rhs = codes[:, None].mT.expand(-1, R.shape[1], -1, -1)  # [B, K, D, N]
    return (R.mT @ solve(add_jitter(R @ R.mT, ridge), rhs)).permute(0, 3, 1, 2)


def write_looped(
    state: State, codes: Float[Tensor, "B T D"], weights: MachineWeights, solver: Solver = addresses
) -> State:
    """The last state of `write_episode`, machine by machine."""
    machines, floors = state.split(), least_noise(state).split(1, dim=1)
    for code, eta, gamma in zip(codes.unbind(1), weights.eta.unbind(1), weights.gamma.unbind(1), strict=True):
        w = [solver(each.R, code[:, None])[:, 0] for each in machines]
        parts = torch.cat([readouts(each.R, own) for each, own in zip(machines, w, strict=True)], dim=1)
        error = prediction_errors(code, parts, gamma, "product").expand(parts.shape).split(1, dim=1)
        machines = [
            update(each, err, own, noise, None, floor)[0]
            for each, err, own, noise, floor in zip(
                machines, error, w, eta.split(1, dim=1), floors, strict=True
            )
        ]
    return join(machines)


def read_looped(
    state: State, queries: Float[Tensor, "B N D"], gamma: Float[Tensor, "B N K"], solver: Solver = addresses
) -> ReadResult:
    """`read`, machine by machine."""
    ones = torch.ones_like(gamma[..., :1])
    answers = [read_batched(each, queries, ones, solver) for each in state.split()]
    parts, w = (torch.cat([getattr(each, name) for each in answers], dim=2) for name in ("parts", "w"))
    return ReadResult(combine(parts, gamma), parts, w)


def write_batched(
    state: State, codes: Float[Tensor, "B T D"], weights: MachineWeights, solver: Solver = addresses
) -> State:
    """The last state of `write_episode`, which itself is called where the solver is the memory's own."""
    if solver is addresses:
        return write_episode(state, codes, weights).state
    floor = least_noise(state)
    for t, code in enumerate(codes.unbind(1)):
        w = solver(state.R, code[:, None])[:, 0]
        state, _ = write_item(state, code, w, weights.item(t), floor=floor)
    return state


def read_batched(
    state: State, queries: Float[Tensor, "B N D"], gamma: Float[Tensor, "B N K"], solver: Solver = addresses
) -> ReadResult:
    """`read` at the addresses that the solver finds."""
    return read(state, queries, gamma, w=solver(state.R, queries))


FORMS = {"batched": (write_batched, read_batched), "loop": (write_looped, read_looped)}
