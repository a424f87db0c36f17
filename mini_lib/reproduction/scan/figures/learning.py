"""Runs over seeds: how their accuracies spread, and how they change from checkpoint to checkpoint."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from mini_lib.errors import UsageError
from mini_lib.reproduction import Comparison
from mini_lib.reproduction.plotting import RULE, colour, figure, legend_below, paper_mark, strip, style

PAPER, ABSENT, OWN = RULE, "#8a8a8a", colour("syntactic_attention")
DOT = {"alpha": 0.65, "markersize": 6, "markeredgewidth": 0}
WIDE = 0.32  # half a group's width, as `plotting.strip` has it


def accuracies(comparisons: Mapping[str, Comparison], medians: Mapping[str, float] | None = None) -> Figure:
    """Draw the test accuracy of every seed, with mean and median, beside what the paper prints.

    Our mean is a bar, our median a dotted one; the paper's mean is an open diamond with its SD each way, its median
    (in percent, of the groups where it prints one) an open triangle. A group without runs says "not run".
    """
    if strange := set(medians or {}) - set(comparisons):
        raise UsageError(f"no group is called {min(strange)!r}; medians go by the names of the groups")
    groups = {name: comparison.ours.values for name, comparison in comparisons.items()}
    with style():
        fig, ax = figure(size=(max(4.6, 1.35 * len(groups) + 1.2), 3.8))
        if any(len(values) for values in groups.values()):
            strip(ax, groups, colours=[_shade(comparison) for comparison in comparisons.values()])
        for place, (name, comparison) in enumerate(comparisons.items()):
            _ours(ax, place, comparison)
            _printed(ax, place + 0.42, comparison, (medians or {}).get(name))
        names = [name.replace(" ", "\n", 1) if len(name) > 12 else name for name in groups]
        ax.set(xticks=range(len(groups)), xticklabels=names, xlim=(-0.6, len(groups) - 0.3))
        ax.set(ylabel="test accuracy (%)", ylim=(-4, 112), yticks=range(0, 101, 20))
        legend_below(fig, _key(medians))
    return fig


def _shade(comparison: Comparison) -> str:
    return colour(comparison.cell.settings["model"])


def _ours(ax: Axes, place: int, comparison: Comparison) -> None:
    values, lost = comparison.ours.values, comparison.ours.diverged
    if values:
        median = np.median(values)
        look = {"color": _shade(comparison), "linewidth": 1.6, "linestyle": ":", "zorder": 3}
        ax.hlines(median, place - WIDE, place + WIDE, **look)
    words = f"n={len(values)}" + (f", {lost} diverged" if lost else "") if values or lost else "not run"
    ax.text(place, 105, words, ha="center", va="bottom", fontsize=8, color=ABSENT)


def _printed(ax: Axes, place: float, comparison: Comparison, median: float | None) -> None:
    if comparison.paper is not None:
        paper_mark(ax, place, comparison.paper.mean, comparison.paper.sd)
    if median is not None:
        ax.plot([place], [median], "^", color=PAPER, fillstyle="none", markersize=6)


def _key(medians: Mapping[str, float] | None) -> list[Line2D]:
    marks = [
        Line2D([], [], color=ABSENT, linewidth=2.2, label="our mean"),
        Line2D([], [], color=ABSENT, linewidth=1.6, linestyle=":", label="our median"),
        Line2D([], [], color=PAPER, marker="D", fillstyle="none", label="paper: mean, SD"),
        Line2D([], [], color=PAPER, marker="^", fillstyle="none", linewidth=0, label="paper: median"),
    ]
    return marks if medians else marks[:3]


# ------------------------------------------------------------------------------------------------ over time


def checkpoints(records: Sequence[dict]) -> Figure:
    """Draw the test accuracy of every seed at each of its checkpoints; the one that was reported has a ring."""
    shown = [record for record in records if record.get("checks")]
    fig, ax = figure(size=(6.4, 3.6))
    for record in shown:
        epochs, scores = ([check[name] for check in record["checks"]] for name in ("epoch", "test_accuracy"))
        ax.plot(epochs, scores, "-o", color=OWN, alpha=0.45, markersize=4, linewidth=1.2)
        best = record["metrics"].get("best_epoch")
        if best in epochs:
            look = {"color": PAPER, "fillstyle": "none", "markersize": 9}
            ax.plot([best], [scores[epochs.index(best)]], "o", **look)
    marks = [
        Line2D([], [], color=OWN, marker="o", alpha=0.6, label=f"one seed ({len(shown)} runs)"),
        Line2D([], [], color=PAPER, marker="o", fillstyle="none", linewidth=0, label="best on validation"),
    ]
    ax.legend(handles=marks, fontsize="small", loc="best", frameon=False)
    epochs = sorted({check["epoch"] for record in shown for check in record["checks"]})
    ax.set(xlabel="epoch", ylabel="test accuracy (%)", ylim=(-4, 104), xticks=epochs)
    return fig


def best_and_last(records: Sequence[dict]) -> Figure:
    """Draw each seed's test accuracy at the checkpoint that validation chose, against that at the end.

    Below the diagonal the choice gained nothing: the last checkpoint was better.
    """
    metrics = [record["metrics"] for record in records if not record["diverged"]]
    pairs = [(m["last_test_accuracy"], m["test_accuracy"]) for m in metrics]
    fig, ax = figure(size=(4.2, 4.0))
    ax.plot([0, 100], [0, 100], color=ABSENT, linewidth=1, linestyle=":")
    ax.plot(*zip(*pairs, strict=True), "o", color=OWN, **DOT)
    limits = {"xlim": (-4, 104), "ylim": (-4, 104), "aspect": "equal"}
    ax.set(xlabel="test accuracy at the end (%)", ylabel="where validation was best (%)", **limits)
    return fig
