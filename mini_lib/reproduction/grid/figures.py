"""How the chapter draws the study: scores on new content, contrasts, and what exchanges leave of a signal."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mini_lib.reproduction.grid.contrasts import MATTERS, Found, Inside, Interval, Scored, interval
from mini_lib.reproduction.plotting import OKABE_ITO, RULE, figure, legend_below, require_nonempty, style

NOT_RUN = "#8a8a8a"
MARKS = "osD^vPX"


def transfer_map(found: Found, tasks: Sequence[str], mechanisms: Sequence[str]) -> Figure:
    """Draw S on new content, mechanisms down and tasks across: means over seeds, with 95 % intervals beneath.

    Where less than half of the runs learned their training problems the number stands in italics. A cell without
    runs says so; one that a task does not have is crossed out by a line.
    """
    require_nonempty("task", tasks)
    require_nonempty("mechanism", mechanisms)
    means = np.full((len(mechanisms), len(tasks)), np.nan)
    for row, column in np.ndindex(means.shape):
        if runs := found.get((tasks[column], mechanisms[row])):
            means[row, column] = np.mean([run.new for run in runs.values()])
    with style():
        fig, ax = figure(size=(1.6 + 1.15 * len(tasks), 1.1 + 0.42 * len(mechanisms)))
        picture = ax.imshow(means, vmin=0, vmax=1, cmap="viridis", aspect="auto")
        for row, column in np.ndindex(means.shape):
            _entry(ax, row, column, found.get((tasks[column], mechanisms[row])))
        ax.set(xticks=range(len(tasks)), yticks=range(len(mechanisms)), yticklabels=mechanisms)
        ax.set_xticklabels(tasks, rotation=30, ha="right")
        ax.tick_params(length=0)
        ax.grid(visible=False)
        for side in ax.spines.values():
            side.set_visible(False)
        fig.colorbar(picture, ax=ax, label="S on new content", shrink=0.7, extend="both")
    return fig


def _entry(ax: Axes, row: int, column: int, runs: Mapping[int, Scored] | None) -> None:
    if runs is None:
        ax.plot([column - 0.2, column + 0.2], [row, row], color="#d0d0d0", linewidth=1)
        return
    if not runs:
        ax.text(column, row, "not run", ha="center", va="center", fontsize=6.5, color=NOT_RUN)
        return
    new = [run.new for run in runs.values()]
    mean, spread = float(np.mean(new)), interval(new)
    shade = "white" if mean < 0.6 else "black"
    unlearned = sum(run.learned for run in runs.values()) < len(runs) / 2
    look = {"ha": "center", "color": shade, "style": "italic" if unlearned else "normal"}
    ax.text(column, row, f"{mean:.2f}", va="bottom" if spread else "center", fontsize=8.5, **look)
    if spread:
        ax.text(column, row + 0.06, f"{spread.low:.2f} to {spread.high:.2f}", va="top", fontsize=5.5, **look)


def contrast_plot(contrasts: Mapping[str, Mapping[str, Interval | None]], xlabel: str) -> Figure:
    """Draw contrasts with their intervals, a panel for each question and a line for each family.

    The grey band is where a difference makes no difference, up to .10 either way.
    """
    require_nonempty("question", contrasts)
    families = list(dict.fromkeys(name for each in contrasts.values() for name in each))
    with style():
        size = (2.6 * len(contrasts) + 1.2, 0.9 + 0.4 * len(families))
        fig, axes = figure(1, len(contrasts), size=size, squeeze=False, sharex=True, sharey=True)
        for ax, (question, found) in zip(axes[0], contrasts.items(), strict=True):
            ax.axvspan(-MATTERS, MATTERS, color="#eeeeee", zorder=0)
            ax.axvline(0, color=RULE, linewidth=0.8, zorder=1)
            for place, family in enumerate(families):
                _line(ax, place, found.get(family))
            ax.set(title=question, xlabel=xlabel, yticks=range(len(families)), yticklabels=families)
            ax.set_ylim(len(families) - 0.5, -0.5)
    return fig


def _line(ax: Axes, place: int, found: Interval | None) -> None:
    if found is None:
        ax.text(0, place, "not run", ha="center", va="center", fontsize=7, color=NOT_RUN)
        return
    ax.plot([found.low, found.high], [place, place], color=OKABE_ITO[0], linewidth=2)
    ax.plot([found.mean], [place], "o", color=OKABE_ITO[0], markersize=6)


def inside_scatter(points: Sequence[Inside]) -> Figure:
    """Draw S on new content against how far a signal tells structure from content, untrained and trained.

    That is what is kept when content is exchanged less what is kept when structure is: 1 for a signal that holds all
    of the structure and nothing of the content. A dot is a run; a family has its mark and colour.
    """
    require_nonempty("run", points)
    families = list(dict.fromkeys(point.family for point in points))
    with style():
        fig, axes = figure(1, 2, size=(8.6, 3.9), sharey=True)
        for ax, when in zip(axes, ("untrained", "trained"), strict=True):
            for number, family in enumerate(families):
                own = [point for point in points if point.family == family]
                x = [getattr(point, when) for point in own]
                look = {"color": OKABE_ITO[number % len(OKABE_ITO)], "marker": MARKS[number % len(MARKS)]}
                ax.plot(x, [point.new for point in own], linewidth=0, alpha=0.6, label=family, **look)
            ax.set(title=when, xlabel="kept by content less by structure")
        axes[0].set_ylabel("S on new content")
        legend_below(fig)
    return fig
