"""Losses of runs on record: a dot for each beside its control, learning curves, and a table in text."""

from collections.abc import Iterable, Mapping, Sequence

from matplotlib.figure import Figure

from mini_lib.errors import UsageError, check_names
from mini_lib.reproduction import Comparison
from mini_lib.reproduction.kanerva.figures.parts import BLUE, CHANNELS, GREEN, VERMILION, dots
from mini_lib.reproduction.plotting import OKABE_ITO, QUIET, figure, legend_below, style

LOSS, EMPTY = "loss", "loss, nothing written"
NATS = "loss (nats per image)"
LOOKS = (  # of the first column, of its control, and of others
    {"color": BLUE, "marker": "o", "fillstyle": "full"},
    {"color": QUIET, "marker": "D", "fillstyle": "none"},
    {"color": VERMILION, "marker": "s", "fillstyle": "full"},
    {"color": GREEN, "marker": "^", "fillstyle": "full"},
)


def by_row(comparisons: Iterable[Comparison]) -> dict[str, dict[str, Comparison]]:
    """Cells as row -> column -> comparison, in their order."""
    rows: dict[str, dict[str, Comparison]] = {}
    for each in comparisons:
        columns = rows.setdefault(each.cell.row, {})
        if each.cell.column in columns:
            raise UsageError(
                f"there are two cells {each.cell.row!r}, {each.cell.column!r}; give one scale of one table"
            )
        columns[each.cell.column] = each
    if not rows:
        raise UsageError(
            "there are no cells; give those of a table, as mini_lib.reproduction.compare returns them"
        )
    return rows


def _of(columns: Mapping[str, Comparison], name: str) -> Comparison:
    check_names("column", [name], columns)
    return columns[name]


def in_rows(comparisons: Iterable[Comparison], columns: Sequence[str] = (LOSS, EMPTY)) -> str:
    """The cells as lines of text: means with standard errors, or "1 run: 4.7", and how many runs there are."""
    rows = by_row(comparisons)
    wide = max(map(len, rows)) + 2
    widths = [max(len(name), 14) + 3 for name in columns]
    head = "".join(name.rjust(w) for name, w in zip(columns, widths, strict=True))
    lines = [" " * wide + head + "      runs"]
    for row, found in rows.items():
        cells = [_of(found, name).ours for name in columns]
        values = "".join(str(each).rjust(w) for each, w in zip(cells, widths, strict=True))
        lines.append(f"{row:{wide}}{values}{cells[0].n or 'not run':>10}")
    return "\n".join(lines)


def losses(comparisons: Iterable[Comparison], columns: Sequence[str] = (LOSS, EMPTY)) -> Figure:
    """Draw a dot for each run of each row and column, and a bar at the mean; rows without a run say so.

    Cells are those of one table at one scale, as `mini_lib.reproduction.compare` returns them. There are at most
    four columns; the second is drawn as a control, open and grey; a channel has its colour.
    """
    looks = dict(zip(columns, LOOKS, strict=False))
    for name in looks:
        channel, *control = name.split(", ")
        if channel in CHANNELS:
            marker, fill = ("D", "none") if control else ("s", "full")
            looks[name] = {"color": CHANNELS[channel], "marker": marker, "fillstyle": fill}
    rows = {
        row: {name: _of(found, name).ours.values for name in columns}
        for row, found in by_row(comparisons).items()
    }
    return dots(rows, NATS, looks)


def curves_of(comparisons: Iterable[Comparison], column: str = LOSS) -> dict[str, list[dict]]:
    """Learning curves of the runs on record, by row; a row without runs has none."""
    return {
        row: [record["curve"] for record in _of(found, column).records]
        for row, found in by_row(comparisons).items()
    }


def learning(
    curves: Mapping[str, Sequence[Mapping]],
    floors: Mapping[str, float] | None = None,
    limits: tuple = (None, None),
) -> Figure:
    """Draw the loss over training, a line for each run; a curve is that of a `Run` or of a record.

    Floors are heights to compare with, dotted, by name; `limits` are of the y axis.
    """
    with style():
        fig, ax = figure(size=(6.4, 3.8))
        for place, (name, runs) in enumerate(curves.items()):
            shade = OKABE_ITO[place % len(OKABE_ITO)]
            for run in runs:
                ax.plot(run["update"], run["score"], color=shade, linewidth=1.1, alpha=0.75)
            count = f"{len(runs)} run{'s' * (len(runs) != 1)}" if runs else "not run"
            ax.plot([], [], color=shade, label=f"{name} ({count})")
        for name, height in (floors or {}).items():
            ax.axhline(height, color=QUIET, linestyle=":", linewidth=1.3)
            at = {"transform": ax.get_yaxis_transform(), "ha": "right", "va": "bottom"}
            ax.text(0.99, height, name, color=QUIET, fontsize="small", **at)
        ax.set(xlabel="update", ylabel=NATS, ylim=limits)
        if not any(curves.values()):
            ax.set_xticks([])
            ax.text(0.5, 0.6, "not run", color=QUIET, ha="center", transform=ax.transAxes)
        legend_below(fig, ncols=3)
    return fig
