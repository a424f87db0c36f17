"""What `list`, `compare` and `claims` print: tables at the terminal's width, at most 100 columns wide."""

import re
import shutil
import textwrap
from collections.abc import Iterable, Sequence
from itertools import groupby

from mini_lib.reproduction.cells import PAPERS, STUDIES, TUTORIAL, Cell
from mini_lib.reproduction.claims import Judgement, load_claims
from mini_lib.reproduction.comparison import Comparison, counted, counts
from mini_lib.reproduction.judgement import MIN_RUNS, NOT_RUN, WORDS
from mini_lib.reproduction.ledger import variant_in_words
from mini_lib.reproduction.records import Records
from mini_lib.reproduction.tables import about, not_compared, table_name

WIDEST = 100
DIFFERENCE = (
    "Difference: ours less the paper's, ± half of its 95 % interval. Not reproduced: 0 is outside, by more than "
    "half a point or 5 %. Reproduced: it is not, and half of the interval is at most 8 points or 25 %. Else unclear."
)
SIGNS = {r"\times": "x", r"\geq": ">=", r"\leq": "<="}  # of LaTeX; Greek letters keep their names


def width() -> int:
    """Columns to print in: those of the terminal, at most 100; 100 where there is no terminal."""
    return min(WIDEST, shutil.get_terminal_size((WIDEST, 24)).columns)


def wrapped(text: str) -> str:
    """Text in lines that are not wider than the terminal."""
    return "\n".join(textwrap.fill(line, width()) for line in text.splitlines())


def in_columns(head: Sequence[str], rows: Iterable[Sequence], right: Iterable[str] = ()) -> str:
    """A table in columns, numbers in those named in `right`; a long value is wrapped within its column."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="")
    for name in head:
        side = "right" if name in right else "left"
        table.add_column(name, justify=side, overflow="fold", no_wrap=side == "right" or name == "verdict")
    for row in rows:
        table.add_row(*(str(each).replace("[", r"\[") for each in row))
    console = Console(width=width(), color_system=None, highlight=False)
    with console.capture() as captured:
        console.print(table)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def plain(text: str) -> str:
    """Markdown and LaTeX as a terminal shows them.

    >>> plain("Curves of $k = 1$ to **15**")
    'Curves of k = 1 to 15'
    """
    for name, sign in SIGNS.items():
        text = text.replace(name, sign)
    return re.sub(r"[$*{}\\]", "", text)


def short_name(variant: str) -> str:
    """Such as "small, no mask" for "tutorial, no mask"."""
    size, *names = variant.split(", ")
    names = ["smaller task" if name == "small" else name for name in names]
    return ", ".join(["small" if size == TUTORIAL else size, *names])


def overview(comparisons: Iterable[Comparison], titles: dict[str, str]) -> str:
    """The tables of each paper, and what became of the numbers that it reports in them."""
    comparisons = list(comparisons)
    found = counts(comparisons)  # by table, in order
    parts = []
    for paper, title in {**PAPERS, **STUDIES}.items():
        rows = [
            (table, plain(titles.get(table, "")), *(number or "" for number in found[table].values()))
            for table in found
            if table.split(".")[0] == paper
        ]
        if rows:
            head = (paper, "", "numbers", *WORDS)
            parts.append(f"{wrapped(title)}\n{in_columns(head, rows, right=head[2:])}")
    return "\n\n".join(parts)


def entries(cells: Iterable[Cell], records: Records, every: bool) -> str:
    """The entries of tables, a line each, with the runs on record of those that the paper has."""
    cells = list(cells)
    shown = [cell for cell in cells if every or not cell.interpretation]
    parts = []
    for table in dict.fromkeys(cell.table for cell in shown):
        rows = [
            (cell.row, cell.column, short_name(cell.variant), f"{len(records.of(cell.hash))} of {cell.runs}")
            for cell in shown
            if cell.table == table
        ]
        parts.append(f"{table}\n{in_columns(('row', 'column', 'variant', 'runs'), rows, right=['runs'])}")
    return "\n\n".join([*parts, *_left_out(cells, every)])


def _left_out(cells: Iterable[Cell], every: bool) -> list[str]:
    number = 0 if every else sum(bool(cell.interpretation) for cell in cells)
    return [f"--all shows {counted(number, 'variant')} more."] if number else []


def listing(comparisons: Iterable[Comparison], every: bool) -> str:
    """The paper's number, ours, the runs behind it and the verdict, a line each, by table."""
    comparisons = list(comparisons)
    shown = [each for each in comparisons if every or not each.cell.interpretation]
    shown = [each for each in shown if each.paper or each.ours.n] or shown
    parts = []
    for table in dict.fromkeys(each.cell.table for each in shown):
        own = [each for each in shown if each.cell.table == table]
        kind = "standard deviation" if about(table).get("error") == "SD" else "standard error of the mean"
        unit = next((f" in {each.paper.unit}" for each in own if each.paper), "")
        title = plain(about(table).get("caption", "")) or table_name(table)
        heading = f"{table}: {title}{unit} (mean ± {kind})"
        heading += f"\nNot compared: {not_compared(table)}." * bool(not_compared(table))
        parts.append(f"{wrapped(heading)}\n{_comparison_table(own)}\n{_in_all(own)}".rstrip())
    if any(each.difference for each in shown):
        parts.append(wrapped(DIFFERENCE))
    return "\n\n".join([*parts, *_left_out((each.cell for each in comparisons), every)])


def _comparison_table(own: list[Comparison]) -> str:
    """A line an entry, in those columns that say something here."""
    head = ("row", "column", "variant", "paper", "ours", "difference", "runs", "verdict")
    rows, before = [], ""
    for each in own:
        cell = each.cell
        names = ("", "") if cell.place == before else (cell.row, cell.column)
        before = cell.place
        paper = difference = word = ""
        if each.is_printed:
            paper, apart = str(each.paper), each.difference
            difference = f"{'' if apart.value < 0 else '+'}{apart}" if apart else ""
            word = "not compared" if not_compared(cell.table) else each.verdict
        runs = each.runs if each.ours.n or paper else "0"
        ours = each.ours.rounded()
        rows.append((*names, short_name(cell.variant), paper, ours, difference, runs, word))
    shown = [number for number, values in enumerate(zip(*rows, strict=True)) if any(values)]
    head, *rows = ([line[number] for number in shown] for line in (head, *rows))
    return in_columns(head, rows, right=("paper", "ours", "difference", "runs"))


def _in_all(own: list[Comparison]) -> str:
    table = own[0].cell.table
    if not_compared(table):
        return ""
    count = counts(own)[table]
    if not count["numbers"]:
        names = ", ".join(claim.id for claim in load_claims() if table in claim.tables())
        return wrapped(f"The paper reports no numbers here; claims on it: {names}.") if names else ""
    text = ", ".join(f"{count[word]} {word}" for word in WORDS if count[word])
    few = f" (fewer than {MIN_RUNS} runs)" if count[NOT_RUN] else ""
    return wrapped(f"{counted(count['numbers'], 'number')}: {text}{few}.")


def claims(judgements: Iterable[Judgement]) -> str:
    """Each claim, and what became of it at each size and under each interpretation that decides something."""
    rows = []
    for claim, judged in groupby(judgements, lambda each: each.claim):
        words = f"{claim.statement}{' (ours)' if claim.ours else ''}"
        name, before = claim.id, None
        for each in judged:
            if (each.verdict, each.detail) == before:
                continue
            before = each.verdict, each.detail
            variant = "" if each.scale == "paper" else each.scale
            size = f"({variant_in_words(claim.paper, variant)}) " if variant else ""
            said = f"{words}\n{size}{each.detail}" if words else f"{size}{each.detail}"
            rows.append((name, each.verdict, plain(said)))
            name = words = ""
    return f"{in_columns(('claim', 'verdict', ''), rows)}\n± is half of the 95 % interval."
