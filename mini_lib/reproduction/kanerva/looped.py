"""The memory one machine after the other, to be timed beside the batched form (Figure 1D, A.1.4).

The batched form solves for all machines in one Cholesky call on [B, K, M, M]; here each machine makes its own calls.
"""

import torch
from jaxtyping import Float
from torch import Tensor

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


def write_looped(state: State, codes: Float[Tensor, "B T D"], weights: MachineWeights) -> State:
    """The last state of `write_episode`, machine by machine."""
    machines, floors = state.split(), least_noise(state).split(1, dim=1)
    for code, eta, gamma in zip(codes.unbind(1), weights.eta.unbind(1), weights.gamma.unbind(1), strict=True):
        w = [address(each.R, code, "ridge", RIDGE) for each in machines]
        parts = torch.cat([readouts(each.R, own) for each, own in zip(machines, w, strict=True)], dim=1)
        error = prediction_errors(code, parts, gamma, "product").expand(parts.shape).split(1, dim=1)
        machines = [
            update(each, err, own, noise, None, floor)[0]
            for each, err, own, noise, floor in zip(
                machines, error, w, eta.split(1, dim=1), floors, strict=True
            )
        ]
    return join(machines)


def read_looped(state: State, queries: Float[Tensor, "B N D"], gamma: Float[Tensor, "B N K"]) -> ReadResult:
    """`read`, machine by machine."""
    answers = [read(each, queries, torch.ones_like(gamma[..., :1])) for each in state.split()]
    parts, w = (torch.cat([getattr(each, name) for each in answers], dim=2) for name in ("parts", "w"))
    return ReadResult(combine(parts, gamma), parts, w)


def write_batched(state: State, codes: Float[Tensor, "B T D"], weights: MachineWeights) -> State:
    """The last state of `write_episode`."""
    return write_episode(state, codes, weights).state


FORMS = {"batched": (write_batched, read), "loop": (write_looped, read_looped)}
