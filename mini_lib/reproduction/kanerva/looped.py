"""The same memory one machine after the other, to be timed beside the batched form (Figure 1D).

All machines at once are one Cholesky call on [B, K, M, M]; here each machine makes its own calls, in a Python loop.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from mini_lib.errors import UsageError, unknown_name_error
from mini_lib.kanerva.memory.addressing import RIDGE, address
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
)

FORMS = ("batched", "loop")


def write_looped(
    state: State,
    codes: Float[Tensor, "B T D"],
    weights: MachineWeights,
    *,
    coupling: str = "product",
    solver: str = "ridge",
    ridge: float = RIDGE,
) -> State:
    """The last state of `write_episode`, machine by machine."""
    if codes.shape[1] < 1:
        raise UsageError("an episode needs at least one item")
    machines, floor = state.split(), least_noise(state).split(1, dim=1)
    for code, eta, gamma in zip(codes.unbind(1), weights.eta.unbind(1), weights.gamma.unbind(1), strict=True):
        w = [address(each.R, code, solver, ridge) for each in machines]
        parts = torch.cat([readouts(each.R, here) for each, here in zip(machines, w, strict=True)], dim=1)
        error = prediction_errors(code, parts, gamma, coupling).expand(parts.shape).split(1, dim=1)
        share = gamma.split(1, dim=1) if coupling == "mixture" else [None] * len(machines)
        given = zip(machines, error, w, eta.split(1, dim=1), share, floor, strict=True)
        machines = [update(*each)[0] for each in given]
    return join(machines)


def read_looped(
    state: State,
    queries: Float[Tensor, "B N D"],
    gamma: Float[Tensor, "B N K"],
    *,
    solver: str = "ridge",
    ridge: float = RIDGE,
) -> ReadResult:
    """`read`, machine by machine."""
    alone = torch.ones_like(gamma[..., :1])
    found = [read(each, queries, alone, solver=solver, ridge=ridge) for each in state.split()]
    parts, w = (torch.cat(each, dim=2) for each in list(zip(*found, strict=True))[1:])
    return ReadResult(combine(parts, gamma), parts, w)


def write_and_read(
    state: State,
    codes: Float[Tensor, "B T D"],
    queries: Float[Tensor, "B N D"],
    weights: MachineWeights,
    gamma: Float[Tensor, "B N K"],
    form: str = "batched",
    *,
    solver: str = "ridge",
    ridge: float = RIDGE,
) -> ReadResult:
    """One pass of the memory: T codes are written, then N queries are asked.

    Args:
        state: to begin with.
        codes: items to write.
        queries: what is asked afterwards.
        weights: of the items, [B, T, K] each.
        gamma: of the queries.
        form: "batched" or "loop"; both say the same.
        solver: "ridge" or "dkm"; see `addresses`.
        ridge: lambda.

    Raises:
        UsageError: for another form or an option that is not there.
    """
    if form not in FORMS:
        raise unknown_name_error("form", form, FORMS)
    options = {"solver": solver, "ridge": ridge}
    if form == "loop":
        return read_looped(write_looped(state, codes, weights, **options), queries, gamma, **options)
    return read(write_episode(state, codes, weights, **options).state, queries, gamma, **options)
