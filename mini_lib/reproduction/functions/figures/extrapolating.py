"""Continued curves: several predictors against the truth, and the ensemble of estimates behind a prediction."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from scipy.interpolate import CubicSpline
from torch import Tensor

from mini_lib.errors import UsageError
from mini_lib.functions.extrapolation import extrapolate
from mini_lib.functions.tasks import STEPS, as_curve
from mini_lib.functions.transformer import FunctionTransformer
from mini_lib.reproduction.functions.figures.looks import EARLY_TO_LATE, TRUTH, label, looks, shade
from mini_lib.reproduction.plotting import (
    QUIET,
    RULE,
    Numbers,
    figure,
    legend_below,
    require_nonempty,
    style,
)

COLUMNS = 3  # panels side by side
BETWEEN = 10  # points of a smooth line from one x to the next


def continuations(
    y: Numbers,
    predictions: Mapping[str, Numbers],
    truth: Numbers | None = None,
    spreads: Mapping[str, Numbers] | None = None,
    titles: Sequence[str] = (),
) -> Figure:
    """Draw one or several curves, a panel each, with what predictors make of them.

    Observations y [N] or [B, N] stand at x = 1..N. Predictions, by name, stand at x = N+1..N+S, [S] or [B, S]; keys
    of networks have their colours. The function, `truth` [T] or [B, T], is black. Standard deviations in `spreads`,
    named and shaped like predictions, are drawn as a band of two each way.
    """
    require_nonempty("prediction, by name", predictions)
    if strange := set(spreads or {}) - set(predictions):
        raise UsageError(f"no prediction is called {min(strange)!r}; spreads go by the names of predictions")
    seen = _curves(y)
    count, observed = seen.shape
    ahead = {name: _curves(values, count) for name, values in predictions.items()}
    drawn = looks(predictions)
    bands = {name: _curves(values, *ahead[name].shape) for name, values in (spreads or {}).items()}
    whole = None if truth is None else _curves(truth, count)
    if titles and len(titles) != count:
        raise UsageError(f"{count} curves with {len(titles)} titles; give one for each")
    columns = min(COLUMNS, count)
    rows = -(-count // columns)
    size = (max(6.4, 3.1 * columns), 2.5 * rows + 0.7)
    with style():
        fig, axes = figure(rows, columns, size=size, squeeze=False)
        for ax in axes.ravel()[count:]:
            ax.set_axis_off()
        for number, ax in enumerate(axes.ravel()[:count]):
            _panel(ax, seen[number], None if whole is None else whole[number])
            for name, values in ahead.items():
                band = bands[name][number] if name in bands else None
                _continue(ax, observed, values[number], band, drawn[name] | {"label": label(name)})
            ax.set(title=titles[number] if titles else "", xlabel="x", ylabel="" if number % columns else "y")
        legend_below(fig)
    return fig


def _curves(values: Numbers, *shape: int) -> Float[np.ndarray, "B S"]:
    """At least two axes; the first sizes have to be those of `shape`."""
    curves = np.atleast_2d(np.asarray(values, dtype=float))
    if curves.ndim != 2 or curves.shape[: len(shape)] != shape:
        wanted = " by ".join(map(str, shape)) if shape else "one or several"
        raise UsageError(f"an array of shape {curves.shape} does not hold {wanted} values of as many curves")
    return curves


def smooth(truth: Numbers) -> tuple[Float[np.ndarray, "G"], Float[np.ndarray, "G"]]:
    """A function known at x = 1..T drawn as what it is, smooth: a cubic spline through these points."""
    points = len(truth)
    x = np.linspace(1, points, BETWEEN * (points - 1) + 1)
    return x, CubicSpline(np.arange(1, points + 1), np.asarray(truth, dtype=float))(x)


def _panel(ax: Axes, y: Float[np.ndarray, "N"], truth: Float[np.ndarray, "T"] | None) -> None:
    if truth is not None:
        ax.plot(*smooth(truth), color=TRUTH, linewidth=1.2, label="function")
    ax.plot(np.arange(1, len(y) + 1), y, "o", color=QUIET, markersize=3.5, label="observed")
    ax.axvline(len(y) + 0.5, color=RULE, linewidth=0.8, linestyle=":")


def _continue(
    ax: Axes, observed: int, values: Float[np.ndarray, "S"], band: Float[np.ndarray, "S"] | None, look: dict
) -> None:
    x = observed + 1 + np.arange(len(values))
    ax.plot(x, values, marker="o", linewidth=1.4, markersize=3, **look)
    if band is not None:
        edges = values - 2 * band, values + 2 * band
        ax.fill_between(x, *edges, color=look["color"], alpha=0.18, linewidth=0)


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
    model: FunctionTransformer, y: Sequence[int | float] | Float[Tensor, "N"], steps: int = STEPS
) -> Ensemble:
    """Extrapolate one curve of N points with a relational network, its context growing, and keep every estimate."""
    if model.sees_offset:
        raise UsageError(f"a {type(model).__name__} has one estimate of a point; give a relational network")
    y = as_curve(y).to(next(model.parameters()).device)
    forecast = extrapolate(model, y, steps)
    estimates = torch.full((steps, y.shape[1] + steps - 1), torch.nan)
    for step, of_step in enumerate(forecast.estimates):
        estimates[step, : of_step.shape[1]] = of_step[0].cpu()
    return Ensemble(y[0].cpu(), estimates, forecast.point[0].cpu(), forecast.spread[0].cpu())


def cloud(ensemble: Ensemble, truth: Numbers | None = None, name: str = "relational_window") -> Figure:
    """Draw every estimate z_i + y_i of each step as a dot, coloured by i, with the median and two deviations.

    They are those of `ensemble`; the function at x = 1..N+S, `truth`, is black, and the network's name says
    the colour.
    """
    places, points = ensemble.places.numpy(), len(ensemble.y) + len(ensemble.places)
    if truth is not None and len(truth) != points:
        raise UsageError(
            f"the truth has {len(truth)} points; give {points}, those of the curve and its steps"
        )
    with style():
        fig, ax = figure(size=(8.6, 3.8))
        _panel(ax, ensemble.y.numpy(), None if truth is None else np.asarray(truth))
        dots = _dots(ax, ensemble)
        middle, spread = ensemble.point.numpy(), ensemble.spread.numpy()
        ax.plot(places, middle, color=shade(name), label="median", zorder=3)
        look = {"color": shade(name), "alpha": 0.18, "linewidth": 0}
        ax.fill_between(places, middle - 2 * spread, middle + 2 * spread, label="± 2 SD", **look)
        bar = fig.colorbar(dots, ax=ax, label="estimate from point $i$", ticks=MaxNLocator(integer=True))
        bar.solids.set_alpha(1)
        ax.set(xlabel="x", ylabel="y")
        ax.legend(fontsize="small", loc="best")
    return fig


def _dots(ax: Axes, ensemble: Ensemble) -> PathCollection:
    """One dot an estimate; those of one step stand side by side, in the order of i."""
    estimates = ensemble.estimates.numpy()
    steps, starts = np.nonzero(~np.isnan(estimates))
    count = estimates.shape[1]
    x = ensemble.places.numpy()[steps] + 0.5 * (starts / max(count - 1, 1) - 0.5)
    look = {"cmap": EARLY_TO_LATE, "vmin": 1, "vmax": count, "s": 9, "alpha": 0.8, "linewidths": 0}
    return ax.scatter(x, estimates[steps, starts], c=starts + 1, zorder=2, **look)
