"""In which order missing runs are made, and how long they are expected to take.

What decides a claim comes first: `MIN_RUNS` runs of each entry that it names, then of each row of a table, then all
other runs; among equals the cheapest.
"""

import json
import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import chain
from typing import NamedTuple

from mini_lib.hashing import reduce
from mini_lib.reproduction.cells import Cell
from mini_lib.reproduction.claims import load_claims
from mini_lib.reproduction.comparison import counted
from mini_lib.reproduction.judgement import MIN_RUNS
from mini_lib.reproduction.launch import Job
from mini_lib.reproduction.records import Records
from mini_lib.settings import SCHEDULE

# Settings that do not change what one update takes.
AROUND = SCHEDULE | {"m", "split", "train_size", "test_size", "test_curves", "test_episodes", "seeds_after"}
SHOWN = 12  # steps of a plan that are printed before training

Seconds = Callable[[Job], float]  # what a job is expected to take; infinite if unknown


class Step(NamedTuple):
    """Runs that are worth most together."""

    purpose: str  #: what they are for, in a few words.
    jobs: tuple[Job, ...]  #: the cheapest first.
    seconds: tuple[float, ...]  #: what each is expected to take.
    ends: float = math.inf  #: seconds after the start, as `schedule` expects.


def expected_seconds(records: Iterable[dict], device: str) -> Seconds:
    """How long whole runs take on such a device, a CPU or a GPU by its name ("cpu: ...").

    By the median of runs of the same settings; else by that of an update of runs of the same network.
    """
    timed: dict[str, list[float]] = defaultdict(list)  # runs by their hash, updates by the network
    for record in records:
        about = record["provenance"]
        # Stacks that shared a GPU took longer than each would have alone.
        alone = about["device"].split(":")[0] == device.split(":")[0] and about.get("at_once", 1) == 1
        if alone and not record["diverged"]:
            timed[record["hash"]].append(about["seconds"])
            timed[_network(record["settings"])].append(about["seconds"] / max(1, record["updates"]))
    medians = {name: statistics.median(seconds) for name, seconds in timed.items()}

    def seconds(job: Job) -> float:
        if (digest := _digest(job)) not in medians:
            medians[digest] = math.inf
            if (update := medians.get(_network(job.settings))) is not None:
                with suppress(OSError):  # data are missing, which training says
                    medians[digest] = update * max(1, job.build(job.settings, job.seed).updates)
        return medians[digest]

    return seconds


def _digest(job: Job) -> str:
    """The hash of a job's settings, which begins its key."""
    return job.key.rpartition("-s")[0]


def _network(settings: dict) -> str:
    """What runs have in common whose updates take equally long."""
    kept = {name: value for name, value in reduce(settings).items() if name not in AROUND}
    return json.dumps(kept, sort_keys=True)


def make_plan(jobs: Iterable[Job], cells: Iterable[Cell], store: Records, seconds: Seconds) -> list[Step]:
    """All the jobs, which are missing from these cells, in steps of the greatest value.

    A run that diverged does not count, since a verdict rests on finished runs; but where three all diverged, more
    would hardly help.
    """
    cells, by_hash, number = list(cells), defaultdict(list), {}
    for job in jobs:
        digest = _digest(job)
        recorded = store.of(digest)
        finished = sum(not record["diverged"] for record in recorded)
        made = finished or len(recorded) * (len(recorded) >= MIN_RUNS)
        number[job.key] = made + len(by_hash[digest])  # how many runs there are before it
        by_hash[digest].append(job)
    rows: dict[tuple[bool, str], list[str]] = defaultdict(list)
    for cell in cells:
        variant = f" ({cell.variant})" if cell.variant else ""
        rows[bool(cell.variant), f"{cell.table}, {cell.row}{variant}"].append(cell.hash)
    left, steps = set(number), []
    for purposes, wanted, words in (
        (_claims(cells), MIN_RUNS, ""),
        (rows, MIN_RUNS, f": up to {MIN_RUNS} runs each"),
        (rows, math.inf, ": all runs"),
    ):
        lacking = {}
        for purpose, hashes in purposes.items():
            own = chain.from_iterable(by_hash[digest] for digest in dict.fromkeys(hashes))
            lacking[purpose] = [job for job in own if job.key in left and number[job.key] < wanted]
        for variant, name in sorted(lacking, key=lambda each: (each[0], sum(map(seconds, lacking[each])))):
            chosen = [job for job in lacking[variant, name] if job.key in left]
            chosen.sort(key=lambda job: (seconds(job), _digest(job), job.seed))
            left -= {job.key for job in chosen}
            if chosen:
                steps.append(Step(name + words, tuple(chosen), tuple(map(seconds, chosen))))
    return steps


def _claims(cells: list[Cell]) -> dict[tuple[bool, str], list[str]]:
    """The settings' hashes of every claim whose cells are all among these, for each variant."""
    hashes, found = {cell.id: cell.hash for cell in cells}, {}
    for claim in load_claims():
        for variant in dict.fromkeys(cell.variant for cell in cells):
            own = [hashes.get(f"{cell}/{variant}" if variant else cell) for cell in claim.cells()]
            if all(own):
                found[bool(variant), f"claim {claim.id}{f' @{variant}' if variant else ''}"] = own
    return found


def schedule(steps: Iterable[Step], workers: int, budget: float = math.inf) -> tuple[list[Step], int]:
    """The order in which n workers make the steps, with the end of each, and how many end within the budget.

    A step is worth little until it is whole. So those that end within the budget (in seconds) come first; the others
    follow, and what is begun of them is stopped at the budget's end and goes on later.
    """
    inside, beyond, end = [], [], 0.0
    for step in steps:
        takes = max(sum(step.seconds) / workers, *step.seconds)
        if end + takes <= budget:
            end += takes
            inside.append(step._replace(ends=end))
        else:
            beyond.append((step, takes))
    later = [step._replace(ends=(end := end + takes)) for step, takes in beyond]
    return inside + later, len(inside)


def span(seconds: float) -> str:
    """A time in words: "40 s", "12 min", "2.5 h", or "unknown"."""
    if math.isinf(seconds):
        return "unknown"
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 99.5 * 60 else f"{seconds / 3600:,.1f} h"


def describe_plan(steps: list[Step], inside: int, budget: str | None = None, shown: int = SHOWN) -> str:
    """A line a step, at most 100 characters long, and one on all of them; the first `inside` are in the budget."""
    lines = [f"{'ends after':>12}{'runs':>7}  for"]
    for number, step in enumerate(steps[:shown]):
        if number == inside:
            lines.append(f"after the budget of {budget}; what is begun is kept, and goes on next time:")
        lines.append(f"{span(step.ends):>12}{len(step.jobs):7}  {step.purpose}"[:100])
    if len(steps) > shown:
        lines.append(f"... and {len(steps) - shown} more; --dry-run prints them all")
    times = [seconds for step in steps for seconds in step.seconds]
    known = list(filter(math.isfinite, times))
    lines.append(f"in all {counted(len(times), 'run')}: {span(sum(known))} of work on one worker")
    if unknown := len(times) - len(known):
        lines[-1] += f", without {counted(unknown, 'run')} whose time is unknown"
    if budget is not None:
        within = sum(len(step.jobs) for step in steps[:inside])
        lines.append(f"expected within {budget}: {counted(within, 'run')}")
    return "\n".join(lines)
