"""A reader's own runs: they stay in a folder of their own, and are shown beside the stored ones."""

import shlex
import statistics
from collections.abc import Iterable
from pathlib import Path

from mini_lib.errors import UsageError
from mini_lib.reproduction.cells import Cell
from mini_lib.reproduction.comparison import ENOUGH, compare, in_columns
from mini_lib.reproduction.records import COMMITTED, OWN_SEEDS, Records, is_judged

OWN = Path("own_records")  # in the current directory; nothing but this module reads it
PARTS = ("id", "seed", "mine", "stored runs", "mean", "SD", "smallest", "largest", "below mine", "mine is")


def own_folder(folder: Path | None) -> Path:
    """The folder of a reader's own runs, `./own_records` by default; UsageError if verdicts are read from it."""
    chosen = OWN if folder is None else folder
    if is_judged(chosen):
        raise UsageError(f"verdicts are judged on the records in {chosen}; name another folder for your own")
    return chosen


def own_records(seeds: Iterable[int], folder: Path | None) -> Records:
    """The records that a reader's runs of these seeds go to; UsageError for a seed that stored runs may have."""
    for seed in seeds:
        if seed < OWN_SEEDS:
            raise UsageError(
                f"seeds below {OWN_SEEDS} are kept for the stored runs, got {seed}; take one from {OWN_SEEDS} on"
            )
    return Records(own_folder(folder))


def listing(cells: Iterable[Cell], folder: Path | None) -> str:
    """Each own run of these cells beside the stored runs, a line each; UsageError without any."""
    own = Records(own_folder(folder))
    rows = beside_stored(cells, own, Records(COMMITTED)) if len(own) else []
    if not rows:
        where = f"{own.folder.resolve()}{' of what you ask for' if len(own) else ''}"
        command = ["mini-lib", "reproduce", "TABLE", "--seed", "101"]
        command += ["--records", str(folder)] if folder else []
        raise UsageError(f"no runs of your own in {where}; `{shlex.join(command)}` makes one")
    return in_columns([PARTS, *rows])


def beside_stored(cells: Iterable[Cell], own: Records, stored: Records) -> list[tuple]:
    """What `PARTS` names, of each own run that is not stored too, in each cell that it fills.

    A run that diverged has no value to place; the stored ones that did are left out of the band. Where a cell has no
    stored runs, its variants that have some are named.
    """
    cells, rows = list(cells), []
    kept = compare(cells, stored)
    variants: dict[tuple, list[str]] = {}  # that have finished runs, by the place in a table
    for each in kept:
        if each.ours.values:
            variants.setdefault(_place_of(each.cell), []).append(each.cell.variant or "paper")
    for mine, theirs in zip(compare(cells, own), kept, strict=True):
        cell, band = mine.cell, theirs.ours.values
        beside = variants.get(_place_of(cell), ())
        for record in mine.records:
            if record["key"] not in stored:
                value = None if record["diverged"] else record["metrics"][cell.metric]
                rows.append((cell.id, record["seed"], *_placed(value, band, beside)))
    return rows


def _place_of(cell: Cell) -> tuple[str, str, str]:
    return cell.table, cell.row, cell.column


def _placed(value: float | None, band: tuple[float, ...], beside: Iterable[str]) -> tuple[str, ...]:
    """A value, the band of stored runs, and where in it the value lies, or which variants have such runs."""
    numbers = ["-"] * 4
    if band:
        sd = statistics.stdev(band) if len(band) >= ENOUGH else None
        numbers = [_figure(number) for number in (statistics.fmean(band), sd, min(band), max(band))]
    if value is None:
        below, place = "-", "diverged"
    else:
        below = str(sum(stored < value for stored in band))
        place = _place(value, band, beside)
    return _figure(value), str(len(band)), *numbers, below, place


def _place(value: float, band: tuple[float, ...], beside: Iterable[str]) -> str:
    if not band:
        others = ", ".join(f"@{variant}" for variant in beside)
        return f"no stored runs, but {others}" if others else "no stored runs"
    return "below" if value < min(band) else "above" if value > max(band) else "within"


def _figure(number: float | None) -> str:
    return "-" if number is None else f"{number:.4g}"
