"""What the runs of the papers' tables cost: the table of the page "Where to run it"."""

from collections.abc import Iterable, Mapping

from mini_lib.reproduction.cells import Cell
from mini_lib.reproduction.plan import span
from mini_lib.reproduction.records import stacks_at_once
from mini_lib.reproduction.tables import is_papers


def what_it_costs(papers: Mapping[str, Iterable[Cell]], records: Iterable[dict]) -> str:
    """A row for each paper, as Markdown: its runs, those on record, and the time that these took on one core each.

    Args:
        papers: each paper's title and cells; other interpretations are left out, and tables of our own.
        records: of the runs that were timed.
    """
    by_hash: dict[str, list[dict]] = {}
    for record in records:
        by_hash.setdefault(record["hash"], []).append(record)
    rows = []
    for title, cells in papers.items():
        wanted: dict[str, int] = {}
        for cell in cells:
            if not cell.variant and is_papers(cell.table):
                wanted[cell.hash] = max(cell.runs, wanted.get(cell.hash, 0))
        there = [record for digest, runs in wanted.items() for record in by_hash.get(digest, [])[:runs]]
        seconds = [
            record["provenance"]["seconds"]
            for record in there
            if record["provenance"]["device"].startswith("cpu") and stacks_at_once(record) == 1
        ]
        hours, longest = (f"{sum(seconds) / 3600:,.0f}", span(max(seconds))) if seconds else ("-", "-")
        rows.append(
            (title, f"{sum(wanted.values()):,}", f"{len(there):,}", f"{len(seconds):,}", hours, longest)
        )
    heads = ("paper", "runs", "on record", "of these on a CPU", "core-hours of these", "longest of these")
    lines = (heads, ("---",) * len(heads), *rows)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
