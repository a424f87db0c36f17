"""One memory at work: what it reads, what it knows of each row, how sure it is, and what is new to it."""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from mini_lib.errors import UsageError
from mini_lib.kanerva.memory.state import State
from mini_lib.reproduction.kanerva.figures.parts import band, ink, rows_of_pictures
from mini_lib.reproduction.plotting import OKABE_ITO, RULE, Numbers, figure, strip, style

SIGNED = "PuOr"  # white is 0
BESIDE = 4  # lines whose names have room within the axes
ROWS = 3  # rows of a memory that `geometry` draws at most


def _some(of: Mapping | Sequence, what: str) -> None:
    """UsageError, naming what is missing, if there is nothing to draw."""
    if not len(of):
        raise UsageError(f"there is nothing to draw; give at least one {what}")


def _looks(names: Mapping) -> dict[str, str]:
    """A colour for each name, in order."""
    return {name: OKABE_ITO[place % len(OKABE_ITO)] for place, name in enumerate(names)}


# ---------------------------------------------------------------------------------------------------- pictures


def pictures(
    rows: Mapping[str, Numbers], titles: Sequence[str] = (), limits: tuple[float, float] = (0.0, 1.0)
) -> Figure:
    """Draw rows of small pictures, each with its name on the left.

    Args:
        rows: name -> N pictures, [N, H, W]; all rows have the same N.
        titles: of the columns.
        limits: the values that are white and black; what is beyond is as white or black as these.

    Raises:
        UsageError: for no rows, rows of several lengths, or titles that are not one a column.
    """
    _some(rows, "row of pictures, by name")
    sizes = {name: [*np.shape(each)] for name, each in rows.items()}
    if any(len(shape) != 3 for shape in sizes.values()) or len({shape[0] for shape in sizes.values()}) > 1:
        raise UsageError(f"every row has to hold the same number of pictures [N, H, W], got {sizes}")
    return rows_of_pictures(rows, titles, partial(ink, limits=limits))


# ------------------------------------------------------------------------------------------------------ courses


def courses(
    x: Numbers,
    lines: Mapping[str, Numbers],
    *,
    xlabel: str,
    ylabel: str,
    floors: Mapping[str, Numbers] | None = None,
    mark: float | None = None,
    log: bool = False,
) -> Figure:
    """Draw how numbers go with items written, or with anything else that is counted.

    Args:
        x: P values.
        lines: name -> [P], or [B, P] for B episodes: then the mean, in a band of two standard errors each way.
        xlabel: of the x axis.
        ylabel: of the y axis.
        floors: name -> [P], dotted in the colour of the line of that name, such as the least that is possible.
        mark: an x to draw a vertical line at.
        log: whether the y axis is logarithmic.

    Raises:
        UsageError: for no lines, a floor of no line, or lines of another length than x.
    """
    _some(lines, "line, by name")
    x, colours = np.asarray(x, dtype=float), _looks(lines)
    if strange := set(floors or {}) - set(lines):
        raise UsageError(f"no line is called {min(strange)!r}; floors go by the names of lines")
    with style():
        fig, ax = figure()
        for name, values in lines.items():
            band(ax, x, _of_length(values, x, name), name, colours[name])
        for name, values in (floors or {}).items():
            least = _of_length(values, x, name).mean(0)
            ax.plot(x, least, color=colours[name], linestyle=":", linewidth=1.3)
        if mark is not None:
            ax.axvline(mark, color=RULE, linestyle="--", linewidth=0.8)
        ax.set(xlabel=xlabel, ylabel=ylabel)
        if log:
            ax.set_yscale("log")
        else:  # 0 is in sight, and nothing below it is cut off
            ax.set_ylim(bottom=min(0.0, ax.get_ylim()[0]))
        _key(fig, ax)
    return fig


def _key(fig: Figure, ax: Axes) -> None:
    """The legend, below the axes if it is long."""
    handles, names = ax.get_legend_handles_labels()
    if len(names) > BESIDE:
        fig.legend(handles, names, loc="outside lower center", ncols=3, fontsize="small")
    else:
        ax.legend(fontsize="small")


def _of_length(values: Numbers, x: Float[np.ndarray, "P"], name: str) -> Float[np.ndarray, "B P"]:
    found = np.atleast_2d(np.asarray(values, dtype=float))
    if found.ndim != 2 or found.shape[1] != len(x):
        raise UsageError(f"{name!r} has the shape {[*found.shape]} where x has {len(x)} points")
    return found


# ---------------------------------------------------------------------------------------------- what is known


def geometry(
    before: State, after: State, w: Float[Tensor, "2"], code: Float[Tensor, "D"], reach: float = 3.5
) -> Figure:
    """Draw a memory of two columns before and after one item: each row is a point of the plane that is not known.

    A row's mean is a dot, its ellipses lie one and two standard deviations from it. On the right each row also has
    the line of all places that would say exactly its feature of the code; w is an arrow.

    Args:
        before: of one memory with one machine, D = 1 to 3 rows and M = 2 columns.
        after: of the same.
        w: the address at which the item was written.
        code: the item.
        reach: the plane is drawn from -reach to reach.

    Raises:
        UsageError: for memories of another shape.
    """
    shapes = {tuple(state.R.shape) for state in (before, after)}
    if shapes != {(1, 1, len(code), 2)} or len(code) > ROWS:
        raise UsageError(f"this draws one machine of 1 to {ROWS} rows and 2 columns, got R of {shapes}")
    with style():
        fig, axes = figure(1, 2, size=(8.2, 4.6), sharex=True, sharey=True)
        for ax, state, title in zip(axes, (before, after), ("before", "after one item"), strict=True):
            for row, colour in zip(range(len(code)), OKABE_ITO, strict=False):
                _row(ax, state.R[0, 0, row].numpy(), state.V[0, 0].numpy(), colour, f"row {row + 1}")
            limits = {"xlim": (-reach, reach), "ylim": (-reach, reach), "box_aspect": 1}
            ax.set(title=title, xlabel="in column 1", ylabel="in column 2", **limits)
        for value, colour in zip(code.tolist(), OKABE_ITO, strict=False):
            _agreeing(axes[1], w.numpy(), value, reach, colour)
        look = {"arrowstyle": "-|>", "color": RULE, "linewidth": 1.6}
        axes[1].annotate("", w.tolist(), (0, 0), arrowprops=look)
        axes[1].text(*(1.15 * w).tolist(), "w", color=RULE, ha="center", va="center")
        axes[0].legend(fontsize="small")
    return fig


def _row(ax: Axes, mean: Float[np.ndarray, "2"], V: Float[np.ndarray, "2 2"], colour: str, name: str) -> None:
    angle = np.linspace(0, 2 * np.pi, 121)
    circle = np.linalg.cholesky(V) @ np.stack([np.cos(angle), np.sin(angle)])
    ax.plot(*mean, "o", color=colour, label=name)
    for deviations in (1, 2):
        ax.plot(*(mean[:, None] + deviations * circle), color=colour, linewidth=2.0 - 0.6 * deviations)


def _agreeing(ax: Axes, w: Float[np.ndarray, "2"], value: float, reach: float, colour: str) -> None:
    """The line of all rows M with M.w = value."""
    foot, along = value * w / (w @ w), np.array([-w[1], w[0]]) / np.linalg.norm(w)
    ends = foot[:, None] + along[:, None] * np.array([-4 * reach, 4 * reach])
    ax.plot(*ends, color=colour, linewidth=0.9, linestyle=":")


def covariances(panels: Mapping[str, Float[Tensor, "M M"]]) -> Figure:
    """Draw covariances of the columns side by side, in one scale of colours; white is 0.

    Raises:
        UsageError: for none.
    """
    _some(panels, "covariance, by name")
    shown = {name: np.asarray(V, dtype=float) for name, V in panels.items()}
    extreme = max(np.abs(V).max() for V in shown.values())
    with style():
        fig, axes = figure(1, len(shown), size=(2.5 * len(shown) + 1.0, 2.7), squeeze=False)
        for ax, (name, V) in zip(axes[0], shown.items(), strict=True):
            drawn = ax.imshow(V, cmap=SIGNED, vmin=-extreme, vmax=extreme, interpolation="nearest")
            ax.set(title=name, xticks=[], yticks=[], xlabel="column")
            ax.grid(False)
        axes[0, 0].set_ylabel("column")
        fig.colorbar(drawn, ax=axes[0], label="covariance", shrink=0.85)
    return fig


# ----------------------------------------------------------------------------------------------- novelty, one item


def novelty(panels: Mapping[str, Mapping[str, Numbers]], ylabel: str = "log likelihood (nats)") -> Figure:
    """Draw a dot a code for each group of codes, a panel for each state of the memory.

    Args:
        panels: title -> group -> one value a code; every panel has the same groups.
        ylabel: of the y axis, which all panels share.

    Raises:
        UsageError: for no panels, or panels with other groups than the first one.
    """
    _some(panels, "panel, by title")
    groups = [list(each) for each in panels.values()]
    if any(each != groups[0] for each in groups):
        raise UsageError(f"every panel needs the same groups in one order, got {groups}")
    with style():
        fig, axes = figure(1, len(panels), size=(2.9 * len(panels) + 0.4, 3.6), squeeze=False, sharey=True)
        for ax, (title, values) in zip(axes[0], panels.items(), strict=True):
            dots = {name: np.asarray(each, dtype=float) for name, each in values.items()}
            strip(ax, dots, colours=list(_looks(dots).values()))
            ax.set_title(title)
            ax.tick_params(axis="x", rotation=35)
        axes[0, 0].set_ylabel(ylabel)
    return fig


def one_item(
    asked: Numbers, answer: Numbers, now: int, written: int, claimed: Numbers, error: Numbers
) -> Figure:
    """Draw one state of a memory for one query: the query, the answer, and the course of error and uncertainty.

    Args:
        asked: the query as a picture, [H, W].
        answer: what the memory answers, [H, W].
        now: how many items have been written; a dot on either curve.
        written: after how many items the query is among them; a vertical line.
        claimed: variance of a feature as the memory sees it, after 0, 1, .., T items.
        error: mean squared error of a feature, likewise.

    Raises:
        UsageError: for curves that do not both have a value for `now` and `written`.
    """
    claimed, error = (np.asarray(each, dtype=float) for each in (claimed, error))
    last = max(now, written)
    if claimed.shape != error.shape or min(now, written) < 0 or last >= len(error):
        shapes = [*claimed.shape], [*error.shape]
        raise UsageError(
            f"give both curves after 0, 1, .., {last} or more items, got {shapes[0]} and {shapes[1]}"
        )
    with style():
        fig, axes = figure(1, 3, size=(8.0, 2.6), gridspec_kw={"width_ratios": (1, 1, 2.2)})
        for ax, picture, title in zip(axes, (asked, answer), ("asked", "answered"), strict=False):
            ink(ax, picture)
            ax.set_title(title)
        ax = axes[2]
        for values, name, colour in zip(
            (claimed, error), ("claimed variance", "squared error"), OKABE_ITO, strict=False
        ):
            ax.plot(values, color=colour, label=name)
            ax.plot(now, values[now], "o", color=colour)
        ax.axvline(written, color=RULE, linestyle="--", linewidth=0.8)
        ax.set(xlabel="items written", ylabel="of a feature", yscale="log")
        ax.legend(fontsize="small")
    return fig
