"""In which order missing runs are made, and how long they are expected to take.

What decides a claim comes first: `MIN_RUNS` runs of each entry that it names, then of each row of a table, then all
other runs; among equals the cheapest. A time is known from runs on record of the same network, or it is unknown.
"""

import heapq
import json
import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from mini_lib.errors import CorruptFileError
from mini_lib.files import read_checkpoint
from mini_lib.reproduction.cells import Cell
from mini_lib.reproduction.claims import load_claims, readings_among
from mini_lib.reproduction.comparison import TUTORIAL, counted
from mini_lib.reproduction.judgement import MIN_RUNS
from mini_lib.reproduction.launch import Job
from mini_lib.reproduction.records import Records, stacks_at_once
from mini_lib.reproduction.tables import reports_numbers
from mini_lib.settings import SCHEDULE, reduce

# Settings that do not change what one update takes.
AROUND = SCHEDULE | {"m", "split", "train_size", "test_size", "test_curves", "test_episodes", "seeds_after"}
SHOWN = 12  # steps of a plan that are printed before training

Seconds = Callable[[Job], float]  # what a job is expected to take from now on; infinite if unknown


class Step(NamedTuple):
    """Runs that are worth most together."""

    purpose: str  #: what they are for, in a few words.
    jobs: tuple[Job, ...]  #: the cheapest first.
    seconds: tuple[float, ...]  #: what each is expected to take from now on.


def expected_seconds(records: Iterable[dict], device: str, checkpoints: Path) -> Seconds:
    """How long jobs are expected to take on a device, by the name that `devices.describe` gives it.

    By the median of the runs of the same settings on such a device; else by the median seconds of an update of runs
    of the same network. Where nothing was timed on such a device, any other CPU, or GPU, stands for it. What a
    checkpoint has behind it is left out.
    """
    records = [each for each in records if stacks_at_once(each) == 1 and not each["diverged"]]
    timed_on = {record["provenance"]["device"] for record in records}
    kind = device if device in timed_on else device.partition(":")[0]
    alike: dict[str, list[float]] = defaultdict(list)  # of runs by their hash, of an update by the network
    for record in records:
        if record["provenance"]["device"].startswith(kind):
            taken = record["provenance"]["seconds"]
            alike[record["hash"]].append(taken)
            alike[_network(record["settings"])].append(taken / max(1, record["updates"]))
    medians = {name: statistics.median(seconds) for name, seconds in alike.items()}

    whole: dict[str, float] = {}  # by the settings' hash

    def seconds(job: Job) -> float:
        if (digest := _digest(job)) not in whole:
            update = medians.get(_network(job.settings), math.inf)
            whole[digest] = medians.get(digest) or update * (_updates(job) if update < math.inf else 1)
        to_make = 1 - share_trained(checkpoints, job)
        return to_make and to_make * whole[digest]

    known: dict[str, float] = {}
    return lambda job: known[job.key] if job.key in known else known.setdefault(job.key, seconds(job))


def _digest(job: Job) -> str:
    """The hash of a job's settings, which begins its key."""
    return job.key.rpartition("-s")[0]


def _updates(job: Job) -> float:
    """How many updates a job has; infinitely many if its data are missing, which training says."""
    try:
        return max(1, job.build(job.settings, job.seed).updates)
    except OSError:
        return math.inf


def _network(settings: dict) -> str:
    """What runs have in common whose updates take equally long."""
    kept = {name: value for name, value in reduce(settings).items() if name not in AROUND}
    return json.dumps(kept, sort_keys=True)


def share_trained(checkpoints: Path, job: Job) -> float:
    """Which share of its updates a stopped run has made; 0 without a checkpoint that can be read."""
    path = checkpoints / f"{job.key}.pt"
    try:
        state = read_checkpoint(path) if path.exists() else {"update": 0, "plan": {}}
        examples, batch_size, epochs = (state["plan"].get(n, 1) for n in ("examples", "batch_size", "epochs"))
        return min(1.0, state["update"] / max(1, epochs * math.ceil(examples / batch_size)))
    except (CorruptFileError, KeyError, TypeError, AttributeError):
        return 0.0  # training says what is wrong with it


def make_plan(jobs: Iterable[Job], cells: Iterable[Cell], store: Records, seconds: Seconds) -> list[Step]:
    """All the jobs, which are missing from these cells, in steps of the greatest value.

    A run that diverged does not count, since a verdict rests on finished runs; but where three all diverged, more
    would hardly help.
    """
    cells, steps = list(cells), []
    waiting: dict[str, list[Job]] = defaultdict(list)
    for job in jobs:
        waiting[_digest(job)].append(job)
    runs: Counter[str] = Counter()
    for digest in waiting:
        recorded = store.of(digest)
        finished = sum(not record["diverged"] for record in recorded)
        runs[digest] = finished or len(recorded) * (len(recorded) >= MIN_RUNS)

    def lacks(hashes: Iterable[str], wanted: float) -> list[Job]:
        """What these settings lack for so many runs each."""
        return [
            job
            for digest in dict.fromkeys(hashes)
            for number, job in enumerate(waiting.get(digest, ()), start=runs[digest])
            if number < wanted
        ]

    def cost(jobs: Iterable[Job]) -> float:
        return sum(map(seconds, jobs))

    def add(purpose: str, chosen: list[Job]) -> None:
        for job in chosen:
            digest = _digest(job)
            waiting[digest].remove(job)
            runs[digest] += 1
        chosen = sorted(chosen, key=lambda job: (seconds(job), _digest(job), job.seed))
        steps.append(Step(purpose, tuple(chosen), tuple(map(seconds, chosen))))

    claims = _claims(cells)
    while claims := {name: hashes for name, hashes in claims.items() if lacks(hashes, MIN_RUNS)}:
        cheapest = min(claims, key=lambda name: cost(lacks(claims[name], MIN_RUNS)))
        add(f"claim {cheapest}", lacks(claims[cheapest], MIN_RUNS))
    rows = defaultdict(list)
    for cell in cells:
        rows[cell.table, cell.row, cell.variant].append(cell.hash)
    for wanted, words in ((MIN_RUNS, f"up to {MIN_RUNS} runs each"), (math.inf, "all runs")):
        missing = {row: lacks(hashes, wanted) for row, hashes in rows.items()}
        for table, row, variant in sorted(rows, key=lambda row: (bool(row[2]), cost(missing[row]))):
            if chosen := lacks(rows[table, row, variant], wanted):
                add(f"{table}, {row}{f' ({variant})' if variant else ''}: {words}", chosen)
    return steps


def _claims(cells: list[Cell]) -> dict[str, list[str]]:
    """The settings' hashes of every claim whose cells are all among these, at each scale at which it is judged."""
    hashes, readings, found = {cell.id: cell.hash for cell in cells}, readings_among(cells), {}
    for claim in load_claims():
        for variant in ("", TUTORIAL, *([] if reports_numbers(claim.paper) else readings)):
            own = [hashes.get(f"{cell}/{variant}" if variant else cell) for cell in claim.cells()]
            if all(own):
                found[f"{claim.id} @{variant}" if variant else claim.id] = own
    return found


class Timetable(NamedTuple):
    """Steps in the order in which they are made, and when each ends."""

    steps: list[Step]  #: those that end within the budget first.
    ends: list[float]  #: seconds after the start.
    inside: int  #: how many steps end within the budget.
    workers: int  #: how many runs are made at a time.


def schedule(steps: Iterable[Step], workers: int, budget: float = math.inf) -> Timetable:
    """When steps end, if each of so many workers takes the next run as soon as it is free.

    A step is worth little until it is whole. So those that end within the budget (in seconds) come first; the others
    follow, and what is begun of them is stopped at the budget's end and goes on later.
    """
    free, inside, beyond, ends = [0.0] * workers, [], [], []
    for step in steps:
        after, end = _after(free, step)
        if end <= budget:
            free = after
            inside.append(step)
            ends.append(end)
        else:
            beyond.append(step)
    for step in beyond:
        free, end = _after(free, step)
        ends.append(end)
    return Timetable(inside + beyond, ends, len(inside), workers)


def _after(free: list[float], step: Step) -> tuple[list[float], float]:
    """When each worker is free after a step, and when the last of its runs ends."""
    free, last = list(free), 0.0
    for seconds in step.seconds:
        end = heapq.heappop(free) + seconds
        heapq.heappush(free, end)
        last = max(last, end)
    return free, last


def span(seconds: float) -> str:
    """A time in words: "40 s", "12 min", "2.5 h", or "unknown"."""
    if math.isinf(seconds):
        return "unknown"
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 99.5 * 60 else f"{seconds / 3600:,.1f} h"


def describe_plan(table: Timetable, budget: str | None = None, shown: int = SHOWN) -> str:
    """A line a step, and one on all of them; none is longer than 100 characters."""
    lines = [f"{'ends after':>12}{'runs':>7}  for"]
    for number, (end, step) in enumerate(zip(table.ends[:shown], table.steps, strict=False)):
        if budget is not None and number == table.inside:
            lines.append(f"after the budget of {budget}; what is begun is kept, and goes on next time:")
        lines.append(f"{span(end):>12}{len(step.jobs):7}  {step.purpose}"[:100])
    if len(table.steps) > shown:
        lines.append(f"... and {len(table.steps) - shown} more; --dry-run prints them all")
    jobs = [sum(len(step.jobs) for step in part) for part in (table.steps, table.steps[: table.inside])]
    known = [seconds for step in table.steps for seconds in step.seconds if math.isfinite(seconds)]
    total = f"in all {counted(jobs[0], 'run')} for {counted(table.workers, 'worker')}"
    total += f": {span(sum(known))} of work" if known else ""
    if unknown := jobs[0] - len(known):
        total += (
            f", and {counted(unknown, 'run')} whose time is unknown" if known else ", whose time is unknown"
        )
    within = [] if budget is None else [f"expected within {budget}: {counted(jobs[1], 'run')}"]
    return "\n".join([*lines, total, *within])
