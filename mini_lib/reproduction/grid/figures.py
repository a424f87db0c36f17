"""How the chapter draws the study: scores on new content, and contrasts."""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import product

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from mini_lib.grid.tasks import HIDDEN, Problems
from mini_lib.reproduction.grid.contrasts import (
    MATTERS,
    Found,
    Interval,
    Scored,
    interval,
)
from mini_lib.reproduction.plotting import (
    OKABE_ITO,
    RULE,
    Number,
    Numbers,
    figure,
    legend_below,
    require_nonempty,
    seed_dots,
    style,
)

NOT_RUN = "#8a8a8a"
RIGHT = "#009E73"
WALL = {"closed": "#0072B2", "open": "#D55E00"}  # the colours of twins
RELATIONS = {"fixed": "fixed", "tied": "one map", "learned": "two maps"}
RELATIONS |= {"learned from fixed": "two maps from the identity"}
NAMES = {
    "abstractor": "Abstractor",
    "corelnet": "CoRelNet",
    "esbn": "ESBN",
    "kanerva": "Kanerva memory",
    "lstm": "LSTM",
    "transformer": "Transformer",
    "syntactic": "Syntactic",
}
PARTS = {"new": "new content", "familiar": "familiar content"}  # a narrow screen shows the first


def title(mechanism: str) -> str:
    """A network's name, and its relation in words.

    >>> title("abstractor tied, open"), title("corelnet fixed"), title("abstractor")
    ('Abstractor, one map, open', 'CoRelNet, fixed', 'Abstractor of its paper')
    """
    if mechanism == "abstractor":
        return "Abstractor of its paper"
    kind, _, how = mechanism.partition(", ")[0].partition(" ")
    relation = f", {RELATIONS[how]}" if how in RELATIONS else f" {how}" if how else ""
    return NAMES.get(kind, kind) + relation + ", open" * mechanism.endswith(", open")


def transfer_map(found: Found, tasks: Mapping[str, str], mechanisms: Sequence[str]) -> Figure:
    """Draw S on new and on familiar content, mechanisms down and tasks across: means over seeds.

    Beneath a mean stands half of its 95 % interval by Student's t over seeds; or how many runs there are, where it
    takes more to have one. Where less than half of the runs learned their training problems the number stands in
    italics. A cell without runs says so; one that a task does not have is crossed out by a line.

    Args:
        found: scores by task and mechanism, and then by seed.
        tasks: a title for each.
        mechanisms: in their order, from above.
    """
    require_nonempty("task", tasks)
    require_nonempty("mechanism", mechanisms)
    with style():
        size = (2.4 + 0.85 * len(tasks) * len(PARTS), 1.1 + 0.4 * len(mechanisms))
        fig, axes = figure(1, len(PARTS), size=size, squeeze=False, sharey=True, gridspec_kw={"wspace": 0.03})
        for ax, (part, heading) in zip(axes[0], PARTS.items(), strict=True):
            means = np.full((len(mechanisms), len(tasks)), np.nan)
            for (row, mechanism), (column, task) in product(enumerate(mechanisms), enumerate(tasks)):
                runs = found.get((task, mechanism))
                if runs:
                    means[row, column] = np.mean([getattr(run, part) for run in runs.values()])
                _entry(ax, row, column, runs, part)
            picture = ax.imshow(means, vmin=0, vmax=1, cmap="viridis", aspect="auto")
            ax.set(title=heading, xticks=range(len(tasks)), yticks=range(len(mechanisms)))
            ax.set_yticklabels([title(name) for name in mechanisms])
            ax.set_xticklabels(tasks.values(), rotation=30, ha="right")
            ax.tick_params(length=0)
            ax.grid(visible=False)
            for side in ax.spines.values():
                side.set_visible(False)
        fig.colorbar(picture, ax=axes[0], label="score", shrink=0.6, extend="both")
    return fig


def _entry(ax: Axes, row: int, column: int, runs: Mapping[int, Scored] | None, part: str) -> None:
    values = [getattr(run, part) for run in (runs or {}).values()]
    without_part = any(map(math.isnan, values))
    if runs is None or without_part:  # a task that the network does not have, or one without new content
        ax.plot([column - 0.2, column + 0.2], [row, row], color="#d0d0d0", linewidth=1)
        return
    if not values:
        ax.text(column, row, "not run", ha="center", va="center", fontsize=6.5, color=NOT_RUN)
        return
    mean = float(np.mean(values))
    unlearned = sum(run.learned for run in runs.values()) < len(runs) / 2
    look = {"ha": "center", "color": "white" if mean < 0.6 else "black"}
    look["style"] = "italic" if unlearned else "normal"
    ax.text(column, row, _short(mean), va="bottom", fontsize=8.5, **look)
    around = interval(values)
    beneath = (
        f"± {_short(around.high - mean)}"
        if around
        else "1 run"
        if len(values) == 1
        else f"{len(values)} runs"
    )
    ax.text(column, row + 0.06, beneath, va="top", fontsize=6.5, **look)


def _short(value: float) -> str:
    return f"{round(value, 2) + 0.0:.2f}"  # without the sign of -0.00


def matching(images: Float[Tensor, "P 32 32"], problems: Problems, number: int = 0) -> Figure:
    """Draw a problem of match: eight items of three glyphs, what is asked, and a frame around the right item."""
    ids, answer = problems.ids[number], int(problems.answers[number])
    blank = torch.full_like(images[0], 0.8)
    with style():
        fig, axes = figure(2, 5, size=(8.6, 1.9), gridspec_kw={"wspace": 0.15})
        places = [axes[row, column] for row, column in product(range(2), range(4))]
        for place, (ax, item) in enumerate(zip([*places, axes[0, 4]], ids, strict=True)):
            shown = [blank if glyph == HIDDEN else images[glyph] for glyph in item]
            ax.imshow(torch.cat(shown, dim=1).numpy(), cmap="gray", vmin=0, vmax=1)
            ax.set(xticks=[], yticks=[])
            for side in ax.spines.values():
                side.set(visible=True, color=RIGHT if place == answer else RULE)
                side.set_linewidth(3 if place == answer else 0.8)
        axes[0, 4].set_title("which one is it?", fontsize="small")
        axes[0, 4].text(80, 16, "?", ha="center", va="center", fontsize=14)
        axes[1, 4].axis("off")
    return fig


def contrast_plot(
    contrasts: Mapping[str, Mapping[str, Interval | None]],
    learned: Mapping[str, Mapping[str, Interval | None]],
    xlabel: str,
) -> Figure:
    """Draw contrasts with their intervals, a panel for each question and a line for each family.

    The grey band is where a difference makes no difference, up to .10 either way. Beneath each contrast, hollow,
    stands what `learned` has in its place: the same over pairs of which both networks learned; nothing where that is
    None. A contrast that is None says that it was not run; the line of a family that a question does not have stays
    empty.
    """
    require_nonempty("question", contrasts)
    families = list(dict.fromkeys(name for each in contrasts.values() for name in each))
    with style():
        size = (2.6 * len(contrasts) + 1.6, 0.9 + 0.4 * len(families))
        fig, axes = figure(1, len(contrasts), size=size, squeeze=False, sharex=True, sharey=True)
        for ax, (question, found) in zip(axes[0], contrasts.items(), strict=True):
            ax.axvspan(-MATTERS, MATTERS, color="#eeeeee", zorder=0)
            ax.axvline(0, color=RULE, linewidth=0.8, zorder=1)
            for place, family in enumerate(families):
                if family in found:
                    _line(ax, place - 0.12, found[family], OKABE_ITO[0])
                    if learned.get(question, {}).get(family):
                        _line(ax, place + 0.16, learned[question][family], OKABE_ITO[1], fillstyle="none")
            ax.set(title=question, xlabel=xlabel, yticks=range(len(families)), yticklabels=families)
            ax.set_ylim(len(families) - 0.5, -0.5)
        axes[0, 0].plot([], [], "o", color=OKABE_ITO[0], label="all pairs")
        if learned:
            axes[0, 0].plot(
                [], [], "o", color=OKABE_ITO[1], fillstyle="none", label="pairs that both learned"
            )
        legend_below(fig)
    return fig


def _line(ax: Axes, place: float, found: Interval | None, color: str, **mark: str) -> None:
    if found is None:
        ax.text(0, place, "not run", ha="center", va="center", fontsize=7, color=NOT_RUN)
        return
    ax.plot([found.low, found.high], [place, place], color=color, linewidth=2)
    ax.plot([found.mean], [place], "o", color=color, markersize=6, **mark)


def twin_dots(
    ax: Axes,
    place: Number,
    closed: Numbers,
    opened: Numbers,
    apart: float = 0.15,
    spread: float = 0.06,
    middle: Callable = np.mean,
) -> None:
    """Draw the runs of two twins side by side, with their wall and without it, and a bar at each one's `middle`."""
    for side, values, color in zip((-apart, apart), (closed, opened), WALL.values(), strict=True):
        seed_dots(ax, place + side, values, color=color, spread=spread, bar=0)
        ends = place + side - 0.8 * apart, place + side + 0.8 * apart
        ax.hlines(middle(values), *ends, color=color, linewidth=2.2, zorder=3)


def wall_key(ax: Axes, without: str = "wall taken down") -> None:
    """Say by an empty line each which colour has a wall, for a legend that is drawn later."""
    for label, color in zip(("with its wall", without), WALL.values(), strict=True):
        ax.plot([], [], "o", color=color, label=label)
