"""What the spread of the estimates is worth: how often it covers, and whether it grows where errors do.

The standard deviation is one of an observation, its noise included: the paper's optimum of 0.1 on lines and
sinusoids is the noise alone ("Uncertainty Estimation Results"). So it is held against observations, not against
the function.
"""

import math
import statistics
from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from scipy.stats import spearmanr
from torch import Tensor

from mini_lib.errors import UsageError, unknown_name_error
from mini_lib.functions.extrapolation import Extrapolation
from mini_lib.functions.tasks import KINDS, UPDATES, Curves, rows_by_kind


def normal_coverage(deviations: int | float) -> float:
    """The control, in percent: how often a calibrated normal is right within so many standard deviations."""
    return 100 * math.erf(deviations / math.sqrt(2))


class Coverage(NamedTuple):
    """How many observations, in percent, lie within so many standard deviations of the median."""

    deviations: tuple[int, ...]  #: how many.
    by_step: dict[str, Tensor]  #: for each class the percentage for each of them and at each step. [D, S]

    @property
    def by_kind(self) -> dict[str, list[float]]:
        """For each class the mean over steps, for each number of deviations."""
        return {kind: percent.mean(dim=1).tolist() for kind, percent in self.by_step.items()}


def coverage(forecast: Extrapolation, curves: Curves, deviations: Sequence[int] = (1, 2)) -> Coverage:
    """Count how many observations the median and so many standard deviations cover, by class and step.

    `curves` are all that were extrapolated, in the order of the forecast; its S steps are their last S points.
    """
    y = hidden_points(forecast, curves)
    hits = torch.stack([forecast.covers(y, each) for each in deviations]).float()
    shares = {kind: 100 * hits[:, rows].mean(dim=1) for kind, rows in rows_by_kind(curves.kinds).items()}
    return Coverage(tuple(deviations), shares)


def rank_within_steps(forecast: Extrapolation, curves: Curves) -> dict[str, float]:
    """Spearman's correlation of spread and absolute error against observations, over curves: mean over the steps.

    1 if, at every step, the curves with the larger spread are those with the larger error; 0 if they have nothing to
    do with each other.
    """
    error = (forecast.point - hidden_points(forecast, curves)).abs()
    return {
        kind: statistics.fmean(
            float(spearmanr(spread, off).statistic)
            for spread, off in zip(forecast.spread[rows].unbind(1), error[rows].unbind(1), strict=True)
        )
        for kind, rows in rows_by_kind(curves.kinds).items()
    }


def hidden_points(forecast: Extrapolation, curves: Curves) -> Float[Tensor, "B S"]:
    """What is observed at the points that were extrapolated, the last ones of the curves."""
    if forecast.estimates[0].shape[1] < 2:
        raise UsageError("one estimate has no spread; give what a relational network says of the curves")
    return last_points(curves, forecast.point).y


def last_points(curves: Curves, point: Float[Tensor, "B S"]) -> Curves:
    """The last S points of the curves that these are predictions of; UsageError if they cannot be."""
    count, steps = point.shape
    if len(curves.y) != count or curves.y.shape[1] <= steps:
        raise UsageError(
            f"{count} predictions of {steps} points do not belong to {len(curves.y)} curves of "
            f"{curves.y.shape[1]} points; give the curves that they were made from"
        )
    return Curves(curves.truth[:, -steps:], curves.y[:, -steps:], curves.kinds)


def error_by_step(point: Float[Tensor, "B S"], curves: Curves) -> dict[str, list[float]]:
    """Mean squared error against the noiseless truth, for each class, at each of the curves' last S points."""
    squares = (point.double() - last_points(curves, point).truth.double()).square()
    return {kind: squares[rows].mean(dim=0).tolist() for kind, rows in rows_by_kind(curves.kinds).items()}


# ------------------------------------------------------------------------------------------------ over training


class MetricHistory(NamedTuple):
    """How a measure changed while a network was trained."""

    updates: list[int]  #: when it was measured. [C]
    #: for each class, or for the one thing that is measured, a value each time. [C]
    values: dict[str, list[float]]


def metric_history(record: dict, measure: str) -> MetricHistory:
    """A measure of `evaluation.evaluate` over the training of one run, from the checks in its record.

    It is "mse", "noisy_mse", "sliding_mse", "spread", "covered_1", "covered_2" or "spread_error", by class; or
    "window". Relational runs are checked on the way.
    """
    checks = record.get("checks")
    if not checks:
        raise UsageError("this record has one test, at the end; give one of a run with checks on the way")
    names = {measure: measure} if measure == "window" else {kind: f"{measure}_{kind}" for kind in KINDS}
    if not all(name in checks[0] for name in names.values()):
        known = {name.removesuffix(f"_{KINDS[0]}") for name in checks[0] if name.endswith(f"_{KINDS[0]}")}
        raise unknown_name_error("measure", measure, sorted(known | ({"window"} & checks[0].keys())))
    updates = [UPDATES * check["epoch"] for check in checks]
    return MetricHistory(updates, {key: [check[name] for check in checks] for key, name in names.items()})
