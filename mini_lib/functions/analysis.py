"""Measurements: what a prediction depends on, where a network attends, and how well its spread is calibrated.

The spread is compared with observations, noise included, as in the paper ("Uncertainty Estimation Results").
"""

import math
import statistics
from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from scipy.stats import spearmanr
from torch import Tensor

from mini_lib.errors import UsageError
from mini_lib.functions.extrapolation import Extrapolation
from mini_lib.functions.tasks import Curves, as_curve, check_curves, rows_by_kind
from mini_lib.functions.transformer import FunctionTransformer, RelationalTransformer
from mini_lib.functions.window import Tokens, visible


def local_weights(model: FunctionTransformer, y: Float[Tensor, "B N"]) -> Float[Tensor, "B N"]:
    """Return the derivatives of the prediction of y_{N+1}; those of a linear autoregression are its weights."""
    y = y.detach().clone().requires_grad_()
    return torch.autograd.grad(model.predict(y).sum(), y)[0]


class MatrixAttention(NamedTuple):
    """Attention of one query of a relational network to every token."""

    query: int  #: i of the query (i, N + 1).
    #: to token (i', j') in row i' and column j', from 1; 0 where it is hidden from the query, NaN where there is no
    #: token. The last column holds the queries.
    weights: Float[Tensor, "N _"]


@torch.no_grad()
def over_matrix(
    model: FunctionTransformer,
    y: Sequence[int | float] | Float[Tensor, "N"],
    query: int,
    layer: int | None = None,
) -> MatrixAttention:
    """Return a query's attention in one curve: the mean over heads and, without a `layer` (from 0), over layers."""
    if not isinstance(model, RelationalTransformer):
        raise UsageError(
            f"only a relational network has a matrix of differences, not a {type(model).__name__}"
        )
    y = as_curve(y).to(next(model.parameters()).device)
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

    Distance is in j, of two points the later one. The relational query (N + 1, N + 1), which is unused, is left out.
    """
    check_curves(y)
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


def normal_coverage(deviations: int | float) -> float:
    """Percentage of a normal distribution within this many standard deviations of its mean."""
    return 100 * math.erf(deviations / math.sqrt(2))


class Coverage(NamedTuple):
    """Percentage of observations within D numbers of standard deviations of the median."""

    deviations: tuple[int, ...]
    #: by class, the percentage for each number of deviations and each step. [D, S]
    by_step: dict[str, Tensor]

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
            f"{[count, steps]} predictions do not belong to curves of shape {list(curves.y.shape)}"
        )
    return Curves(curves.truth[:, -steps:], curves.y[:, -steps:], curves.kinds)


def error_by_step(point: Float[Tensor, "B S"], curves: Curves) -> dict[str, list[float]]:
    """Mean squared error against the noiseless truth at each of the curves' last S points, by class."""
    squares = (point.double() - last_points(curves, point).truth.double()).square()
    return {kind: squares[rows].mean(dim=0).tolist() for kind, rows in rows_by_kind(curves.kinds).items()}
