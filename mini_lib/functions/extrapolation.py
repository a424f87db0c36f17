"""Going on where the observations end: each prediction becomes an observation ("Function Extrapolation")."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from mini_lib.errors import UsageError, unknown_name_error
from mini_lib.functions.models import FunctionTransformer
from mini_lib.functions.tasks import STEPS, check_curves

CONTEXTS = ("growing", "sliding")


class Extrapolation(NamedTuple):
    """What a network says about the S points after the last observation.

    Attributes:
        point: the median of the estimates of each. [B, S]
        spread: their sample standard deviation, 0 where there is only one. [B, S]
        estimates: of each step; a relational network has one for each observation that it then had. S times [B, E]
    """

    point: Float[Tensor, "B S"]
    spread: Float[Tensor, "B S"]
    estimates: list[Float[Tensor, "B _"]]


def summarise(estimates: Float[Tensor, "B E"]) -> tuple[Float[Tensor, "B"], Float[Tensor, "B"]]:
    """Median (the mean of the two middle ones of an even number) and sample standard deviation of an ensemble."""
    point = estimates.quantile(0.5, dim=1)
    return point, estimates.std(dim=1) if estimates.shape[1] > 1 else torch.zeros_like(point)


@torch.no_grad()
def extrapolate(
    model: FunctionTransformer,
    y: Float[Tensor, "B N"],
    steps: int = STEPS,
    context: str = "growing",
    cached: bool = True,
) -> Extrapolation:
    """Predict y_{N+1}, take the prediction for an observation, predict the next, and so on.

    Args:
        model: of any kind.
        y: N observations, at x = 1..N, in the precision of the network.
        steps: S.
        context: "growing", as in the paper: every observation stays; or "sliding": the last N stay, and are moved
            to x = 1..N, so that the network meets no place where it was not trained.
        cached: reuse keys and values of earlier observations, where that is exact.

    Raises:
        UsageError: for what is no batch of curves (see `tasks.check_curves`), another precision than the network's,
            no step, or an unknown context.
    """
    if context not in CONTEXTS:
        raise unknown_name_error("context", context, CONTEXTS)
    check_curves(y)
    if not isinstance(steps, int) or steps < 1:
        raise UsageError(f"steps has to be a whole number from 1, got {steps!r}")
    reuse = cached and context == "growing" and model.reusable
    precision = next((weights.dtype for weights in model.parameters()), y.dtype)
    if y.dtype != precision:
        raise UsageError(
            f"the network computes in {precision} and the curves are {y.dtype}; give y.to({precision})"
        )
    memory, points, spreads, ensembles = None, [], [], []
    for _ in range(steps):
        if reuse:
            memory = model.remember(y, memory)
        seen = y if context == "growing" else y[:, len(points) :]
        estimates = model.estimates(seen, model.answer(memory) if reuse else model(seen))
        point, spread = summarise(estimates)
        y = torch.cat([y, point[:, None]], dim=1)
        for kept, new in ((points, point), (spreads, spread), (ensembles, estimates)):
            kept.append(new)
    return Extrapolation(torch.stack(points, dim=1), torch.stack(spreads, dim=1), ensembles)
