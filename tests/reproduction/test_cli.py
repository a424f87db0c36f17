"""The command as a reader uses it: what it prints, what it exits with, what it leaves on disk."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from filelock import FileLock

from mini_lib import __main__
from mini_lib.errors import INTERRUPTED
from mini_lib.esbn.runs import paper_settings
from mini_lib.reproduction import Cell, Records, cells, cli, launch, plan
from mini_lib.reproduction.esbn import cells as esbn
from mini_lib.reproduction.judgement import WORDS
from mini_lib.reproduction.records import code_version
from mini_lib.training import train

CELL = ("esbn.table9", "--row", "ESBN + TCN", "--column", "m=98")
REPRODUCE = ("reproduce", *CELL, "--device", "cpu")
LONG = ("reproduce", *CELL[:-1], "m=0", "--device", "cpu", "--seeds", "1", "--workers", "1")


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
        Cell("esbn.table9", row, "m=98", settings.to_dict(), 10, file="esbn.table9")
        for row, model in (("ESBN + TCN", "esbn"), ("LSTM + TCN", "lstm"))
        for settings in [
            paper_settings("same_different", 98, model, epochs=2, options={"hidden": 32}, test_size=32)
        ]
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


def test_entries_that_are_not_what_the_modules_declare_are_not_trained(run, small, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(esbn, "CELLS", [])
        code, _, err = run(*REPRODUCE, "--seeds", 1, "--records", "records")
    assert code == 1
    assert "entries.json is not what esbn/cells.py declares; run `python tools/entries.py`" in err


@pytest.fixture
def small():
    with small_cells():
        yield


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with the records of two runs, made by the command itself."""
    folder = tmp_path_factory.mktemp("made")
    with small_cells(), pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert call(*REPRODUCE, "--seeds", 2, "--records", "records") == 0
    return folder


# ------------------------------------------------------------------------------------------ list, compare, claims


@pytest.mark.parametrize(
    "arguments",
    [
        ("list",),
        ("list", "esbn", "--all"),
        ("compare", "esbn"),
        ("compare", "functions.table1", "--all"),
        ("compare", "kanerva.fig2c", "--all"),
        ("compare", "esbn.C2"),
        ("compare", "--summary"),
        ("claims",),
    ],
    ids=" ".join,
)
def test_what_is_printed_is_at_most_100_columns_wide_aligned_and_plain(run, arguments):
    code, out, _ = run(*arguments)
    assert code == 0
    assert max(map(len, out.splitlines())) <= 100
    assert "$" not in out
    assert "\\" not in out


def test_a_narrow_terminal_gets_narrow_tables(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "70")
    _, out, _ = run("compare", "scan.table1")
    assert max(len(line) for line in out.splitlines() if "mean ±" not in line) <= 70


def test_list_counts_the_numbers_of_each_table_by_the_four_words(run):
    _, out, _ = run("list")
    head = next(line for line in out.splitlines() if line.startswith("esbn "))
    assert re.split(r" {2,}", head) == ["esbn", "numbers", *WORDS]
    lines = [line for line in out.splitlines() if re.match(r"\w+\.[a-z]+\d", line)]
    names = {cell.table for paper in cells.PAPERS for cell in cells.cells_of(paper)}
    assert {line.split()[0] for line in lines} | {"esbn.figure8", "scan.starts"} >= names
    assert "One grid: a study of our own" in out


def test_list_of_a_table_has_its_entries_and_their_runs(run, small, made):
    _, out, _ = run("list", "esbn.table9", "--records", made / "records")
    assert re.search(r"^ESBN \+ TCN +m=98 +2 of 10$", out, re.MULTILINE)
    assert re.search(r"^LSTM \+ TCN +m=98 +0 of 10$", out, re.MULTILINE)


def test_compare_has_a_line_an_entry_and_counts(run, small, made):
    _, out, _ = run("compare", "esbn.table9", "--records", made / "records")
    assert re.search(r"^ESBN \+ TCN +m=98 +100 ± 0 +[\d.]+ +2/10 +not run$", out, re.MULTILINE)
    assert "2 numbers: 2 not run (fewer than 3 runs)." in out


def test_compare_of_a_claim_judges_it_and_lists_the_entries_that_decide_it(run):
    _, out, _ = run("compare", "esbn.C2", "--row", "RN + TCN")
    assert re.search(
        r"^esbn\.C2 +(reproduced|unclear|not \w+) +In the most extreme regime", out, re.MULTILINE
    )
    assert "LSTM + TCN" not in out
    assert out.count("RN + TCN") >= 4


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


@pytest.mark.parametrize("table", ["functions.table1", "kanerva.fig2c"])
def test_json_has_every_entry(run, table):
    _, out, _ = run("compare", table, "--json")
    declared = [cell.id for cell in cells.cells_of(table.split(".")[0]) if cell.table == table]
    assert {each["id"] for each in json.loads(out)} == set(declared)


def test_a_claim_is_judged_alike_however_it_is_asked_for(run):
    """A control of ours bears on it, also where it alone is asked for."""
    for arguments in (("claims", "kanerva"), ("claims", "kanerva.fig3b.2"), ("compare", "kanerva.fig3b.2")):
        _, out, _ = run(*arguments)
        (_, told) = out.split("kanerva.fig3b.2", 1)
        assert "our control on the same table is not" in told.split("kanerva.fig3b.3")[0]


def test_without_words_the_help_is_printed(run):
    code, out, err = run()
    assert "Usage: mini-lib" in out + err
    assert code in (0, 2)


def test_claims_are_narrowed_to_a_paper_a_table_or_one(run):
    for what, pattern in (
        ("scan", r"scan\.C"),
        ("kanerva.fig2a", r"kanerva\.fig2a"),
        ("esbn.C4", r"esbn\.C4 "),
    ):
        _, out, _ = run("claims", what)
        names = [line for line in out.splitlines()[1:-1] if not line.startswith(" ")]
        assert names
        assert all(re.match(pattern, line) for line in names)


@pytest.mark.parametrize("arguments", [("--version",), ("list",), ("compare", "--summary"), ("claims",)])
def test_what_trains_nothing_loads_no_pytorch_and_takes_little_time(arguments):
    """In CPU time of the process and its start, on a machine that does other things too."""
    script = (
        f"import sys, time; sys.argv[1:] = {list(arguments)!r}\nfrom mini_lib.__main__ import main\n"
        "try:\n    main()\nfinally:\n    print('loaded', 'torch' in sys.modules, time.process_time())"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    *_, loaded, taken = done.stdout.split()
    assert (loaded, done.stderr) == ("False", "")
    assert float(taken) < 3


def test_an_ascii_terminal_gets_other_signs():
    ascii_only = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        [sys.executable, "-m", "mini_lib", "compare", "esbn.C4"], capture_output=True, env=ascii_only
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"+-" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("reproduce",), "Missing argument 'what'"),
        (
            ("reproduce", "esbn.table11", "esbn.table9"),
            "extra argument(s) (esbn.table9); `mini-lib reproduce --help`",
        ),
        (("frobnicate",), "No such command 'frobnicate'; `mini-lib --help` shows what it takes"),
        (
            ("reproduce", "esbn.tabel11"),
            "unknown paper, table or claim 'esbn.tabel11'; did you mean 'esbn.table11'",
        ),
        (
            ("reproduce", "esbn.table9", "--row", "LSTM+TCN"),
            "unknown row 'LSTM+TCN'; did you mean 'LSTM + TCN'",
        ),
        (("reproduce", "esbn.table9", "--column", "m=97"), "unknown column 'm=97'; did you mean"),
        (("reproduce", "esbn.table9", "--seeds", "0"), "Invalid value for '--seeds'"),
        (("reproduce", "esbn.table9", "--budget", "soon"), "a budget is a number above 0 and s, m or h"),
        (("reproduce", "esbn.table9", "--budget", "-3s"), "a budget is a number above 0 and s, m or h"),
        (("reproduce", "esbn.table9", "--budget", "1e400h"), "a budget is a number above 0 and s, m or h"),
        (("reproduce", "esbn.table9", "--budget", "nans"), "a budget is a number above 0 and s, m or h"),
        (("reproduce", "esbn.table9", "--device", "cuda:77"), "device 'cuda:77' is not there"),
        (("reproduce", "esbn.table9", "--device", "tpu9"), "unknown device 'tpu9'"),
        (("reproduce", "esbn.table9", "--precision", "fp8"), "unknown precision 'fp8'"),
        (
            ("reproduce", "esbn.table9", "--device", "cpu", "--precision", "tf32"),
            "tf32 is a precision of GPUs",
        ),
        (("list", "scan.table9"), "unknown paper, table or claim 'scan.table9'; did you mean"),
        (("list", "--records", "nowhere"), "no folder of records at nowhere"),
        (("list", "--color"), "--color"),
        (("compare", "esbn.c2"), "unknown paper, table or claim 'esbn.c2'; did you mean 'esbn.C2'?"),
        (
            ("compare", "scan.table1", "--variant", "tutorail"),
            "unknown variant 'tutorail'; did you mean 'tutorial'?",
        ),
        (("compare", "esbn.table11/ESBM/m=95"), "unknown entry 'esbn.table11/ESBM/m=95'; did you mean"),
        (("compare", "--json", "--summary"), "ask for one"),
        (("claims", "esbn.C99"), "unknown paper, table or claim 'esbn.C99'; did you mean"),
        (("merge", ".", "--records", "empty"), "no record files"),
        (("merge", "nowhere"), "no folder of records at nowhere"),
        (("data", "mnits"), "did you mean 'mnist'"),
    ],
)
def test_wrong_use_exits_with_2_and_says_what_would_do(run, arguments, message):
    code, _, err = run(*arguments)
    assert code == 2
    assert message in err
    assert re.fullmatch(r"mini-lib: .+\n", err), "one line"


@pytest.mark.parametrize("name", ["claims.json", "tables.json", "entries.json"])
@pytest.mark.parametrize("text", ["{", None])
def test_a_damaged_file_of_the_package_is_named(tmp_path, name, text):
    """In a process of its own, since what is read once is kept."""
    if text is not None:
        (tmp_path / name).write_text(text)
    where = {"claims.json": "claims.CLAIMS", "tables.json": "tables.TABLES", "entries.json": "cells.ENTRIES"}[
        name
    ]
    module, constant = where.split(".")
    script = (
        f"from pathlib import Path\nfrom mini_lib.reproduction import {module}, cli\nimport sys\n"
        f"{module}.{constant} = Path({str(tmp_path / name)!r})\nsys.argv[1:] = ['claims']\ncli.main()"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 1
    assert re.fullmatch(rf"mini-lib: .*{re.escape(name)} cannot be read .*: restore it.*\n", done.stderr)


def test_damaged_and_strange_records_exit_with_1_and_are_named(run, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "scan.table1.jsonl").write_text('{"key": 1}\n')
    assert "scan.table1.jsonl, line 1: the record lacks" in run("list", "--records", "a")[2]
    for name, make in (("b", "symlink"), ("c", "folder")):
        path = tmp_path / name / "scan.table1.jsonl"
        path.parent.mkdir()
        path.symlink_to("nowhere") if make == "symlink" else path.mkdir()
        code, _, err = run("list", "--records", name)
        assert code == 1
        assert re.search(rf"{name}/scan\.table1\.jsonl cannot be read \(.*\): delete or rename it", err)
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "letter.txt").touch()
    assert "no record files" in run("compare", "--records", "d")[2]


def test_the_version_is_told(run):
    assert run("--version")[:2] == (0, f"mini-lib {code_version()}\n")


def test_merge_takes_records_over_once(run, made, tmp_path):
    merge = ("merge", made / "records", "--records", tmp_path / "there")
    assert run(*merge)[1] == "2 records merged, 0 known already\n"
    assert run(*merge)[1] == "0 records merged, 2 known already\n"


# ------------------------------------------------------------------------------------------ reproduce


def test_reproduce_leaves_records_and_no_checkpoints(made):
    lines = (made / "records" / "esbn.table9.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    assert sorted(record["seed"] for record in records) == [1, 2]
    for record in records:
        assert 0 <= record["metrics"]["test_accuracy"] <= 100
        assert (record["updates"], record["scale"], record["data"]) == (2, "paper", "rendered")
        assert record["provenance"]["device"].startswith("cpu: ")
    assert list((made / "records" / "checkpoints").glob("*.pt")) == []
    assert not (made / "checkpoints").exists()


def test_what_is_on_record_is_not_trained_again(run, small, made):
    code, out, _ = run(*REPRODUCE, "--seeds", 2, "--records", made / "records")
    assert code == 0
    see = f"mini-lib compare esbn.table9 --records {made / 'records'}"
    assert out == f"nothing to train: all of it is on record in {made / 'records'}; `{see}` shows it\n"


def test_a_checkpoint_of_a_run_on_record_goes_and_others_stay(run, small, made, tmp_path):
    folder = tmp_path / "checkpoints"
    folder.mkdir()
    finished, begun = (
        folder / f"{name}.pt" for name in (next(iter(Records(made / "records")))["key"], "a-s1")
    )
    for path in (finished, begun):
        path.write_bytes(b"")
    records = shutil.copytree(made / "records", tmp_path / "records")
    command = (*REPRODUCE, "--seeds", 3, "--records", records, "--checkpoints", folder)
    assert run(*command, "--dry-run")[0] == 0
    assert finished.exists()
    assert run(*command)[0] == 0
    assert [path.name for path in folder.iterdir()] == [begun.name]


def test_runs_are_trained_in_the_order_of_the_timetable_which_knows_the_budget(run, small, monkeypatch):
    seen, planned = {}, plan.schedule

    def schedule(steps, workers, budget):
        seen["budget"] = budget
        found = planned(steps, workers, budget)
        return found._replace(steps=found.steps[::-1])

    monkeypatch.setattr(plan, "schedule", schedule)
    monkeypatch.setattr(launch, "launch", lambda jobs, **given: seen.update(jobs=jobs) or (run for run in ()))
    assert run(*REPRODUCE, "--seeds", 4, "--records", "none", "--budget", "9m")[0] == 0
    assert [job.seed for job in seen["jobs"]] == [4, 1, 2, 3]
    assert 0 < seen["budget"] <= 540


def test_a_conflict_is_printed_at_once_and_stops_none_of_the_others(run, small, monkeypatch, capsys):
    add, said = Records.add, []

    def meanwhile(store, record, file):
        if record["seed"] == 1:
            metrics = {name: value + 1e-3 for name, value in record["metrics"].items()}
            add(Records(store.folder), record | {"metrics": metrics}, file)
        else:
            said.append(capsys.readouterr().err)
        return add(store, record, file)

    monkeypatch.setattr(Records, "add", meanwhile)
    code, _, err = run(*REPRODUCE, "--seeds", 3, "--records", "there")
    assert code == 1
    assert "mini-lib: esbn.table9/ESBN + TCN/m=98, seed 1: run" in said[0]
    assert "has other results than the one on record" in said[0]
    assert "1 run on record with other results; all others are kept" in err
    assert {record["seed"] for record in Records("there")} == {1, 2, 3}


def test_another_command_that_trains_for_the_same_folder_is_told(run, small, tmp_path):
    (tmp_path / "there").mkdir()
    with FileLock(tmp_path / "there" / "reproduce.lock"):
        _, out, _ = run(*REPRODUCE, "--seeds", 1, "--records", "there")
    assert "another `mini-lib reproduce` is training for there" in out
    assert "1 run finished, 0 left" in out
    _, out, _ = run(*REPRODUCE, "--seeds", 2, "--records", "there")
    assert "another" not in out


def test_a_dry_run_prints_the_whole_plan_and_trains_and_writes_nothing(run, small, tmp_path, monkeypatch):
    monkeypatch.setattr(launch, "launch", lambda *given, **named: pytest.fail("it trained"))
    code, out, _ = run(*REPRODUCE, "--seeds", 4, "--records", "none", "--budget", "9m", "--dry-run")
    assert code == 0
    assert out.startswith("4 runs to make on cpu: ")
    assert re.search(r" 3  esbn\.table9, ESBN \+ TCN: up to 3 runs each\n.* 1  .*: all runs\n", out)
    assert "expected within 9m: " in out
    assert not list(tmp_path.iterdir())


def test_the_result_of_a_run_is_told_by_one_metric(run, small):
    outcome = {"diverged": False, "metrics": {"nll": 41.25, "retrieved": 0.0}}
    assert cli.outcome_of(outcome, "nll") == "nll 41.25"
    assert cli.outcome_of(outcome, "contrast") == "no contrast"
    assert cli.outcome_of({"diverged": True, "metrics": {}}, "nll") == "DIVERGED"
    _, out, _ = run(*REPRODUCE, "--seeds", 1, "--records", "records")
    assert re.search(r"\n +1/1 esbn\.table9/ESBN \+ TCN/m=98, seed 1: test_accuracy [\d.]+ \(\d+ s\)\n", out)
    assert out.endswith("1 run finished, 0 left\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--checkpoints", "file"),
            "cannot write checkpoints to file (it is a file); name another folder with --",
        ),
        (("--records", "file/records"), "cannot write records"),
        (("--records", "file/records", "--dry-run"), "cannot write records"),
    ],
)
def test_folders_are_tried_before_training(run, small, tmp_path, arguments, message):
    (tmp_path / "file").touch()
    code, out, err = run(*REPRODUCE, "--records", "records", *arguments)
    assert code == 1
    assert message in err
    assert "runs to make" not in out


def full_disk(path):
    """Stands for a disk on which records cannot be written, though other folders can."""
    usual = os.fsync

    def fsync(descriptor):
        if path in Path(os.readlink(f"/proc/self/fd/{descriptor}")).parents:
            raise OSError(28, "No space left on device")
        usual(descriptor)

    return fsync


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="tells files by /proc")
def test_a_finished_run_that_cannot_be_recorded_is_kept_beside_the_checkpoints(
    run, small, tmp_path, monkeypatch
):
    where = ("--records", tmp_path / "records", "--checkpoints", "checkpoints")
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full_disk(tmp_path / "records"))
        code, _, err = run(*REPRODUCE, "--seeds", 1, *where)
    assert code == 1
    assert "its record is safe in checkpoints/unrecorded" in err
    program, *merge = shlex.split(re.search(r"`(.+)` takes it over", err)[1])
    assert (program, merge[-1]) == ("mini-lib", str(tmp_path / "records"))
    assert run(*merge)[1] == "1 record merged, 0 known already\n"
    assert run(*REPRODUCE, "--seeds", 1, *where)[1].startswith("nothing to train")


@pytest.mark.parametrize("checkpoint", [True, False])
def test_what_is_lost_on_a_full_disk_is_said_to_be(made, tmp_path, monkeypatch, checkpoint):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    (record, *_) = Records(made / "records")
    (cell,) = cells.select("esbn.table9/ESBN + TCN/m=98")
    if checkpoint:
        (tmp_path / f"{record['key']}.pt").touch()
    monkeypatch.setattr(os, "fsync", full)
    told = cli.save_beside_checkpoint(record, cell, tmp_path, made / "records")
    assert ("is lost; it is trained again" in told) != checkpoint
    assert (f"goes on from its last checkpoint in {tmp_path}" in told) == checkpoint


def test_stored_runs_can_be_trained_again_into_a_folder_of_ones_own(run, small, made):
    first = next(record for record in Records(made / "records") if record["seed"] == 1)
    assert run(*REPRODUCE, "--seeds", 1, "--records", "mine")[0] == 0
    (again,) = Records("mine")
    assert (again["key"], again["metrics"]) == (first["key"], first["metrics"])


def test_ray_may_have_an_address():
    assert cli.with_ray_address(["reproduce", "all", "--ray"]) == ["reproduce", "all", "--ray", "local"]
    assert cli.with_ray_address(["reproduce", "--ray", "all"]) == ["reproduce", "--ray", "local", "all"]
    an_entry = "grid.rmts/corelnet/d3, m=95: new"
    assert cli.with_ray_address(["--ray", an_entry]) == ["--ray", "local", an_entry]
    assert cli.with_ray_address([]) == []
    for address in ("10.0.0.5:6379", "ray://head:10001", "auto"):
        words = ["reproduce", "--ray", address, "all"]
        assert cli.with_ray_address(words) == words


@pytest.mark.parametrize(("text", "value"), [("30s", 30), ("9m", 540), ("2h", 7200), ("1.5h", 5400)])
def test_budgets(text, value):
    assert cli.read_budget(text) == value


@pytest.mark.parametrize(("budget", "end"), [("20s", 15), ("60s", 45), ("9m", 525), (None, None)])
def test_a_budget_counts_from_the_start_and_leaves_time_to_stop(budget, end):
    found = cli.deadline_of(budget, 1000.0)
    assert found == (None if end is None else 1000.0 + end)


def test_the_command_hands_on_when_it_began(monkeypatch, tmp_path):
    told = {}
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(launch, "launch", lambda jobs, **given: told.update(given) or (run for run in ()))
    monkeypatch.setattr(sys, "argv", ["mini-lib", *REPRODUCE, "--records", "records", "--budget", "9m"])
    with pytest.raises(SystemExit):
        cli.main(5000.0)
    assert told["deadline"] == 5525.0
    with pytest.raises(SystemExit):
        __main__.main()
    assert 0 < time.time() + 525.0 - told["deadline"] < 60


def test_a_budget_that_is_over_before_training_says_so(run, tmp_path):
    code, out, _ = run(*LONG, "--records", tmp_path / "records", "--budget", "0.01s")
    assert code == 0
    over = r"the budget of 0\.01s was over before a training could begin \(starting alone took \d+ s\); give it more"
    assert re.search(over, out)
    assert "0 runs finished, 1 left" in out


def saved_updates(folder):
    return [torch.load(path)["update"] for path in folder.glob("*.pt")]


@pytest.mark.slow
def test_a_budget_stops_cleanly_and_the_run_goes_on_from_there(run, tmp_path):
    where = ("--records", tmp_path / "records", "--checkpoints", tmp_path / "checkpoints")
    for budget in ("8s", "24s", "72s"):  # how long a worker takes to start is the machine's to say
        code, out, _ = run(*LONG, *where, "--budget", budget)
        if "give it more" not in out:
            break
    assert code == 0
    assert "0 runs finished, 1 left" in out
    assert "stopped    esbn.table9/ESBN + TCN/m=0, seed 1 after" in out
    assert list((tmp_path / "records").glob("*.jsonl")) == []
    (updates,) = saved_updates(tmp_path / "checkpoints")
    settings = paper_settings("same_different", 0, "esbn").to_dict()
    whole = esbn.build(settings, 1)
    stopped = launch.Job(esbn.build, settings, 1, whole.key)
    assert plan.share_trained(tmp_path / "checkpoints", stopped) == updates / whole.updates
    [one_more] = train([whole], checkpoints=tmp_path / "checkpoints", stop=lambda update: True)
    assert one_more.updates == updates + 1 > 1


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
    for _ in range(50):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False


@pytest.mark.slow
@pytest.mark.parametrize(
    ("end", "send", "moment", "trained"),
    [
        # To the command and its workers, as a terminal and many a scheduler do; or to the command alone.
        (signal.SIGINT, os.killpg, r"^0 of 1 runs: 0 updates", None),  # the worker may have begun by then
        (signal.SIGINT, os.killpg, r"^0 of 1 runs: [1-9]\d* updates", True),
        (signal.SIGTERM, os.killpg, r"^0 of 1 runs: [1-9]\d* updates", True),
        (signal.SIGTERM, os.kill, r"^0 of 1 runs: [1-9]\d* updates", True),
    ],
)
def test_an_interrupt_says_one_line_and_leaves_a_checkpoint_and_no_process(
    end, send, moment, trained, tmp_path
):
    where = ("--records", tmp_path / "records", "--checkpoints", tmp_path / "checkpoints")
    process = subprocess.Popen(
        [sys.executable, "-c", HEARING, *map(str, (*LONG, *where))],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with process.stderr as said:
        assert any(re.search(moment, line) for line in said), "it did not come to this"
        send(process.pid, end)
        began = time.monotonic()
        rest = [line.strip() for line in said if "0 of 1 runs" not in line]
        assert process.wait() == 130
    assert time.monotonic() - began < 30, "nobody heard it"
    assert rest == [INTERRUPTED]
    assert gone(process.pid), "a worker lives on"
    kept = [updates > 0 for updates in saved_updates(tmp_path / "checkpoints")]
    assert kept == [True] or (not kept and not trained)


INTERRUPTED_IN_NUMPY = """
import sys
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "numpy.linalg":
            sys.meta_path.remove(self)  # an interrupt comes once
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupt())
sys.argv = ["mini-lib", "list"]
from mini_lib.__main__ import main
main()
"""


def test_an_interrupt_while_libraries_load_is_heard_and_says_the_same_line(monkeypatch, capsys):
    said = subprocess.run([sys.executable, "-c", INTERRUPTED_IN_NUMPY], capture_output=True, text=True)
    assert (said.returncode, said.stderr) == (130, f"{INTERRUPTED}\n")

    def interrupt(started):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "main", interrupt)
    with pytest.raises(SystemExit) as stop:
        __main__.main()
    assert stop.value.code == 130
    assert capsys.readouterr().err == f"{INTERRUPTED}\n"


# ------------------------------------------------------------------------------------------ data, what is loaded


def test_data_tells_damaged_files(run, monkeypatch, tmp_path):
    (tmp_path / "scan").mkdir()
    (tmp_path / "scan" / "tasks_test_simple.txt.gz").write_bytes(b"not gzip")
    (tmp_path / "scan" / "tasks_train_simple.txt").write_bytes(b"of another language")
    monkeypatch.setenv("MINI_LIB_DATA", str(tmp_path))
    code, out, _ = run("data")
    assert code == 1
    assert str(tmp_path) in out
    statuses = {line.split()[1]: line.split()[0] for line in out.splitlines()[1:]}
    assert {"damaged", "differs"} <= set(statuses.values())


@pytest.mark.slow
def test_training_loads_neither_widgets_nor_downloads_nor_another_paper():
    """A bare GPU machine has torch and little else; what trains must import there."""
    absent = ("pooch", "ipywidgets", "beartype", "IPython", "nbclient", "nbformat")
    script = f"import sys; sys.modules.update(dict.fromkeys({absent!r}))\n"
    script += "from mini_lib.reproduction import cells, cli, launch; cells.paper_module('scan')\n"
    script += "print(*sorted(name for name in cells.PAPERS if f'mini_lib.{name}' in sys.modules))\n"
    script += "[cells.paper_module(paper) for paper in cells.PAPERS]"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "scan\n"), done.stderr


@pytest.mark.slow
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
