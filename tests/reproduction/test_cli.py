"""The command as a reader uses it: what it prints, what it exits with, what it leaves on disk, killed or not."""

import io
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, redirect_stdout, suppress
from functools import cache
from pathlib import Path

import pytest
import torch
import weights
from filelock import FileLock

from mini_lib import __main__, datasets, load, training
from mini_lib.errors import INTERRUPTED, CorruptFileError
from mini_lib.reproduction import Cell, Records, cells, cli, compare, launch, plan, records, report
from mini_lib.reproduction.esbn import cells as esbn
from mini_lib.reproduction.judgement import WORDS
from mini_lib.reproduction.tables import load_json
from mini_lib.training import TrainingStack, train
from reproduction.samples import FILE, cell, job, record, small_settings, start_process, wait_until

ENTRY = "esbn.table9/ESBN + TCN/m={}"
REPRODUCE = ("reproduce", ENTRY.format(98), "--device", "cpu")
LONG = ("reproduce", ENTRY.format(0), "--device", "cpu", "--seeds", "1", "--workers", "1")


@pytest.fixture(scope="module", autouse=True)
def read_once():
    """The committed records are parsed once for all tests of this file."""
    usual, kept = records.read_records, cache(records.read_records)

    def read(path):
        return kept(path) if path.parent == records.COMMITTED else usual(path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records, "read_records", read)
        yield


def call(*arguments):
    """Run the command in this process; returns what it exits with."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["mini-lib", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
    return stop.value.code


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def command(*arguments):
        code = call(*arguments)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return command


@contextmanager
def small_cells(**changes):
    """Table 9 with two entries of small networks, each trained alone in this process, as workers start slowly."""
    small = tuple(
        Cell("esbn.table9", row, "m=98", small_settings(tcn=tcn, **changes), 10, file="esbn.table9")
        for row, tcn in (("ESBN + TCN", True), ("LSTM + TCN", False))
    )

    def train_here(jobs, checkpoints, deadline, workers, progress):
        for each in jobs:
            yield from launch.in_stacks([each], torch.device("cpu"), checkpoints, deadline, "fp32", progress)

    usual = cells.cells_of
    with pytest.MonkeyPatch.context() as patch:
        for module in (cells, cli):
            patch.setattr(module, "cells_of", lambda paper: small if paper == "esbn" else usual(paper))
        patch.setattr(esbn, "CELLS", list(small))
        patch.setattr(launch, "_over_cores", train_here)
        yield


@pytest.fixture
def small():
    with small_cells():
        yield


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with the records of two runs, made by the command itself, and what it printed."""
    folder, said = tmp_path_factory.mktemp("made"), io.StringIO()
    with small_cells(), pytest.MonkeyPatch.context() as patch, redirect_stdout(said):
        patch.chdir(folder)
        assert call(*REPRODUCE, "--seeds", 2, "--records", "records") == 0
    return folder / "records", said.getvalue()


def on_record(folder):
    return sorted(record["seed"] for record in Records(folder))


# ------------------------------------------------------------------------------------------ list, compare, claims


@pytest.mark.parametrize("command", ["list", "list scan --all", "compare scan.table1 --all", "claims scan"])
def test_what_is_printed_is_plain_and_no_wider_than_the_terminal_or_100_columns(run, monkeypatch, command):
    for columns in (70, 200):
        monkeypatch.setenv("COLUMNS", str(columns))
        code, out, _ = run(*command.split())
        assert code == 0
        assert max(map(len, out.splitlines())) <= min(100, columns)
        assert not set("$\\") & set(out)


def test_list_counts_the_numbers_of_each_table_by_the_four_words(run):
    _, out, _ = run("list")
    head = next(line for line in out.splitlines() if line.startswith("esbn "))
    assert re.split(r" {2,}", head) == ["esbn", "numbers", *WORDS]
    listed = set(re.findall(r"^(\w+\.\w+)(?:  |$)", out, re.MULTILINE))
    assert listed == {cell.table for cell in cli.all_cells()}


def test_entries_are_listed_with_their_runs(run, small, made):
    _, out, _ = run("list", "esbn.table9", "--records", made[0])
    assert re.search(r"^ESBN \+ TCN +m=98 +2 of 10$", out, re.MULTILINE)
    assert re.search(r"^LSTM \+ TCN +m=98 +0 of 10$", out, re.MULTILINE)


def test_ours_is_shown_with_its_difference_from_the_papers_number(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    store = Records(tmp_path)
    for seed in (1, 2, 3):
        store.add(record(seed, accuracy=50.0 + seed), FILE)
    said = report.listing(compare([cell(), cell(column="m=85", m=85)], store), False)
    shown = re.search(r"^ESBN \+ TCN .*$", said, re.MULTILINE)[0]
    numbers = ["m=95", "99.7 ± 0.1", "52.00 ± 0.58", "-47.7 ± 2.4", "3/10", "not reproduced"]
    assert re.split(r" {2,}", shown)[1:] == numbers
    assert "2 numbers: 1 not reproduced, 1 not run (fewer than 3 runs)." in said


def test_variants_are_shown_by_name_by_all_or_by_id(run):
    _, out, _ = run("compare", "scan.table1")
    assert re.search(r"^--all shows \d+ variants more\.$", out, re.MULTILINE)
    assert "last checkpoint" not in out
    for arguments in (("--all",), ("--variant", "last checkpoint")):
        _, out, _ = run("compare", "scan.table1", *arguments)
        assert "last checkpoint" in out
        assert "--all shows" not in out
    _, out, _ = run("compare", "scan.table1/Syntactic Attention/Add jump/last checkpoint")
    assert out.count("last checkpoint") == 1


def test_claims_are_narrowed_to_a_paper_a_table_or_one_and_controls_bear_on_them(run):
    for what in ("scan", "kanerva.fig2a", "kanerva.fig3b.2"):
        _, out, _ = run("claims", what)
        names = [line.split()[0] for line in out.splitlines()[1:-1] if not line.startswith(" ")]
        assert names
        assert all(name.startswith(what) for name in names)
    assert "our control on the same table is not" in out  # which was not asked for


def test_a_terminal_that_lacks_a_sign_gets_a_question_mark(monkeypatch):
    terminal = io.TextIOWrapper(io.BytesIO(), "ascii")
    monkeypatch.setattr(sys, "stdout", terminal)
    assert call("compare", "esbn.table9") == 0
    terminal.flush()
    assert b" ? " in terminal.buffer.getvalue()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("frobnicate",), "No such command 'frobnicate'; `mini-lib --help` shows what it takes"),
        (("list", "--records", "nowhere"), "no folder of records at nowhere"),
        (("compare", "scan.table1", "--variant", "last"), "unknown variant 'last'; known: last checkpoint;"),
        (("compare", "esbn.table11/ESBM/m=95"), "unknown entry 'esbn.table11/ESBM/m=95'; did you mean"),
        (("claims", "esbn.C99"), "unknown paper, table or claim 'esbn.C99'; did you mean"),
        (("claims", "grid"), "no claim is on grid"),
        (("merge", "."), "no folder with record files"),
        (("reproduce",), "Missing argument 'what'"),
        (("reproduce", "esbn.table9", "--budget", "soon"), "a budget is a number above 0 and s, m or h"),
        (("reproduce", "esbn.table9", "--device", "cuda:77"), "device 'cuda:77' is not there"),
        (("data", "mnits"), "did you mean 'mnist'"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, tuple) else "",
)
def test_wrong_use_exits_with_2_and_says_what_would_do(run, arguments, message):
    code, _, err = run(*arguments)
    assert code == 2
    assert message in err
    assert re.fullmatch(r"mini-lib: .+\n", err), "one line"


def test_damaged_files_of_the_package_and_of_records_are_named(run, tmp_path):
    with pytest.raises(CorruptFileError, match=r"lost.json cannot be read .*: restore it"):
        load_json(tmp_path / "lost.json", list)
    (tmp_path / "scan.table1.jsonl").write_text('{"key": 1}\n')
    code, _, err = run("list", "--records", tmp_path)
    assert code == 1
    assert re.fullmatch(r"mini-lib: .*scan\.table1\.jsonl, line 1: the record lacks .*\n", err)


def test_merge_takes_records_over_once_into_the_files_of_their_entries(run, small, made, tmp_path):
    shutil.copytree(made[0], tmp_path / "from" / "deeper")
    Records(tmp_path / "from").add(record(), "other")
    (tmp_path / "from" / "deeper" / "esbn.table9.jsonl").rename(tmp_path / "from" / "deeper" / "made.jsonl")
    merge = ("merge", "from", "--records", "there")
    assert run(*merge)[1] == "3 records merged, 0 known already\n"
    assert run(*merge)[1] == "0 records merged, 3 known already\n"
    found = {path.stem: len(records.read_records(path)) for path in (tmp_path / "there").glob("*.jsonl")}
    assert found == {"esbn.table9": 2, "other": 1}


# ------------------------------------------------------------------------------------------ reproduce


def test_reproduce_records_each_run_says_so_and_leaves_no_checkpoint(made):
    folder, said = made
    for line in (folder / "esbn.table9.jsonl").read_text().splitlines():
        found = json.loads(line)
        assert (found["updates"], found["scale"], found["data"]) == (3, "paper", "rendered")
        assert found["provenance"]["device"].startswith("cpu: ")
        alone = esbn.build(found["settings"], found["seed"])
        (again,) = train([alone])
        assert found["key"] == alone.key
        assert found["curve"]["loss"][0] == pytest.approx(again.curve["loss"][0], rel=1e-4)
        result = f"m=98, seed {found['seed']}: test_accuracy {found['metrics']['test_accuracy']:.4g} "
        assert result in said
    assert on_record(folder) == [1, 2]
    assert said.endswith("2 runs finished, 0 left\n")
    assert list((folder / "checkpoints").glob("*.pt")) == []


def test_what_is_on_record_is_not_trained_again_except_into_another_folder(run, small, made):
    folder = made[0]
    code, out, _ = run(*REPRODUCE, "--seeds", 2, "--records", folder)
    assert code == 0
    assert out.startswith(f"nothing to train: all of it is on record in {folder}")
    Path("mine").mkdir()
    with FileLock("mine/reproduce.lock"):
        code, _, err = run(*REPRODUCE, "--seeds", 2, "--records", "mine")
    assert (code, "another `mini-lib reproduce` is training for mine; both may make" in err) == (0, True)
    first, again = ({run["key"]: run["metrics"] for run in Records(each)} for each in (folder, "mine"))
    assert again == first


def test_a_stopped_run_is_not_recorded_and_comes_out_as_if_it_had_not_been_stopped(run, small, monkeypatch):
    command = (*REPRODUCE, "--seeds", 1, "--records", "records")
    with monkeypatch.context() as patch:
        asked = iter([False, False])  # before it is built and before it is trained
        patch.setattr(launch, "past", lambda deadline: next(asked, True))
        out = run(*command)[1]
    assert "seed 1 after 1 updates; the same command goes on from there" in out
    assert out.endswith("0 runs finished, 1 left\n")
    assert on_record("records") == []
    run(*command)
    (found,) = Records("records")
    (alone,) = train([esbn.build(found["settings"], 1)])
    assert found["curve"]["loss"] == pytest.approx(alone.curve["loss"], rel=1e-4)


def test_a_run_is_recorded_as_its_first_entry_says_and_a_conflict_stops_no_other_run(tmp_path, capsys):
    jobs, store = [job(1), job(2)], Records(tmp_path)
    table = ("esbn.table9", "RN", "m=98", job(1).settings, 10)
    entries = [Cell(*table, file="esbn.table9"), Cell(*table, file="esbn.table11", variant="tutorial")]
    runs = train([each.build(each.settings, each.seed) for each in jobs])
    store.add(records.record_of(runs[0], entries[0], 1) | {"updates": 99}, "esbn.table9")
    stored = {jobs[1].key: {"diverged": True, "metrics": {}}}
    with pytest.raises(records.RecordConflict, match="1 run on record with other results; all others"):
        cli.keep_runs(zip(jobs, runs, strict=True), 2, store, entries, stored)
    said = capsys.readouterr()
    assert "mini-lib: esbn.table9/RN/m=98, seed 1: run" in said.err
    assert re.search(r"1/2 esbn.table9/RN/m=98, seed 2: test_accuracy [\d.]+, stored: DIVERGED \(", said.out)
    _, found = records.read_records(tmp_path / "esbn.table9.jsonl")
    assert (found["key"], found["scale"]) == (jobs[1].key, "paper")


def test_a_checkpoint_of_a_run_on_record_goes_and_others_stay(run, small, made, tmp_path):
    records = shutil.copytree(made[0], tmp_path / "records")
    keys = next(iter(Records(records)))["key"], "a-s1"
    finished, begun = (records / "checkpoints" / f"{key}.pt" for key in keys)
    for path in (finished, begun):
        path.touch()
    command = (*REPRODUCE, "--seeds", 3, "--records", records)
    assert run(*command, "--dry-run")[0] == 0
    assert finished.exists()
    code, _, err = run(*command)
    assert (code, "another" in err) == (0, False)
    assert list(begun.parent.iterdir()) == [begun]


def test_runs_are_trained_in_the_order_of_the_plan_which_knows_the_budget(run, small, monkeypatch):
    seen, planned = {}, plan.schedule

    def schedule(steps, workers, budget):
        seen.update(budget=budget, at_a_time=workers)
        steps, inside = planned(steps, workers, budget)
        return steps[::-1], inside

    def train(jobs, **given):
        seen.update(given, jobs=jobs, sigterm=signal.getsignal(signal.SIGTERM))
        yield from ()

    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    monkeypatch.setattr(plan, "schedule", schedule)
    monkeypatch.setattr(launch, "launch", train)
    options = ("--seeds", 4, "--records", "none", "--workers", 5, "--budget", "9m")
    assert run(*REPRODUCE, *options)[0] == 0
    assert [job.seed for job in seen["jobs"]] == [4, 1, 2, 3]
    assert (seen["at_a_time"], seen["workers"], seen["checkpoints"]) == (5, 5, Path("none/checkpoints"))
    assert seen["sigterm"] is signal.default_int_handler, "a scheduler's end is no interrupt"
    assert 0 < seen["budget"] <= 540
    assert 0 < time.time() + 525.0 - seen["deadline"] < 60


def test_a_dry_run_prints_the_whole_plan_and_trains_and_writes_nothing(run, small, tmp_path, monkeypatch):
    monkeypatch.setattr(launch, "launch", lambda *given, **named: pytest.fail("it trained"))
    code, out, _ = run(*REPRODUCE, "--seeds", 4, "--records", "none", "--budget", "9m", "--dry-run")
    assert code == 0
    assert out.startswith("4 runs to make on cpu: ")
    assert re.search(r" 3  esbn\.table9, ESBN \+ TCN: up to 3 runs each\n.* 1  .*: all runs\n", out)
    assert "expected within 9m: " in out
    assert not list(tmp_path.iterdir())


def test_variants_are_trained_only_where_they_are_named(run, monkeypatch):
    asked = []
    monkeypatch.setattr(cli, "unfinished", lambda chosen, *rest: asked.append(chosen) or [])
    for more in ((), ("--variant", "last checkpoint")):
        assert run("reproduce", "scan.table1", *more, "--records", "none")[0] == 0
    assert [{cell.variant for cell in each} for each in asked] == [{""}, {"last checkpoint"}]


def test_folders_are_tried_before_training(run, small, tmp_path):
    (tmp_path / "checkpoints").touch()
    for options in ((), ("--records", "checkpoints/there")):
        code, out, err = run(*REPRODUCE, *options)
        assert code == 1
        assert "cannot write to checkpoints" in err
        assert "runs to make" not in out


def test_a_run_that_cannot_be_recorded_is_kept_and_recorded_once_there_is_room(run, small, monkeypatch):
    def full(path, line):
        raise OSError(28, "No space left on device")

    command = (*REPRODUCE, "--seeds", 1, "--records", "records")
    with monkeypatch.context() as patch:
        patch.setattr(records, "append_line", full)
        code, _, err = run(*command)
    assert code == 1
    assert "device. esbn.table9/ESBN + TCN/m=98, seed 1 had finished and is not on record; the same" in err
    assert err.endswith("records it from its checkpoint, and trains it again where there is none\n")
    monkeypatch.setattr(TrainingStack, "step", None)  # nothing is trained again
    assert run(*command)[1].endswith("1 run finished, 0 left\n")
    assert on_record("records") == [1]


@pytest.mark.parametrize("address", ["10.0.0.5:6379", "ray://head:10001", "auto", ""])
def test_ray_may_have_an_address(address):
    words = ["--ray", *filter(None, [address]), "grid.rmts/corelnet/d3, m=95: new"]
    assert cli.with_ray_address(words) == ["--ray", address or "local", words[-1]]


@pytest.mark.parametrize("text", ["soon", "-3s", "0s", "s", "9", "nanh", "1e400h", ""])
def test_a_budget_has_a_number_and_a_unit(text):
    with pytest.raises(ValueError, match="a budget is a number above 0 and s, m or h"):
        cli.deadline_of(text, 0.0)


def test_a_budget_counts_from_the_start_and_leaves_time_to_stop():
    ends = [cli.deadline_of(budget, 1000.0) for budget in ("20s", "60s", "9m", "1.5h", None)]
    assert ends == [1015.0, 1045.0, 1525.0, 6385.0, None]


# Interrupts are heard also where a shell that ignores them (of a background job, say) started the tests, and the
# command tells of its progress at once: what is no terminal gets a line a minute.
HEARING = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from mini_lib import __main__, progress
progress.LINE_SECONDS = 0.0
__main__.main()
"""


@pytest.mark.slow
def test_an_interrupt_says_one_line_and_leaves_a_checkpoint_and_no_process(tmp_path):
    """Sent to the command and its worker, as a terminal does."""
    words = [sys.executable, "-c", HEARING, *LONG, "--records", "records"]
    how = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "start_new_session": True}
    process = subprocess.Popen(words, cwd=tmp_path, text=True, **how)
    with process.stderr as said:
        assert any(re.search(r"^0 of 1 runs: [1-9]\d* updates", line) for line in said)
        os.killpg(process.pid, signal.SIGINT)
        rest = [line.strip() for line in said if "0 of 1 runs" not in line]
        assert process.wait() == 130
    assert rest == [INTERRUPTED]
    with suppress(ProcessLookupError):  # as soon as nothing is left of the group
        wait_until(lambda: os.killpg(process.pid, 0))
    (checkpoint,) = (tmp_path / "records" / "checkpoints").glob("*.pt")
    assert torch.load(checkpoint)["update"] > 0
    assert not list((tmp_path / "records").glob("*.jsonl"))


def test_an_interrupt_while_the_command_begins_says_the_same_line(monkeypatch, capsys):
    def interrupt(started):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "main", interrupt)
    with pytest.raises(SystemExit) as stop:
        __main__.main()
    assert stop.value.code == 130
    assert capsys.readouterr().err == f"{INTERRUPTED}\n"


# ------------------------------------------------------------------------------------------ killed

KILLS = int(os.environ.get("MINI_LIB_KILLS", "1"))  # `make stress` sets it
RUNS, EPOCHS = 4, 20


def reproduce(folder):
    """Run the command; checkpoints come as often as they can, so that many moments fall into one."""
    os.chdir(folder)
    sys.stdout = open("printed", "w", buffering=1)
    training.CHECKPOINT_SECONDS = 0.0
    sys.argv = ["mini-lib", *REPRODUCE, "--seeds", str(RUNS), "--records", "records"]
    with small_cells(epochs=EPOCHS):
        cli.main()


def reproduce_for(folder, seconds):
    """Whether the command was killed, n seconds after its first line, and the seeds that it said are finished."""
    folder.mkdir(exist_ok=True)
    printed = folder / "printed"
    printed.unlink(missing_ok=True)
    process = start_process(reproduce, folder)
    wait_until(lambda: printed.exists() and printed.read_text())
    process.join(seconds)
    process.kill()
    process.join()
    assert process.exitcode in (0, -9)
    finished = re.findall(r"/\d+ .*, seed (\d+): ", printed.read_text())
    return process.exitcode != 0, set(map(int, finished))


@pytest.mark.slow
def test_a_killed_command_goes_on_and_loses_and_doubles_nothing(tmp_path):
    """The moments are drawn anew every time; the name of the folder says which they were."""
    seed = random.randrange(10**6)
    moments, killed, queues = random.Random(seed), 0, 0
    settings = small_settings(epochs=EPOCHS)
    runs = {number: train([esbn.build(settings, number)])[0] for number in range(1, RUNS + 1)}
    while killed < KILLS:
        queues += 1
        folder, known = tmp_path / f"{seed}-{queues}", set()
        path = folder / "records" / "esbn.table9.jsonl"
        while len(known) < RUNS:
            ended, announced = reproduce_for(folder, moments.uniform(0, 1) if killed < KILLS else 300)
            killed += ended
            # The last line may be cut short by a kill in the middle of its writing.
            lines = re.findall(r".+\n", path.read_text()) if path.exists() else []
            now = on_record(path.parent) if lines else []
            assert len(lines) == len(now)
            assert known | announced <= {*now}, f"lost: {(known | announced) - {*now}}"
            known = {*now}
        assert not list((folder / "records" / "checkpoints").glob("*.pt"))
        for made in Records(path.parent):
            uninterrupted = runs[made["seed"]]
            assert made["metrics"] == pytest.approx(uninterrupted.metrics, rel=1e-4)
            assert made["curve"]["loss"] == pytest.approx(uninterrupted.curve["loss"], rel=1e-4)


# ------------------------------------------------------------------------------------------ data, weights


def test_data_exits_with_1_where_a_file_is_damaged(run, monkeypatch):
    for status, code in (("differs", 0), ("damaged", 1)):
        monkeypatch.setattr(datasets, "verify", lambda status=status: [("scan/a", status, "why")])
        assert run("data")[0] == code


def test_weights_of_a_run_are_kept_and_the_run_is_put_on_record(small, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    weights.make("esbn.table9/LSTM + TCN/m=98", tmp_path / "it.safetensors", 2, tmp_path / "records")
    (found,) = Records(tmp_path / "records")
    kept = load(tmp_path / "it.safetensors").about["metrics"]
    assert kept["test_accuracy"] == pytest.approx(found["metrics"]["test_accuracy"], abs=1e-4)
    assert not list((tmp_path / "checkpoints").glob("*.pt"))
