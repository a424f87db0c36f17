"""The replication pages, one a paper, from a template: what it claims, what was found, and a table with the runs."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import groupby
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from mini_lib.errors import CorruptFileError, check_names
from mini_lib.reproduction import glance, ledger
from mini_lib.reproduction.cells import PAPERS, TUTORIAL, cells_of, size_and_name
from mini_lib.reproduction.claims import Claim, Judgement, judge, level_mean
from mini_lib.reproduction.comparison import Comparison, compare, counted
from mini_lib.reproduction.glance import FEW
from mini_lib.reproduction.judgement import NOT_REPRODUCED, NOT_RUN, WORDS, combine
from mini_lib.reproduction.kolmogorov_smirnov import least_p
from mini_lib.reproduction.records import Records
from mini_lib.reproduction.tables import table_name, table_order

SIGNS = dict(zip(WORDS, ("=", "≠", "?", ""), strict=True)) | {"at chance": "≈", "few runs": "·"}
OURS = "Claims of ours, on the same tables"


def write_pages(folder: Path | str, records: Records) -> list[Path]:
    """Write a page a paper into a folder, made if it is not there; returns the pages."""
    pages = {paper: Path(folder) / f"replication_{paper}.md" for paper in PAPERS}
    Path(folder).mkdir(parents=True, exist_ok=True)
    for paper, path in pages.items():
        shown = _paper(paper, compare(cells_of(paper), records))
        text = environment().get_template(f"{paper}.md.j2").render(paper=shown)
        path.write_text(re.sub(r"\n{3,}", "\n\n", text), encoding="utf-8")
    return list(pages.values())


def environment() -> Environment:
    """What the templates are rendered with."""
    how = {"undefined": StrictUndefined, "trim_blocks": True, "lstrip_blocks": True}
    found = Environment(loader=FileSystemLoader(glance.TEMPLATES), **how)
    found.globals |= {each.__name__: each for each in (outcome, tally, mark, card, chapter, table_name)}
    found.globals |= {"SIGNS": SIGNS, "level_mean": level_mean, "least_p": least_p, "combine": combine}
    found.filters |= {"anchor": anchor, "class": lambda word: word.replace(" ", "-")}
    return found


def chapter(notebook: str) -> str:
    """A link from a page to a notebook such as "esbn/1_tasks"."""
    number, _, _ = Path(notebook).name.partition("_")
    name = f"chapter {number}" if number.isdigit() else "more figures"
    return f'<a href="../../notebooks/{notebook}.html">{name}</a>'


def anchor(name: str) -> str:
    """The name of a place on the page, of the id of an entry or a claim."""
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")


def once(entries: Iterable[Comparison]) -> list[Comparison]:
    """Each number once: a network that is in two tables of a paper counts in the first."""
    found: dict[tuple, Comparison] = {}
    for each in entries:
        found.setdefault((each.number, each.paper), each)
    return list(found.values())


def _paper(paper: str, compared: list[Comparison]) -> dict:
    """All that the templates show of a paper."""
    at = {each.cell.id: each for each in compared}
    judgements = judge(compared)
    judged = {(each.claim.id, each.scale): each for each in judgements}
    numbers = once(each for each in compared if each.is_printed)
    page = glance.layout(paper)
    check_names("column in a page's layout", page.columns, ["paper", TUTORIAL, *ledger.KINDS])
    words = glance.AGREES if page.agree else dict(zip(WORDS, WORDS, strict=True)) | {NOT_RUN: FEW}
    claims = [_claim(*each, page) for each in groupby(judgements, lambda each: each.claim)]
    found = {column for each in claims for column in each["verdicts"]}
    shown = sorted((each for each in claims if each["verdicts"]), key=lambda each: each["place"][0] == OURS)
    in_table = [at[each.entry] for group in page.groups for each in group.lines if each.entry]
    return {
        "name": paper,
        "table": [(group, glance.lines(group, at, judged, words)) for group in page.groups],
        "meanings": glance.meanings(in_table, words),
        "at": at,
        "numbers": numbers,
        "entries": {each.claim.id: [at[entry] for entry in each.claim.cells()] for each in judgements},
        "grids": _grids(numbers, page.map) if page.map else [],
        "marks": Counter(map(mark, numbers)) if page.map else {},
        "columns": {name: words for name, words in page.columns.items() if name in {"paper", *found}},
        "claims": [(place, list(own)) for place, own in groupby(shown, lambda each: each["place"])],
        "unjudged": len(claims) - len(shown),
        "briefs": [each for each in ledger.load(paper).details if each.brief],
    }


def _grids(numbers: list[Comparison], about: Mapping[str, str]) -> list[list[dict]]:
    """The tables of a paper, those with the same rows side by side."""
    tables = [
        _table(table, [each for each in numbers if each.cell.table == table], about[table])
        for table in sorted({each.cell.table for each in numbers}, key=table_order)
    ]
    return [list(group) for _, group in groupby(tables, lambda table: table["rows"])]


def _table(table: str, own: list[Comparison], about: str) -> dict:
    """A table, its numbers in rows and columns."""
    return {
        "name": table_name(table),
        "about": about,
        "rows": list(dict.fromkeys(each.cell.row for each in own)),
        "columns": list(dict.fromkeys(each.cell.column for each in own)),
        "at": {(each.cell.row, each.cell.column): each for each in own},
    }


def outcome(each: Comparison) -> str:
    """What became of a reported number of the map: the number, ours, and the verdict."""
    if not each.ours.n:
        return f"reported {each.paper}, no run of ours"
    numbers, far = f"reported {each.paper}, ours {each.ours.rounded()}", glance.how_far(each)
    verdict = "" if each.verdict == NOT_RUN else f": {each.verdict}"
    return f"{numbers} in {counted(each.ours.n, 'run')}{verdict}{f' ({far})' * bool(far)}"


def card(each: Comparison) -> str:
    """The runs of a number of the map, on an axis about them."""
    ends = [*glance.reported_interval(each), *each.ours.values]
    low, top = 10 * math.floor(min(ends) / 10), 10 * math.ceil(max(ends) / 10)
    return glance.strip_of(each, max(min(low, top - 10), 0), top)


def tally(entries: Iterable[Comparison]) -> dict[str, int]:
    """How many of these have each verdict, and how many of them have one."""
    found = Counter(each.verdict for each in entries)
    return {word: found[word] for word in WORDS} | {"run": sum(found.values()) - found[NOT_RUN]}


def mark(each: Comparison) -> str:
    """How the map marks a number: by its verdict, unless it differs at chance, or has but one run or two."""
    if each.verdict == NOT_REPRODUCED and glance.at_chance(each):
        return "at chance"
    return "few runs" if each.verdict == NOT_RUN and each.ours.n else each.verdict


def _claim(claim: Claim, judgements: Iterable[Judgement], page: glance.Layout) -> dict:
    """A claim, its place, and by column its verdict, with the word for it and what is next to the word."""
    table = claim.cells()[0].split("/")[0]
    place, source = (OURS, "") if claim.ours else ("Claims of the paper", claim.source)
    if table_name(table).startswith("Figure"):
        place, source = table_name(table), "ours" * claim.ours
    verdicts = {}
    for each in judgements:
        size, name = size_and_name(each.scale.removeprefix("paper"))
        column = ledger.kind_of(claim.paper, name) if name else size
        if each.verdict != NOT_RUN and column in page.columns:
            word, why = glance.claimed(each)
            verdicts[column] = (each.verdict, word, why or _in_words(claim, each.detail))
    notebook = next((found for start, found in page.chapters.items() if table.startswith(start)), None)
    if notebook is None:
        raise CorruptFileError(f"[chapters] in templates/{claim.paper}.toml has no notebook about {table}")
    return {"claim": claim, "place": (place, notebook), "source": source, "verdicts": verdicts}


def _in_words(claim: Claim, figures: str) -> str:
    """The figures of a claim, with entries named by row and column, and by table where there are several."""
    several = len(claim.tables()) > 1
    entries = {cell.place: cell for cell in cells_of(claim.paper)}
    for place in sorted(claim.cells(), key=len, reverse=True):
        cell, short = entries[place], place.removeprefix(f"{claim.paper}.")
        named = f"{short.partition('/')[0]}/{', '.join(filter(None, (cell.row, cell.column)))}"
        figures = figures.replace(f"{short}: ", f"{named}: ").replace(f"{short} ", f"{named}: ")
    tables = re.compile(r"\b((?:table|fig)\w+)/")
    return tables.sub(lambda found: f"{table_name(f'{claim.paper}.{found[1]}')}, " * several, figures)
