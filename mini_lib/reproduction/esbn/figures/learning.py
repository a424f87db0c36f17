"""Learning curves (Figures 4, 5, 7 and 8), and networks that were just trained."""

import math
from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from mini_lib.reproduction.plotting import (
    colour,
    curves,
    figure,
    legend_below,
    require_nonempty,
    style,
)
from mini_lib.training import Run

ABSENT = "#8a8a8a"


def _shade(name: str) -> str:
    """The colour of a network named as in prose, such as "ESBN no confidence"."""
    return colour(name.replace(" ", "_"))


def _chance(ax: Axes, level: float | None) -> None:
    if level is not None:
        ax.axhline(level, color=ABSENT, linestyle=":", linewidth=1.2, zorder=1)


def learning_curves(
    panels: Mapping[str, Mapping[str, Sequence[dict]]], *, logarithmic: bool = False
) -> Figure:
    """Draw Figures 4, 5, 7, 8: training accuracy against updates, one panel a task, up to three in a row.

    Panels are given by title, with the records of every network by name. A line is the mean over runs in a band of
    one standard error; that of a single run is dashed. A network without finished runs is named in its panel as not
    run.
    """
    require_nonempty("panel of records", panels)
    with style():
        columns = len(panels) if len(panels) < 4 else 2
        rows = math.ceil(len(panels) / columns)
        size = (max(5.6, 3.6 * columns), 3.6 if rows == 1 else 3.0 * rows)
        fig, axes = figure(rows, columns, size=size, squeeze=False, sharey=True)
        for empty in axes.flat[len(panels) :]:
            empty.remove()
        for ax, (title, networks) in zip(axes.flat, panels.items(), strict=False):
            _mean_curves(ax, networks)
            ax.set(title=title, xlabel="update", ylim=(-3, 103), xscale="log" if logarithmic else "linear")
        for ax in axes[:, 0]:
            ax.set_ylabel("training accuracy (%)")
        if len(panels) > 1:
            _one_legend(fig)
    return fig


def _one_legend(fig: Figure) -> None:
    """A legend for all panels, in the place of theirs: numbers of runs may differ between them."""
    handles = {}
    for ax in fig.axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            name = label.partition(" (n=")[0]
            handles.setdefault(name, Line2D([], [], color=handle.get_color(), label=name))
        if legend := ax.get_legend():
            legend.remove()
    if handles:
        legend_below(fig, list(handles.values()))


def _mean_curves(ax: Axes, networks: Mapping[str, Sequence[dict]]) -> None:
    absent = []
    for name, records in networks.items():
        whole = [record["curve"] for record in records if not record["diverged"]]
        if whole:
            updates, scores = _at_shared_updates(whole)
            curves(ax, updates, {name: scores}, xlabel="update", ylabel="")
        else:
            absent.append(name)
    if absent:
        lines = [", ".join(absent[i : i + 3]) for i in range(0, len(absent), 3)]
        look = {"ha": "right", "va": "bottom", "fontsize": "small", "color": ABSENT}
        ax.text(0.98, 0.03, "not run: " + ",\n".join(lines), transform=ax.transAxes, **look)


def _at_shared_updates(runs: Sequence[dict]) -> tuple[list[int], list[list[int | float]]]:
    """The updates that all these learning curves hold, and each curve's scores there."""
    by_update = [dict(zip(curve["update"], curve["score"], strict=True)) for curve in runs]
    shared = sorted(set.intersection(*map(set, by_update)))
    return shared, [[scores[update] for update in shared] for scores in by_update]


def live_curves(runs: Mapping[str, Run | Sequence[Run]], chance: float | None = None) -> Figure:
    """Draw networks that were just trained, each once or once a seed: training accuracy, and beside it the test.

    `chance` is the accuracy in percent of a guess, for a dotted line.
    """
    require_nonempty("run", runs)
    with style():
        fig, (left, right) = figure(
            1, 2, size=(8.6, 3.4), sharey=True, gridspec_kw={"width_ratios": (2.4, 1)}
        )
        for place, (name, seeds) in enumerate(runs.items()):
            _live(left, right, place, name, [seeds] if isinstance(seeds, Run) else list(seeds))
        for ax in (left, right):
            _chance(ax, chance)
        left.set(title="practice problems", xlabel="update", ylabel="right (%)", ylim=(-3, 107))
        left.legend(fontsize="small", loc="lower right")
        right.set(title="test: unseen objects", xticks=range(len(runs)), xlim=(-0.6, len(runs) - 0.4))
        right.set_xticklabels(list(runs), rotation=20, ha="right", fontsize="small")
    return fig


def _live(left: Axes, right: Axes, place: int, name: str, seeds: Sequence[Run]) -> None:
    tested = [run.metrics["test_accuracy"] for run in seeds if run.finished and not run.diverged]
    if len(tested) < len(seeds):
        raise ValueError(f"a run of {name!r} has no test accuracy: it was stopped or diverged")
    for number, run in enumerate(seeds):
        look = {"color": _shade(name), "linewidth": 1.5, "label": None if number else name}
        left.plot(run.curve["update"], run.curve["score"], **look)
    right.plot([place] * len(tested), tested, "o", color=_shade(name), alpha=0.7, markersize=8)
    mean = sum(tested) / len(tested)
    y = mean - 10 if mean > 90 else mean + 5
    right.text(place, y, f"{mean:.0f}", ha="center", va="bottom", fontsize="small", color=_shade(name))
