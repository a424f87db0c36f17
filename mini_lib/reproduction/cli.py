"""The `mini-lib` command. Exit status: 0 done, 1 failed, 2 wrong use."""

import codecs
import json
import math
import re
import shlex
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from itertools import chain, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mini_lib.errors import INTERRUPTED, INTERRUPTED_STATUS, CorruptFileError, UsageError
from mini_lib.reproduction.cells import PAPERS, STUDIES, Cell, cells_of, paper_module, select

if TYPE_CHECKING:  # PyTorch takes seconds to load: each command loads what it needs
    from mini_lib.reproduction.launch import Job
    from mini_lib.reproduction.records import Records
    from mini_lib.training import Run

ADDRESS = re.compile(r"auto|local|(ray://)?[^/\s]+:\d+")  # of a Ray cluster
LOCAL = "local"  # in the place of a Ray cluster's address: one of this machine
ASCII = {"±": "+-", "γ": "gamma", "≤": "<=", "≥": ">=", "–": "-", "“": '"', "”": '"', "…": "...", "×": "x"}
UNRECORDED = "unrecorded"  # a folder beside checkpoints, for records that could not be written to their own
STOPPING = 15.0  # seconds of a budget that are kept for stopping, at most
LONGEST = 10 * 365 * 86400.0  # seconds; a longer budget is a slip of the pen
_began = 0.0  # when the command did; `main` says so
REFUSED = typer.BadParameter.__base__  # what the parser raises; typer has no public name for it

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)

WHAT = "A paper (scan), a table (scan.table1), a claim (scan.C4) or an entry, by its id."
WhatArgument = Annotated[str | None, typer.Argument(help=WHAT, show_default=False)]
RowOption = Annotated[list[str] | None, typer.Option(help="A row of the table; repeat for more.")]
ColumnOption = Annotated[list[str] | None, typer.Option(help="A column; repeat for more.")]
VariantOption = Annotated[
    list[str] | None, typer.Option(help="A variant, such as small (networks); repeat for more.")
]
AllOption = Annotated[bool, typer.Option("--all", help="All variants too.")]
RecordsOption = Annotated[
    Path | None,
    typer.Option(
        help="A folder of your own, to read and to add to, instead of the stored records.", show_default=False
    ),
]
DeviceOption = Annotated[str, typer.Option(help="auto, cpu or cuda.")]


def print_version(wanted: bool) -> None:
    """Print which version this is, and its commit in a checkout, and end."""
    if wanted:
        from mini_lib.reproduction.records import code_version

        print(f"mini-lib {code_version()}")
        raise typer.Exit


@app.callback(help=__doc__)
def before_any_command(
    version: Annotated[
        bool,
        typer.Option("--version", callback=print_version, is_eager=True, help="Print the version, and end."),
    ] = False,
) -> None:
    """Do nothing; it is here for the options that need no command."""


def to_read(folder: Path | None) -> "Records":
    """The records of a folder, or those there are by default; UsageError without that folder, or for another's."""
    from mini_lib.reproduction.records import Records

    if folder is not None and not folder.is_dir():
        raise UsageError(f"no folder of records at {folder}")
    own = {".lock", ""}  # of a command that was stopped before its first record
    others = folder is not None and any(path.suffix not in own for path in folder.iterdir())
    if others and not any(folder.glob("*.jsonl")):
        raise UsageError(f"no record files (*.jsonl) in {folder}")
    return Records(folder)


# ---------------------------------------------------------------------------------- what is on record


@app.command("list")
def list_(what: WhatArgument = None, every: AllOption = False, records: RecordsOption = None) -> None:
    """List the tables and what became of their numbers; of a table or a paper, its entries and their runs."""
    from mini_lib.reproduction import ledger, report
    from mini_lib.reproduction.comparison import compare

    if what is not None:
        print(report.entries(select(what), to_read(records), every))
        return
    cells = [cell for paper in (*PAPERS, *STUDIES) for cell in cells_of(paper)]
    titles = {cell.table: ledger.load(cell.paper).title(cell.table) for cell in cells if cell.paper in PAPERS}
    print(report.overview(compare(cells, to_read(records)), titles))


@app.command()
def compare(
    what: WhatArgument = None,
    row: RowOption = None,
    column: ColumnOption = None,
    variant: VariantOption = None,
    every: AllOption = False,
    as_json: Annotated[bool, typer.Option("--json", help="All of it as JSON.")] = False,
    summary: Annotated[bool, typer.Option("--summary", help="Counts by paper.")] = False,
    records: RecordsOption = None,
) -> None:
    """Compare the papers' numbers with ours."""
    from mini_lib.reproduction import report
    from mini_lib.reproduction.claims import claims_by_id, judge_all
    from mini_lib.reproduction.comparison import compare

    if as_json and summary:
        raise UsageError("--json and --summary are outputs of their own; ask for one")
    store, chosen = to_read(records), select(what, row, column, variant)
    compared = compare(chosen, store)
    if as_json:
        print(json.dumps([each.to_dict() for each in compared], indent=1))
    elif summary:
        print(report.summary(compared, judge_all(compared) if what in (None, *PAPERS) else ()))
    else:
        if claim := claims_by_id().get(what):
            judged = judge_all(compare(cells_of(claim.paper), store))
            print(report.claims(each for each in judged if each.claim == claim) + "\n")
        named = every or bool(variant) or (what is not None and "/" in what)
        print(report.listing(compared, named))


@app.command()
def claims(what: WhatArgument = None, records: RecordsOption = None) -> None:
    """Judge the papers' claims: what they say, what became of it, and the figures that decide."""
    from mini_lib.reproduction import report
    from mini_lib.reproduction.claims import judge_all, load_claims
    from mini_lib.reproduction.comparison import compare

    chosen = list(load_claims())
    if what is not None:
        tables = {table for claim in chosen for table in claim.tables()}
        if what not in (*PAPERS, *(claim.id for claim in chosen), *tables):
            select(what)  # refuses what is no name at all
            raise UsageError(f"no claim is on {what}; `mini-lib claims` shows all claims")
        chosen = [each for each in chosen if what in (each.paper, each.id, *each.tables())]
    cells = [cell for paper in dict.fromkeys(each.paper for each in chosen) for cell in cells_of(paper)]
    judged = judge_all(compare(cells, to_read(records)))  # all claims, since controls bear on others
    print(report.claims(each for each in judged if each.claim in chosen))


@app.command()
def merge(folder: Path, records: RecordsOption = None) -> None:
    """Take over records made elsewhere; none is doubled."""
    from mini_lib.reproduction.comparison import counted
    from mini_lib.reproduction.records import Records

    files = {cell.hash: cell.file for paper in (*PAPERS, *STUDIES) for cell in cells_of(paper)}
    new, known = Records(records).merge(folder, files)
    print(f"{counted(new, 'record')} merged, {known} known already")


# ---------------------------------------------------------------------------------- training


def read_budget(budget: str) -> float:
    """The seconds of a budget such as 30s, 9m or 2h; UsageError for anything else."""
    units = {"s": 1, "m": 60, "h": 3600}
    try:
        amount = float(budget[:-1]) * units[budget[-1]]
    except (ValueError, KeyError, IndexError):
        amount = -1.0
    if not 0 < amount <= LONGEST:
        raise UsageError(f"a budget is a number above 0 and s, m or h, such as 30s, 9m or 2h, not {budget!r}")
    return amount


def deadline_of(budget: str | None, started: float) -> float | None:
    """When to stop training so that a command that began at `started` ends within its budget."""
    if budget is None:
        return None
    amount = read_budget(budget)
    return started + amount - min(STOPPING, amount / 4)


@app.command()
def reproduce(
    what: Annotated[str, typer.Argument(help=f"all, or: {WHAT}", show_default=False)],
    row: RowOption = None,
    column: ColumnOption = None,
    variant: VariantOption = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=1000,
            help="Until each entry has so many runs, stored ones included (default: the paper's number).",
            show_default=False,
        ),
    ] = None,
    device: DeviceOption = "auto",
    budget: Annotated[str | None, typer.Option(help="Stop in time: 30s, 9m, 2h.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes (default: one per core).")] = None,
    records: RecordsOption = None,
    ray: Annotated[
        str | None,
        typer.Option(metavar="[ADDRESS]", help="Train on a Ray cluster (default: of this machine)."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan and train nothing.")] = False,
    precision: Annotated[str, typer.Option(help="fp32, or tf32 on a GPU.", hidden=True)] = "fp32",
    checkpoints: Annotated[Path | None, typer.Option(help="Folder for unfinished runs.", hidden=True)] = None,
) -> None:
    """Train the runs that are missing. What is on record is not trained again; what was stopped goes on.

    Order: runs that decide a claim first, cheapest first. To repeat stored runs, give --records a new folder.
    """
    from mini_lib.devices import check_precision, describe, pick_device
    from mini_lib.reproduction import cluster, plan
    from mini_lib.reproduction.comparison import counted
    from mini_lib.reproduction.launch import default_workers, launch
    from mini_lib.reproduction.records import Records, check_folder, code_version

    deadline = deadline_of(budget, _began)
    chosen = select(None if what == "all" else what, row, column, variant)
    if not (variant or "/" in what):
        chosen = [cell for cell in chosen if not cell.variant]
    store = Records(records)
    check_folder(store.folder, "records", make=not dry_run)
    checkpoints = checkpoints or (Path("checkpoints") if records is None else records / "checkpoints")
    jobs = unfinished(chosen, store, seeds)
    if not jobs:
        command = ["mini-lib", "compare", *([] if what == "all" else [what])]
        command += ["--records", str(records)] if records else []
        print(f"nothing to train: all of it is on record in {store.folder}; `{shlex.join(command)}` shows it")
        return
    with ExitStack() as ending:
        if not dry_run:
            check_folder(checkpoints, "checkpoints")
            code_version()
            for left in checkpoints.glob("*.pt"):
                if left.stem in store:  # its run was killed between its record and this
                    left.unlink(missing_ok=True)
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # a scheduler's end is an interrupt too
        if ray is not None:
            address = None if ray == LOCAL else ray
            stays = dry_run and address is None
            machines = (
                cluster.here(workers) if stays else ending.enter_context(cluster.connected(address, workers))
            )
            where, words = machines.device(device), str(machines)
            at_a_time, train = machines.workers(where), cluster.over_cluster
        else:
            where = pick_device(device)
            at_a_time = (workers or default_workers()) if where.type == "cpu" else 1
            words, train = describe(where), partial(launch, workers=workers)
        check_precision(precision, where)
        if not dry_run:
            ending.enter_context(alone(store.folder))
        print(f"{counted(len(jobs), 'run')} to make on {words}; records go to {store.folder}")
        known = chain(store, Records() if records else ())
        seconds = plan.expected_seconds(known, describe(where), checkpoints)
        left = math.inf if deadline is None else max(0.0, deadline - time.time())
        timetable = plan.schedule(plan.make_plan(jobs, chosen, store, seconds), at_a_time, left)
        print(plan.describe_plan(timetable, budget, len(timetable.steps) if dry_run else plan.SHOWN))
        if dry_run:
            return
        ordered = [job for step in timetable.steps for job in step.jobs]
        runs = train(ordered, device=where, checkpoints=checkpoints, deadline=deadline, precision=precision)
        ending.enter_context(closing(runs))
        begun, finished = keep_runs(runs, len(jobs), store, chosen, checkpoints)
    if not begun:
        print(
            f"the budget of {budget} was over before a training could begin (starting alone took "
            f"{time.time() - _began:.0f} s); give it more. What was stopped before is kept"
        )
    print(f"{counted(finished, 'run')} finished, {len(jobs) - finished} left")


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Say so if another command is training for the same folder of records: both may make the same runs."""
    from filelock import FileLock, Timeout

    lock = FileLock(folder / "reproduce.lock", blocking=False)
    try:
        lock.acquire()
    except Timeout:
        print(
            f"another `mini-lib reproduce` is training for {folder}; both may make the same runs: wait for it, or "
            "take another folder"
        )
    try:
        yield
    finally:
        lock.release()


def keep_runs(
    runs: Iterable[tuple["Job", "Run"]], total: int, store: "Records", chosen: list[Cell], checkpoints: Path
) -> tuple[int, int]:
    """Put each finished run on record as it comes, and say so; how many came, and how many finished.

    RecordConflict after the last run, if some are on record by now with other results; each is printed at once.
    """
    from mini_lib.hashing import settings_hash
    from mini_lib.reproduction.comparison import counted
    from mini_lib.reproduction.records import RecordConflict

    filled: dict[str, list[Cell]] = {}  # the entries of a run, by the hash of its settings
    for cell in chosen:
        filled.setdefault(cell.hash, []).append(cell)
    begun = finished = conflicts = 0
    for job, run in runs:
        begun += 1
        cell, *others = filled[settings_hash(job.settings)]
        name = name_of_run(cell, job.seed)
        if not run.finished:
            print(f"stopped    {name} after {run.updates} updates; the same command goes on from there")
            continue
        try:
            record = save_record(job, run, store, cell, checkpoints)
        except RecordConflict as conflict:
            conflicts += 1
            print(f"mini-lib: {name}: {conflict}", file=sys.stderr, flush=True)
            continue
        finished += 1
        also = f", and {counted(len(others), 'other entry').replace('entrys', 'entries')}" if others else ""
        print(
            f"{finished:4}/{total} {name}: {outcome_of(record, cell.metric)} ({run.seconds:.0f} s){also}",
            flush=True,
        )
    if conflicts:
        raise RecordConflict(f"{counted(conflicts, 'run')} on record with other results; all others are kept")
    return begun, finished


def name_of_run(cell: Cell, seed: int) -> str:
    """What a run is called in messages, such as "esbn.table9/ESBN/m=98, seed 1"."""
    return f"{cell.id}, seed {seed}"


def outcome_of(record: dict, metric: str) -> str:
    """A run's result by one of its metrics, such as "test_accuracy 99.6", or "DIVERGED"."""
    if record["diverged"]:
        return "DIVERGED"
    value = record["metrics"].get(metric)
    return f"no {metric}" if value is None else f"{metric} {value:.4g}"


def save_record(job: "Job", run: "Run", store: "Records", cell: Cell, checkpoints: Path) -> dict:
    """Put a finished run of an entry on record, in the entry's file; returns the record.

    Where that cannot be written, the record is kept beside the checkpoints if possible: OSError says what is left.
    """
    from mini_lib.devices import describe
    from mini_lib.reproduction.records import record_of

    record = record_of(
        run,
        job.settings,
        job.seed,
        paper=cell.paper,
        scale=cell.scale,
        data=paper_module(cell.paper).data_source(job.settings),
        device=run.device_name or describe(run.device),
        precision=run.precision,
    )
    try:
        store.add(record, cell.file)
    except OSError as error:
        raise OSError(
            f"{error}. {save_beside_checkpoint(record, cell, checkpoints, store.folder)}"
        ) from error
    return record


def save_beside_checkpoint(record: dict, cell: Cell, checkpoints: Path, folder: Path) -> str:
    """Keep the record of an entry's finished run beside the checkpoints; says what is kept, and how to go on.

    `folder` is where the record belongs.
    """
    from mini_lib.reproduction.records import Records

    name = name_of_run(cell, record["seed"])
    safe = checkpoints / UNRECORDED
    try:
        Records(safe).add(record, cell.file)
    except (OSError, CorruptFileError):
        if (checkpoints / f"{record['key']}.pt").exists():
            return f"{name} had just finished; it goes on from its last checkpoint in {checkpoints}"
        return f"{name} had just finished and is lost; it is trained again"
    command = shlex.join(["mini-lib", "merge", str(safe), "--records", str(folder)])
    return f"{name} had just finished; its record is safe in {safe}, and `{command}` takes it over"


def unfinished(chosen: list[Cell], store: "Records", seeds: int | None) -> list["Job"]:
    """The runs that these entries lack, those of the paper's own entries before variants.

    `seeds` is how many of each; by default as many as the paper has.
    """
    from mini_lib.hashing import run_key
    from mini_lib.reproduction.launch import Job

    for paper in {cell.paper for cell in chosen}:
        if list(cells_of(paper)) != paper_module(paper).CELLS:
            raise CorruptFileError(
                f"entries.json is not what {paper}/cells.py declares; run `python tools/entries.py`"
            )
    jobs = {}
    for cell in sorted(chosen, key=lambda cell: bool(cell.variant)):
        for seed in range(1, (seeds or cell.runs) + 1):
            key = run_key(cell.settings, seed)
            if key not in store:
                jobs.setdefault(key, Job(paper_module(cell.paper).build, cell.settings, seed, key))
    return list(jobs.values())


# ---------------------------------------------------------------------------------- this machine


@app.command()
def data(
    name: Annotated[
        str | None, typer.Argument(help="A public data set to download.", show_default=False)
    ] = None,
) -> None:
    """Check the data files that are here, or download a public data set; checksums are verified."""
    from mini_lib import datasets

    if name is not None:
        for path in datasets.fetch(name):
            print(path)
        return
    print(f"data folder: {datasets.data_folder() or 'none (MINI_LIB_DATA is not set)'}")
    files = list(datasets.verify())
    for file, status, detail in files:
        print(f"{status:8} {file}  {detail}")
    if any(status == "damaged" for _, status, _ in files):
        raise typer.Exit(1)


@app.command()
def doctor(device: DeviceOption = "auto") -> None:
    """Check that everything works here: device, data, a training step of every network."""
    from mini_lib.devices import pick_device
    from mini_lib.reproduction.doctor import examine

    builds = {paper: paper_module(paper).build for paper in (*PAPERS, *STUDIES)}
    if not examine(builds, pick_device(device)):
        raise typer.Exit(1)


# ---------------------------------------------------------------------------------- start and end


def main(started: float | None = None) -> None:
    """Run the command; wrong use prints one line and exits with 2, an expected failure with 1.

    A budget counts from `started`, the time.time() when the command began.
    """
    global _began
    _began = time.time() if started is None else started
    for stream in (sys.stdout, sys.stderr):  # a terminal without these signs gets others
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="mini_lib.ascii")
    try:
        status = app(with_ray_address(sys.argv[1:]), prog_name="mini-lib", standalone_mode=False) or 0
        if status == INTERRUPTED_STATUS:
            print(INTERRUPTED, file=sys.stderr)
        sys.exit(status)
    except UsageError as error:
        print(f"mini-lib: {error}", file=sys.stderr)
        sys.exit(2)
    except REFUSED as error:
        if message := error.format_message().rstrip("."):  # else it has shown the whole help
            where = f"`{error.ctx.command_path} --help` shows what it takes"
            print(f"mini-lib: {message}; {where}", file=sys.stderr)
        sys.exit(2)
    except (CorruptFileError, OSError, RuntimeError) as error:
        if not is_expected(error):
            raise
        print(f"mini-lib: {error}", file=sys.stderr)
        sys.exit(1)


def with_ray_address(words: list[str]) -> list[str]:
    """The words of a command, with the address of a local cluster after `--ray` where none follows.

    >>> with_ray_address(["reproduce", "--ray", "all"])
    ['reproduce', '--ray', 'local', 'all']
    """
    found: list[str] = []
    for word, after in zip_longest(words, words[1:], fillvalue=""):
        found += [word, LOCAL] if word == "--ray" and not ADDRESS.fullmatch(after) else [word]
    return found


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    """What is printed for signs that a terminal's encoding lacks."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(ASCII.get(sign, "?") for sign in error.object[error.start : error.end]), error.end


codecs.register_error("mini_lib.ascii", _in_ascii)


def is_expected(error: Exception) -> bool:
    """Whether a failure is one whose message says all."""
    from mini_lib.reproduction.launch import JobsFailed

    return isinstance(error, CorruptFileError | OSError | JobsFailed)
