"""In which order missing runs are made, and what they are expected to take.

By value. Nothing has a verdict below three runs, so first comes what a claim lacks for three runs in each of its
cells, then what a row of a table lacks for that, rows nearly whole first, then every other run that was asked for.
Among equals the cheap come before the dear.
"""

import heapq
import json
import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import NamedTuple

from mini_lib.errors import CorruptFileError
from mini_lib.files import read_checkpoint, write_atomically
from mini_lib.hashing import settings_hash
from mini_lib.reproduction.cells import Cell
from mini_lib.reproduction.claims import load_claims, readings_among
from mini_lib.reproduction.comparison import ENOUGH, TUTORIAL, counted, prints_numbers, scale_of
from mini_lib.reproduction.launch import Job
from mini_lib.reproduction.records import Records, stacks_at_once
from mini_lib.training import TrainingRun

STORED = Path(__file__).with_name("costs.json")  # what `store_costs` measured on a CPU
CORES_OF_A_GPU = 20  # an assumption: how many cores a GPU stands for where no run was timed on one
SCHEDULE = {"epochs", "lr", "checks"}  # settings that do not change what an update takes
EVERY = 10**9  # runs: as many as were asked for
SHOWN = 12  # steps of a plan that are printed before training

Build = Callable[[dict, int], TrainingRun]


# ----------------------------------------------------------------------------------------- what a run takes


class Cost(NamedTuple):
    """What a run is expected to take."""

    seconds: float  #: of one CPU core, or of a GPU; infinite where nothing like it was timed.
    measured: bool  #: on runs of the same settings; else it is an estimate.


class Point(NamedTuple):
    """Something that was timed."""

    settings: dict  #: of the run.
    seconds: float  #: of an update.


class Costs:
    """What runs take on a kind of device, "cpu" or "cuda".

    Runs of the same settings tell it: their median, since a run that had to share its core took longer. For
    settings that were never run it is estimated from the most similar ones of the same network: as long for an
    example, and as many examples as the run has. Where no run was timed on a GPU, a GPU is taken for
    `CORES_OF_A_GPU` cores.

    Args:
        records: of which runs.
        kind: of the device.
        build: makes a run of settings, to see how many updates it has, where `costs.json` does not say so.
    """

    def __init__(self, records: Iterable[dict], kind: str, build: Build):
        records = list(records)
        self.kind, self._build, self._known, self._sizes = kind, build, {}, {}
        self._on_cpu = None if kind == "cpu" else Costs(records, "cpu", build)
        alike = defaultdict(list)
        for record in records:
            on_it = record["provenance"]["device"].startswith(kind) and stacks_at_once(record) == 1
            if on_it and not record["diverged"]:
                alike[record["hash"]].append(record)
        self._points: dict[tuple, list[Point]] = defaultdict(list)
        for digest, runs in alike.items():
            seconds = statistics.median(run["provenance"]["seconds"] for run in runs)
            self._known[digest] = Cost(seconds, True)
            self._add(runs[0]["settings"], seconds / max(1, runs[0]["updates"]))
        for timed in _stored()["timed"] if kind == "cpu" else ():
            self._add(timed["settings"], timed["ms"] / 1000)

    def of(self, settings: dict) -> Cost:
        """What a run of these settings is expected to take."""
        digest = settings_hash(settings)
        if digest not in self._known:
            self._known[digest] = Cost(self._estimate(settings), False)
        return self._known[digest]

    def _add(self, settings: dict, seconds: float) -> None:
        """Something took so many seconds an update."""
        for network in {_network(settings), _network(settings)[:1]}:
            self._points[network].append(Point(settings, seconds))

    def sizes(self, settings: dict) -> tuple[int, int]:
        """Updates of a run of these settings, and examples of an update."""
        digest = settings_hash(settings)
        if digest not in self._sizes:
            stored = _stored()["sizes"].get(digest)
            self._sizes[digest] = tuple(stored) if stored else _sizes_of(self._build(settings, 1))
        return self._sizes[digest]

    def _estimate(self, settings: dict) -> float:
        network = _network(settings)
        points = self._points.get(network) or (None if self._on_cpu else self._points.get(network[:1]))
        if points:
            distances = [_distance(settings, point.settings) for point in points]
            nearest = [point for point, each in zip(points, distances, strict=True) if each == min(distances)]
            an_example = [max(p.seconds, 1e-9) / self.sizes(p.settings)[1] for p in nearest]
            updates, batch = self.sizes(settings)
            return statistics.geometric_mean(an_example) * max(1, updates) * batch
        return self._on_cpu.of(settings).seconds / CORES_OF_A_GPU if self._on_cpu else math.inf


def _network(settings: dict) -> tuple:
    """Which network is trained, by what the papers' settings call it; the paper comes first."""
    return tuple(settings.get(name) for name in ("paper", "model", "form"))


def _distance(one: dict, other: dict) -> float:
    """How unlike two settings are: 1 for each that differs; for two numbers, their difference over their sum."""
    one, other = ({**s, **s.get("options", {})} for s in (one, other))
    total = 0.0
    for name in (one.keys() | other.keys()) - SCHEDULE - {"options"}:
        a, b = one.get(name), other.get(name)
        numbers = all(isinstance(each, int | float) and not isinstance(each, bool) for each in (a, b))
        if a != b:
            total += abs(a - b) / (abs(a) + abs(b)) if numbers else 1.0
    return total


def _sizes_of(run: TrainingRun) -> tuple[int, int]:
    return run.updates, min(run.batch_size, run.examples)


@cache
def _stored() -> dict:
    return json.loads(STORED.read_text()) if STORED.exists() else {"sizes": {}, "timed": []}


def store_costs(
    settings: Iterable[dict], timed: Iterable[tuple[dict, float]], build: Build, device: str
) -> None:
    """Keep the sizes of the runs of these settings, and what updates took in milliseconds, for later plans.

    Runs whose data are not here are left out.
    """
    sizes = {}
    for each in settings:
        with suppress(FileNotFoundError):
            sizes[settings_hash(each)] = _sizes_of(build(each, 1))
    points = [{"settings": each, "ms": float(f"{ms:.4g}")} for each, ms in timed]
    kept = {"device": device, "date": date.today().isoformat(), "timed": points, "sizes": sizes}
    lines = ",\n".join(f"{json.dumps(name)}: {_by_line(value)}" for name, value in kept.items())
    write_atomically(STORED, lambda path: path.write_text(f"{{\n{lines}\n}}\n"))
    _stored.cache_clear()


def _by_line(value: object) -> str:
    """JSON with an entry a line."""
    if isinstance(value, list):
        return "[\n" + ",\n".join(json.dumps(each, sort_keys=True) for each in value) + "\n]"
    if isinstance(value, dict):
        entries = (f"{json.dumps(name)}: {json.dumps(each)}" for name, each in sorted(value.items()))
        return "{\n" + ",\n".join(entries) + "\n}"
    return json.dumps(value)


# ----------------------------------------------------------------------------------------- the order


@dataclass(frozen=True)
class Step:
    """Runs that are worth most together."""

    purpose: str  #: what they are for, in a few words.
    jobs: tuple[Job, ...]  #: cheap before dear, runs of one setting side by side.
    seconds: tuple[float, ...]  #: what each is expected to take from now on.
    estimated: bool  #: whether that rests on other settings for some of them.


class _Missing:
    """The jobs that are in no step yet."""

    def __init__(self, jobs: Iterable[Job], cells: Iterable[Cell], store: Records):
        self.jobs: dict[str, list[Job]] = defaultdict(list)
        for job in jobs:
            self.jobs[settings_hash(job.settings)].append(job)
        self.scales = {cell.hash: scale_of(cell) for cell in cells}
        self.store, self.taken = store, Counter()

    def runs(self, digest: str) -> int:
        """How many runs of these settings count, on record or in a step.

        One that diverged does not, since a verdict rests on finished runs. But where three or more runs all
        diverged, more would hardly help: they count as they are.
        """
        recorded = [record for record in self.store.of(digest) if record["scale"] == self.scales[digest]]
        finished = sum(not record["diverged"] for record in recorded)
        hopeless = not finished and len(recorded) >= ENOUGH
        return (len(recorded) if hopeless else finished) + self.taken[digest]

    def up_to(self, runs: int, hashes: Iterable[str]) -> list[Job]:
        """What these settings lack for so many runs each."""
        return [
            job
            for digest in dict.fromkeys(hashes)
            for job in self.jobs.get(digest, ())[: max(0, runs - self.runs(digest))]
        ]

    def take(self, jobs: Iterable[Job]) -> None:
        """These are in a step now."""
        for job in jobs:
            digest = settings_hash(job.settings)
            self.jobs[digest].remove(job)
            self.taken[digest] += 1


def make_plan(
    jobs: Iterable[Job],
    cells: list[Cell],
    store: Records,
    costs: Costs,
    share_trained: Callable[[Job], float] = lambda job: 0.0,
    own: bool = False,
) -> list[Step]:
    """All the jobs in steps, by value.

    Args:
        jobs: the runs that are missing.
        cells: which they are to fill.
        store: the runs on record.
        costs: what runs take.
        share_trained: of a stopped run's updates, from 0 to 1. Its test, which is still to come, is left out.
        own: whether these are a reader's own runs. They fill no cells, so they are a single step.
    """
    jobs, cells = list(jobs), list(cells)
    missing, steps = _Missing(jobs, cells, store), []
    cost = {job.key: costs.of(job.settings) for job in jobs}
    to_make = {job.key: 1 - share_trained(job) for job in jobs}
    left = {  # of what takes infinitely long, too, nothing is nothing
        key: cost[key].seconds * share if share else 0.0 for key, share in to_make.items()
    }

    def total(wanted: Iterable[Job]) -> float:
        return sum(left[job.key] for job in wanted)

    def add(purpose: str, wanted: list[Job]) -> None:
        missing.take(wanted)
        wanted.sort(key=lambda job: (cost[job.key].seconds, settings_hash(job.settings), job.seed))
        estimated = not all(cost[job.key].measured for job in wanted)
        steps.append(Step(purpose, tuple(wanted), tuple(left[job.key] for job in wanted), estimated))

    if own:
        if jobs:
            add("runs of your own", jobs)
        return steps
    waiting = _claims(cells)
    while waiting:
        lacks = {name: missing.up_to(ENOUGH, hashes) for name, hashes in waiting.items()}
        waiting = {name: hashes for name, hashes in waiting.items() if lacks[name]}
        if waiting:
            cheapest = min(waiting, key=lambda name: total(lacks[name]))
            add(f"claim {cheapest}", lacks[cheapest])
    rows = defaultdict(list)
    for cell in sorted(cells, key=lambda cell: bool(cell.variant)):
        rows[cell.table, cell.row, cell.variant].append(cell.hash)
    for runs, words in ((ENOUGH, f"{ENOUGH} runs"), (EVERY, "all runs")):
        lacks = {row: missing.up_to(runs, hashes) for row, hashes in rows.items()}

        def value(row: tuple, runs: int = runs, lacks: dict = lacks) -> tuple:
            """Rows of the paper before its other readings; the greatest part that is there; the cheapest."""
            there = sum(min(runs, missing.runs(digest)) for digest in set(rows[row]))
            return bool(row[2]), -there / (there + len(lacks[row])), total(lacks[row])

        for row in sorted((row for row in rows if lacks[row]), key=value):
            if wanted := missing.up_to(runs, rows[row]):
                table, name, variant = row
                add(f"{table}, {name}{f' ({variant})' if variant else ''}: {words}", wanted)
    return steps


def _claims(cells: list[Cell]) -> dict[str, list[str]]:
    """The settings' hashes of every claim whose cells are all among these, by its name.

    At each scale; and of a paper that prints no numbers under each reading, as `claims.judge_all` judges them.
    """
    hashes = {cell.id: cell.hash for cell in cells}
    readings = readings_among(cells)
    found = {}
    for claim in load_claims():
        for variant in ("", TUTORIAL, *([] if prints_numbers(claim.paper) else readings)):
            ids = [f"{cell}/{variant}" if variant else cell for cell in claim.cells()]
            if all(cell in hashes for cell in ids):
                found[f"{claim.id} @{variant}" if variant else claim.id] = [hashes[cell] for cell in ids]
    return found


def share_trained(checkpoints: Path, costs: Costs, job: Job) -> float:
    """Which share of its updates a stopped run has made, by its checkpoint; 0 without one that can be read."""
    path = checkpoints / f"{job.key}.pt"
    try:
        if not path.exists():
            return 0.0
        return min(1.0, read_checkpoint(path)["update"] / max(1, costs.sizes(job.settings)[0]))
    except (CorruptFileError, KeyError, TypeError, FileNotFoundError):
        return 0.0  # training says what is wrong with it, or which data are missing


# ----------------------------------------------------------------------------------------- the time


class Timetable(NamedTuple):
    """Steps in the order in which they are made, and when each ends."""

    steps: list[Step]  #: those that end within the budget first.
    ends: list[float]  #: seconds after the start.
    inside: int  #: how many steps end within the budget.
    workers: int  #: how many runs are made at a time.


def schedule(steps: Iterable[Step], workers: int, budget: float = math.inf) -> Timetable:
    """When steps end, if each of so many workers takes the next run as soon as it is free.

    A step is worth little until it is whole. So those that end within the budget (in seconds) come first, in their
    order; the others follow in theirs, and what is begun of them is stopped at the budget's end and goes on later.
    """
    free, inside, beyond = [0.0] * workers, [], []
    for step in steps:
        after, end = _after(free, step)
        if end <= budget:
            free = after
            inside.append(step)
        else:
            beyond.append(step)
    order, free, ends = inside + beyond, [0.0] * workers, []
    for step in order:
        free, end = _after(free, step)
        ends.append(end)
    return Timetable(order, ends, len(inside), workers)


def _after(free: list[float], step: Step) -> tuple[list[float], float]:
    """When each worker is free after a step, and when the last of its runs ends."""
    free, last = list(free), 0.0
    for seconds in step.seconds:
        end = heapq.heappop(free) + seconds
        heapq.heappush(free, end)
        last = max(last, end)
    return free, last


# ----------------------------------------------------------------------------------------- in words


def span(seconds: float, like: float | None = None) -> str:
    """A time in words: "40 s", "12 min", "2.5 h", or "unknown"; in the unit of the time `like`, if that is given."""
    size = seconds if like is None else like
    if math.isinf(seconds):
        return "unknown"
    if size < 99.5:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if size < 99.5 * 60 else f"{seconds / 3600:,.1f} h"


def describe_plan(table: Timetable, kind: str, budget: str | None = None, shown: int = SHOWN) -> str:
    """A line a step: when it ends, what it takes, how many runs, what for; and a line on all of them.

    Steps stand in the order in which they end, so that those beyond the budget come last. All ends are in the unit
    of the last one that is shown.
    """
    unit = "core" if kind == "cpu" else "GPU"
    timed = sorted(zip(table.ends, table.steps, strict=True), key=lambda each: each[0])
    last = max((end for end, _ in timed[:shown] if math.isfinite(end)), default=0.0)
    lines = [f"{'ends after':>12}{f'{unit} time':>14}{'runs':>7}  what for"]
    for number, (end, step) in enumerate(timed[:shown]):
        if budget is not None and number == table.inside:
            lines.append(
                f"  would not be finished within {budget}; what is begun is kept, and goes on next time:"
            )
        about = "~" if step.estimated else ""
        taken = about + span(sum(step.seconds))
        lines.append(f"{about + span(end, last):>12}{taken:>14}{len(step.jobs):7}  {step.purpose}")
    if len(timed) > shown:
        lines.append(f"... and {len(timed) - shown} more; --dry-run prints them all")
    return "\n".join([*lines, _in_all(table, unit, budget)])


def _in_all(table: Timetable, unit: str, budget: str | None) -> str:
    runs = sum(len(step.jobs) for step in table.steps)
    about = "~" if any(step.estimated for step in table.steps) else ""
    total, last = sum(sum(step.seconds) for step in table.steps), max(table.ends, default=0.0)
    text = f"in all {counted(runs, 'run')}, {about}{span(total)} of one {unit}, "
    text += f"{about}{span(last)} on {counted(table.workers, unit)}"
    if budget is not None:
        inside = sum(len(step.jobs) for step in table.steps[: table.inside])
        text += f"; expected within {budget}: {counted(inside, 'run')}"
    return f"{text} (~ is estimated from other settings)" if about else text
