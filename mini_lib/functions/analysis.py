"""Measurements: the ensemble, window and attention of one network, and how well the spread is calibrated.

The spread is compared with observations, noise included, and not with the function: the paper's optimum of 0.1 on
lines and sinusoids is the noise alone ("Uncertainty Estimation Results").
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
from mini_lib.functions.extrapolation import Extrapolation, extrapolate
from mini_lib.functions.tasks import KINDS, STEPS, UPDATES, Curves, as_curve, rows_by_kind
from mini_lib.functions.transformer import FunctionTransformer, RelationalTransformer
from mini_lib.functions.window import LENGTH, Tokens, Window, visible

FARTHEST, POINTS = 30.0, 121  # largest distance, and number of distances, in a profile of F


def _relational(model: FunctionTransformer, what: str) -> RelationalTransformer:
    """The network itself; UsageError unless it is relational."""
    if not isinstance(model, RelationalTransformer):
        raise UsageError(f"only a relational network has {what}, this one is a {type(model).__name__}")
    return model


def _one_curve(model: FunctionTransformer, y: Sequence[int | float] | Tensor) -> Float[Tensor, "1 N"]:
    """The observations of one curve, [N] or [1, N], as a batch of one on the network's device."""
    single = isinstance(y, Tensor) and y.dim() == 2 and len(y) == 1
    return as_curve(y[0] if single else y).to(next(model.parameters()).device)


def local_weights(model: FunctionTransformer, y: Float[Tensor, "B N"]) -> Float[Tensor, "B N"]:
    """Return the derivatives of the prediction of y_{N+1} by each observation.

    For a linear autoregression these are its weights, the same on every curve. Those of a relational network sum to
    1, since a constant added to a curve is added to its prediction.
    """
    y = y.detach().clone().requires_grad_()
    return torch.autograd.grad(model.predict(y).sum(), y)[0]


# ------------------------------------------------------------------------------------------------ the ensemble


class Ensemble(NamedTuple):
    """The extrapolation of one curve of N points by a relational network for S steps, with all estimates."""

    y: Float[Tensor, "N"]  #: the observations.
    #: z_i + y_i by step and by the place i that it starts from, x = 1..N+S-1; NaN where there was no such point yet.
    #: From i = N + 1 on, y_i is a prediction.
    estimates: Float[Tensor, "S _"]
    point: Float[Tensor, "S"]  #: their median at each step, which becomes the next observation.
    spread: Float[Tensor, "S"]  #: their sample standard deviation.

    @property
    def places(self) -> Float[Tensor, "S"]:
        """The places of the steps, x = N+1..N+S."""
        return len(self.y) + 1 + torch.arange(len(self.point), dtype=torch.float32)


def ensemble(
    model: FunctionTransformer, y: Sequence[int | float] | Float[Tensor, "..."], steps: int = STEPS
) -> Ensemble:
    """Extrapolate one curve of N points with a relational network, its context growing, and keep every estimate."""
    y = _one_curve(_relational(model, "several estimates of a point"), y)
    forecast = extrapolate(model, y, steps)
    estimates = torch.full((steps, y.shape[1] + steps - 1), torch.nan)
    for step, of_step in enumerate(forecast.estimates):
        estimates[step, : of_step.shape[1]] = of_step[0].cpu()
    return Ensemble(y[0].cpu(), estimates, forecast.point[0].cpu(), forecast.spread[0].cpu())


# ------------------------------------------------------------------------------------------------ the window


class WindowProfile(NamedTuple):
    """The window's factor F over distance."""

    distance: Float[Tensor, "G"]  #: in steps of x.
    factor: Float[Tensor, "G"]  #: F(d) = (1 - sigma(d / b - a)) / (1 - sigma(-a)).
    length: Float[Tensor, ""]  #: a b.
    start: Float[Tensor, "G"]  #: the factor at the start of training.


@torch.no_grad()
def window_profile(model: FunctionTransformer, length: int | float = LENGTH) -> WindowProfile:
    """Evaluate F at G = 121 distances from 0 to 30, for the network's window and for a new one of this `length`."""
    if model.window is None:
        raise UsageError(f"this {type(model).__name__} has no window; make one with window=True")
    distance = torch.linspace(0, FARTHEST, POINTS)
    now = model.window.log_factor(distance[None].to(model.window.log_a)).exp()[0].cpu()
    start = Window(float(length)).log_factor(distance[None]).exp()[0]
    return WindowProfile(distance, now, model.window.length[0, 0].cpu().clone(), start)


# ------------------------------------------------------------------------------------------------ attention


class MatrixAttention(NamedTuple):
    """Attention of one query of a relational network to every token."""

    query: int  #: i of the query (i, N + 1).
    #: to token (i', j') in row i' and column j', from 1; 0 where it is hidden from the query, NaN where there is no
    #: token. The last column holds the queries.
    weights: Float[Tensor, "N _"]


@torch.no_grad()
def over_matrix(
    model: FunctionTransformer,
    y: Sequence[int | float] | Float[Tensor, "..."],
    query: int,
    layer: int | None = None,
) -> MatrixAttention:
    """Return the attention of the query (i, N + 1) as the matrix of places, a mean over heads.

    The query (N + 1, N + 1), whose answer is 0, has no row in the matrix, and with a causal mask it is hidden from
    all others. Without a layer, counted from 0, it is the mean over all of them.
    """
    y = _one_curve(_relational(model, "a matrix of differences"), y)
    observed, layers = y.shape[1], len(model.transformer.blocks)
    if not 1 <= query <= observed:
        raise UsageError(f"of {observed} observations there are queries 1 to {observed}, got {query!r}")
    if layer is not None and not 0 <= layer < layers:
        raise UsageError(f"layer has to be from 0 to {layers - 1}, got {layer!r}")
    trace = model.trace(y)
    weights = trace.attention if layer is None else trace.attention[[layer]]
    mean = weights.mean(dim=(0, 1, 2)).cpu()  # [T, T]
    places = trace.tokens.places.cpu()
    i, j = places.long().unbind(dim=-1)
    row = (places == torch.tensor([query, observed + 1])).all(dim=1)
    matrix = torch.full((observed + 1, observed + 1), torch.nan, dtype=mean.dtype)
    matrix[i - 1, j - 1] = mean[row][0]
    return MatrixAttention(query, matrix[:-1])


class DistanceAttention(NamedTuple):
    """Mean attention of queries to the tokens at each distance, over all that are visible to them."""

    distance: Float[Tensor, "G"]  #: in steps of x, from 0.
    weights: Float[Tensor, "L H G"]  #: by layer and head.
    even: Float[Tensor, "G"]  #: the same for uniform attention.


@torch.no_grad()
def attention_by_distance(model: FunctionTransformer, y: Float[Tensor, "B N"]) -> DistanceAttention:
    """Average the attention of the queries about y_{N+1} by distance, over all curves.

    Distance is in j, the time of a token; in a relational network that is the later point of two. The relational
    query (N + 1, N + 1) is left out, as its answer is not used.
    """
    if not len(y):
        raise UsageError("there is no curve in this batch; give at least one")
    device, total = next(model.parameters()).device, 0.0
    for curve in y:  # one at a time, to save memory
        trace = model.trace(curve[None].to(device))
        tokens = Tokens(*(part.cpu() for part in trace.tokens))
        used = tokens.query.clone()
        used[-1] &= not isinstance(model, RelationalTransformer)
        total = total + trace.attention.cpu()[:, 0][:, :, used] / len(y)  # [L, H, Q, T]
    queries = Tokens(*(part[used] for part in tokens))
    seen = visible(queries, tokens, model.mask)
    distance = (queries.places[:, None, -1] - tokens.places[None, :, -1]).abs()
    even = seen / seen.sum(dim=1, keepdim=True).clamp(min=1)
    at = [seen & (distance == place) for place in distance[seen].unique()]
    weights = torch.stack([total[:, :, where].mean(dim=-1) for where in at], dim=-1)
    return DistanceAttention(distance[seen].unique(), weights, torch.stack([even[w].mean() for w in at]))


# ------------------------------------------------------------------------------------------------ calibration


def normal_coverage(deviations: int | float) -> float:
    """Percentage of a normal distribution within this many standard deviations of its mean."""
    return 100 * math.erf(deviations / math.sqrt(2))


class Coverage(NamedTuple):
    """Percentage of observations within D numbers of standard deviations of the median."""

    deviations: tuple[int, ...]
    by_step: dict[
        str, Tensor
    ]  #: by class, the percentage for each number of deviations and each step. [D, S]

    @property
    def by_kind(self) -> dict[str, list[float]]:
        """By class, the mean over steps for each number of deviations."""
        return {kind: percent.mean(dim=1).tolist() for kind, percent in self.by_step.items()}


def coverage(forecast: Extrapolation, curves: Curves, deviations: Sequence[int] = (1, 2)) -> Coverage:
    """Measure how often observations lie within these standard deviations of the median, by class and step.

    `curves` are those of the forecast, in its order; its S steps are their last S points.
    """
    y = hidden_points(forecast, curves)
    hits = torch.stack([forecast.covers(y, each) for each in deviations]).float()
    shares = {kind: 100 * hits[:, rows].mean(dim=1) for kind, rows in rows_by_kind(curves.kinds).items()}
    return Coverage(tuple(deviations), shares)


def rank_within_steps(forecast: Extrapolation, curves: Curves) -> dict[str, float]:
    """Spearman's correlation of spread and absolute error against observations, over curves: mean over steps."""
    error = (forecast.point - hidden_points(forecast, curves)).abs()
    return {
        kind: statistics.fmean(
            float(spearmanr(spread, off).statistic)
            for spread, off in zip(forecast.spread[rows].unbind(1), error[rows].unbind(1), strict=True)
        )
        for kind, rows in rows_by_kind(curves.kinds).items()
    }


def hidden_points(forecast: Extrapolation, curves: Curves) -> Float[Tensor, "B S"]:
    """The observations at the points that were extrapolated, the last ones of the curves."""
    if forecast.estimates[0].shape[1] < 2:
        raise UsageError("one estimate has no spread; give the forecast of a relational network")
    return last_points(curves, forecast.point).y


def last_points(curves: Curves, point: Float[Tensor, "B S"]) -> Curves:
    """The last S points of the curves; UsageError unless they fit the predictions."""
    count, steps = point.shape
    if len(curves.y) != count or curves.y.shape[1] <= steps:
        raise UsageError(
            f"{count} predictions of {steps} points do not belong to {len(curves.y)} curves of "
            f"{curves.y.shape[1]} points; give the curves that they were made from"
        )
    return Curves(curves.truth[:, -steps:], curves.y[:, -steps:], curves.kinds)


def error_by_step(point: Float[Tensor, "B S"], curves: Curves) -> dict[str, list[float]]:
    """Mean squared error against the noiseless truth at each of the curves' last S points, by class."""
    squares = (point.double() - last_points(curves, point).truth.double()).square()
    return {kind: squares[rows].mean(dim=0).tolist() for kind, rows in rows_by_kind(curves.kinds).items()}


class MetricHistory(NamedTuple):
    """A measure over the training of a network."""

    updates: list[int]  #: when it was measured.
    values: dict[str, list[float]]  #: by class, or by the one thing that is measured.


def metric_history(record: dict, measure: str) -> MetricHistory:
    """Read a measure of `runs.evaluate` over the training of one run from the checks in its record.

    It is "mse", "noisy_mse", "sliding_mse", "spread", "covered_1", "covered_2" or "spread_error", by class; or
    "window".
    """
    checks = record.get("checks")
    if not checks:
        raise UsageError("this record has one test, at the end; give one of a run with `checks`")
    names = {measure: measure} if measure == "window" else {kind: f"{measure}_{kind}" for kind in KINDS}
    if not all(name in checks[0] for name in names.values()):
        known = {name.removesuffix(f"_{KINDS[0]}") for name in checks[0] if name.endswith(f"_{KINDS[0]}")}
        raise unknown_name_error("measure", measure, sorted(known | ({"window"} & checks[0].keys())))
    updates = [UPDATES * check["epoch"] for check in checks]
    return MetricHistory(updates, {key: [check[name] for check in checks] for key, name in names.items()})
