"""The `mini-lib` command. Exit status: 0 done, 1 failed, 2 wrong use."""

import json
import math
import shlex
import signal
import sys
import time
from collections.abc import Iterable
from contextlib import ExitStack, closing
from functools import cache, partial
from importlib import import_module
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated

import typer

from mini_lib.errors import (
    INTERRUPTED,
    INTERRUPTED_STATUS,
    CorruptFileError,
    UsageError,
    check_names,
)

if TYPE_CHECKING:  # PyTorch and the papers' packages take seconds to load: each command loads what it needs
    from mini_lib.reproduction.cells import Cell
    from mini_lib.reproduction.launch import Job
    from mini_lib.reproduction.records import Records
    from mini_lib.training import Run, TrainingRun

PAPERS = ("esbn", "scan", "functions", "kanerva")  # in the order of the book
STUDIES = ("grid",)  # of our own, with no paper's numbers beside them: they run where they are named

UNRECORDED = "unrecorded"  # a folder beside checkpoints, for records that could not be written to their own
STOPPING = 15.0  # seconds of a budget that are kept for stopping, at most
_began = 0.0  # when the command did; `main` says so
REFUSED = typer.BadParameter.__base__  # what the parser raises; typer has no public name for it

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
results_app = typer.Typer(no_args_is_help=True, help="The committed records.")
data_app = typer.Typer(no_args_is_help=True, help="The public data sets.")
app.add_typer(results_app, name="results")
app.add_typer(data_app, name="data")

RowsOption = Annotated[list[str] | None, typer.Option("--rows", help="A row of the table; repeat for more.")]
ColumnsOption = Annotated[list[str] | None, typer.Option("--columns", help="A column; repeat for more.")]
VariantsOption = Annotated[bool, typer.Option("--variants", help="Other readings of the paper too.")]
VariantOption = Annotated[
    list[str] | None, typer.Option("--variant", help="Only this reading, such as tutorial; repeat for more.")
]
RecordsOption = Annotated[
    Path | None,
    typer.Option(
        "--records",
        help="Folder of records to read and add to. By default those that come with mini_lib; new ones go into "
        "mini_lib/reproduction/records of a git checkout, or else into ./records, which is then read too.",
        show_default=False,
    ),
]


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


@cache
def package(paper: str) -> ModuleType:
    """The `cells` module of a paper: PAPER, TITLE, CELLS, build, data_source and bench_cases."""
    return import_module(f"mini_lib.reproduction.{paper}.cells")


def packages() -> list[ModuleType]:
    """The `cells` modules of all papers."""
    return [package(paper) for paper in PAPERS]


def build_run(settings: dict, seed: int) -> "TrainingRun":
    """The run of a cell's or a record's settings, of any paper."""
    return package(settings["paper"]).build(settings, seed)


def cells(table: str | None = None, rows=None, columns=None, variants=None) -> list["Cell"]:
    """The cells of a table, or of a paper or a study (of all papers, without one), narrowed by name.

    In the place of a table, the id of a cell. Or the id of a claim: then the cells that decide it, in every reading.
    UsageError on unknown names.
    """
    from mini_lib.reproduction.claims import claims_by_id
    from mini_lib.reproduction.comparison import filter_cells

    paper = (table or "").split(".")[0]
    known = (*PAPERS, *STUDIES)
    claims = claims_by_id()
    chosen = [cell for each in ([paper] if paper in known else PAPERS) for cell in package(each).CELLS]
    if is_cell_id(table):
        by_id = {cell.id: cell for cell in chosen}
        check_names("cell", [table], by_id)
        chosen, table = [by_id[table]], None
    elif table in known:
        table = None
    elif table in claims:
        decided = claims[table].cells()
        chosen, table = [cell for cell in chosen if cell.place in decided], None
    elif table:
        tables = dict.fromkeys(cell.table for cell in chosen)
        check_names("paper, table or claim", [table], [*known, *tables, *claims])
    tables = None if table is None else [table]
    return filter_cells(chosen, table=tables, row=rows, column=columns, variant=variants)


def is_cell_id(table: str | None) -> bool:
    """Whether what stands in the place of a table is meant as the id of a cell."""
    return table is not None and "/" in table


def to_read(folder: Path | None) -> "Records":
    """The records of a folder, or those there are by default; UsageError without that folder, or for another's."""
    from mini_lib.reproduction.records import Records

    if folder is not None and not folder.is_dir():
        raise UsageError(f"no folder of records at {folder}")
    if folder is not None and any(folder.iterdir()) and not any(folder.glob("*.jsonl")):
        raise UsageError(f"no record files (*.jsonl) in {folder}")
    return Records(folder)


@app.command("list")
def list_(
    table: Annotated[
        str | None,
        typer.Argument(help="Such as scan.table1, a paper, such as scan, or the id of a claim or a cell."),
    ] = None,
    variants: VariantsOption = False,
    records: RecordsOption = None,
) -> None:
    """Tables, a line each, and how many runs they have of those wanted; of a table or a paper every cell."""
    from mini_lib.reproduction.comparison import counted, filter_cells, in_columns

    chosen, store = cells(table), to_read(records)
    if table is None:
        print(in_columns(overview(chosen, store)))
        print(f"\nand a study: {', '.join(STUDIES)} (`mini-lib list {STUDIES[0]}`)")
        return
    for paper in dict.fromkeys(cell.paper for cell in chosen):
        own = [cell for cell in chosen if cell.paper == paper]
        print(f"{paper}: {package(paper).TITLE}")
        for name in dict.fromkeys(cell.table for cell in own):
            print(f"  {name}")
            of_table = filter_cells(own, table=[name])
            shown = [cell for cell in of_table if variants or is_cell_id(table) or not cell.variant]
            for cell in shown:
                label = f"{cell.row}, {cell.column}{f', variant {cell.variant}' if cell.variant else ''}"
                print(f"    {label:60} {len(store.of(cell.hash)):3} of {cell.runs} runs")
            if left_out := len(of_table) - len(shown):
                print(f"    and {counted(left_out, 'cell')} of variants: --variants shows them")


def overview(chosen: list["Cell"], store: "Records") -> list[tuple]:
    """A line a table, beneath its head: its name, what it shows, its cells, and how many runs there are of wanted.

    Cells of one run count that run once. Variants, such as the small scale, are counted apart.
    """
    from mini_lib.reproduction.ledger import load

    books = {paper: load(paper) for paper in {cell.paper for cell in chosen}}

    def runs(cells: list["Cell"]) -> str:
        wanted: dict[str, int] = {}
        for cell in cells:
            wanted[cell.hash] = max(cell.runs, wanted.get(cell.hash, 0))
        there = sum(min(len(store.of(digest)), most) for digest, most in wanted.items())
        return f"{there:,} of {sum(wanted.values()):,}"

    lines = [("table", "cells", "runs", "runs of variants", "what it shows")]
    tables: dict[str, list[Cell]] = {}
    for cell in chosen:
        tables.setdefault(cell.table, []).append(cell)
    for table, own in tables.items():
        main, variants = ([cell for cell in own if bool(cell.variant) == other] for other in (False, True))
        title = books[own[0].paper].title(table)
        lines.append((table, len(main), runs(main), runs(variants) if variants else "", title))
    return lines


def seconds(budget: str) -> float:
    """Read a budget such as 30s, 9m or 2h; UsageError otherwise."""
    units = {"s": 1, "m": 60, "h": 3600}
    try:
        amount = float(budget[:-1]) * units[budget[-1]]
    except (ValueError, KeyError, IndexError):
        amount = -1.0
    if not amount > 0:
        raise UsageError(f"a budget is a number above 0 and s, m or h, such as 30s, 9m or 2h, not {budget!r}")
    return amount


def deadline_of(budget: str | None, started: float) -> float | None:
    """When to stop training so that a command that began at `started` ends within its budget."""
    if budget is None:
        return None
    return started + seconds(budget) - min(STOPPING, seconds(budget) / 4)


@app.command()
def reproduce(
    context: typer.Context,
    table: Annotated[
        str | None,
        typer.Argument(
            help="Such as esbn.table11, the id of a cell (`mini-lib compare` prints it) or of a claim (`--summary`)."
        ),
    ] = None,
    rows: RowsOption = None,
    columns: ColumnsOption = None,
    every: Annotated[bool, typer.Option("--all", help="All tables.")] = False,
    variants: VariantsOption = False,
    variant: VariantOption = None,
    seeds: Annotated[
        int | None,
        typer.Option(min=1, help="Runs a cell, seeds 1 to this, 100 at most; the paper's number by default."),
    ] = None,
    own_seeds: Annotated[
        list[int] | None,
        typer.Option(
            "--seed",
            max=2**31 - 1,
            help="A seed of your own, from 101 on; repeat for more. These runs go to ./own_records, or to the "
            "folder of --records, and never among the stored ones; `mini-lib compare --mine` shows them.",
        ),
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    precision: Annotated[str, typer.Option(help="fp32, or tf32 on a GPU.")] = "fp32",
    budget: Annotated[
        str | None,
        typer.Option(
            help="Stop cleanly within this time, such as 30s, 9m or 2h, counted from the command's start. A test "
            "that a network has begun is finished first, and worker processes take seconds to start."
        ),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes on a CPU; one a core by default.")
    ] = None,
    records: RecordsOption = None,
    checkpoints: Annotated[Path, typer.Option(help="Folder for unfinished runs.")] = Path("checkpoints"),
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the whole plan and train nothing.")
    ] = False,
    launcher: Annotated[
        str, typer.Option(help="local, or ray: a Ray cluster trains; one on this machine without an address.")
    ] = "local",
    ray_address: Annotated[
        str | None,
        typer.Option(envvar="RAY_ADDRESS", help="Of a running Ray cluster, such as 10.0.0.5:6379."),
    ] = None,
) -> None:
    """Train what a table still lacks; what is on record is not trained again, what was stopped goes on.

    The first line printed says where the records of these runs go. Then comes the plan, what is worth most first:
    what claims lack for three runs of each cell, the cheap before the dear; then rows of tables, those first that
    lack the smallest part of their runs.
    """
    from mini_lib.devices import check_precision, describe, pick_device
    from mini_lib.reproduction import cluster, mine, plan
    from mini_lib.reproduction.comparison import counted
    from mini_lib.reproduction.launch import default_workers, launch
    from mini_lib.reproduction.records import Records, check_folder, code_version

    if own_seeds and seeds:
        raise UsageError(
            "--seeds asks for the seeds from 1 on, --seed for one of your own; give one of the two"
        )
    deadline = deadline_of(budget, _began)
    if table and every:
        raise UsageError("--all asks for every table, and you name one; give one of the two")
    if not table and not every:
        raise UsageError("name a table, such as esbn.table11, or --all; `mini-lib list` shows the tables")
    check_stored_seeds(seeds)
    chosen = cells(table, rows, columns, variant)
    if not (variant or variants or is_cell_id(table)):
        chosen = [cell for cell in chosen if not cell.variant]
    check_names("launcher", [launcher], ("local", "ray"))
    source = context.get_parameter_source("ray_address")  # the environment may name one for other programs
    if launcher != "ray" and source is not None and source.name == "COMMANDLINE":
        raise UsageError("--ray-address is for a Ray cluster: add --launcher ray")
    store = mine.own_records(own_seeds, records) if own_seeds else Records(records)
    jobs = unfinished(chosen, store, own_seeds or seeds)
    if not dry_run:
        for left in checkpoints.glob("*.pt"):
            if left.stem in store:  # its run was killed between its record and this
                left.unlink(missing_ok=True)
    if not jobs:
        see = ["mini-lib", "compare", *([table] if table else []), *(["--mine"] if own_seeds else [])]
        shown = shlex.join([*see, *(["--records", str(records)] if records else [])])
        print(f"nothing to train: all of it is on record in {store.folder}; `{shown}` shows it")
        return
    if not dry_run:
        store.check_writable()
        code_version()
        check_folder(checkpoints, "checkpoints")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a scheduler's end is an interrupt too
    with ExitStack() as ending:
        if launcher == "ray":
            if dry_run and ray_address is None:
                machines = cluster.here(workers)
            else:
                machines = ending.enter_context(cluster.connected(ray_address, workers))
            where, words = machines.device(device), str(machines)
            at_a_time, train = machines.workers(where), cluster.over_cluster
        else:
            where = pick_device(device)
            at_a_time = (workers or default_workers()) if where.type == "cpu" else 1
            words, train = describe(where), partial(launch, workers=workers)
        check_precision(precision, where)
        print(f"{counted(len(jobs), 'run')} to make on {words}; records go to {store.folder}")
        known = chain(store, Records() if records or own_seeds else ())
        costs = plan.Costs(known, where.type, build_run)
        share_trained = partial(plan.share_trained, checkpoints, costs)
        steps = plan.make_plan(jobs, chosen, store, costs, share_trained, own=bool(own_seeds))
        allowed = math.inf if deadline is None else max(0.0, deadline - time.time())
        timetable = plan.schedule(steps, at_a_time, allowed)
        print(plan.describe_plan(timetable, where.type, budget, len(steps) if dry_run else plan.SHOWN))
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
    print(f"{counted(len(finished), 'run')} finished, {len(jobs) - len(finished)} left")
    if finished:
        expected = sum(costs.of(job.settings).seconds for job, _ in finished)
        taken = sum(seconds for _, seconds in finished)
        print(f"they took {plan.span(taken)} of training, where {plan.span(expected)} were expected")


def check_stored_seeds(highest: int | None) -> None:
    """UsageError if runs up to this seed are asked for that would be readers' own."""
    from mini_lib.reproduction.records import OWN_SEEDS

    if highest is not None and highest >= OWN_SEEDS:
        raise UsageError(
            f"seeds from {OWN_SEEDS} on are for runs of your own (`mini-lib reproduce TABLE --seed {OWN_SEEDS}`); "
            f"take {OWN_SEEDS - 1} at most"
        )


def keep_runs(
    runs: Iterable[tuple["Job", "Run"]], total: int, store: "Records", chosen: list["Cell"], checkpoints: Path
) -> tuple[int, list[tuple["Job", float]]]:
    """Put each finished run on record as it comes, and say so.

    Returns how many came, and of those that finished the jobs and the seconds that they took. RecordConflict after
    the last run, if some are on record by now with other results.
    """
    from mini_lib.reproduction.comparison import counted
    from mini_lib.reproduction.records import RecordConflict
    from mini_lib.settings import settings_hash

    filled: dict[str, list[Cell]] = {}  # the cells of a run, by the hash of its settings
    for cell in chosen:
        filled.setdefault(cell.hash, []).append(cell)
    begun, finished, conflicts = 0, [], []
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
            conflicts.append(f"{name}: {conflict}")
            continue
        finished.append((job, run.seconds))
        beside = f"fills {counted(len(others), 'other cell')} too; " if others else ""
        outcome = f"{outcome_of(record, cell.metric)} ({beside}{run.seconds:.0f} s)"
        print(f"{len(finished):4}/{total} {name}: {outcome}", flush=True)
    if conflicts:
        raise RecordConflict("\n".join([*conflicts, "all other finished runs are on record"]))
    return begun, finished


def name_of_run(cell: "Cell", seed: int) -> str:
    """What a run is called in messages, such as "esbn.table9/ESBN/m=98, seed 1"."""
    return f"{cell.id}, seed {seed}"


def outcome_of(record: dict, metric: str) -> str:
    """A run's result by one of its metrics, such as "test_accuracy 99.6", or "DIVERGED"."""
    if record["diverged"]:
        return "DIVERGED"
    value = record["metrics"].get(metric)
    return f"no {metric}" if value is None else f"{metric} {value:.4g}"


def save_record(job: "Job", run: "Run", store: "Records", cell: "Cell", checkpoints: Path) -> dict:
    """Put a finished run of a cell on record, in the file of the cell's home; returns the record.

    Where that cannot be written, the record is kept beside the checkpoints if possible: OSError says what is left.
    """
    from mini_lib.devices import describe
    from mini_lib.reproduction.comparison import scale_of
    from mini_lib.reproduction.records import record_of

    record = record_of(
        run,
        job.settings,
        job.seed,
        paper=cell.paper,
        scale=scale_of(cell),
        data=package(cell.paper).data_source(job.settings),
        device=run.device_name or describe(run.device),
        precision=run.precision,
    )
    try:
        store.add(record, cell.home)
    except OSError as error:
        raise OSError(f"{error}. {rescue(record, cell, checkpoints, store.folder)}") from error
    return record


def rescue(record: dict, cell: "Cell", checkpoints: Path, folder: Path) -> str:
    """Keep the record of a cell's finished run beside the checkpoints; says what is kept of it, and how to go on.

    `folder` is where the record belongs.
    """
    from mini_lib.reproduction.records import Records

    name = name_of_run(cell, record["seed"])
    try:
        Records(checkpoints / UNRECORDED).add(record, cell.home)
    except (OSError, CorruptFileError):
        if (checkpoints / f"{record['key']}.pt").exists():
            return f"{name} had just finished; it goes on from its last checkpoint in {checkpoints}"
        return f"{name} had just finished and is lost; it is trained again"
    safe = checkpoints / UNRECORDED
    merge = shlex.join(["mini-lib", "results", "merge", str(safe), "--records", str(folder)])
    return f"{name} had just finished; its record is safe in {safe}, and `{merge}` takes it over"


def unfinished(chosen: list["Cell"], store: "Records", seeds: int | list[int] | None) -> list["Job"]:
    """The runs that these cells lack, those that fill cells before other readings.

    `seeds` are how many, or which ones; by default as many as the paper has.
    """
    from mini_lib.reproduction.launch import Job
    from mini_lib.settings import run_key

    def wanted(cell: "Cell") -> list[int] | range:
        return seeds if isinstance(seeds, list) else range(1, (seeds or cell.runs) + 1)

    jobs = {}
    for cell in sorted(chosen, key=lambda cell: bool(cell.variant)):
        for seed in wanted(cell):
            key = run_key(cell.settings, seed)
            if key not in store:
                jobs.setdefault(key, Job(package(cell.paper).build, cell.settings, seed, key))
    return list(jobs.values())


@app.command()
def weights(
    table: Annotated[str, typer.Argument(help="Such as esbn.table11.")],
    row: Annotated[str, typer.Argument(help="Such as 'ESBN + TCN'.")],
    column: Annotated[str, typer.Argument(help="Such as m=95.")],
    path: Annotated[Path, typer.Argument(help="The safetensors file to write.")],
    seed: Annotated[int, typer.Option(min=1, help="Which run of the cell.")] = 1,
    variant: Annotated[str, typer.Option(help="Another reading of the cell, such as tutorial.")] = "",
    records: RecordsOption = None,
    checkpoints: Annotated[Path, typer.Option(help="Folder for the unfinished run.")] = Path("checkpoints"),
) -> None:
    """Train one run of a cell on the CPU and keep its weights, in half precision, for readers to load.

    The run goes on record too, unless it is there already.
    """
    import torch

    from mini_lib.files import load_weights, save_weights
    from mini_lib.reproduction.launch import Job, JobsFailed
    from mini_lib.reproduction.records import Records, check_folder, check_target, code_version
    from mini_lib.training import train

    check_stored_seeds(seed)
    chosen, store = cells(table, [row], [column], [variant]), Records(records)
    if table != chosen[0].table:
        raise UsageError(
            f"weights are of one table's cell, and {table!r} is no table; `mini-lib list {table}` shows tables"
        )
    cell = chosen[0]
    store.check_writable()
    check_folder(checkpoints, "checkpoints")
    check_target(path)
    code_version()
    build = package(cell.paper).build
    training_run = build(cell.settings, seed)
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    run = train([training_run], checkpoints=checkpoints, keep_finished=True, progress=True)[0]
    if run.key not in store:
        save_record(Job(build, cell.settings, seed, run.key), run, store, cell, checkpoints)
    if run.diverged:
        (checkpoints / f"{run.key}.pt").unlink(missing_ok=True)
        raise JobsFailed(
            f"{name_of_run(cell, seed)}, diverged after {run.updates} updates; it has no weights worth keeping"
        )
    words = ["mini-lib", "weights", table, row, column, path.name, "--seed", str(seed)]
    command = shlex.join(words + (["--variant", variant] if variant else []))
    with torch.no_grad():
        # Of the last weights, whichever checkpoint a record reports:
        metrics = training_run.evaluate(run.model)
        about = {"settings": cell.settings, "seed": seed, "metrics": metrics, "command": command}
        save_weights(run.model, path, about)
        load_weights(run.model, path)
        halved = training_run.evaluate(run.model)
    (checkpoints / f"{run.key}.pt").unlink(missing_ok=True)
    print(f"{path}: full precision {metrics}, as stored {halved}")


@app.command()
def compare(
    table: Annotated[
        str | None,
        typer.Argument(help="Such as esbn.table11, or the id of a claim or a cell; all without one."),
    ] = None,
    rows: RowsOption = None,
    columns: ColumnsOption = None,
    variants: VariantsOption = False,
    variant: VariantOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
    summary: Annotated[
        bool,
        typer.Option("--summary", help="Runs and verdicts counted, by paper and by table, and the claims."),
    ] = False,
    own: Annotated[
        bool, typer.Option("--mine", help="Each run of your own (`reproduce --seed`) beside the stored runs.")
    ] = False,
    records: RecordsOption = None,
) -> None:
    """The paper's numbers beside ours, with a verdict: one line a cell, beneath one with the names of its parts."""
    from mini_lib import reproduction
    from mini_lib.reproduction import mine
    from mini_lib.reproduction.claims import claims_by_id, claims_in_words, judge_all, readings_among
    from mini_lib.reproduction.comparison import counted

    if as_json + summary + own > 1:
        raise UsageError("--json, --summary and --mine are outputs of their own; ask for one")
    if variants and (own or summary):
        raise UsageError("--variants is for the list of cells; --summary and --mine show all that they have")
    if own:
        if records is not None:
            to_read(records)  # refuses what is no folder of records
        print(mine.listing(cells(table, rows, columns, variant), records))
        return
    if summary and variant:
        raise UsageError("--summary counts all variants of a claim; leave --variant out")
    chosen = cells(table, rows, columns, variant)
    folded = () if variants or variant or summary or is_cell_id(table) else readings_among(chosen)
    shown = [cell for cell in chosen if cell.variant not in folded]
    store = to_read(records)
    comparisons = reproduction.compare(shown, store)
    if as_json:
        print(json.dumps([each.to_dict() for each in comparisons], indent=1))
    elif summary:
        print(reproduction.summary(comparisons))
    else:
        if claim := claims_by_id().get(table):
            deciding = cells(table)
            judged = judge_all(reproduction.compare(deciding, store), [claim])
            print(f"{claims_in_words(judged)}\n")
            if len(chosen) < len(deciding):
                print("The verdicts above rest on all cells of the claim, not only on those listed here.\n")
        print(reproduction.listing(comparisons))
        if left_out := len(chosen) - len(shown):
            print(f"and {counted(left_out, 'line')} of other readings: --variants shows them")
        judging = [claim.id for claim in claims_by_id().values() if table in claim.tables()]
        if judging and not any(each.paper for each in comparisons):
            print(f"the paper prints no numbers here; claims are judged on these: {', '.join(judging)}")


@results_app.command("merge")
def merge(folder: Path, records: RecordsOption = None) -> None:
    """Take over records made elsewhere; none is doubled, and readers' own runs are left out.

    They are taken over into a folder of --records that holds no stored runs.
    """
    from mini_lib.reproduction.comparison import counted
    from mini_lib.reproduction.records import OWN_SEEDS, Records

    homes = {cell.hash: cell.home for each in (*PAPERS, *STUDIES) for cell in package(each).CELLS}
    new, known, own = Records(records).merge(folder, homes)
    left_out = f", {own} left out: seeds from {OWN_SEEDS} on are readers' own runs" if own else ""
    print(f"{counted(new, 'record')} merged, {known} known already{left_out}")


@app.command()
def pages(
    folder: Annotated[Path, typer.Argument()] = Path("book/generated"),
    readme: Annotated[
        Path | None, typer.Option("--readme", help="Bring the counts in this file up to date too.")
    ] = None,
) -> None:
    """Write the book's generated pages."""
    from mini_lib.reproduction import Records, compare, ledger, write_pages
    from mini_lib.reproduction.capacity import write_capacity
    from mini_lib.reproduction.pages import with_counts

    records, papers = Records(), {each.TITLE: each.CELLS for each in packages()}
    for path in write_pages(folder, packages(), records):
        print(path)
    print(write_capacity(folder / "what_it_costs.md", papers, records, build_run))
    if Path("notebooks").is_dir():  # in a checkout
        from mini_lib.reproduction.gallery import write_gallery

        print(write_gallery(folder, Path(), [(each.TITLE, ledger.load(each.PAPER)) for each in packages()]))
    if readme is not None:
        text = with_counts(readme.read_text(encoding="utf-8"), compare(cells(), records))
        readme.write_text(text, encoding="utf-8")
        print(readme)


@data_app.command("fetch")
def fetch(name: str) -> None:
    """Download a public data set into the cache, checksums verified."""
    from mini_lib import datasets

    for path in datasets.fetch(name):
        print(path)


@data_app.command("verify")
def verify() -> None:
    """Check every data file that is here."""
    from mini_lib import datasets

    bad = False
    print(f"data folder: {datasets.data_folder() or 'none (MINI_LIB_DATA is not set)'}")
    for file, status, detail in datasets.verify():
        print(f"{status:8} {file}  {detail}")
        bad |= status == "damaged"
    if bad:
        raise typer.Exit(1)


@app.command()
def bench(
    models: Annotated[list[str] | None, typer.Option("--model", help="A network; all by default.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    store: Annotated[
        bool,
        typer.Option(
            "--store", help="Keep this CPU's numbers for the plans of `mini-lib reproduce` instead."
        ),
    ] = False,
) -> None:
    """Milliseconds per update of every network on this machine, alone and stacked."""
    from mini_lib.devices import describe, pick_device
    from mini_lib.reproduction import bench as benchmark, plan

    where = pick_device(device)
    cases = [(each.build, case) for each in packages() for case in each.bench_cases()]
    if store and (models or where.type != "cpu"):
        raise UsageError("--store keeps the numbers of all networks on a CPU; leave out --model and --device")
    if store:
        timed = benchmark.alone([case for _, case in cases if case.settings], build_run)
        every = {cell.hash: cell.settings for cell in cells()}
        plan.store_costs(every.values(), timed, build_run, describe(where))
        print(f"{plan.STORED}: {len(every)} settings")
    else:
        benchmark.run(cases, models, where)


@app.command()
def doctor(
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    store: Annotated[
        bool, typer.Option("--store", help="Keep this CPU's numbers as those that others are compared with.")
    ] = False,
) -> None:
    """Say in a minute what works here: device, precision, data, a step of every network, and how fast they are.

    A line each, "ok" or "FAIL"; exit status 1 if something fails.
    """
    from mini_lib.devices import pick_device
    from mini_lib.reproduction import doctor as examination

    full_size = {}
    for each in packages():
        case = next(case for case in each.bench_cases() if case.settings)
        full_size[f"{each.PAPER}, {case.setting}"] = case.settings
    builds = {name: package(name).build for name in (*PAPERS, *STUDIES)}
    if not examination.run(builds, full_size, pick_device(device), store):
        raise typer.Exit(1)


def main(started: float | None = None) -> None:
    """Run the command; wrong use prints one line and exits with 2, a failure that we foresaw with 1.

    A budget counts from `started`, the time.time() when the command began.
    """
    global _began
    _began = time.time() if started is None else started
    try:
        status = app(prog_name="mini-lib", standalone_mode=False) or 0
        if status == INTERRUPTED_STATUS:
            print(INTERRUPTED, file=sys.stderr)
        sys.exit(status)
    except UsageError as error:
        print(f"mini-lib: {error}", file=sys.stderr)
        sys.exit(2)
    except REFUSED as error:
        if message := error.format_message().rstrip("."):  # else it has shown the whole help
            where = f"`{error.ctx.command_path} --help` says what it takes"
            print(f"mini-lib: {message}; {where}", file=sys.stderr)
        sys.exit(2)
    except (CorruptFileError, OSError, RuntimeError) as error:
        if not foreseen(error):
            raise
        print(f"mini-lib: {error}", file=sys.stderr)
        sys.exit(1)


def foreseen(error: Exception) -> bool:
    """Whether a failure is one that we foresaw, whose message says all."""
    from mini_lib.reproduction.launch import JobsFailed

    return isinstance(error, CorruptFileError | OSError | JobsFailed)
