"""What the page "Where to run it" computes: what was trained on GPUs, and what the whole reproduction costs."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from mini_lib.reproduction.cells import Cell
from mini_lib.reproduction.comparison import counted, is_papers
from mini_lib.reproduction.ledger import table
from mini_lib.reproduction.plan import CORES_OF_A_GPU, Build, Cost, Costs, Step, schedule, span
from mini_lib.reproduction.records import stacks_at_once

WORKERS = (1, 8, 64)
COSTS = "<!-- costs -->"  # a line: the page shows what stands before it and what comes after in two places


def capacity(papers: dict[str, list[Cell]], records: Iterable[dict], build: Build) -> str:
    """The generated parts of the page "Where to run it", as MyST: a sentence on GPUs, the line `COSTS`, the costs.

    Args:
        papers: each paper's title and cells; other readings of a cell are left out, and tables of our own.
        records: of the runs that were timed.
        build: makes a run of settings; see `plan.Costs`.
    """
    records = list(records)
    costs = Costs(records, "cpu", build)
    by_paper = {title: list(_runs(cells, costs)) for title, cells in papers.items()}
    every = [cost for runs in by_paper.values() for cost in runs]
    rows = [(title, *_row(runs)) for title, runs in [*by_paper.items(), ("all", every)]]
    heads = ("", "runs", "runs estimated", "core-hours", "core-hours estimated", "longest run")
    timed = [record for record in records if record["provenance"]["device"].startswith("cuda")]
    parts = [_trained_on_gpus(timed, records), COSTS, table(heads, rows), _on_workers(every)]
    names = {title: cells[0].paper for title, cells in papers.items()}
    return "\n\n".join([*parts, _driver(records, every), _on_gpus(timed, by_paper, names, costs)])


def write_capacity(path: Path, papers: dict[str, list[Cell]], records: Iterable[dict], build: Build) -> Path:
    """Write what `capacity` says into a file; returns its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(capacity(papers, records, build) + "\n", encoding="utf-8")
    return path


def _runs(cells: list[Cell], costs: Costs) -> Iterator[Cost]:
    """What each run of the paper's own settings takes; cells that share settings share runs."""
    often = {}
    for cell in cells:
        if not cell.variant and is_papers(cell.table):
            runs, settings = often.get(cell.hash, (0, cell.settings))
            often[cell.hash] = max(runs, cell.runs), settings
    for runs, settings in often.values():
        yield from [costs.of(settings)] * runs


def _hours(costs: Iterable[Cost]) -> str:
    return f"{sum(cost.seconds for cost in costs) / 3600:,.0f}"


def _row(costs: list[Cost]) -> tuple:
    estimated = [cost for cost in costs if not cost.measured]
    longest = max(costs)
    about = "" if longest.measured else "about "
    return len(costs), len(estimated), _hours(costs), _hours(estimated), about + span(longest.seconds)


def _on_workers(costs: list[Cost]) -> str:
    """How long it takes on each number of cores, the longest runs first, and what keeps it from being shorter."""
    seconds = tuple(sorted((cost.seconds for cost in costs), reverse=True))
    rows = []
    for workers in WORKERS:
        (end,) = schedule([Step("all", (), seconds, True)], workers).ends
        limit = "the longest run" if seconds[0] > 0.9 * end else "the number of cores"
        rows.append((workers, span(end), f"{sum(seconds) / end / workers:.0%}", limit))
    return table(("cores", "time", "of them busy", "what limits it"), rows)


def _driver(records: list[dict], costs: list[Cost]) -> str:
    """How often a run ends, and how much is written, where there are most workers."""
    size = sum(len(json.dumps(record)) for record in records) / max(1, len(records))
    between = sum(cost.seconds for cost in costs) / max(WORKERS) / len(costs)
    return (
        f"One process writes the records, {size / 1000:.1f} kB each on average. On {max(WORKERS)} cores a run ends "
        f"every {span(between)}; all {len(costs):,} records are {size * len(costs) / 1e6:.0f} MB."
    )


def _trained_on_gpus(timed: list[dict], records: list[dict]) -> str:
    """How many of the runs on record were made on a GPU."""
    if not timed:
        return "No run on record was made on a GPU yet."
    return f"{len(timed):,} of the {len(records):,} runs on record {_was(timed)} made on a GPU."


def _was(records: list[dict]) -> str:
    return "was" if len(records) == 1 else "were"


def _on_gpus(timed: list[dict], by_paper: dict[str, list[Cost]], names: dict[str, str], on_cpu: Costs) -> str:
    """Hours of a GPU: a paper's runs that had one to themselves stand for its others, else an assumption does."""
    sentences, hours = [], 0.0
    alone = [record for record in timed if stacks_at_once(record) == 1]
    for title, costs in by_paper.items():
        seconds = sum(cost.seconds for cost in costs)
        own = [record for record in alone if record["paper"] == names[title]]
        if not own:
            hours += seconds / CORES_OF_A_GPU / 3600
            continue
        spent = sum(record["provenance"]["seconds"] for record in own)
        cores = sum(on_cpu.of(record["settings"]).seconds for record in own)
        hours += seconds * spent / cores / 3600
        precisions = " and ".join(sorted({record["provenance"]["precision"] for record in own}))
        sentences.append(
            f"*{title}*: {counted(len(own), 'run')} on record {_was(own)} made on a GPU, one stack at a time, "
            f"in {precisions}, in {span(spent)}; a core would take {span(cores)} for that, "
            f"{cores / spent:.0f} times as long."
        )
    others = "For the other papers we assume" if sentences else "We assume"
    if not sentences:
        sentences.append("**GPU-hours are not measured**, since no run of a paper's table had one to itself.")
    if shared := len(timed) - len(alone):
        sentences.append(
            f"{counted(shared, 'run')} shared a GPU with other stacks; such times tell nothing of one alone."
        )
    sentences.append(f"{others} that a GPU stands for {CORES_OF_A_GPU} cores.")
    return " ".join([*sentences, f"By that, all of it is {hours:,.0f} GPU-hours."])
