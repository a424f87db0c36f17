"""Accuracy against m with every seed in sight (Figures 3 and 6), and learning curves (Figures 4, 5, 7 and 8)."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from mini_lib.reproduction import Comparison
from mini_lib.reproduction.comparison import caption
from mini_lib.reproduction.plotting import (
    RULE,
    colour,
    curves,
    figure,
    legend_below,
    require_nonempty,
    seed_dots,
    style,
)
from mini_lib.training import Run

MARKS = "os^vD"  # for the rows of one network: with its several encoders, or with and without TCN
GROUP = 0.84  # of the room between two regimes, shared by the rows
ABSENT = "#8a8a8a"


def accuracy_by_regime(
    comparisons: Sequence[Comparison], chance: Mapping[str, float] | None = None
) -> Figure:
    """Draw test accuracy against m, one panel a table: our seeds as dots, the paper's mean as an open diamond.

    A bar lies at the mean of our runs. Where there are none the figure says "not run". Variants are left out.
    `chance` is the accuracy in percent of a guess, by table, for a dotted line.
    """
    shown = [comparison for comparison in comparisons if not comparison.cell.variant]
    if not shown:
        raise ValueError("nothing to draw: give the comparisons of at least one cell that is not a variant")
    tables = list(dict.fromkeys(comparison.cell.table for comparison in shown))
    looks = _looks(shown)
    with style():
        fig, axes = figure(len(tables), 1, size=(9.4, 0.5 + 2.7 * len(tables)), squeeze=False)
        for ax, table in zip(axes[:, 0], tables, strict=True):
            _regimes(ax, [c for c in shown if c.cell.table == table], looks)
            ax.set(title=caption(table), ylabel="test accuracy (%)", ylim=(-4, 104))
            _chance(ax, (chance or {}).get(table))
        handles = [_mark(row, shade, mark) for row, (shade, mark) in looks.items()]
        handles.append(_mark("the paper's mean", RULE, "D", fillstyle="none"))
        legend_below(fig, handles)
    return fig


def _mark(label: str, shade: str, mark: str, **look) -> Line2D:
    return Line2D([], [], color=shade, marker=mark, linewidth=0, label=label, **look)


def _shade(name: str) -> str:
    """The colour of a network named as in prose, such as "ESBN no confidence"."""
    return colour(name.replace(" ", "_"))


def _chance(ax: Axes, level: float | None) -> None:
    if level is not None:
        ax.axhline(level, color=ABSENT, linestyle=":", linewidth=1.2, zorder=1)


def _looks(shown: Sequence[Comparison]) -> dict[str, tuple[str, str]]:
    """Colour and marker of every row: the network's colour, and a marker for its first, second, ... row."""
    looks, seen = {}, {}
    for comparison in shown:
        row, model = comparison.cell.row, comparison.cell.settings["model"]
        if row not in looks:
            seen[model] = seen.get(model, -1) + 1
            looks[row] = (colour(model), MARKS[seen[model] % len(MARKS)])
    return looks


def _regimes(ax: Axes, comparisons: Sequence[Comparison], looks: Mapping[str, tuple[str, str]]) -> None:
    columns = list(dict.fromkeys(comparison.cell.column for comparison in comparisons))
    rows = list(dict.fromkeys(comparison.cell.row for comparison in comparisons))
    room = GROUP / len(rows)
    for comparison in comparisons:
        left = columns.index(comparison.cell.column) - GROUP / 2
        place = left + room * (rows.index(comparison.cell.row) + 0.5)
        _cell(ax, comparison, place, room, *looks[comparison.cell.row])
    for edge in range(1, len(columns)):
        ax.axvline(edge - 0.5, color="#eeeeee", linewidth=1, zorder=0)
    ax.set(xticks=range(len(columns)), xticklabels=columns, xlim=(-0.5, len(columns) - 0.5))


def _cell(ax: Axes, comparison: Comparison, place: float, room: float, shade: str, mark: str) -> None:
    values = comparison.ours.values
    ours = place - 0.14 * room
    if values:
        reach = {"spread": 0.2 * room, "bar": 0.28 * room}
        seed_dots(ax, ours, values, color=shade, marker=mark, markersize=3.6, **reach)
    else:
        word = "diverged" if comparison.ours.diverged else "not run"
        ax.text(place, 3, word, rotation=90, ha="center", va="bottom", fontsize=6.5, color=ABSENT)
    if comparison.paper is not None:
        ax.plot(
            [place + 0.3 * room], [comparison.paper.mean], "D", color=shade, fillstyle="none", markersize=4
        )


def learning_curves(
    panels: Mapping[str, Mapping[str, Sequence[dict]]], *, until: int | None = None, logarithmic: bool = False
) -> Figure:
    """Draw Figures 4, 5, 7, 8: training accuracy against updates, to `until`, one panel a task.

    Panels are given by title, with the records of every network by name. A line is the mean over runs in a band of
    one standard error; that of a single run is dashed. A network without finished runs is named in its panel as not
    run.
    """
    require_nonempty("panel of records", panels)
    with style():
        size = (max(5.6, 3.6 * len(panels)), 3.6)
        fig, axes = figure(1, len(panels), size=size, squeeze=False, sharey=True)
        for ax, (title, networks) in zip(axes[0], panels.items(), strict=True):
            _mean_curves(ax, networks)
            ax.set(title=title, xlabel="update", ylim=(-3, 103), xscale="log" if logarithmic else "linear")
            if until is not None:
                ax.set_xlim(right=until)
        axes[0, 0].set_ylabel("training accuracy (%)")
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
            scores = {name: [curve["score"] for curve in whole]}
            curves(ax, whole[0]["update"], scores, xlabel="update", ylabel="")
        else:
            absent.append(name)
    if absent:
        lines = [", ".join(absent[i : i + 3]) for i in range(0, len(absent), 3)]
        look = {"ha": "right", "va": "bottom", "fontsize": "small", "color": ABSENT}
        ax.text(0.98, 0.03, "not run: " + ",\n".join(lines), transform=ax.transAxes, **look)


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
        left.set(title="training problems", xlabel="update", ylabel="accuracy (%)", ylim=(-3, 103))
        left.legend(fontsize="small", loc="lower right")
        right.set(title="test: unseen images", xticks=range(len(runs)), xlim=(-0.6, len(runs) - 0.4))
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
