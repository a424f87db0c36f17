"""The command as a reader uses it: what it prints, what it exits with, what it leaves on disk."""

import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, redirect_stdout
from functools import cache
from pathlib import Path

import pytest
import torch
from filelock import FileLock

from mini_lib import __main__, datasets
from mini_lib.errors import INTERRUPTED, CorruptFileError
from mini_lib.reproduction import Cell, Records, cells, cli, compare, launch, plan, records, report
from mini_lib.reproduction.esbn import cells as esbn
from mini_lib.reproduction.judgement import WORDS
from mini_lib.reproduction.tables import load_json
from mini_lib.training import TrainingStack, train
from reproduction.samples import FILE, cell, job, record, small_settings

CELL = ("esbn.table9", "--row", "ESBN + TCN", "--column", "m=98")
REPRODUCE = ("reproduce", *CELL, "--device", "cpu")
LONG = ("reproduce", *CELL[:-1], "m=0", "--device", "cpu", "--seeds", "1", "--workers", "1")


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
def small_cells():
    """Table 9 with two entries of small networks, which are trained in this process, as workers start slowly."""
    small = tuple(
        Cell("esbn.table9", row, "m=98", small_settings(tcn=tcn), 10, file="esbn.table9")
        for row, tcn in (("ESBN + TCN", True), ("LSTM + TCN", False))
    )

    def train_here(jobs, checkpoints, deadline, workers, progress):
        return launch._in_stacks(jobs, torch.device("cpu"), checkpoints, deadline, "fp32", progress)

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


@pytest.mark.parametrize(
    ("columns", "arguments"),
    [
        (200, ("list",)),
        (200, ("list", "scan", "--all")),
        (200, ("compare", "scan.table1", "--all")),
        (200, ("compare", "kanerva.fig2c", "--variant", "tutorial")),
        (70, ("compare", "scan.table1")),
        (70, ("claims", "scan")),
    ],
    ids=str,
)
def test_what_is_printed_is_plain_and_no_wider_than_the_terminal_or_100_columns(
    run, monkeypatch, columns, arguments
):
    monkeypatch.setenv("COLUMNS", str(columns))
    code, out, _ = run(*arguments)
    assert code == 0
    assert max(map(len, out.splitlines())) <= min(100, columns)
    assert not set("$\\") & set(out)


def test_list_counts_the_numbers_of_each_table_by_the_four_words(run):
    _, out, _ = run("list")
    head = next(line for line in out.splitlines() if line.startswith("esbn "))
    assert re.split(r" {2,}", head) == ["esbn", "numbers", *WORDS]
    listed = set(re.findall(r"^(\w+\.\w+)(?:  |$)", out, re.MULTILINE))
    assert listed == {cell.table for cell in cli.all_cells()}


def test_entries_are_listed_with_their_runs_and_compared_with_the_papers_numbers(run, small, made):
    _, out, _ = run("list", "esbn.table9", "--records", made[0])
    assert re.search(r"^ESBN \+ TCN +m=98 +2 of 10$", out, re.MULTILINE)
    assert re.search(r"^LSTM \+ TCN +m=98 +0 of 10$", out, re.MULTILINE)
    _, out, _ = run("compare", "esbn.table9", "--records", made[0])
    assert re.search(r"^ESBN \+ TCN +m=98 +100 ± 0 +[\d.]+ +2/10 +not run$", out, re.MULTILINE)
    assert "2 numbers: 2 not run (fewer than 3 runs)." in out


def test_ours_is_shown_with_its_difference_from_the_papers_number(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    store = Records(tmp_path)
    for seed in (1, 2, 3):
        store.add(record(seed, accuracy=50.0 + seed), FILE)
    said = report.listing(compare([cell()], store), False)
    (line,) = (line for line in said.splitlines() if line.startswith("ESBN + TCN"))
    assert re.split(r" {2,}", line)[1:4] == ["m=95", "99.7 ± 0.1", "52.00 ± 0.58"]
    assert re.split(r" {2,}", line)[4:] == ["-47.7 ± 2.4", "3/10", "not reproduced"]


def test_variants_are_shown_by_name_by_all_or_by_id(run):
    _, out, _ = run("compare", "scan.table1")
    assert "--all shows 17 variants more." in out
    assert "last checkpoint" not in out
    for arguments in (("--all",), ("--variant", "last checkpoint")):
        _, out, _ = run("compare", "scan.table1", *arguments)
        assert "last checkpoint" in out
        assert "--all shows" not in out
    _, out, _ = run("compare", "scan.table1/Syntactic Attention/Add jump/last checkpoint")
    assert out.count("last checkpoint") == 1


def test_json_has_every_entry(run):
    _, out, _ = run("compare", "kanerva.fig2c", "--json")
    declared = [cell.id for cell in cells.cells_of("kanerva") if cell.table == "kanerva.fig2c"]
    assert {each["id"] for each in json.loads(out)} == set(declared)


@pytest.mark.parametrize("what", ["scan", "kanerva.fig2a", "esbn.C4"])
def test_claims_are_narrowed_to_a_paper_a_table_or_one(run, what):
    _, out, _ = run("claims", what)
    names = [line.split()[0] for line in out.splitlines()[1:-1] if not line.startswith(" ")]
    assert names
    assert all(name.startswith(what) for name in names)


def test_a_claim_is_judged_alike_however_it_is_asked_for(run):
    """A control of ours bears on it, also where it alone is asked for."""
    for command in ("claims", "compare"):
        _, out, _ = run(command, "kanerva.fig3b.2")
        (_, told) = out.split("kanerva.fig3b.2", 1)
        assert "our control on the same table is not" in told.split("kanerva.fig3b.3")[0]
    _, out, _ = run("compare", "esbn.C2", "--row", "RN + TCN")
    assert "LSTM + TCN" not in out
    assert out.count("RN + TCN") >= 4


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
        (
            ("compare", "esbn.table9", "--row", "LSTM+TCN"),
            "unknown row 'LSTM+TCN'; did you mean 'LSTM + TCN'",
        ),
        (("compare", "esbn.table11/ESBM/m=95"), "unknown entry 'esbn.table11/ESBM/m=95'; did you mean"),
        (("claims", "esbn.C99"), "unknown paper, table or claim 'esbn.C99'; did you mean"),
        (("claims", "grid"), "no claim is on grid"),
        (("merge", "."), "no record files"),
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
    (tmp_path / "claims.json").write_text("{")
    for name in ("claims.json", "lost.json"):
        with pytest.raises(CorruptFileError, match=rf"{name} cannot be read .*: restore it"):
            load_json(tmp_path / name, list)
    (tmp_path / "scan.table1.jsonl").write_text('{"key": 1}\n')
    code, _, err = run("list", "--records", tmp_path)
    assert code == 1
    assert re.fullmatch(r"mini-lib: .*scan\.table1\.jsonl, line 1: the record lacks .*\n", err)


def test_merge_takes_records_over_once_into_the_files_of_their_entries(run, small, made, tmp_path):
    (tmp_path / "from").mkdir()
    shutil.copy(made[0] / "esbn.table9.jsonl", tmp_path / "from" / "other.jsonl")
    merge = ("merge", "from", "--records", "there")
    assert run(*merge)[1] == "2 records merged, 0 known already\n"
    assert run(*merge)[1] == "0 records merged, 2 known already\n"
    assert [path.name for path in (tmp_path / "there").glob("*.jsonl")] == ["esbn.table9.jsonl"]


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
    assert run(*REPRODUCE, "--seeds", 2, "--records", "mine")[0] == 0
    first, again = (
        {record["key"]: record["metrics"] for record in Records(each)} for each in (folder, "mine")
    )
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


def test_a_run_that_fills_two_entries_is_recorded_as_the_first_says(tmp_path):
    each = job(1)
    files = {"": "esbn.table9", "tutorial": "esbn.table11"}
    entries = [
        Cell("esbn.table9", "RN", "m=98", each.settings, 10, file=file, variant=variant)
        for variant, file in files.items()
    ]
    (run,) = train([each.build(each.settings, 1)])
    assert cli.keep_runs([(each, run)], 1, Records(tmp_path), entries) == 1
    (found,) = records.read_records(tmp_path / "esbn.table9.jsonl")
    assert (found["key"], found["scale"]) == (each.key, "paper")


def test_a_checkpoint_of_a_run_on_record_goes_and_others_stay(run, small, made, tmp_path):
    records = shutil.copytree(made[0], tmp_path / "records")
    checkpoints = tmp_path / "checkpoints"
    checkpoints.mkdir()
    finished, begun = (checkpoints / f"{key}.pt" for key in (next(iter(Records(records)))["key"], "a-s1"))
    for path in (finished, begun):
        path.touch()
    command = (*REPRODUCE, "--seeds", 3, "--records", records, "--checkpoints", checkpoints)
    assert run(*command, "--dry-run")[0] == 0
    assert finished.exists()
    assert run(*command)[0] == 0
    assert list(checkpoints.iterdir()) == [begun]


def test_runs_are_trained_in_the_order_of_the_plan_which_knows_the_budget(run, small, monkeypatch):
    seen, planned = {}, plan.schedule

    def schedule(steps, workers, budget):
        seen.update(budget=budget, workers=workers)
        steps, inside = planned(steps, workers, budget)
        return steps[::-1], inside

    monkeypatch.setattr(plan, "schedule", schedule)
    monkeypatch.setattr(launch, "launch", lambda jobs, **given: seen.update(given, jobs=jobs) or iter(()))
    monkeypatch.setattr(cli, "closing", lambda runs: io.StringIO())
    options = ("--seeds", 4, "--records", "none", "--workers", 5, "--budget", "9m")
    assert run(*REPRODUCE, *options)[0] == 0
    assert [job.seed for job in seen["jobs"]] == [4, 1, 2, 3]
    assert seen["workers"] == 5
    assert 0 < seen["budget"] <= 540
    assert seen["checkpoints"] == Path("none/checkpoints")


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


def test_another_command_that_trains_for_the_same_folder_is_told(run, small, tmp_path):
    (tmp_path / "there").mkdir()
    with FileLock(tmp_path / "there" / "reproduce.lock"):
        _, out, _ = run(*REPRODUCE, "--seeds", 1, "--records", "there")
    assert "another `mini-lib reproduce` is training for there" in out
    assert "1 run finished, 0 left" in out
    _, out, _ = run(*REPRODUCE, "--seeds", 2, "--records", "there")
    assert "another" not in out


@pytest.mark.parametrize("option", ["--checkpoints", "--records"])
def test_folders_are_tried_before_training(run, small, tmp_path, option):
    (tmp_path / "file").touch()
    code, out, err = run(*REPRODUCE, "--records", "records", option, "file/there")
    assert code == 1
    assert f"cannot write {option[2:]} to file/there" in err
    assert "runs to make" not in out


def test_a_run_that_cannot_be_recorded_is_kept_and_recorded_once_there_is_room(run, small, monkeypatch):
    def full(path, line):
        raise OSError(28, "No space left on device")

    command = (*REPRODUCE, "--seeds", 1, "--records", "records")
    with monkeypatch.context() as patch:
        patch.setattr(records, "append_line", full)
        code, _, err = run(*command)
    assert code == 1
    assert err.endswith("mini-lib: [Errno 28] No space left on device\n")
    monkeypatch.setattr(TrainingStack, "step", None)  # nothing is trained again
    assert run(*command)[1].endswith("1 run finished, 0 left\n")
    assert on_record("records") == [1]


def test_ray_may_have_an_address():
    entry = "grid.rmts/corelnet/d3, m=95: new"
    assert cli.with_ray_address(["--ray", entry, "--ray"]) == ["--ray", "local", entry, "--ray", "local"]
    for address in ("10.0.0.5:6379", "ray://head:10001", "auto"):
        words = ["reproduce", "--ray", address, "all"]
        assert cli.with_ray_address(words) == words


@pytest.mark.parametrize("text", ["soon", "-3s", "0s", "s", "9", "nanh", "1e400h", ""])
def test_a_budget_has_a_number_and_a_unit(text):
    with pytest.raises(ValueError, match="a budget is a number above 0 and s, m or h"):
        cli.read_budget(text)


def test_a_budget_counts_from_the_start_and_leaves_time_to_stop(run, monkeypatch):
    assert [cli.read_budget(text) for text in ("30s", "9m", "1.5h")] == [30, 540, 5400]
    ends = [cli.deadline_of(budget, 1000.0) for budget in ("20s", "60s", "9m", None)]
    assert ends == [1015.0, 1045.0, 1525.0, None]
    told = {}
    monkeypatch.setattr(launch, "launch", lambda jobs, **given: told.update(given) or (run for run in ()))
    monkeypatch.setattr(sys, "argv", ["mini-lib", *REPRODUCE, "--records", "records", "--budget", "9m"])
    with pytest.raises(SystemExit):
        cli.main(5000.0)
    assert told["deadline"] == 5525.0
    with pytest.raises(SystemExit):
        __main__.main()
    assert 0 < time.time() + 525.0 - told["deadline"] < 60


# Interrupts are heard also where a shell that ignores them (of a background job, say) started the tests, and the
# command tells of its progress at once: what is no terminal gets a line a minute.
HEARING = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from mini_lib import __main__, progress
progress.LINE_SECONDS = 0.0
__main__.main()
"""


def gone(group):
    """Whether a process group has ended, within some seconds."""
    for _ in range(100):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False


@pytest.mark.slow
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_says_one_line_and_leaves_a_checkpoint_and_no_process(end, tmp_path):
    """Sent to the command and its worker, as a terminal and many a scheduler do."""
    words = [sys.executable, "-c", HEARING, *LONG, "--records", "records"]
    how = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "start_new_session": True}
    process = subprocess.Popen(words, cwd=tmp_path, text=True, **how)
    with process.stderr as said:
        assert any(re.search(r"^0 of 1 runs: [1-9]\d* updates", line) for line in said)
        os.killpg(process.pid, end)
        rest = [line.strip() for line in said if "0 of 1 runs" not in line]
        assert process.wait() == 130
    assert rest == [INTERRUPTED]
    assert gone(process.pid), "a worker lives on"
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


# ------------------------------------------------------------------------------------------ data, weights


def test_data_exits_with_1_where_a_file_is_damaged(run, monkeypatch):
    for status, code in (("differs", 0), ("damaged", 1)):
        monkeypatch.setattr(datasets, "verify", lambda status=status: [("scan/a", status, "why")])
        assert run("data")[0] == code


def test_weights_of_a_run_are_kept_and_the_run_is_put_on_record(small, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "tools")
    monkeypatch.chdir(tmp_path)
    import weights

    from mini_lib import load

    weights.make("esbn.table9/LSTM + TCN/m=98", tmp_path / "it.safetensors", 2, tmp_path / "records")
    network = load(tmp_path / "it.safetensors")
    (record,) = Records(tmp_path / "records")
    assert network.about["metrics"]["test_accuracy"] == pytest.approx(
        record["metrics"]["test_accuracy"], abs=1e-4
    )
    assert not list((tmp_path / "checkpoints").glob("*.pt"))
