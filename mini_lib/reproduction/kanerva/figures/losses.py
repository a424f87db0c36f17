"""Losses of runs on record: a dot for each beside its control, learning curves, and a table in text."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from mini_lib.errors import UsageError, unknown_name_error
from mini_lib.reproduction import Comparison
from mini_lib.reproduction.kanerva.figures.parts import CHANNELS
from mini_lib.reproduction.plotting import OKABE_ITO, QUIET, figure, style

BLUE, VERMILION, GREEN, PINK, ORANGE, SKY, BLACK = OKABE_ITO
LOSS, EMPTY = "loss", "loss, nothing written"
NATS = "loss (nats per image)"
LOOKS = (  # of the first column, of its control, and of others
    {"color": BLUE, "marker": "o", "fillstyle": "full"},
    {"color": QUIET, "marker": "D", "fillstyle": "none"},
    {"color": VERMILION, "marker": "s", "fillstyle": "full"},
    {"color": GREEN, "marker": "^", "fillstyle": "full"},
)
SHADES = (BLUE, VERMILION, GREEN, PINK, ORANGE, SKY, BLACK)
APART = 0.16  # between the dots of neighbouring columns, in rows


def by_row(comparisons: Iterable[Comparison]) -> dict[str, dict[str, Comparison]]:
    """Cells as row -> column -> comparison, in their order.

    Raises:
        UsageError: for no cells, or two for one place, as cells of two tables or of two scales would be.
    """
    found: dict[str, dict[str, Comparison]] = {}
    for each in comparisons:
        columns = found.setdefault(each.cell.row, {})
        if each.cell.column in columns:
            raise UsageError(
                f"there are two cells {each.cell.row!r}, {each.cell.column!r}; give one scale of one table"
            )
        columns[each.cell.column] = each
    if not found:
        raise UsageError(
            "there are no cells; give those of a table, as mini_lib.reproduction.compare returns them"
        )
    return found


def _of(columns: Mapping[str, Comparison], name: str) -> Comparison:
    if name not in columns:
        raise unknown_name_error("column", name, columns)
    return columns[name]


def _looks(columns: Sequence[str]) -> list[dict]:
    """How dots are drawn: a channel in its colour, what nothing was written for open."""
    looks = []
    for name, look in zip(columns, LOOKS, strict=False):
        channel, *rest = name.split(", ")
        if channel in CHANNELS:
            marker, fill = ("D", "none") if rest else ("s", "full")
            look = {"color": CHANNELS[channel], "marker": marker, "fillstyle": fill}
        looks.append(look)
    return looks


def in_rows(comparisons: Iterable[Comparison], columns: Sequence[str] = (LOSS, EMPTY)) -> str:
    """The cells as lines of text: means over runs with standard errors (from 3 runs), and how many runs there are.

    Raises:
        UsageError: for a column that is not there, or as `by_row` does.
    """
    rows = by_row(comparisons)
    wide = max(map(len, rows)) + 2
    widths = [max(len(name), 14) + 3 for name in columns]
    lines = [
        " " * wide + "".join(name.rjust(w) for name, w in zip(columns, widths, strict=True)) + "      runs"
    ]
    for row, found in rows.items():
        cells = [_of(found, name) for name in columns]
        told = "".join(str(each.ours).rjust(w) for each, w in zip(cells, widths, strict=True))
        lines.append(f"{row:{wide}}{told}{cells[0].ours.n or 'not run':>10}")
    return "\n".join(lines)


# ------------------------------------------------------------------------------------------------------ strips


def losses(
    comparisons: Iterable[Comparison], columns: Sequence[str] = (LOSS, EMPTY), ylabel: str = NATS
) -> Figure:
    """Draw a dot for each run of each row and column, and a bar at the mean; rows without a run say so.

    Args:
        comparisons: cells of one table at one scale, as `mini_lib.reproduction.compare` returns them.
        columns: at most four; the second is drawn as a control, open and grey.
        ylabel: what is measured.

    Raises:
        UsageError: for a column that is not there, more than four of them, or as `by_row` does.
    """
    rows, columns = by_row(comparisons), list(columns)
    if not 1 <= len(columns) <= len(LOOKS):
        raise UsageError(f"give one to {len(LOOKS)} columns, got {len(columns)}")
    looks = _looks(columns)
    with style():
        fig, ax = figure(size=(max(4.4, 1.05 * len(rows) + 1.6), 3.6))
        for place, found in enumerate(rows.values()):
            _row(ax, place, [_of(found, name) for name in columns], looks)
        names = [row.replace(", ", ",\n") for row in rows]
        ax.set(xticks=range(len(rows)), xticklabels=names, xlim=(-0.6, len(rows) - 0.4), ylabel=ylabel)
        found = [value for row in rows.values() for name in columns for value in _of(row, name).ours.values]
        ax.set_ylim(0, 1.08 * max(found, default=1.0))
        if not found:
            ax.set_yticks([])
        handles = [
            Line2D([], [], linewidth=0, label=name, **look) for name, look in zip(columns, looks, strict=True)
        ]
        fig.legend(handles=handles, loc="outside lower center", ncols=2, fontsize="small")
    return fig


def _row(ax: Axes, place: int, cells: Sequence[Comparison], looks: Sequence[dict]) -> None:
    if not any(each.ours.n for each in cells):
        at = {"transform": ax.get_xaxis_transform(), "ha": "center", "va": "center"}
        ax.text(place, 0.5, "not run", color=QUIET, fontsize="small", **at)
    for number, (each, look) in enumerate(zip(cells, looks, strict=True)):
        middle = place + APART * (number - (len(cells) - 1) / 2)
        values = np.asarray(each.ours.values, dtype=float)
        spots = middle + np.linspace(-0.05, 0.05, len(values)) * (len(values) > 1)
        ax.plot(spots, values, linewidth=0, markersize=5, alpha=0.75, **look)
        if len(values):
            ax.hlines(values.mean(), middle - 0.07, middle + 0.07, color=look["color"], linewidth=2.2)


# ------------------------------------------------------------------------------------------------------ curves


def curves_of(comparisons: Iterable[Comparison], column: str = LOSS) -> dict[str, list[dict]]:
    """Learning curves of the runs on record, by row; a row without runs has none.

    Raises:
        UsageError: for a column that is not there, or as `by_row` does.
    """
    return {
        row: [record["curve"] for record in _of(found, column).records]
        for row, found in by_row(comparisons).items()
    }


def learning(
    curves: Mapping[str, Sequence[Mapping]],
    floors: Mapping[str, float] | None = None,
    ylabel: str = NATS,
    limits: tuple = (None, None),
) -> Figure:
    """Draw the score over training, a line for each run.

    Args:
        curves: name -> {"update", "score"} of each run, as `Run.curve` or a record has it.
        floors: name -> a height to compare with, dotted.
        ylabel: what the score is.
        limits: of the y axis.

    Raises:
        UsageError: for no name at all.
    """
    if not curves:
        raise UsageError("there is nothing to draw; give the curves of at least one row")
    with style():
        fig, ax = figure(size=(6.4, 3.8))
        for place, (name, runs) in enumerate(curves.items()):
            shade = SHADES[place % len(SHADES)]
            for run in runs:
                ax.plot(run["update"], run["score"], color=shade, linewidth=1.1, alpha=0.75)
            told = f"{len(runs)} run{'s' * (len(runs) != 1)}" if runs else "not run"
            ax.plot([], [], color=shade, label=f"{name} ({told})")
        for name, height in (floors or {}).items():
            ax.axhline(height, color=QUIET, linestyle=":", linewidth=1.3)
            at = {"transform": ax.get_yaxis_transform(), "ha": "right", "va": "bottom"}
            ax.text(0.99, height, name, color=QUIET, fontsize="small", **at)
        ax.set(xlabel="update", ylabel=ylabel, ylim=limits)
        if not any(curves.values()):
            ax.set_xticks([])
            ax.text(0.5, 0.6, "not run", color=QUIET, ha="center", transform=ax.transAxes)
        fig.legend(loc="outside lower center", ncols=3, fontsize="small")
    return fig
