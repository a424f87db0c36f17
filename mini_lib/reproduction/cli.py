"""The `mini-lib` command. Exit status: 0 done, 1 failed, 2 wrong use."""

import math
import re
import signal
import sys
import time
from collections.abc import Iterable
from contextlib import ExitStack, closing
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
STOPPING = 15.0  # seconds of a budget that are kept for stopping, at most
_began = 0.0  # when the command did; `main` says so
REFUSED = typer.BadParameter.__base__  # what the parser raises; typer has no public name for it

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)

WHAT = "A paper (scan), a table (scan.table1), a claim (scan.C4) or an entry, by its id."
WhatArgument = Annotated[str | None, typer.Argument(help=WHAT, show_default=False)]
VARIANT = "A variant, such as small (networks); repeat for more."
VariantOption = Annotated[list[str] | None, typer.Option(help=VARIANT)]
AllOption = Annotated[bool, typer.Option("--all", help="All variants too.")]
RECORDS = "A folder of your own, to read and to add to, instead of the stored records."
RecordsOption = Annotated[Path | None, typer.Option(help=RECORDS, show_default=False)]
SEEDS = "How many runs each entry should have, stored ones included (default: the paper's number)."
RAY = "Train on a Ray cluster (default: of this machine)."
DeviceOption = Annotated[str, typer.Option(help="auto, cpu or cuda.")]


def print_version(wanted: bool) -> None:
    """Print the version, with its commit in a checkout, and end."""
    if wanted:
        from mini_lib.reproduction.records import code_version

        print(f"mini-lib {code_version()}")
        raise typer.Exit


VERSION = typer.Option("--version", callback=print_version, is_eager=True, help="Print the version.")


@app.callback(help=__doc__)
def before_any_command(version: Annotated[bool, VERSION] = False) -> None:
    """Do nothing; it is here for the options that need no command."""


def to_read(folder: Path | None) -> "Records":
    """The records of a folder, or those there are by default."""
    from mini_lib.reproduction.records import Records

    if folder is not None and not folder.is_dir():
        raise UsageError(f"no folder of records at {folder}")
    return Records(folder)


def all_cells() -> list[Cell]:
    """The entries of all papers and studies."""
    return [cell for paper in (*PAPERS, *STUDIES) for cell in cells_of(paper)]


# ---------------------------------------------------------------------------------- what is on record


@app.command("list")
def list_(what: WhatArgument = None, every: AllOption = False, records: RecordsOption = None) -> None:
    """List the tables and what became of their numbers; of a table or a paper, its entries and their runs."""
    from mini_lib.reproduction import ledger, report
    from mini_lib.reproduction.comparison import compare

    if what is not None:
        print(report.entries(select(what), to_read(records), every))
        return
    cells = all_cells()
    titles = {cell.table: ledger.load(cell.paper).title(cell.table) for cell in cells if cell.paper in PAPERS}
    print(report.overview(compare(cells, to_read(records)), titles))


@app.command()
def compare(
    what: WhatArgument = None,
    variant: VariantOption = None,
    every: AllOption = False,
    records: RecordsOption = None,
) -> None:
    """Compare the papers' numbers with ours."""
    from mini_lib.reproduction import report
    from mini_lib.reproduction.comparison import compare

    compared = compare(select(what, variant), to_read(records))
    print(report.listing(compared, every or bool(variant) or "/" in (what or "")))


@app.command()
def claims(what: WhatArgument = None, records: RecordsOption = None) -> None:
    """Judge the papers' claims: what they say, what became of it, and the figures that decide."""
    from mini_lib.reproduction import report
    from mini_lib.reproduction.claims import judge, load_claims
    from mini_lib.reproduction.comparison import compare

    select(what)  # refuses what is no name at all
    chosen = [each for each in load_claims() if what in (None, each.paper, each.id, *each.tables())]
    if not chosen:
        raise UsageError(f"no claim is on {what}; `mini-lib claims` shows all claims")
    cells = [cell for paper in dict.fromkeys(each.paper for each in chosen) for cell in cells_of(paper)]
    judged = judge(compare(cells, to_read(records)))  # all claims, since controls bear on others
    print(report.claims(each for each in judged if each.claim in chosen))


@app.command()
def merge(folder: Path, records: RecordsOption = None) -> None:
    """Take over records made elsewhere; none is doubled."""
    from mini_lib.reproduction.comparison import counted
    from mini_lib.reproduction.records import Records

    files = {cell.hash: cell.file for cell in all_cells()}
    new, known = Records(records).merge(folder, files)
    print(f"{counted(new, 'record')} merged, {known} known already")


# ---------------------------------------------------------------------------------- training


def deadline_of(budget: str | None, started: float) -> float | None:
    """When to stop training so that a command that began then ends within its budget, such as 30s, 9m or 2h."""
    if budget is None:
        return None
    number = re.fullmatch(r"(\d+\.?\d*|\.\d+)([smh])", budget)
    amount = float(number[1]) * {"s": 1, "m": 60, "h": 3600}[number[2]] if number else 0.0
    if amount <= 0:
        raise UsageError(f"a budget is a number above 0 and s, m or h, such as 30s, 9m or 2h, not {budget!r}")
    return started + amount - min(STOPPING, amount / 4)


@app.command()
def reproduce(
    what: Annotated[str, typer.Argument(help=f"all, or: {WHAT}", show_default=False)],
    variant: VariantOption = None,
    seeds: Annotated[int | None, typer.Option(min=1, max=1000, help=SEEDS, show_default=False)] = None,
    device: DeviceOption = "auto",
    budget: Annotated[str | None, typer.Option(help="Stop in time: 30s, 9m, 2h.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes (default: one per core).")] = None,
    records: RecordsOption = None,
    ray: Annotated[str | None, typer.Option(metavar="[ADDRESS]", help=RAY)] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan and train nothing.")] = False,
    precision: Annotated[str, typer.Option(help="fp32, or tf32 on a GPU.", hidden=True)] = "fp32",
    checkpoints: Annotated[Path | None, typer.Option(help="Folder for unfinished runs.", hidden=True)] = None,
) -> None:
    """Train the runs that are missing. What is on record is not trained again; what was stopped goes on.

    Order: runs that decide a claim first, cheapest first. To repeat stored runs, give --records a new folder.
    """
    from filelock import FileLock, Timeout
    from joblib import cpu_count

    from mini_lib.devices import check_precision, describe, pick_device
    from mini_lib.reproduction import cluster, plan
    from mini_lib.reproduction.comparison import counted
    from mini_lib.reproduction.launch import launch
    from mini_lib.reproduction.records import Records, check_folder, code_version

    deadline = deadline_of(budget, _began)
    chosen = select(None if what == "all" else what, variant)
    if not (variant or "/" in what):
        chosen = [cell for cell in chosen if not cell.variant]
    store = Records(records)
    checkpoints = checkpoints or (Path("checkpoints") if records is None else records / "checkpoints")
    jobs = unfinished(chosen, store, seeds)
    if not jobs:
        print(f"nothing to train: all of it is on record in {store.folder}; `mini-lib compare` shows it")
        return
    with ExitStack() as ending:
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # a scheduler's end is an interrupt too
        if ray is None:
            where = pick_device(device)
            at_a_time = (workers or cpu_count()) if where.type == "cpu" else 1
            words, train = describe(where), partial(launch, workers=workers)
        else:
            machines = ending.enter_context(cluster.connected(ray, workers))
            where, train = machines.device(device), cluster.over_cluster
            at_a_time, words = machines.workers(where), str(machines)
        check_precision(precision, where)
        if not dry_run:
            check_folder(store.folder)
            check_folder(checkpoints)
            for path in checkpoints.glob("*.pt"):
                if path.stem in store:  # its run was killed between its record and this
                    path.unlink(missing_ok=True)
            code_version()  # of the code that runs now, since commits may follow meanwhile
            try:
                ending.enter_context(FileLock(store.folder / "reproduce.lock", blocking=False))
            except Timeout:
                said = f"another `mini-lib reproduce` is training for {store.folder}; both may make the same runs"
                print(f"{said}: end one, or give it another folder", file=sys.stderr)
        print(f"{counted(len(jobs), 'run')} to make on {words}; records go to {store.folder}")
        stored = {record["key"]: record for record in Records()} if records else {}
        seconds = plan.expected_seconds(chain(store, stored.values()), describe(where))
        left = math.inf if deadline is None else max(0.0, deadline - time.time())
        steps, inside = plan.schedule(plan.make_plan(jobs, chosen, store, seconds), at_a_time, left)
        print(plan.describe_plan(steps, inside, budget, len(steps) if dry_run else plan.SHOWN))
        if dry_run:
            return
        ordered = [job for step in steps for job in step.jobs]
        runs = train(ordered, device=where, checkpoints=checkpoints, deadline=deadline, precision=precision)
        ending.enter_context(closing(runs))
        finished = keep_runs(runs, len(jobs), store, chosen, stored)
    print(f"{counted(finished, 'run')} finished, {len(jobs) - finished} left")


def keep_runs(
    runs: Iterable[tuple["Job", "Run"]], total: int, store: "Records", chosen: list[Cell], stored: dict
) -> int:
    """Put each finished run on record as it comes, and print it, beside a `stored` record of the same key.

    Returns how many finished. RecordConflict after the last.
    """
    from mini_lib.hashing import settings_hash
    from mini_lib.reproduction.comparison import counted
    from mini_lib.reproduction.records import RecordConflict, record_of

    def said(record: dict) -> str:
        value = record["metrics"].get(cell.metric, math.nan)
        return "DIVERGED" if record["diverged"] else f"{cell.metric} {value:.4g}"

    filled = {cell.hash: cell for cell in reversed(chosen)}  # the first entry with these settings
    finished = conflicts = 0
    for job, run in runs:
        cell = filled[settings_hash(job.settings)]
        name = f"{cell.id}, seed {job.seed}"
        if not run.finished:
            print(f"stopped    {name} after {run.updates} updates; the same command goes on from there")
            continue
        try:
            store.add(record := record_of(run, cell, job.seed), cell.file)
        except RecordConflict as conflict:  # the other runs go on
            conflicts += 1
            print(f"mini-lib: {name}: {conflict}", file=sys.stderr, flush=True)
            continue
        except OSError as error:
            how = "the same command records it from its checkpoint, and trains it again where there is none"
            raise OSError(f"{error}. {name} had finished and is not on record; {how}") from error
        finished += 1
        result = said(record) + (f", stored: {said(stored[job.key])}" if job.key in stored else "")
        print(f"{finished:4}/{total} {name}: {result} ({run.seconds:.0f} s)", flush=True)
    if conflicts:
        raise RecordConflict(f"{counted(conflicts, 'run')} on record with other results; all others are kept")
    return finished


def unfinished(chosen: list[Cell], store: "Records", seeds: int | None) -> list["Job"]:
    """The runs that these entries lack of seeds 1 to `seeds`, or to the paper's number; those of variants last."""
    from mini_lib.hashing import run_key
    from mini_lib.reproduction.launch import Job

    for paper in {cell.paper for cell in chosen}:
        if list(cells_of(paper)) != paper_module(paper).CELLS:
            raise CorruptFileError(
                f"entries.json differs from {paper}/cells.py; run `python tools/entries.py`"
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
def data(name: Annotated[str | None, typer.Argument(help="A data set to download.")] = None) -> None:
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

    if not examine(pick_device(device)):
        raise typer.Exit(1)


# ---------------------------------------------------------------------------------- start and end


def main(started: float | None = None) -> None:
    """Run the command; wrong use prints one line and exits with 2, an expected failure with 1.

    A budget counts from `started`, the time.time() when the command began.
    """
    global _began
    _began = time.time() if started is None else started
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # "?" for a sign that a terminal lacks, such as "±"
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
        from mini_lib.reproduction.launch import JobsFailed

        if isinstance(error, RuntimeError) and not isinstance(error, JobsFailed):
            raise
        print(f"mini-lib: {error}", file=sys.stderr)
        sys.exit(1)


def with_ray_address(words: list[str]) -> list[str]:
    """The words of a command, with the address of a local cluster after `--ray` where none follows."""
    found: list[str] = []
    for word, after in zip_longest(words, words[1:], fillvalue=""):
        found += [word, "local"] if word == "--ray" and not ADDRESS.fullmatch(after) else [word]
    return found
