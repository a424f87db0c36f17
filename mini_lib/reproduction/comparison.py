"""The papers' printed numbers beside ours, a verdict a cell, computed and never typed in."""

import json
import math
import re
import statistics
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path

from mini_lib.errors import CorruptFileError, UsageError, unknown_name_error
from mini_lib.reproduction.cells import Cell
from mini_lib.reproduction.records import Records

TABLES = Path(__file__).with_name("tables.json")
ENOUGH = 3  # finished runs, from which there is a spread of our own, and so a verdict
TOO_FEW = "too few runs"  # what is said below that: of a cell, and of a claim that such a cell decides
VERDICTS = ("match", "close", "differs", "inconclusive", TOO_FEW, "not run", "not printed")
DECIDED = VERDICTS[:4]  # those that take ENOUGH runs
TUTORIAL = "tutorial"  # the scale of small settings, and the variant name of the cells that they fill
FLOOR = {"%": 0.5}  # points of accuracy; for every other unit the floor is 5 % of the printed value
LIMIT = {"%": 8.0}  # an SE above this decides nothing; for every other unit 25 % of the printed value
PARTS = ("id", "paper", "ours", "n", "verdict")  # of a line; the id is table/row/column/variant
ROUNDING = 1e-9  # so that 99.7 against 99.2 is half a point, whatever binary fractions make of it


@dataclass(frozen=True)
class Printed:
    """What a paper prints in a cell."""

    mean: float  #: in `unit`.
    err: float | None  #: the printed error, or None where there is none.
    error: str  #: what that is, "SEM" or "SD".
    runs: int  #: how many networks are behind it.
    unit: str  #: "%", "MSE" or "SD".

    @property
    def sd(self) -> float:
        """Standard deviation over runs; 0 where no error is printed."""
        return (self.err or 0.0) * (math.sqrt(self.runs) if self.error == "SEM" else 1.0)

    @property
    def se(self) -> float:
        """Standard error of the mean."""
        return self.sd / math.sqrt(self.runs)

    def share(self, points: dict[str, float], relative: float) -> float:
        """`points` of this unit where that is fixed, else the relative share of the printed mean."""
        return points.get(self.unit, relative * abs(self.mean))

    def __str__(self) -> str:
        return f"{self.mean:g}" if self.err is None else f"{self.mean:g} ± {self.err:g}"


@dataclass(frozen=True)
class Measured:
    """Our runs of a cell.

    A diverged run has no metrics, so mean and spread are over those that finished; it counts in `n`, and
    `diverged` says how many there are wherever the mean is shown.
    """

    values: tuple[float, ...]  #: the metric of each finished run, by seed.
    diverged: int = 0  #: runs that did not finish because their loss stopped being a number.
    error: str = "SEM"  #: which error stands behind the mean, "SEM" or "SD": the one that the paper prints.

    @property
    def n(self) -> int:
        """All runs, diverged ones included."""
        return len(self.values) + self.diverged

    @property
    def mean(self) -> float | None:
        """Over finished runs; None without any."""
        return statistics.fmean(self.values) if self.values else None

    @property
    def sem(self) -> float | None:
        """Sample standard deviation over sqrt(runs); None with fewer than 3 finished runs."""
        if len(self.values) < ENOUGH:
            return None
        return statistics.stdev(self.values) / math.sqrt(len(self.values))

    @property
    def spread(self) -> float | None:
        """The error behind the mean, of the kind that the paper prints; None with fewer than 3 finished runs."""
        return self.sem if self.error == "SEM" or self.sem is None else statistics.stdev(self.values)

    @property
    def with_runs(self) -> str:
        """The mean and how many runs are behind it: "99.6 ± 0.1 (10 runs)", "2 runs: 4.7", "-" without any."""
        return str(self) if self.sem is None else f"{self} ({self.n} runs)"

    def __str__(self) -> str:
        """Such as "99.6 ± 0.1"; a mean without a spread says of how many runs it is: "1 run: 4.7"."""
        if not self.n:
            return "-"
        lost = f", {self.diverged} diverged" if self.diverged else ""
        mean = "no mean" if self.mean is None else f"{self.mean:.4g}"
        if self.spread is None:
            return f"{counted(self.n, 'run')}: {mean}{lost}"
        return f"{mean} ± {self.spread:.2g}{lost}"


def verdict(paper: Printed | None, ours: Measured) -> str:
    """One word of `VERDICTS`.

    With fewer than 3 finished runs there is none: "too few runs", with or without a printed number. With d the
    difference of the means, SE the combined standard error and a floor of 0.5 points of accuracy (5 % of an MSE or
    SD): "differs" if d is more than twice max(2 SE, floor), however wide; else "inconclusive" where SE exceeds
    8 points (25 %); else "match" if d <= max(2 SE, floor), and "close" beyond. Where 3 runs or more have all
    diverged there is no mean, and that "differs" from any.
    """
    if not ours.n:
        return "not run"
    all_diverged = ours.mean is None and ours.n >= ENOUGH
    if ours.sem is None and not all_diverged:
        return TOO_FEW
    if paper is None:
        return "not printed"
    if all_diverged:
        return "differs"
    se = math.hypot(paper.se, ours.sem)
    difference = abs(ours.mean - paper.mean) - ROUNDING
    allowed = max(2 * se, paper.share(FLOOR, 0.05))
    if difference > 2 * allowed:
        return "differs"
    if se > paper.share(LIMIT, 0.25) + ROUNDING:
        return "inconclusive"
    return "match" if difference <= allowed else "close"


@dataclass(frozen=True)
class Comparison:
    """A cell, what the paper prints in it, what we measured, and what that makes."""

    cell: Cell  #: the cell; its `variant` is compared with the same printed number.
    paper: Printed | None  #: the printed number; None where none is printed.
    ours: Measured  #: our runs.
    records: tuple[dict, ...] = field(default=(), repr=False)  #: the records behind them, by seed.

    @property
    def verdict(self) -> str:
        """One word of `VERDICTS`."""
        return verdict(self.paper, self.ours)

    @property
    def is_printed(self) -> bool:
        """Whether it is a printed number's own cell, and not another reading of it."""
        return self.paper is not None and not self.cell.variant

    @property
    def partial(self) -> bool:
        """Whether it is a verdict, but on fewer runs than the paper's."""
        return self.verdict in DECIDED and self.ours.n < self.paper.runs

    @property
    def number(self) -> tuple[str, str]:
        """Which number of which runs it compares: the hash of their settings, and the metric."""
        return self.cell.hash, self.cell.metric

    @property
    def label(self) -> str:
        """The verdict, with "partial" beside it if it is that."""
        return f"{self.verdict}, partial" if self.partial else self.verdict

    def to_dict(self) -> dict:
        """For JSON."""
        cell = self.cell
        return {
            "id": cell.id,
            "table": cell.table,
            "row": cell.row,
            "column": cell.column,
            "variant": cell.variant,
            "paper": None if self.paper is None else asdict(self.paper),
            "ours": {"mean": self.ours.mean, "sem": self.ours.sem, "values": list(self.ours.values)},
            "n": self.ours.n,
            "diverged": self.ours.diverged,
            "verdict": self.verdict,
            "partial": self.partial,
        }

    @property
    def parts(self) -> tuple[str, ...]:
        """In words, what `PARTS` names."""
        paper = "-" if self.paper is None else str(self.paper)
        return self.cell.id, paper, str(self.ours), str(self.ours.n), self.label


@cache
def _tables() -> dict:
    return json.loads(TABLES.read_text())


def printed(table_id: str) -> dict[tuple[str, str], Printed]:
    """The numbers of a printed table by (row, column); entries that the paper leaves empty are left out."""
    if table_id not in _tables():
        raise unknown_name_error("table", table_id, _tables())
    table = _tables()[table_id]
    return {
        (row, column): Printed(
            entry["mean"], entry["err"], table["error"], entry.get("runs", table["runs"]), table["unit"]
        )
        for row, entries in table["rows"].items()
        for column, entry in entries.items()
        if entry is not None
    }


def prints_numbers(paper: str) -> bool:
    """Whether a paper prints numbers that ours can be compared with."""
    return any(table.startswith(f"{paper}.") for table in _tables())


def table_name(table_id: str) -> str:
    """A table's or figure's name in the paper: "Table 9" for "esbn.table9", "Figure 1D" for "kanerva.fig1d".

    One of our own has no number: "Starts" for "scan.starts".
    """
    kind, number = re.fullmatch(r"\w+\.([a-z]+)(\d\w*)?", table_id).groups()
    return " ".join(filter(None, ("Figure" if kind == "fig" else kind.capitalize(), (number or "").upper())))


def is_papers(table_id: str) -> bool:
    """Whether a table or figure is in the paper, and not one of our own, which has no number."""
    return any(letter.isdigit() for letter in table_id)


def table_order(table_id: str) -> tuple:
    """A key to sort tables by: tables before figures, each by number."""
    kind, _, number = table_name(table_id).partition(" ")
    digits = re.match(r"\d+", number)
    return kind != "Table", int(digits[0]) if digits else 0, number


def caption(table_id: str) -> str:
    """What a table shows, in our words; empty where its numbers are not printed."""
    return _tables().get(table_id, {}).get("caption", "")


def compare(
    cells: Iterable[Cell],
    records: Records,
    rows: Iterable[str] | None = None,
    columns: Iterable[str] | None = None,
    tables: Iterable[str] | None = None,
    variants: Iterable[str] | None = None,
) -> list[Comparison]:
    """Every cell beside the paper's number, variants beneath the cell that they are a reading of.

    Only records of paper scale fill a cell; those of tutorial scale fill the cells of the variant "tutorial" and of
    its own readings. `rows`, `columns`, `tables` and `variants` keep those of these names; `variants=[""]` keeps the
    cells that are no variant.
    """
    chosen = filter_cells(list(cells), table=tables, row=rows, column=columns, variant=variants)
    places = {}
    for cell in chosen:
        places.setdefault(cell.place, len(places))
    chosen.sort(key=lambda cell: places[cell.place])
    return [_compare(cell, records) for cell in chosen]


def filter_cells(cells: list[Cell], **wanted: Iterable[str] | None) -> list[Cell]:
    """The cells whose table, row, column and variant are among those wanted; of what is empty or None all are."""
    for name, values in wanted.items():
        values, known = list(values or ()), list(dict.fromkeys(getattr(cell, name) for cell in cells))
        for value in values:
            if value not in known:
                if not any(known):
                    tables = ", ".join(dict.fromkeys(cell.table for cell in cells))
                    raise UsageError(f"unknown {name} {value!r}: the cells of {tables} have none")
                raise unknown_name_error(name, value, filter(None, known))
        cells = [cell for cell in cells if not values or getattr(cell, name) in values]
    return cells


def scale_of(cell: Cell) -> str:
    """The scale of the runs that fill a cell: "tutorial", for its readings ("tutorial, no mask") too, or "paper"."""
    return scale_of_variant(cell.variant)


def scale_of_variant(variant: str) -> str:
    """The same of a variant's name; that of no variant is empty."""
    return TUTORIAL if variant.split(", ")[0] == TUTORIAL else "paper"


def reading_of(cell: Cell) -> tuple[str, str]:
    """A variant as the variant that it is another reading of, and the name of that reading.

    ("", "no mask") for "no mask", ("tutorial", "no mask") for "tutorial, no mask".
    """
    small, reading = cell.variant.startswith(f"{TUTORIAL}, "), cell.variant.removeprefix(f"{TUTORIAL}, ")
    return (TUTORIAL if small else "", reading)


def _compare(cell: Cell, records: Records) -> Comparison:
    runs = tuple(record for record in records.of(cell.hash) if record["scale"] == scale_of(cell))
    finished = [record for record in runs if not record["diverged"]]
    for record in finished:
        if cell.metric not in record["metrics"]:
            raise CorruptFileError(
                f"run {record['key']} has no {cell.metric!r}, which {cell.id} needs; delete it and run it again"
            )
    error = _tables()[cell.table]["error"] if cell.table in _tables() else "SEM"
    values = tuple(record["metrics"][cell.metric] for record in finished)
    ours = Measured(values, len(runs) - len(finished), error)
    paper = printed(cell.table).get((cell.row, cell.column)) if cell.table in _tables() else None
    return Comparison(cell, paper, ours, runs)


def listing(comparisons: Iterable[Comparison]) -> str:
    """One line a cell beneath one that names the parts, in columns with two or more spaces between them.

    The unit of the printed numbers and what their errors are stand in the head where all cells have the same.
    """
    comparisons = list(comparisons)
    kinds = {each.paper and f"({each.paper.unit} ± {each.paper.error})" for each in comparisons}
    kind = (kinds.pop() or "") if len(kinds) == 1 else ""
    head = [f"{part} {kind}".rstrip() if part in ("paper", "ours") else part for part in PARTS]
    return in_columns([head, *(each.parts for each in comparisons)])


def in_columns(rows: Iterable[Iterable[object]]) -> str:
    """A table in plain text, with two or more spaces between its columns."""
    lines = [[str(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    padded = ("  ".join(map(str.ljust, line, widths)) for line in lines)
    return "\n".join(line.rstrip() for line in padded)


def counted(number: int, word: str) -> str:
    """Such as "1 run" or "2,000 runs"."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def counts(comparisons: Iterable[Comparison]) -> dict[str, dict[str, int]]:
    """How often each verdict was given, per table; variants are not counted."""
    by_table: dict[str, dict[str, int]] = {}
    for comparison in comparisons:
        count = by_table.setdefault(comparison.cell.table, dict.fromkeys(VERDICTS, 0) | {"partial": 0})
        if not comparison.cell.variant:
            count[comparison.verdict] += 1
            count["partial"] += comparison.partial
    return by_table


def counts_by_paper(comparisons: Iterable[Comparison]) -> list[tuple]:
    """A table, its head first: of each paper's printed numbers, how many have runs, and the verdicts there are.

    Verdicts are counted where there are 3 runs or more; variants are not counted. The last row is of all papers.
    """
    groups: dict[str, list[Comparison]] = {}
    for comparison in comparisons:
        of_paper = groups.setdefault(comparison.cell.paper, [])
        if comparison.is_printed:
            of_paper.append(comparison)
    groups["all"] = [comparison for of_paper in groups.values() for comparison in of_paper]
    rows = [("paper", "printed numbers", "with a run", "with 3 runs or more", *DECIDED, "of these partial")]
    for name, group in groups.items():
        count = Counter(comparison.verdict for comparison in group)
        decided = [count[verdict] for verdict in DECIDED]
        partial = sum(comparison.partial for comparison in group)
        rows.append((name, len(group), sum(decided) + count[TOO_FEW], sum(decided), *decided, partial))
    return rows


def repeated(comparisons: Iterable[Comparison]) -> str:
    """A sentence, to stand beneath `counts_by_paper`: how many printed numbers rest on runs that another has too.

    Empty if there are none. The ESBN paper, say, prints a row of its Table 11 in its Table 17 again.
    """
    numbers: dict[str, list[tuple[str, str]]] = {}
    for each in comparisons:
        if each.is_printed and each.ours.n:
            numbers.setdefault(each.cell.paper, []).append(each.number)
    again = {paper: (len(own) - len(set(own)), len(own)) for paper, own in numbers.items()}
    named = ", ".join(f"{paper} {some} of {own}" for paper, (some, own) in again.items() if some)
    if not named:
        return ""
    return f"A number that stands in two tables counts twice, on the same runs. Of those with a run: {named}."
