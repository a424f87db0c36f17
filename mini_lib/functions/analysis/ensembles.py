"""The ensemble behind one prediction: what each earlier point says of the next ("Function Extrapolation")."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from mini_lib.functions.analysis.networks import one_curve, require_relational
from mini_lib.functions.extrapolation import extrapolate
from mini_lib.functions.models import FunctionTransformer
from mini_lib.functions.tasks import STEPS


class Ensemble(NamedTuple):
    """How a relational network goes on with one curve of N points for S steps, and from where."""

    y: Tensor  #: the observations. [N]
    #: z_i + y_i by step and by the place i that it starts from, x = 1..N+S-1; NaN where the network had no
    #: such point. From i = N + 1 on, y_i is a prediction of its own. [S, N + S - 1]
    estimates: Tensor
    point: Tensor  #: their median at each step, which is taken for the next observation. [S]
    spread: Tensor  #: their sample standard deviation. [S]

    @property
    def places(self) -> Float[Tensor, "S"]:
        """Where the steps are, x = N+1..N+S."""
        return len(self.y) + 1 + torch.arange(len(self.point), dtype=torch.float32)


def ensemble(
    model: FunctionTransformer, y: Sequence[int | float] | Float[Tensor, "..."], steps: int = STEPS
) -> Ensemble:
    """Extrapolate one curve, its context growing, and keep every estimate.

    Args:
        model: a relational network.
        y: the curve's N observations, at x = 1..N.
        steps: S.
    """
    y = one_curve(y)
    device = next(require_relational(model, "several estimates of a point").parameters()).device
    forecast = extrapolate(model, y.to(device), steps)
    estimates = torch.full((steps, y.shape[1] + steps - 1), torch.nan)
    for step, of_step in enumerate(forecast.estimates):
        estimates[step, : of_step.shape[1]] = of_step[0].cpu()
    return Ensemble(y[0], estimates, forecast.point[0].cpu(), forecast.spread[0].cpu())
