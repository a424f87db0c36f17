"""Curves of the three classes, the differences that a relational network sees, and the tokens of both networks."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from torch import Tensor

from mini_lib.errors import UsageError
from mini_lib.functions.models import FunctionTransformer, Tokens, build_network
from mini_lib.functions.tasks import KINDS, STEPS, Curves, own_curve
from mini_lib.reproduction.functions.figures.looks import ASKED, KIND_COLOURS, KIND_NAMES, TRUTH
from mini_lib.reproduction.plotting import QUIET, RULE, figure, legend_below, style
from mini_lib.seeding import seeded

OBSERVED, HIDDEN = {"markersize": 4.5}, {"markersize": 4.5, "fillstyle": "none"}
SIGNED = "PuOr"  # colours of differences; white is none


def examples(curves: Curves, each: int = 1, steps: int = STEPS) -> Figure:
    """Draw the first curves of every class: the function, what is observed of it, and what is hidden.

    Args:
        curves: of one or more classes.
        each: how many of each class, one under the other.
        steps: how many points, from the end, are hidden: their observations are open dots.

    Raises:
        UsageError: if a class has fewer curves, or nothing is left to observe.
    """
    kinds = [number for number in range(len(KINDS)) if (curves.kinds == number).any()]
    points = curves.y.shape[1]
    if not 0 < steps < points:
        raise UsageError(f"of {points} points 1 to {points - 1} can be hidden, got steps={steps!r}")
    if each < 1 or any((curves.kinds == number).sum() < each for number in kinds):
        raise UsageError(f"there are no {each!r} curves of every class; give more curves")
    size = (3.1 * len(kinds) + 0.3, 2.1 * each + 1.0)
    with style():
        fig, axes = figure(each, len(kinds), size=size, squeeze=False, sharex=True, sharey="col")
        for column, number in enumerate(kinds):
            for row in range(each):
                place = (curves.kinds == number).nonzero()[row, 0]
                _example(
                    axes[row, column], KINDS[number], curves.truth[place], curves.y[place], points - steps
                )
            axes[0, column].set_title(KIND_NAMES[KINDS[number]])
            axes[-1, column].set_xlabel("x")
        for ax in axes[:, 0]:
            ax.set_ylabel("y")
        marks = {"function": {}, "observed": {"marker": "o", "linewidth": 0}}
        marks["hidden"] = marks["observed"] | {"fillstyle": "none"}
        handles = [Line2D([], [], color=QUIET, label=name, **mark) for name, mark in marks.items()]
        legend_below(fig, handles, ncols=3)
    return fig


def _example(ax: Axes, kind: str, truth: Float[Tensor, "T"], y: Float[Tensor, "T"], observed: int) -> None:
    x, own = np.arange(1, len(y) + 1), KIND_COLOURS[kind]
    ax.plot(x, truth, color=own, linewidth=1.4)
    ax.plot(x[:observed], y[:observed], "o", color=own, **OBSERVED)
    ax.plot(x[observed:], y[observed:], "o", color=own, **HIDDEN)
    ax.axvline(observed + 0.5, color=RULE, linewidth=0.8, linestyle=":")


# ------------------------------------------------------------------------------------------------ differences


def differences(y: Sequence[int | float] | Float[Tensor, "N"]) -> Figure:
    """Draw one curve, and the matrix of its differences y_j - y_i (i < j) with the column that is asked for.

    Args:
        y: N observations. Rows of the matrix are i, columns j; column N + 1 has a question mark for every query.

    Raises:
        UsageError: for what is no curve.
    """
    y = own_curve(y)[0]
    observed = len(y)
    fig, (left, right) = figure(1, 2, size=(8.6, 3.9), gridspec_kw={"width_ratios": (1, 1.25)})
    x = np.arange(1, observed + 1)
    left.plot(x, y, "-o", color=TRUTH, linewidth=1, **OBSERVED)
    left.text(observed + 1, float(y[-1]), "?", ha="center", va="center", color=ASKED, fontsize="x-large")
    left.set(xlabel="x", ylabel="y", xlim=(0.4, observed + 1.6))
    _matrix(fig, right, y)
    return fig


def _matrix(fig: Figure, ax: Axes, y: Float[Tensor, "N"]) -> None:
    observed = len(y)
    lower = torch.ones(observed, observed, dtype=torch.bool).tril()
    values = (y[None, :] - y[:, None]).masked_fill(lower, torch.nan)
    extreme = float(values[~lower].abs().max()) or 1.0
    extent = (0.5, observed + 0.5, observed + 0.5, 0.5)
    look = {"cmap": SIGNED, "vmin": -extreme, "vmax": extreme, "extent": extent, "interpolation": "nearest"}
    fig.colorbar(ax.imshow(values.numpy(), **look), ax=ax, label="$y_j-y_i$", shrink=0.85)
    asked_column(ax, observed + 1, rows=observed + 1)
    size = min(9.0, 130 / observed)
    for row in range(1, observed + 2):
        look = {"ha": "center", "va": "center", "color": ASKED, "fontsize": size}
        ax.text(observed + 1, row, "?", **look)
    limits = {"xlim": (0.5, observed + 1.6), "ylim": (observed + 1.6, 0.4)}
    ax.set(xlabel="later point $j$", ylabel="earlier point $i$", **limits)
    ax.grid(False)


def asked_column(ax: Axes, column: int, rows: int) -> None:
    """Frame the column of a matrix that is asked for."""
    look = {"fill": False, "edgecolor": ASKED, "linewidth": 1.4, "clip_on": False}
    ax.add_patch(Rectangle((column - 0.5, 0.5), 1, rows, **look))


# ------------------------------------------------------------------------------------------------ tokens


def token_set(kind: str, observed: int) -> Tokens:
    """Inputs and queries of a network of `models.MODELS` that has so many observations."""
    with seeded(0, "tokens"):  # a network, though only its tokens are wanted, draws weights
        network: FunctionTransformer = build_network(kind, dim=4, layers=1, heads=1)
    return network.input_tokens(1, observed).joined(network.query_tokens(observed + 1))


def token_sets(observed: int = 6) -> Figure:
    """Draw where the tokens of both networks stand, and count them: squares tell a value, open circles ask for one.

    Raises:
        UsageError: for fewer than two observations.
    """
    if observed < 2:
        raise UsageError(f"two observations at least make a difference, got observed={observed!r}")
    with style():
        fig, (left, right) = figure(1, 2, size=(8.6, 3.6), sharex=True)
        _tokens(left, token_set("one_d", observed), "observations")
        _tokens(right, token_set("relational", observed), "differences")
        left.set(title="1d", xlabel="x", yticks=[])
        right.set(title="relational", xlabel="later point $j$", ylabel="earlier point $i$")
        for ax in (left, right):
            limits = {"xlim": (0.3, observed + 1.7), "ylim": (observed + 1.7, 0.3)}
            ax.set(xticks=range(1, observed + 2), **limits)
    return fig


def _tokens(ax: Axes, tokens: Tokens, told: str) -> None:
    """Each token at its places; those of the 1d network stand in one row."""
    j, asks = tokens.places[:, -1].numpy(), tokens.query.numpy()
    i = tokens.places[:, 0].numpy() if tokens.places.shape[1] == 2 else np.ones(len(j))
    ax.plot(j[~asks], i[~asks], "s", color=QUIET, markersize=7, label=f"{(~asks).sum()} {told}")
    words = f"{asks.sum()} {'query' if asks.sum() == 1 else 'queries'}"
    ax.plot(j[asks], i[asks], "o", color=ASKED, fillstyle="none", markersize=8, label=words)
    ax.legend(loc="lower left", fontsize="small")
    ax.grid(False)
