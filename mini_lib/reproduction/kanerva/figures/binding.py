"""Figures of the binding task: triplets of digits, two machines' weights, and what these depend on."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mini_lib.errors import UsageError
from mini_lib.reproduction.kanerva.figures.parts import CHANNELS, rows_of_pictures
from mini_lib.reproduction.plotting import (
    OKABE_ITO,
    QUIET,
    RULE,
    Numbers,
    diagram,
    figure,
    strip,
    style,
)

BLUE, VERMILION, GREEN, PINK, *_ = OKABE_ITO

BOXES = {
    "image $x$": ((0.6, 3.0), 1.2, RULE),
    "encoder $e$": ((2.5, 3.0), 1.3, RULE),
    "address\n$w_i$": ((4.7, 3.9), 1.3, BLUE),
    "machines\n$R_i,\\ V_i$": ((7.0, 3.9), 1.5, BLUE),
    "history\n$\\Omega,\\ h$": ((2.5, 1.0), 1.3, PINK),
    "assignment\n$u \\rightarrow \\eta_i$": ((4.7, 1.9), 1.6, VERMILION),
    "weights\n$\\gamma_i$": ((7.0, 1.9), 1.3, VERMILION),
    "$\\sum_i\\gamma_i R_i w_i$": ((9.4, 3.0), 1.6, RULE),
    "decoder": ((11.5, 3.0), 1.2, RULE),
}
ARROWS = {
    "": ((1.2, 3.0), (1.83, 3.0), (1.5, 3.3), RULE),
    "$z$": ((3.17, 3.1), (4.03, 3.75), (3.45, 3.62), RULE),
    "$z$ ": ((3.17, 2.9), (3.9, 2.2), (3.4, 2.4), RULE),
    "$h$": ((3.17, 1.15), (3.9, 1.65), (3.65, 1.2), PINK),
    " ": ((5.37, 3.9), (6.23, 3.9), (5.8, 4.1), BLUE),
    "$1/\\eta_i^2$": ((5.52, 1.9), (6.33, 1.9), (5.93, 2.25), VERMILION),
    "$\\eta_i$ when writing": ((5.2, 2.3), (6.6, 3.48), (4.95, 3.05), VERMILION),
    "$R_i w_i$": ((7.77, 3.8), (8.7, 3.4), (8.4, 3.85), BLUE),
    "$\\gamma_i$ ": ((7.67, 2.1), (8.7, 2.65), (8.4, 2.2), VERMILION),
    "  ": ((10.22, 3.0), (10.88, 3.0), (10.5, 3.3), RULE),
    "$z, \\gamma$ of the items before": ((6.5, 1.48), (3.17, 0.85), (5.4, 0.75), PINK),
}


def architecture() -> Figure:
    """Draw the Product Kanerva Machine with its networks (Figure 1A)."""
    with style():
        fig, ax = figure(size=(9.4, 3.6))
        diagram(ax, BOXES, ARROWS)
        ax.set(xlim=(-0.2, 12.3), ylim=(0.4, 4.5))
        ax.set_axis_off()
    return fig


# ---------------------------------------------------------------------------------------------------- pictures


def triplets(rows: Mapping[str, Numbers], titles: Sequence[str] = ()) -> Figure:
    """Draw rows of small pictures in colour, each row with its name on the left.

    Args:
        rows: name -> [N, 3, H, W], red, green and blue from 0 to 1; all rows have the same N.
        titles: of the columns.

    Raises:
        UsageError: for no rows, rows of another or several shapes, or titles that are not one a column.
    """
    found = {name: [*np.shape(each)] for name, each in rows.items()}
    if len({tuple(shape[:2]) for shape in found.values()}) != 1 or any(
        len(shape) != 4 or shape[1] != 3 for shape in found.values()
    ):
        raise UsageError(f"give rows of the same number of pictures [N, 3, H, W] each, got {found}")
    return rows_of_pictures(rows, titles, _picture)


def _picture(ax: Axes, picture: Float[np.ndarray, "3 H W"]) -> None:
    ax.imshow(picture.transpose(1, 2, 0).clip(0, 1), interpolation="nearest")
    ax.set(xticks=[], yticks=[])
    ax.grid(False)


def answering(
    picture: Numbers, query: Numbers, answer: Numbers, course: Numbers, now: int, written: int
) -> Figure:
    """Draw what a memory answers to one query after so many items, and the course of the hidden channel's loss.

    Args:
        picture: the item, [3, H, W].
        query: what of it is shown.
        answer: what the memory says now.
        course: nats of the green channel after 0, 1, .., T items.
        now: how many items have been written; a dot.
        written: after how many the item is among them; a vertical line.

    Raises:
        UsageError: for a course that does not have a value for `now` and `written`.
    """
    course = np.asarray(course, dtype=float)
    if course.ndim != 1 or not 0 <= min(now, written) <= max(now, written) < len(course):
        raise UsageError(
            f"the course has to have values after {now} and {written} items, got {[*course.shape]}"
        )
    with style():
        fig, axes = figure(1, 4, size=(7.6, 2.3), gridspec_kw={"width_ratios": (1, 1, 1, 2.4)})
        shown = {"item": picture, "query": query, "answer": answer}
        for ax, (title, each) in zip(axes, shown.items(), strict=False):
            _picture(ax, np.asarray(each, dtype=float))
            ax.set_title(title)
        axes[3].plot(course, color=GREEN)
        axes[3].plot(now, course[now], "o", color=GREEN)
        axes[3].axvline(written, color=RULE, linestyle="--", linewidth=0.8)
        axes[3].set(xlabel="items written", ylabel="green (nats)", ylim=(0, None))
    return fig


# --------------------------------------------------------------------------------------------- machines' weights


def thorns(panels: Mapping[str, Numbers]) -> Figure:
    """Draw two machines' weights for each item as thorns: of the first upwards, of the second down (Figure 2A).

    Args:
        panels: title -> gamma, [T, 2] from 0 to 1; one below the other.

    Raises:
        UsageError: for no panel, or weights of more or fewer than two machines.
    """
    shown = {title: np.asarray(each, dtype=float) for title, each in panels.items()}
    if not shown or any(each.ndim != 2 or each.shape[1] != 2 for each in shown.values()):
        sizes = {title: [*each.shape] for title, each in shown.items()}
        raise UsageError(f"thorns are of two machines, [T, 2] in each panel, got {sizes}")
    with style():
        fig, axes = figure(len(shown), 1, size=(7.2, 1.7 * len(shown) + 0.4), squeeze=False, sharex=True)
        for ax, (title, gamma) in zip(axes[:, 0], shown.items(), strict=True):
            x = np.arange(1, len(gamma) + 1)
            ax.vlines(x, 0, gamma[:, 0], color=BLUE, linewidth=2.2)
            ax.vlines(x, -gamma[:, 1], 0, color=VERMILION, linewidth=2.2)
            ax.axhline(0, color=RULE, linewidth=0.8)
            ax.set(title=title, ylim=(-1.08, 1.08), yticks=(-1, 0, 1), yticklabels=("1", "0", "1"))
            ax.set_ylabel("$\\gamma_2$      $\\gamma_1$")
        axes[-1, 0].set_xlabel("item")
    return fig


# --------------------------------------------------------------------------------------------------- selectivity


def selectivity(means: Numbers, limits: tuple = (0.0, 1.0), label: str = "mean $\\gamma_1$") -> Figure:
    """Draw a machine's weight over red (down), blue (across) and green classes (panels), as Figure 5.

    Args:
        means: by red, green and blue class, [10, 10, 10], such as a machine's part of `analysis.class_means`; NaN
            stays blank.
        limits: the values that are black and white.
        label: of the scale.

    Raises:
        UsageError: for another shape.
    """
    found = np.asarray(means, dtype=float)
    if found.shape != (10, 10, 10):
        raise UsageError(f"give means by red, green and blue class, [10, 10, 10], got {[*found.shape]}")
    with style():
        fig, axes = figure(2, 5, size=(9.0, 4.3), sharex=True, sharey=True)
        for green, ax in enumerate(axes.flat):
            drawn = ax.imshow(
                found[:, green], cmap="gray", vmin=limits[0], vmax=limits[1], interpolation="nearest"
            )
            ax.set_facecolor("#cfe3ef")
            ax.set(xticks=(0, 9), yticks=(0, 9))
            ax.set_title(f"green {green}", fontsize="small")
            ax.grid(False)
        for ax in axes[-1]:
            ax.set_xlabel("blue")
        for ax in axes[:, 0]:
            ax.set_ylabel("red")
        fig.colorbar(drawn, ax=axes, label=label, shrink=0.8)
    return fig


def shares(
    panels: Mapping[str, Mapping[str, Numbers]], ylabel: str = "share of variance explained"
) -> Figure:
    """Draw how much of a machine's weight the classes of each channel explain: a dot for each run.

    Args:
        panels: title, such as "writing" -> channel -> one value a run, from 0 to 1.
        ylabel: of the axis, which all panels share.

    Raises:
        UsageError: for no panel, or a panel without a value.
    """
    if not panels or not all(any(len(values) for values in found.values()) for found in panels.values()):
        raise UsageError("there is nothing to draw; give at least one run's shares for each panel")
    with style():
        fig, axes = figure(1, len(panels), size=(2.7 * len(panels) + 0.6, 3.2), squeeze=False, sharey=True)
        for ax, (title, found) in zip(axes[0], panels.items(), strict=True):
            strip(ax, found, colours=[CHANNELS.get(name, QUIET) for name in found])
            ax.set(title=title, ylim=(-0.03, 1.03))
        axes[0, 0].set_ylabel(ylabel)
    return fig
