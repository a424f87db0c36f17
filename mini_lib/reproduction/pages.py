"""The replication pages, one a paper, from a template: what it claims, what was found, and a table with the runs."""

import re
from collections import Counter
from collections.abc import Iterable
from html import escape
from itertools import groupby
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from mini_lib.reproduction import glance, ledger
from mini_lib.reproduction.cells import PAPERS, cells_of, size_and_name
from mini_lib.reproduction.claims import Claim, Judgement, by_claim, judge_all, level_mean
from mini_lib.reproduction.comparison import Comparison, compare
from mini_lib.reproduction.judgement import NOT_REPRODUCED, NOT_RUN, WIDE, WORDS
from mini_lib.reproduction.records import Records
from mini_lib.reproduction.tables import table_name, table_order

SIGNS = dict(zip(WORDS, ("=", "≠", "?", ""), strict=True)) | {"at chance": "≈"}
NAMES = {  # of the small networks of a claim, by what follows "tutorial"
    "balanced at first": "balance term",
    "balanced": "balance term",
    "even weights": "equal weights",
    "small": "smaller task",
}

SHORT = {"esbn": "ESBN", "scan": "SCAN", "functions": "functions", "kanerva": "Kanerva memory"}
# The table of a page whose paper reports numbers.
REPORTED = {"esbn": glance.ESBN, "scan": glance.SCAN, "functions": glance.FUNCTIONS}
MAPPED = "esbn"  # the paper whose table leaves out most numbers that were run


def write_pages(folder: Path | str, records: Records) -> list[Path]:
    """Write a page a paper into a folder, made if it is not there; returns the pages."""
    folder, template = Path(folder), environment().get_template("replication.md.j2")
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for paper in PAPERS:
        path = folder / f"replication_{paper}.md"
        shown = _paper(paper, compare(cells_of(paper), records))
        path.write_text(template.render(paper=shown), encoding="utf-8")
        written.append(path)
    return written


def environment() -> Environment:
    """What the templates are rendered with."""
    found = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.globals |= {"WORDS": WORDS, "SIGNS": SIGNS, "WIDE": WIDE}
    found.globals |= {"outcome": outcome, "tally": tally, "learned_at": learned_at}
    found.globals |= {"runs_of": runs_of, "mark": mark}
    found.filters |= {"anchor": anchor, "class": lambda word: word.replace(" ", "-")}
    return found


def anchor(name: str) -> str:
    """The name of a place on the page, of the id of an entry or a claim."""
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")


def once(entries: Iterable[Comparison]) -> list[Comparison]:
    """Each number once: a network that stands in two tables of a paper counts in the first."""
    found: dict[tuple, Comparison] = {}
    for each in entries:
        found.setdefault((each.number, each.paper), each)
    return list(found.values())


def _paper(paper: str, compared: list[Comparison]) -> dict:
    """All that the templates show of a paper."""
    at = {each.cell.id: each for each in compared}
    judgements = judge_all(compared)
    judged = {(each.claim.id, each.scale): each for each in judgements}
    numbers = once(each for each in compared if each.is_printed)
    claims = [_claim(*each) for each in by_claim(judgements).items()]
    if paper in REPORTED:
        words = glance.AGREES if paper == "functions" else dict(zip(WORDS, WORDS, strict=True))
        table = glance.compared(REPORTED[paper], at, words)
    else:
        table = glance.stated(glance.KANERVA, at, judged)
    return {
        "name": paper,
        "short": SHORT[paper],
        "table": table,
        "at": at,
        "numbers": numbers,
        "grids": _grids(numbers) if paper == MAPPED else [],
        "marks": Counter(map(mark, numbers)) if paper == MAPPED else {},
        "judged": [each for each in claims if each["paper"] or each["small"]],
        "unjudged": sum(not each["paper"] and not each["small"] for each in claims),
        "briefs": [each for each in ledger.load(paper).details if each.brief],
        "details": len(ledger.load(paper).details),
        "findings": len(ledger.load(paper).findings),
    }


def _grids(numbers: list[Comparison]) -> list[list[dict]]:
    """The tables of a paper, those with the same rows side by side."""
    tables = [
        _table(table, [each for each in numbers if each.cell.table == table])
        for table in sorted({each.cell.table for each in numbers}, key=table_order)
    ]
    return [list(group) for _, group in groupby(tables, lambda table: table["rows"])]


def _table(table: str, own: list[Comparison]) -> dict:
    """A table: its numbers in rows and columns."""
    return {
        "name": table_name(table),
        "about": ABOUT[table],
        "rows": list(dict.fromkeys(each.cell.row for each in own)),
        "columns": list(dict.fromkeys(each.cell.column for each in own)),
        "at": {(each.cell.row, each.cell.column): each for each in own},
    }


def outcome(each: Comparison) -> str:
    """What became of a reported number of the map: the number, ours, and the verdict."""
    if not each.ours.n:
        return f"reported {each.paper}, not run"
    ours = f"ours {each.ours.rounded()}"
    said = glance.beside(each, chance(each))
    return f"reported {each.paper}, {ours}: {each.verdict}{f' ({said})' * bool(said)}"


# What the tables of the map are about: a task, or a network on the tasks that its rows name.
TASKS = ("same/different", "relational match-to-sample", "distribution of three", "identity rules")
ABOUT = dict(zip((f"esbn.table{number}" for number in (9, 10, 11, 12)), TASKS, strict=True))
ABOUT |= dict(zip((f"esbn.table{number}" for number in (15, 16, 17, 18)), TASKS, strict=True))
ABOUT |= {
    "esbn.table13": "RN, 100,000 problems",
    "esbn.table14": "TRN",
    "esbn.table19": "ESBN without confidence",
    "esbn.table20": "ESBN, default memory",
}
TWO_ANSWERS = ("same/different", "relational match-to-sample", "Same/different", "RMTS")


def chance(each: Comparison) -> float:
    """The score of a guess on a task of the ESBN."""
    return 50.0 if {ABOUT[each.cell.table], each.cell.row}.intersection(TWO_ANSWERS) else 25.0


def runs_of(each: Comparison) -> str:
    """What the card of a number shows: the reported mean, half of its interval, and our runs."""
    mean = each.papers_mean
    return " ".join(f"{value:.5g}" for value in (mean.value, mean.half_width, *each.ours.values))


def tally(entries: Iterable[Comparison]) -> dict[str, int]:
    """How many of these have each verdict, and how many of them have one."""
    found = Counter(each.verdict for each in entries)
    return {word: found[word] for word in WORDS} | {"run": sum(found.values()) - found[NOT_RUN]}


def learned_at(each: Comparison) -> float:
    """The mean update at which training accuracy reaches 95 %."""
    return level_mean(each, "updates_to_95").value


def mark(each: Comparison) -> str:
    """How the map marks a number: by its verdict, unless it differs where both scores are at chance."""
    noise = each.verdict == NOT_REPRODUCED and glance.at_chance(each, chance(each))
    return "at chance" if noise else each.verdict


def _claim(claim: Claim, judgements: list[Judgement]) -> dict:
    """A claim, and what was said of it: at the paper's size, and by which small networks."""
    paper, small = [], []
    for each in judgements:
        size, name = size_and_name(each.scale.removeprefix("paper"))
        if each.verdict == NOT_RUN:
            continue
        if size == "paper":
            paper.append((each.verdict, glance.HELD[each.verdict], ""))
        else:
            doubt = "a control fails" * ("our control" in each.detail)
            about = ", ".join(filter(None, (NAMES.get(name, name), doubt)))
            small.append((each.verdict, glance.SEEN[each.verdict], escape(about)))
    return {"claim": claim, "paper": paper, "small": small}
