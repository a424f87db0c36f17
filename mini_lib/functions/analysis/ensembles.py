"""The ensemble behind one prediction: what each earlier point says of the next ("Function Extrapolation")."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from mini_lib.functions.analysis.networks import one_curve, relational
from mini_lib.functions.extrapolation import extrapolate
from mini_lib.functions.models import FunctionTransformer
from mini_lib.functions.tasks import STEPS


class Ensemble(NamedTuple):
    """How a relational network goes on with one curve of N points for S steps, and who says what.

    Attributes:
        y: the observations. [N]
        estimates: z_i + y_i by step and by the place i that it starts from, x = 1..N+S-1; NaN where the network had
            no such point. From i = N + 1 on, y_i is a prediction of its own. [S, N + S - 1]
        point: their median at each step, which is taken for the next observation. [S]
        spread: their sample standard deviation. [S]
    """

    y: Tensor
    estimates: Tensor
    point: Tensor
    spread: Tensor

    @property
    def places(self) -> Float[Tensor, "S"]:
        """Where the steps are, x = N+1..N+S."""
        return len(self.y) + 1 + torch.arange(len(self.point), dtype=torch.float32)

    @property
    def members(self) -> Float[Tensor, "N S"]:
        """How the curve goes on by each observation alone, given the medians before: a row for every i <= N."""
        return self.estimates[:, : len(self.y)].T

    @property
    def deviations(self) -> Float[Tensor, "S I"]:
        """How far each estimate is from the median of its step."""
        return self.estimates - self.point[:, None]


def ensemble(
    model: FunctionTransformer,
    y: Sequence[int | float] | Float[Tensor, "..."],
    steps: int = STEPS,
    context: str = "growing",
) -> Ensemble:
    """Extrapolate one curve and keep every estimate.

    Args:
        model: a relational network.
        y: the curve's N observations, at x = 1..N.
        steps: S.
        context: see `extrapolation.extrapolate`; if it slides, an estimate stands at the place of its point on the
            whole curve.

    Raises:
        UsageError: for another network, for what is no curve, or what `extrapolate` refuses.
    """
    y = one_curve(y)
    device = next(relational(model, "several estimates of a point").parameters()).device
    found = extrapolate(model, y.to(device), steps, context)
    observed = y.shape[1]
    laid = torch.full((steps, observed + steps - 1), torch.nan)
    for step, estimates in enumerate(found.estimates):
        first = step if context == "sliding" else 0
        laid[step, first : observed + step] = estimates[0].cpu()
    return Ensemble(y[0], laid, found.point[0].cpu(), found.spread[0].cpu())
