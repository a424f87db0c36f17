"""The book's generated pages: paper against ours, index to the paper, what the paper does not say."""

import shlex
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

from mini_lib.errors import UsageError
from mini_lib.reproduction import glance, ledger
from mini_lib.reproduction.cells import Cell
from mini_lib.reproduction.claims import SCALES, Claim, Judgement, by_claim, claims_by_paper, judge_all
from mini_lib.reproduction.comparison import (
    TUTORIAL,
    VERDICTS,
    Comparison,
    compare,
    counted,
    counts,
    counts_by_paper,
    reading_of,
    repeated,
    scale_of_variant,
    table_name,
    table_order,
)
from mini_lib.reproduction.records import Records, stacks_at_once

RECORDS = "mini_lib/reproduction/records"  # in the repository
MOST_COLUMNS = 5  # of the papers' tables; what has more, and fewer rows, is laid on its side
COUNTS = "<!-- counts, written by `make pages` -->"  # stands above and below them in README.md
HOW_TO_READ = f"""\
Nothing on this page is typed in: it is computed from the records in `{RECORDS}`. An entry has the paper's
number, then ours and in how many runs, then a verdict. Errors are what the paper prints, for its number and for
ours: standard deviations over runs for SCAN, standard errors of the mean for the others. Our number leads to its
runs: their seeds, their records, and the command that trains them again.

- *match*: the difference is at most two standard errors (ours and the paper's combined), or half a point of
  accuracy, or 5 % of an MSE or SD, whichever is more. *close*: at most twice that, which one can see already.
  *differs*: more.
- *inconclusive*: not so far apart that they differ, but the combined standard error exceeds 8 points or 25 %. Where
  the paper's own error is that large, no number of runs can settle it.
- *too few runs*: one or two, which have no spread to speak of. So there is no verdict, whatever the number is.
- *not printed*: three runs or more, and no number of the paper beside them.
- *partial*: a verdict, but on fewer runs than the paper's.
- *not run*: no run yet. These cells are folded beneath their table, with the paper's number.
- A run whose loss stops being a number counts among the runs and is shown as *diverged*; the mean is over the
  others.

A claim *holds* or *fails* by our means of all the cells it names, if they are two standard errors or more on one
side of what it says, be that another mean or a fixed number. With three runs that is a coarse rule: a mean of
three whose truth lies exactly at a fixed number is found 2 standard errors above it in 9 of 100 cases, and as
often below (a mean of ten in 4). So each verdict is judged again by Student's t (Welch's where runs differ), which
asks for 4.3 standard errors of a mean of three: a claim that this would leave in a tie says *undecided by Student's
t*. *Match* is coarse, too: where errors are wide, means that are points apart still match.
(That something is no better holds by the mean; a t-test decides by its p.) It is a *tie* in between, and where
some runs never reach a training accuracy that others reach. It is *open* where it would hold, had none of its runs
diverged. There are *too few runs* where a cell that decides has fewer than three. It is *incomplete* where some of
these cells are without a run, and *not run* where none has any.
The paper's scale and the small one (tutorial) are judged apart.
Beneath them, in italics, stands what else was run of a paper that prints no numbers, and in brackets what that is:
another *reading* of the paper, an *addition* of ours, a *control* or a smaller *task*. What the paper does not
claim, and we ask all the same, is marked *ours* and counted apart.

Below some tables stand *other readings*: where the paper leaves a detail open, or says something else than its
authors' code does, one reading fills the table and the other is compared with the same printed numbers. An *addition
of ours* stands nowhere in the paper, so what it brings is not the paper's. A *control* tells what an oracle, or more
training, would bring, and a *smaller task* is an easier one. See [](what_the_paper_does_not_say.md)."""


def write_pages(folder: Path | str, papers: Iterable[ModuleType], records: Records) -> list[Path]:
    """Write the three pages into a folder, made if it is not there; returns their paths.

    `papers` are the `cells` modules of the papers, with PAPER, TITLE and CELLS.
    """
    papers = list(papers)
    compared = {paper.PAPER: compare(paper.CELLS, records) for paper in papers}
    ledgers = [(paper.TITLE, ledger.load(paper.PAPER)) for paper in papers]
    effects = {book.paper: measured_effects(compared[book.paper], book) for _, book in ledgers}
    pages = {
        "paper_against_ours.md": comparison_page([(*pair, compared[pair[1].paper]) for pair in ledgers]),
        "index_to_the_paper.md": ledger.index_page(ledgers),
        "what_the_paper_does_not_say.md": ledger.details_page(ledgers, effects),
    }
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in pages]


def with_counts(readme: str, comparisons: Iterable[Comparison]) -> str:
    """A README with `counts_by_paper`, `repeated` and `claims_by_paper` between its two lines `COUNTS`.

    UsageError if it does not have these lines.
    """
    parts = readme.split(COUNTS)
    if len(parts) != 3:
        raise UsageError(
            f"the counts stand between two lines {COUNTS!r}, and this README has {len(parts) - 1}"
        )
    comparisons = list(comparisons)
    tables = counts_by_paper(comparisons), claims_by_paper(judge_all(comparisons))
    numbers, claims = (ledger.table(head, rows) for head, *rows in tables)
    text = "\n\n".join(filter(None, (numbers, repeated(comparisons), claims)))
    return f"{parts[0]}{COUNTS}\n\n{text}\n\n{COUNTS}{parts[2]}"


def comparison_page(papers: Iterable[tuple[str, ledger.Ledger, list[Comparison]]]) -> str:
    """The page "paper against ours", as MyST, of each (title, ledger, comparisons)."""
    papers = list(papers)
    parts = ["# Paper against ours", *glance.at_a_glance((title, own) for title, _, own in papers)]
    parts += ["## How to read an entry", HOW_TO_READ]
    for title, book, comparisons in papers:
        parts += [f"## {title}", _counts_table(comparisons), *_claims(comparisons), *_provenance(comparisons)]
        for table in sorted({each.cell.table for each in comparisons}, key=table_order):
            parts += _table([each for each in comparisons if each.cell.table == table], book)
    return "\n\n".join(parts) + "\n"


def measured_effects(comparisons: Iterable[Comparison], book: ledger.Ledger) -> dict[str, str]:
    """What each variant of a paper measured beside the cells that it is another reading of, where both have runs.

    "tutorial, small, balanced" stands beside what the ledger says (`Detail.beside`), else beside "tutorial, small"
    where that is declared, else beside "tutorial". What is the same number of the same runs is left out.
    """
    declared = {each.variant: each.beside for each in book.details if each.beside is not None}
    at = {(each.cell.table, each.cell.row, each.cell.column, each.cell.variant): each for each in comparisons}
    effects: dict[str, list[str]] = {}
    for (table, row, column, variant), each in at.items():
        scale, reading = reading_of(each.cell)
        bases = _bases(variant)
        if reading in declared:
            bases = [", ".join(filter(None, (scale, declared[reading])))]
        first = next(filter(None, (at.get((table, row, column, base)) for base in bases)), None)
        if not reading or first is None or first.number == each.number:
            continue
        if each.ours.n and first.ours.n:
            parts = filter(None, first.cell.variant.split(", "))
            base = [f"{part} scale" if part == TUTORIAL else part for part in parts]
            where = ", ".join([row, table_name(table), column, *base])
            effects.setdefault(reading, []).append(
                f"{where}: {each.ours.with_runs} instead of {first.ours.with_runs}"
            )
    return {variant: "; ".join(sentences) + "." for variant, sentences in effects.items()}


def _bases(variant: str) -> list[str]:
    """What a variant may be another reading of, the nearest first: "a, b" and "a" and "" for "a, b, c"."""
    parts = variant.split(", ")
    return [", ".join(parts[:end]) for end in reversed(range(len(parts)))]


# ----------------------------------------------------------------------------------------- parts of the page


def _counts_table(comparisons: list[Comparison]) -> str:
    if all(each.paper is None for each in comparisons):
        return _measured_table(comparisons)
    verdicts = [verdict for verdict in VERDICTS if verdict != "not printed"]
    rows = [
        (
            f"[{_solid(table_name(table))}](#{glance.table_anchor(table)})",
            *(count[verdict] or "" for verdict in (*verdicts, "partial")),
        )
        for table, count in sorted(counts(comparisons).items(), key=lambda item: table_order(item[0]))
    ]
    return ledger.table(("", *verdicts, "of these partial"), rows)


def _measured_table(comparisons: list[Comparison]) -> str:
    """Of a paper that prints no numbers, how many cells have runs, at each scale."""
    rows = []
    for table in sorted({each.cell.table for each in comparisons}, key=table_order):
        here = [each for each in comparisons if each.cell.table == table]
        scales = [
            [each.ours.n > 0 for each in here if each.cell.variant == scale] for scale in ("", TUTORIAL)
        ]
        measured = (f"{sum(some)} of {len(some)}" if some else "" for some in scales)
        rows.append((f"[{_solid(table_name(table))}](#{glance.table_anchor(table)})", *measured))
    note = "The paper prints no numbers in its figures: nothing can match, and the claims below are what is judged."
    columns = ("", "cells measured at the paper's scale", "at the smaller scale")
    return f"{note}\n\n{ledger.table(columns, rows)}"


def _claims(comparisons: list[Comparison]) -> list[str]:
    judged = judge_all(comparisons)
    if not judged:
        return []
    claims_judged = by_claim(judged)
    scales = [scale for scale in SCALES if any(each.scale == scale for each in judged)]
    changed = dict.fromkeys(each.settings for each in judged if each.scale in SCALES)
    numbers = {settings: number for number, settings in enumerate(filter(None, changed), start=1)}

    def table(claims: list[Claim]) -> list[str]:
        rows = [
            (
                claim.id,
                _place(glance.claim_anchor(claim)) + claim.statement,
                f"ours, beside {claim.source}" if claim.ours else claim.source,
                *(_at_scale(scale, claims_judged[claim], numbers) for scale in scales),
            )
            for claim in claims
        ]
        head = ("", "claim", "in the paper", *(f"@{scale}" for scale in scales))
        return ['<div class="claims">', ledger.table(head, rows), "</div>"] if rows else []

    def has_runs(claim: Claim) -> bool:
        return any(each.verdict != "not run" for each in claims_judged[claim])

    waiting = [claim for claim in claims_judged if not has_runs(claim)]
    parts = ["### Claims", *table(list(filter(has_runs, claims_judged)))]
    if waiting:
        how = f"`mini-lib reproduce {waiting[0].id}` trains the runs of a claim, here of the first. "
        how += "With `--dry-run` it says how long that takes."
        parts += _fold(f"{counted(len(waiting), 'claim')} without a run at any scale", [how, *table(waiting)])
    notes = [f"- ({number}) {settings}" for settings, number in numbers.items()]
    return parts + _fold("What differs from the paper's settings", ["\n".join(notes)] if notes else [])


def _at_scale(scale: str, judgements: Iterable[Judgement], numbers: dict[str, int]) -> str:
    """The verdict at a scale with the number of its note, and beneath it those of its variants."""
    lines = []
    for each in judgements:
        detail = each.detail.replace(f"{each.claim.paper}.", "")
        if each.scale == scale:
            note = f" ({numbers[each.settings]})" if each.settings else ""
            lines.append(f"{_coloured(each.verdict)}{note}<br>{detail}")
        elif scale_of_variant(each.scale) == scale and each.scale not in SCALES:
            reading = each.scale.removeprefix(f"{scale}, ")
            kind = ledger.kind_of(each.claim.paper, reading)
            lines.append(f"*{reading}* ({kind}): {_coloured(each.verdict)}<br>{detail}")
    return "<br>".join(lines)


def _coloured(verdict: str) -> str:
    word = {"holds": "match", "tie": "close", "fails": "differs"}.get(verdict, verdict)
    return f"[{verdict}]{{.verdict-{word}}}" if word in ("match", "close", "differs") else verdict


def _table(comparisons: list[Comparison], book: ledger.Ledger) -> list[str]:
    table = comparisons[0].cell.table
    title = book.title(table)
    measured = [each for each in comparisons if each.ours.n]
    waiting = [each for each in comparisons if not each.ours.n]
    parts = [f"({glance.table_anchor(table)})=\n### {table_name(table)}: {title}"]
    _, order, _ = glance.places(comparisons)
    parts += ["No runs yet."] * (not measured) + _grids(measured, order)
    parts += _fold("The runs behind these numbers, and how to repeat them", _runs(measured))
    missing = (
        f"`mini-lib reproduce {table}` trains what is missing; with `--variant NAME`, that of a variant."
    )
    grids = [missing, *_grids(waiting, order)] if waiting else []
    return parts + _fold(f"{counted(len(waiting), 'cell')} without a run", grids)


def _fold(summary: str, parts: list[str]) -> list[str]:
    """Parts that are out of sight until the reader unfolds them; nothing if there are none."""
    return [f"<details>\n<summary>{summary}</summary>", *parts, "</details>"] if parts else []


def _grids(comparisons: list[Comparison], order: list[str]) -> list[str]:
    """A table of entries for each variant, that which fills the table first; its columns in this order."""
    parts = []
    for variant in sorted({each.cell.variant: None for each in comparisons}, key=bool):
        own = [each for each in comparisons if each.cell.variant == variant]
        parts += [f"{_heading(own[0].cell)}: *{variant}*."] if variant else []
        rows, columns, at = glance.places(own)
        columns.sort(key=order.index)
        lines = [(row, *(_entry(at.get((row, column))) for column in columns)) for row in rows]
        table = [("", *columns), *lines]
        if len(columns) > max(MOST_COLUMNS, len(rows)):
            table = list(zip(*table, strict=True))
        parts += ['<div class="entries">', ledger.table(table[0], table[1:]), "</div>"]
    return parts


def _heading(cell: Cell) -> str:
    """What the variant of a cell is, such as "Other reading"."""
    return ledger.KINDS[ledger.kind_of(cell.paper, reading_of(cell)[1])]


def _entry(each: Comparison | None) -> str:
    """The paper's number, ours with a link to its runs, and the verdict; without runs the paper's number alone."""
    if each is None:
        return ""
    lines = [_place(glance.anchor(each.cell)) + _solid("-" if each.paper is None else str(each.paper))]
    if each.ours.n:
        ours = _solid(each.ours.with_runs).replace("\N{NO-BREAK SPACE}(", " (")
        lines.append(f'<a href="#{glance.anchor(each.cell, "runs")}">{ours}</a>')
        lines.append(_coloured(each.verdict) + _solid(each.label.removeprefix(each.verdict)))
    return "<br>".join(lines)


def _place(name: str) -> str:
    """A place on the page that links lead to."""
    return f'<span id="{name}"></span>'


def _solid(text: str) -> str:
    return text.replace(" ", "\N{NO-BREAK SPACE}")


def _runs(comparisons: list[Comparison]) -> list[str]:
    """Of each cell with runs their seeds and range, their records, and the command that trains them again."""
    rows = []
    for each in comparisons:
        cell, values = each.cell, each.ours.values
        name = f"{cell.row}, {cell.column}{f', *{cell.variant}*' if cell.variant else ''}"
        seeds = [record["seed"] for record in each.records]
        whole = len(seeds) > 2 and seeds == list(range(seeds[0], seeds[-1] + 1))
        named = f"{seeds[0]} to {seeds[-1]}" if whole else ", ".join(map(str, seeds))
        between = f"<br>{min(values):.4g} ... {max(values):.4g}" if len(values) > 1 else ""
        file = f"{cell.home}.jsonl"
        rows.append(
            (
                _place(glance.anchor(cell, "runs")) + name,
                f"{named}{between}",
                f"[{file}](../../{RECORDS}/{file})<br>`{cell.hash}`",
                f"`{command_again(each)}`",
            )
        )
    if not rows:
        return []
    text = (
        "Records are lines of a file, found by the hash of their settings. A command trains the same runs again, "
        "into a folder of its own; `mini-lib compare --records again` then shows them."
    )
    head = ("", "seeds; least, most", "records", "again")
    return [text, '<div class="runs">', ledger.table(head, rows), "</div>"]


def command_again(each: Comparison) -> str:
    """The command that trains a cell's runs again, into the folder `again`."""
    cell, runs = each.cell, max(record["seed"] for record in each.records)
    words = ["mini-lib", "reproduce", cell.table, "--rows", cell.row, "--columns", cell.column]
    words += ["--variant", cell.variant] if cell.variant else []
    return shlex.join([*words, "--seeds", str(runs), "--records", "again"])


def _provenance(comparisons: list[Comparison]) -> list[str]:
    """On what, with what and in how much time the runs behind these cells were made."""
    records = list({record["key"]: record for each in comparisons for record in each.records}.values())
    if not records:
        return ["### Provenance\n\nNo runs on record yet."]
    provenances = [record["provenance"] for record in records]
    hours = Counter()
    for record, each in zip(records, provenances, strict=True):
        hours[each["device"].split(":")[0]] += each["seconds"] / stacks_at_once(record) / 3600
    spent = " and ".join(f"{amount:.1f} {device} hours" for device, amount in sorted(hours.items()))
    items = {
        "devices": _tally(each["device"] for each in provenances),
        "torch": _tally(each["torch"] for each in provenances),
        "precision": _tally(each["precision"] for each in provenances),
        "code": _tally(each["version"] for each in provenances),
        "made from": f"{min(each['date'] for each in provenances)} to {max(each['date'] for each in provenances)}",
    }
    lines = "\n".join(f"- {label}: {text}" for label, text in items.items())
    text = f"### Provenance\n\n{counted(len(records), 'run')}, {spent} (CPU hours are of one core)."
    return [text, *_fold("Devices, versions and dates", [lines])]


def _tally(values: Iterable[str]) -> str:
    return ", ".join(f"{value} ({count})" for value, count in sorted(Counter(values).items()))
