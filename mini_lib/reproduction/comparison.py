"""Entries of tables: the reported number, ours, and what that makes (`judgement`); computed, never typed in."""

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass, field

from mini_lib.errors import CorruptFileError
from mini_lib.reproduction.cells import TUTORIAL as TUTORIAL, Cell, narrow
from mini_lib.reproduction.judgement import (
    MIN_RUNS,
    REPRODUCED,
    UNCLEAR,
    WORDS,
    Mean,
    combine,
    judge_number,
    mean_of,
    rounded,
)
from mini_lib.reproduction.records import Records
from mini_lib.reproduction.tables import Printed, about, not_compared, printed


@dataclass(frozen=True)
class Measured:
    """Our runs of an entry; a diverged one has no metrics, so mean and error are over those that finished."""

    values: tuple[float, ...]  #: the metric of each finished run, by seed.
    diverged: int = 0  #: runs that did not finish because their loss stopped being a number.
    error_kind: str = "SEM"  #: of the error that is shown, "SEM" or "SD": what the paper reports.

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
        if len(self.values) < MIN_RUNS:
            return None
        return statistics.stdev(self.values) / math.sqrt(len(self.values))

    def rounded(self) -> str:
        """The mean and its error, rounded to two digits of the error: "77 ± 34", "99.6 ± 0.12"; "" without runs."""
        error = statistics.stdev(self.values) if self.sem and self.error_kind == "SD" else self.sem
        shown = [] if self.mean is None else [rounded(self.mean, error)]
        return ", ".join(shown + [f"{self.diverged} diverged"] * bool(self.diverged))


@dataclass(frozen=True)
class Comparison:
    """An entry of a table, what the paper reports in it, what we measured, and what that makes."""

    cell: Cell  #: the entry; its `variant` is compared with the same reported number.
    paper: Printed | None  #: the reported number; None where there is none.
    ours: Measured  #: our runs.
    records: tuple[dict, ...] = field(default=(), repr=False)  #: the records behind them, by seed.

    def mean(self) -> Mean | None:
        """Our mean over runs, to be judged; None of fewer than 3 runs, and NaN where all of them diverged.

        None also where the number rests on something of ours that the paper does not have (`not_compared`).
        """
        if not_compared(self.cell.table) or self.ours.n < MIN_RUNS:
            return None
        if not self.ours.values:
            return Mean(math.nan)
        keys = [record["key"] for record in self.records if not record["diverged"]]
        return mean_of(dict(zip(keys or range(self.ours.n), self.ours.values, strict=True)))

    @property
    def papers_mean(self) -> Mean | None:
        """The reported number with its error, to be judged."""
        paper = self.paper
        df = paper.runs - 1 if paper and paper.se and paper.runs > 1 else math.inf
        return paper and Mean(paper.mean, paper.se, df)

    @property
    def difference(self) -> Mean | None:
        """Ours less the paper's, with its 95 % interval; None where one is missing."""
        ours = self.mean()
        return combine((1, ours), (-1, self.papers_mean)) if ours and self.paper else None

    @property
    def verdict(self) -> str:
        """One of `judgement.WORDS`, or empty where the paper reports no number; with diverged runs it is unclear."""
        if self.paper is None:
            return ""
        word = judge_number(self.papers_mean, self.mean(), self.paper.unit)
        return UNCLEAR if word == REPRODUCED and self.ours.diverged else word

    @property
    def is_printed(self) -> bool:
        """Whether it is a reported number's own entry, and not another interpretation of it."""
        return self.paper is not None and not self.cell.variant

    @property
    def number(self) -> tuple[str, str]:
        """Which number of which runs it compares: the hash of their settings, and the metric."""
        return self.cell.hash, self.cell.metric

    @property
    def runs(self) -> str:
        """How many runs there are, such as "10", or "8/25" where the paper has more."""
        wanted = self.paper.runs if self.paper and not self.cell.variant else self.ours.n
        return f"{self.ours.n}/{wanted}" if self.ours.n < wanted else f"{self.ours.n}"


def compare(
    cells: Iterable[Cell],
    records: Records,
    tables: Iterable[str] | None = None,
    rows: Iterable[str] | None = None,
    columns: Iterable[str] | None = None,
    variants: Iterable[str] | None = None,
) -> list[Comparison]:
    """Every entry beside the paper's number, variants beneath the entry that they belong to.

    Only runs of the paper's size fill an entry; small ones fill the variant "tutorial" and its interpretations. With
    names, only entries of these; `variants=[""]` are those that are no variant.
    """
    cells = narrow(cells, table=tables, row=rows, column=columns, variant=variants)
    order = {place: number for number, place in enumerate(dict.fromkeys(cell.place for cell in cells))}
    return [_compare(cell, records) for cell in sorted(cells, key=lambda cell: order[cell.place])]


def _compare(cell: Cell, records: Records) -> Comparison:
    runs = tuple(record for record in records.of(cell.hash) if record["scale"] == cell.scale)
    finished = [record for record in runs if not record["diverged"]]
    for record in finished:
        if cell.metric not in record["metrics"]:
            need = f"has no {cell.metric!r}, which {cell.id} needs; delete it and run it again"
            raise CorruptFileError(f"run {record['key']} {need}")
    values = tuple(record["metrics"][cell.metric] for record in finished)
    ours = Measured(values, len(runs) - len(finished), about(cell.table).get("error", "SEM"))
    paper = printed(cell.table).get((cell.row, cell.column)) if about(cell.table) else None
    return Comparison(cell, paper, ours, runs)


def counted(number: int, word: str) -> str:
    """Such as "1 run" or "2,000 runs"."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def counts(comparisons: Iterable[Comparison]) -> dict[str, dict[str, int]]:
    """How many reported numbers there are of each table, and how many of each word."""
    found: dict[str, dict[str, int]] = {}
    for each in comparisons:
        count = found.setdefault(each.cell.table, dict.fromkeys(("numbers", *WORDS), 0))
        if each.is_printed:
            count["numbers"] += 1
            count[each.verdict] += 1
    return found
