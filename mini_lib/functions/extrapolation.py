"""Going on where the observations end: each prediction becomes an observation ("Function Extrapolation")."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from mini_lib.errors import UsageError, check_names, check_positive_int
from mini_lib.functions.models import FunctionTransformer
from mini_lib.functions.tasks import STEPS, check_curves

CONTEXTS = ("growing", "sliding")


class Extrapolation(NamedTuple):
    """What a network predicts for the S points after the last observation."""

    point: Float[Tensor, "B S"]  #: the median of the estimates of each.
    spread: Float[Tensor, "B S"]  #: their sample standard deviation, 0 where there is only one.
    #: of each step; a relational network has one for each observation that it then had. S times [B, E]
    estimates: list[Float[Tensor, "B _"]]

    def covers(self, y: Float[Tensor, "B S"], deviations: int) -> Bool[Tensor, "B S"]:
        """Whether an observation lies within so many standard deviations of the median."""
        return (y - self.point).abs() <= deviations * self.spread


def summarise(estimates: Float[Tensor, "B E"]) -> tuple[Float[Tensor, "B"], Float[Tensor, "B"]]:
    """Median (the mean of the two middle ones of an even number) and sample standard deviation of an ensemble."""
    point = estimates.quantile(0.5, dim=1, keepdim=True).squeeze(1)
    return point, estimates.std(dim=1) if estimates.shape[1] > 1 else torch.zeros_like(point)


@torch.no_grad()
def extrapolate(
    model: FunctionTransformer, y: Float[Tensor, "B N"], steps: int = STEPS, context: str = "growing"
) -> Extrapolation:
    """Predict y_{N+1}, take the prediction for an observation, predict the next, and so on.

    The N observations stand at x = 1..N, in the precision of the network. A "growing" context is the paper's: every
    observation stays, and its keys and values are kept where that is exact. Of a "sliding" one the last N stay, and
    are moved to x = 1..N, so that the network meets no place where it was not trained.

    N may be any number from 2, whatever a network was trained on: far from that it answers badly. The networks of
    the paper are trained on 20 points, those of `trained` on 12.

    >>> from mini_lib import extrapolate, trained
    >>> network = trained("relational")
    >>> forecast = extrapolate(network, 0.1 * torch.arange(1.0, 13.0)[None])  # your observations at x = 1..12
    >>> forecast.point.shape, forecast.spread.shape, [len(each[0]) for each in forecast.estimates[:3]]
    (torch.Size([1, 10]), torch.Size([1, 10]), [12, 13, 14])
    """
    check_names("context", [context], CONTEXTS)
    if not isinstance(model, FunctionTransformer):
        raise UsageError(f"extrapolate needs a network of `functions`, got {type(model).__name__}")
    check_curves(y)
    check_positive_int(steps=steps)
    precision = next((weights.dtype for weights in model.parameters()), y.dtype)
    if y.dtype != precision:
        raise UsageError(
            f"the network computes in {precision} and the curves are {y.dtype}; give y.to({precision})"
        )
    observed, cache, answers = y.shape[1], None, []
    for _ in range(steps):
        seen = y if context == "growing" else y[:, -observed:]  # [B, N]
        if context == "growing" and model.cacheable:
            cache = model.prefill(seen, cache)
            z = model.decode(cache)  # [B, Q]
        else:
            z = model(seen)
        estimates = model.estimates(seen, z)  # z_i + y_i in a relational network [B, E]
        point, spread = summarise(estimates)
        y = torch.cat([y, point[:, None]], dim=1)  # the prediction becomes an observation
        answers.append((point, spread, estimates))
    points, spreads, ensembles = zip(*answers, strict=True)
    return Extrapolation(torch.stack(points, dim=1), torch.stack(spreads, dim=1), list(ensembles))
