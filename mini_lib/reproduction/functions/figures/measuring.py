"""Errors of every run beside the paper and the bounds, what uncertainty is worth, and both over time."""

from collections.abc import Mapping, Sequence
from itertools import cycle

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from mini_lib.errors import UsageError
from mini_lib.functions.analysis import MEAN_ERROR, Bins, Coverage, MetricHistory, normal_coverage
from mini_lib.reproduction.functions.figures.looks import KIND_COLOURS, OTHERS, label, looks, shade
from mini_lib.reproduction.plotting import (
    QUIET,
    RULE,
    Numbers,
    figure,
    legend_below,
    log_ticks,
    paper_mark,
    require_nonempty,
    strip,
    style,
)

NAMED = {"-": "solid", "--": "dashed", "-.": "dash-dotted", ":": "dotted"}
LINES = tuple(NAMED)  # of bounds or of deviations, in the order in which they are given
ERROR = "mean squared error"
BESIDE = 0.42  # from a network's runs to the paper's mark


def runs(rows: Sequence[dict], ylabel: str = ERROR, logarithmic: bool = True) -> Figure:
    """Draw every run of `tables.rows`, a panel for each class: dots, a bar at their mean, the paper beside them.

    The paper's mean is an open diamond with its standard error each way; bounds are grey lines. A network without
    finished runs says so. All panels share the axis of what is measured.
    """
    require_nonempty("row of `tables.rows`", rows)
    classes = list(dict.fromkeys(row["class"] for row in rows))
    lines = _lines(rows)
    with style():
        size = (min(9.6, 2.2 * len(classes) + 1.0), 4.4)
        fig, axes = figure(1, len(classes), size=size, squeeze=False, sharey=True)
        if logarithmic:
            axes[0, 0].set(yscale="log", ylim=_limits(rows))
        for ax, kind in zip(axes[0], classes, strict=True):
            _class(ax, [row for row in rows if row["class"] == kind], lines)
            ax.set_title(label(kind), fontsize="medium" if len(classes) < 4 else "small")
            ax.set_ylabel("")
        axes[0, 0].set_ylabel(ylabel)
        if logarithmic:
            log_ticks(axes[0, 0].yaxis)
        legend_below(fig, _key(rows, lines))
    return fig


def _class(ax: Axes, rows: Sequence[dict], lines: Mapping[str, dict]) -> None:
    groups = {label(row["model"]): row["runs"] for row in rows}
    if any(groups.values()):
        strip(ax, groups, colours=[shade(name) for name in groups])
    for place, row in enumerate(rows):
        if row["paper"] is not None:
            paper_mark(ax, place + BESIDE, row["paper"], row["error"])
        if row["diverged"] or not row["runs"]:
            words = f"{row['diverged']} diverged" if row["diverged"] else "not run"
            look = {"rotation": 90, "ha": "center", "va": "bottom", "fontsize": 7, "color": QUIET}
            look["bbox"] = {"facecolor": "white", "edgecolor": "none", "pad": 1}
            ax.text(place, 0.03, words, transform=ax.get_xaxis_transform(), **look)
    bounds = {name: height for row in rows for name, height in row["bounds"].items()}
    for name, height in bounds.items():
        ax.axhline(height, linewidth=1, zorder=1, **lines[name])
    ax.set_xticks(range(len(groups)), list(groups), rotation=40, ha="right", fontsize="small")
    ax.set_xlim(-0.6, len(groups) - 0.3)


def _limits(rows: Sequence[dict]) -> tuple[float, float] | None:
    """Room around all that is above 0, since a logarithmic axis cannot scale itself to a single value."""
    heights = [value for row in rows for value in (*row["runs"], *row["bounds"].values())]
    for row in rows:
        paper, error = row["paper"] or 0.0, row["error"] or 0.0
        heights += [paper - error, paper + error]
    heights = [value for value in heights if value > 0]
    return (min(heights) / 1.5, 1.5 * max(heights)) if heights else None


def _lines(rows: Sequence[dict]) -> dict[str, dict]:
    """How each bound is drawn, the same in all panels: grey, or brown from the fifth on."""
    names = list(dict.fromkeys(name for row in rows for name in row["bounds"]))
    shades = (QUIET,) * len(LINES) + (OTHERS[0],) * len(names)
    drawn = zip(names, cycle(LINES), shades, strict=False)
    return {name: {"color": own, "linestyle": line} for name, line, own in drawn}


def _key(rows: Sequence[dict], lines: Mapping[str, dict]) -> list[Line2D]:
    marks = [Line2D([], [], color=QUIET, marker="o", linewidth=2.2, label="our runs, their mean")]
    if any(row["paper"] is not None for row in rows):
        marks.append(Line2D([], [], color=RULE, marker="D", fillstyle="none", label="paper: mean, SE"))
    return marks + [Line2D([], [], linewidth=1, label=name, **look) for name, look in lines.items()]


# ------------------------------------------------------------------------------------------------ step by step


def _panels(count: int, height: float) -> tuple[Figure, np.ndarray]:
    """A row of panels on one scale, wide enough for a class of curves each."""
    size = (max(5.0, 3.0 * count + 0.3), height)
    return figure(1, count, size=size, squeeze=False, sharey=True)


def by_step(errors: Mapping[str, Mapping[str, Numbers]], ylabel: str = ERROR) -> Figure:
    """Draw the error of each step, a panel for each class and a line for each network or predictor, by name.

    Errors are those of `analysis.error_by_step`, on a logarithmic axis.
    """
    require_nonempty("network or predictor, by name", errors)
    drawn = looks(errors)
    classes = list(dict.fromkeys(kind for by_class in errors.values() for kind in by_class))
    with style():
        fig, axes = _panels(len(classes), 3.8)
        for ax, kind in zip(axes[0], classes, strict=True):
            for name, by_class in errors.items():
                if kind in by_class:
                    x = np.arange(1, len(by_class[kind]) + 1)
                    ax.plot(x, by_class[kind], marker="o", markersize=3, **drawn[name])
            ax.set(title=label(kind), xlabel="step", yscale="log")
        axes[0, 0].set_ylabel(ylabel)
        log_ticks(axes[0, 0].yaxis)
        handles = [Line2D([], [], marker="o", label=label(name), **look) for name, look in drawn.items()]
        legend_below(fig, handles)
    return fig


# ------------------------------------------------------------------------------------------------ calibration


def calibration(bins: Mapping[str, Bins], coverage: Coverage) -> Figure:
    """Draw what spread is worth: on the left the error of each bin against its spread, on the right the coverage.

    They are those of `analysis.error_by_spread` and `analysis.coverage`. Dotted lines are the control, a calibrated
    normal: a mean absolute error of 0.8 standard deviations, and its coverage for each number of deviations.
    """
    require_nonempty("class of curves", bins)
    with style():
        fig, (left, right) = figure(1, 2, size=(8.6, 3.9))
        _errors(left, bins)
        _coverage(right, coverage)
        handles = [Line2D([], [], color=KIND_COLOURS[kind], marker="o", label=label(kind)) for kind in bins]
        handles.append(Line2D([], [], color=RULE, linestyle=":", linewidth=1.2, label="calibrated normal"))
        legend_below(fig, handles)
    return fig


def _errors(ax: Axes, bins: Mapping[str, Bins]) -> None:
    for kind, own in bins.items():
        ax.plot(own.spread, own.error, "-o", color=KIND_COLOURS[kind], markersize=4, linewidth=1.2)
    spreads = np.concatenate([np.asarray(own.spread) for own in bins.values()])
    ends = np.array([spreads[spreads > 0].min(initial=1.0), spreads.max()])
    ax.plot(ends, MEAN_ERROR * ends, color=RULE, linestyle=":", linewidth=1.2)
    ax.set(xlabel="SD of the estimates", ylabel="mean absolute error", xscale="log", yscale="log")
    for axis in (ax.xaxis, ax.yaxis):
        log_ticks(axis)


def _coverage(ax: Axes, coverage: Coverage) -> None:
    for kind, percent in coverage.by_step.items():
        for line, values in zip(cycle(LINES), percent, strict=False):
            x = np.arange(1, len(values) + 1)
            look = {"color": KIND_COLOURS[kind], "linestyle": line, "marker": "o", "markersize": 3}
            ax.plot(x, values, linewidth=1.2, **look)
    for deviations, line in zip(coverage.deviations, cycle(LINES), strict=False):
        height = normal_coverage(deviations)
        ax.axhline(height, color=RULE, linestyle=":", linewidth=1.2)
        place = {"transform": ax.get_yaxis_transform(), "va": "center", "fontsize": "small"}
        ax.text(1.02, height, f"{deviations:g} SD ({NAMED[line]})", **place)
    ax.set(xlabel="step", ylabel="observations covered (%)", ylim=(0, 104))


# ------------------------------------------------------------------------------------------------ over training


def over_training(
    histories: Mapping[str, Sequence[MetricHistory]],
    ylabel: str,
    controls: Sequence[int | float] = (),
    logarithmic: bool = False,
) -> Figure:
    """Draw a measure over the training of each run, a panel for each class (or one, for the window's length).

    `histories` are those of `analysis.metric_history`, by the name of the network. `controls` are heights of dotted
    lines, such as `normal_coverage(1)`. The axis of updates is always logarithmic, that of the measure may be.
    """
    runs = [(name, history) for name, of_runs in histories.items() for history in of_runs]
    require_nonempty("history of a run", runs)
    kinds = {tuple(history.values) for _, history in runs}
    if len(kinds) > 1:
        raise UsageError(f"histories have to be of one measure, got {sorted(kinds)}; draw others apart")
    (classes,) = kinds
    with style():
        fig, axes = _panels(len(classes), 3.6)
        for ax, kind in zip(axes[0], classes, strict=True):
            for name, history in runs:
                look = {"color": shade(name), "markersize": 3.5, "alpha": 0.6}
                ax.plot(history.updates, history.values[kind], "-o", **look)
            for height in controls:
                ax.axhline(height, color=RULE, linestyle=":", linewidth=1.2)
            ax.set(title=label(kind) if len(classes) > 1 else "", xlabel="update", xscale="log")
        axes[0, 0].set(ylabel=ylabel, yscale="log" if logarithmic else "linear")
        counts = {name: len(of_runs) for name, of_runs in histories.items()}
        handles = [
            Line2D([], [], color=shade(name), marker="o", label=f"{label(name)} ({n} run{'s' * (n != 1)})")
            for name, n in counts.items()
        ]
        legend_below(fig, handles, ncols=3)
    return fig
