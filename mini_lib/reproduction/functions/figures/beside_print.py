"""How far each reading of the paper is from its Table 1."""

import math
from collections.abc import Mapping
from textwrap import fill

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from mini_lib.functions.tasks import KINDS
from mini_lib.reproduction.comparison import ENOUGH
from mini_lib.reproduction.functions.cells import ROWS
from mini_lib.reproduction.functions.figures.looks import KIND_COLOURS, label
from mini_lib.reproduction.functions.readings import (
    Errors,
    distance,
    distance_of_a_repeat,
    log_ratios,
    standard_error,
    table1,
)
from mini_lib.reproduction.plotting import (
    QUIET,
    RULE,
    figure,
    legend_below,
    log_ticks,
    require_nonempty,
    style,
)

APART = 0.22  # of the classes of a reading, one beneath the other
NAME_WIDTH = 26  # characters of a reading's name on a line


def readings(measured: Mapping[str, Errors], sliding: Mapping[str, Errors] | None = None) -> Figure:
    """Draw every reading's errors over the printed ones, a panel for each network, and its distance from the table.

    `measured` are errors by reading (`readings.measure`). In the panels 1 is what the paper prints, with its
    standard errors in the row "in print". Dots are means over runs, with a standard error each way; those of fewer
    than 3 runs are hollow and have none. The last panel is `readings.distance` of the readings in which every
    network has runs; its dotted line is `readings.distance_of_a_repeat`. With `sliding`, the same readings tested
    with a context that slides, their distances stand beside those of `measured` in a panel of their own.
    """
    require_nonempty("run of a reading", [each for each in measured.values() if not np.isnan(each).all()])
    paper, paper_se = table1()
    names = ["in print", *(fill(reading or "by default", NAME_WIDTH) for reading in measured)]
    with style():
        tests = {"distance": measured}
        if sliding is not None:
            same = {name: sliding[name] for name in measured}
            tests = {"distance:\ncontext grows": measured, "distance:\ncontext slides": same}
        size = (9.0 + 2.0 * len(tests), 0.5 * len(names) + 1.7)
        fig, axes = figure(1, len(ROWS) + len(tests), size=size, sharey=True)
        for number, (ax, model) in enumerate(zip(axes, ROWS, strict=False)):
            _row(ax, 0, np.zeros(len(KINDS)), paper_se[number] / paper[number], marker="D")
            for place, errors in enumerate(measured.values(), start=1):
                _network(ax, place, errors[[number]], paper[[number]])
            ax.axvline(1, color=RULE, linewidth=0.8, linestyle=":")
            ax.set(title=label(model), xlabel="ours / printed", xscale="log")
            log_ticks(ax.xaxis)
        _same_limits(axes[: len(ROWS)])
        for ax, (title, tested) in zip(axes[len(ROWS) :], tests.items(), strict=True):
            _distances(ax, tested, paper)
            ax.axvline(distance_of_a_repeat(paper, paper_se), color=RULE, linewidth=0.8, linestyle=":")
            ax.set(title=title, xlabel="mean |ln ratio|", xlim=(0, None))
        _same_limits(axes[len(ROWS) :])
        axes[0].set_yticks(range(len(names)), names, fontsize="small")
        axes[0].set_ylim(len(names) - 0.5, -0.5)
        look = {"marker": "o", "linewidth": 1.2}
        own = {kind: {"color": KIND_COLOURS[kind], "label": label(kind)} for kind in KINDS}
        legend_below(fig, [Line2D([], [], **look, **own[kind]) for kind in KINDS])
    return fig


def _network(ax: Axes, place: int, errors: Errors, paper: Float[np.ndarray, "1 K"]) -> None:
    """One network's errors under one reading, or why there are none."""
    runs = errors[..., ~np.isnan(errors).any(axis=(0, 1))]
    means = log_ratios(runs, paper)[0]
    if not np.isfinite(means).all():
        words = "diverged" if np.isinf(means).any() else "not run"
        look = {"ha": "center", "va": "center", "fontsize": 7, "color": QUIET}
        ax.text(1, place, words, bbox={"facecolor": "white", "edgecolor": "none", "pad": 1}, **look)
        return
    relative, count = None, runs.shape[-1]
    if count >= ENOUGH:
        relative = runs[0].std(axis=-1, ddof=1) / math.sqrt(count) / runs[0].mean(axis=-1)
    _row(ax, place, means, relative)


def _row(
    ax: Axes,
    place: int,
    means: Float[np.ndarray, "K"],
    relative: Float[np.ndarray, "K"] | None,
    marker: str = "o",
) -> None:
    """Draw the classes of a row at exp(`means`), each with its relative standard error, hollow without one."""
    for number, (kind, mean) in enumerate(zip(KINDS, means, strict=True)):
        se = 0.0 if relative is None else relative[number]
        ratio, ends = math.exp(mean), np.exp([mean - se, mean + se])
        look = {"color": KIND_COLOURS[kind], "markersize": 4.5, "elinewidth": 1.2, "fmt": marker}
        look["fillstyle"] = "none" if relative is None else "full"
        ax.errorbar(ratio, place + APART * (number - 1), xerr=np.abs(ends - ratio)[:, None], **look)


def _same_limits(axes: np.ndarray) -> None:
    """Give all these panels the same axis, so that they can be compared."""
    limits = np.array([ax.get_xlim() for ax in axes])
    for ax in axes:
        ax.set_xlim(limits[:, 0].min(), limits[:, 1].max())


def _distances(ax: Axes, measured: Mapping[str, Errors], paper: Float[np.ndarray, "M K"]) -> None:
    for place, errors in enumerate(measured.values(), start=1):
        far = distance(errors, paper)
        if math.isfinite(far):
            se = standard_error(errors, paper)
            known = math.isfinite(se)
            look = {"fmt": "o", "color": RULE, "markersize": 5, "fillstyle": "full" if known else "none"}
            ax.errorbar(far, place, xerr=se if known else 0.0, **look)
