"""Extrapolate curves: each prediction becomes an observation ("Function Extrapolation")."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Real
from torch import Tensor

from mini_lib.errors import UsageError, check_names, check_positive_int
from mini_lib.functions.tasks import OBSERVED, STEPS, check_curves
from mini_lib.functions.transformer import FunctionTransformer, summarize

CONTEXTS = ("growing", "sliding")


class Extrapolation(NamedTuple):
    """Predictions of the S points after the last observation."""

    point: Float[Tensor, "B S"]  #: median of the estimates of each.
    spread: Float[Tensor, "B S"]  #: their sample standard deviation, 0 where there is only one; no interval.
    #: of each step; a relational network has one for each observation at that step. S times [B, E]
    estimates: list[Float[Tensor, "B _"]]


@torch.no_grad()
def extrapolate(
    model: FunctionTransformer, y: Real[Tensor, "B N"], steps: int = STEPS, context: str = "growing"
) -> Extrapolation:
    """Predict y_{N+1}, append the prediction to the observations, predict the next value, and so on.

    The N observations are at x = 1..N. A "growing" context is the paper's: every observation stays. Of a "sliding"
    one only the last points stay, moved to x = 1, 2, ..., so that the network meets no place on which it was not
    trained: N of them, or as many as a network of `trained` was trained on (12) if N is larger.

    Networks are trained on curves of one scale (values about 1, noise 0.1); divide others by theirs first. An offset
    does not matter to a relational network, which reads differences: it is subtracted in the precision of y, that of
    the predictions. The spread says how far the estimates disagree and is not a confidence interval: only about a
    third of new observations lie within two spreads of the trained relational network (`network.about`).

    >>> from mini_lib import extrapolate, trained
    >>> forecast = extrapolate(trained("relational"), 0.1 * torch.arange(1.0, 13.0)[None])  # x = 1..12
    >>> forecast.point.shape, forecast.spread.shape, [len(each[0]) for each in forecast.estimates[:3]]
    (torch.Size([1, 10]), torch.Size([1, 10]), [12, 13, 14])
    """
    check_names("context", [context], CONTEXTS)
    if not isinstance(model, FunctionTransformer):
        raise UsageError(f"extrapolate needs a network of `functions`, got {type(model).__name__}")
    check_curves(y)
    check_positive_int(steps=steps)
    y = y if y.is_floating_point() else y.double()
    offset = torch.zeros_like(y[:, :1]) if model.sees_offset else y[:, :1]
    known = (y - offset).to(next(model.parameters(), y).dtype)  # [B, N]
    settings = model.about.get("settings")
    kept = min(y.shape[1], settings.get("observed", OBSERVED) if isinstance(settings, dict) else y.shape[1])
    answers = []
    for _ in range(steps):
        seen = known if context == "growing" else known[:, -kept:]
        estimates = model.estimates(seen, model(seen))  # z_i + y_i in a relational network [B, E]
        point, spread = summarize(estimates)
        known = torch.cat([known, point[:, None]], dim=1)  # the prediction becomes an observation
        answers.append((point, spread, estimates))
    points, spreads, ensembles = zip(*answers, strict=True)
    return Extrapolation(
        torch.stack(points, dim=1).to(y.dtype) + offset,
        torch.stack(spreads, dim=1).to(y.dtype),
        [estimates.to(y.dtype) + offset for estimates in ensembles],
    )
