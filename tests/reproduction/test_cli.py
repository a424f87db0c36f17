"""The command as a reader uses it: what it prints, what it exits with, what it leaves on disk."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from mini_lib import __main__, devices, training
from mini_lib.errors import INTERRUPTED
from mini_lib.esbn.runs import paper_settings
from mini_lib.files import load
from mini_lib.reproduction import Cell, Records, cli, launch, mine, plan, records
from mini_lib.reproduction.esbn import cells as esbn
from mini_lib.reproduction.functions import cells as functions
from mini_lib.reproduction.kanerva import timing
from mini_lib.reproduction.records import COMMITTED, code_version
from mini_lib.training import train

CELL = ("esbn.table9", "--rows", "ESBN + TCN", "--columns", "m=98")
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

    def command(*arguments):
        code = call(*arguments)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return command


@contextmanager
def small_cells():
    """Table 9 with two cells of small networks, which are trained in this process: workers take seconds to start."""
    cells = [
        Cell("esbn.table9", row, "m=98", settings.to_dict(), 10, file="esbn.table9")
        for row, model in (("ESBN + TCN", "esbn"), ("LSTM + TCN", "lstm"))
        for settings in [
            paper_settings("same_different", 98, model, epochs=2, options={"hidden": 32}, test_size=32)
        ]
    ]

    def train_here(jobs, checkpoints, deadline, workers, progress):
        return launch._in_stacks(jobs, torch.device("cpu"), checkpoints, deadline, "fp32", progress)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(esbn, "CELLS", cells)
        patch.setattr(launch, "_over_cores", train_here)
        yield


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


# ------------------------------------------------------------------------------------------ list, compare, merge


def test_list_has_a_line_a_table_with_the_runs_there_are_of_those_wanted(run, small, made):
    """Of table 9 two cells of ten runs each, of which two are there."""
    code, out, _ = run("list", "--records", made / "records")
    assert code == 0
    tables, _, studies = out.partition("\n\n")
    assert studies.strip() == "and a study: grid (`mini-lib list grid`)"
    head, *lines = (re.split(r" {2,}", line) for line in tables.splitlines())
    assert head == ["table", "cells", "runs", "runs of variants", "what it shows"]
    assert [line[0] for line in lines] == list(dict.fromkeys(cell.table for cell in cli.cells()))
    assert lines[0][:3] == ["esbn.table9", "2", "2 of 20"]
    figure = next(line for line in lines if line[0] == "kanerva.fig7")  # six numbers of the same runs
    assert figure[1:3] == ["6", "0 of 3"]
    assert figure[4].startswith("What machines are tuned to")


def test_list_of_one_paper_or_table(run, tmp_path):
    _, out, _ = run("list", "esbn", "--variants", "--records", tmp_path)
    assert out.count(" of 10 runs") == len(esbn.CELLS)
    _, out, _ = run("list", "esbn", "--records", tmp_path)
    assert out.count(" of 10 runs") == sum(not cell.variant for cell in esbn.CELLS)
    of_table = sum(bool(cell.variant) for cell in esbn.CELLS if cell.table == "esbn.table12")
    assert f"and {of_table} cells of variants: --variants shows them" in out
    _, out, _ = run("list", "scan", "--records", tmp_path)
    assert re.findall(r"^  (\S+)$", out, re.MULTILINE) == ["scan.table1", "scan.table2", "scan.starts"]
    _, out, _ = run("list", "scan.table2", "--records", tmp_path)
    assert [line.split(":")[0].strip() for line in out.splitlines()[:2]] == ["scan", "scan.table2"]
    assert "esbn" not in out
    assert "  0 of 25 runs" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("reproduce",), "name a table, such as esbn.table11, or --all"),
        (("reproduce", "esbn.table11", "--all"), "--all asks for every table, and you name one; give one of"),
        (
            ("reproduce", "esbn.table11", "esbn.table9"),
            "extra argument(s) (esbn.table9); `mini-lib reproduce --help`",
        ),
        (("reproduce", "esbn.table11", "--ray-address", "x:1"), "add --launcher ray"),
        (("frobnicate",), "No such command 'frobnicate'; `mini-lib --help` says what it takes"),
        (
            ("reproduce", "esbn.tabel11"),
            "unknown paper, table or claim 'esbn.tabel11'; did you mean 'esbn.table11'",
        ),
        (
            ("reproduce", "esbn.table9", "--rows", "LSTM+TCN"),
            "unknown row 'LSTM+TCN'; did you mean 'LSTM + TCN'",
        ),
        (("reproduce", "esbn.table9", "--columns", "m=97"), "unknown column 'm=97'; did you mean"),
        (("reproduce", "esbn.table9", "--budget", "soon"), "a budget is a number above 0 and s, m or h"),
        (("reproduce", "esbn.table9", "--budget", "-3s"), "a budget is a number above 0 and s, m or h"),
        (("reproduce", "esbn.table9", "--device", "cuda:77"), "device 'cuda:77' is not there"),
        (("reproduce", "esbn.table9", "--device", "tpu9"), "unknown device 'tpu9'"),
        (("reproduce", "esbn.table9", "--precision", "fp8"), "unknown precision 'fp8'"),
        (("reproduce", "esbn.table9", "--launcher", "slurm"), "unknown launcher 'slurm'; known: local, ray"),
        (("bench", "--store", "--model", "lstm"), "leave out --model and --device"),
        (
            ("reproduce", "esbn.table9", "--device", "cpu", "--precision", "tf32"),
            "tf32 is a precision of GPUs",
        ),
        (
            (*REPRODUCE, "--records", "empty", "--seeds", 101, "--budget", "5s"),
            "seeds from 101 on are for runs of your own (`mini-lib reproduce TABLE --seed 101`); take 100 at most",
        ),
        (("list", "scan.table9"), "unknown paper, table or claim 'scan.table9'; did you mean"),
        (("list", "--records", "nowhere"), "no folder of records at nowhere"),
        (("list", "--colour"), "--colour"),
        (("compare", "esbn.table99"), "unknown paper, table or claim 'esbn.table99'; did you mean"),
        (("compare", "esbn.c2"), "unknown paper, table or claim 'esbn.c2'; did you mean 'esbn.C2'?"),
        (("compare", "esbnn"), "unknown paper, table or claim 'esbnn'; did you mean 'esbn'?"),
        (("compare", "--summary", "--variant", "tutorial"), "leave --variant out"),
        (("compare", "esbn.table9", "--rows", "GRU"), "unknown row 'GRU'"),
        (
            ("compare", "scan.table1", "--variant", "tutorail"),
            "unknown variant 'tutorail'; did you mean 'tutorial'? known: last checkpoint;",
        ),
        (
            ("compare", "esbn", "--rows", "RMTS", "--columns", "m=95", "--variant", "tutorial"),
            "unknown variant 'tutorial': the cells of esbn.table19 have none",
        ),
        (
            ("compare", "esbn.table11/ESBM/m=95"),
            "unknown cell 'esbn.table11/ESBM/m=95'; did you mean 'esbn.table11/ESBN/m=95'?",
        ),
        (("compare", "--json", "--summary"), "ask for one"),
        (("compare", "--summary", "--variants"), "--variants is for the list of cells"),
        (("compare", "--mine", "--summary"), "ask for one"),
        (("compare", "--mine", "--records", COMMITTED), "verdicts are judged on"),
        ((*REPRODUCE, "--seed", 101, "--seeds", 3), "give one of the two"),
        ((*REPRODUCE, "--seed", 101, "--records", COMMITTED), "verdicts are judged on"),
        ((*REPRODUCE, "--seed", "1.5"), "Invalid value for '--seed'"),
        (
            (*REPRODUCE, "--seed", -1),
            "seeds below 101 are kept for the stored runs, got -1; take one from 101 on",
        ),
        (("compare", "--records", "nowhere"), "no folder of records at nowhere"),
        (("bench", "--model", "lstmm"), "unknown model 'lstmm'; did you mean 'lstm'"),
        (("results", "merge", ".", "--records", "empty"), "no record files"),
        (("results", "merge", "nowhere"), "no folder of records at nowhere"),
        (
            ("weights", "esbn.table9", "ESBN + TCN", "m=98", "o.safetensors", "--seed", 101),
            "seeds from 101 on are for runs of your own",
        ),
        (
            ("weights", "esbn", "Same/different", "m=98", "o.safetensors"),
            "'esbn' is no table; `mini-lib list esbn` shows tables",
        ),
        (
            ("weights", "esbn.C2", "Transformer + TCN", "m=95", "o.safetensors"),
            "'esbn.C2' is no table; `mini-lib list esbn.C2` shows tables",
        ),
    ],
)
def test_wrong_use_exits_with_2_and_says_what_would_do(run, arguments, message):
    code, _, err = run(*arguments)
    assert code == 2
    assert message in err
    assert re.fullmatch(r"mini-lib: .+\n", err), "one line"


def test_a_damaged_record_exits_with_1(run, tmp_path):
    (tmp_path / "esbn.table9.jsonl").write_text("{half\n")
    code, _, err = run("compare", "--records", tmp_path)
    assert code == 1
    assert "line 1: not a whole record" in err


def test_a_record_without_its_metric_exits_with_1(run, small, made, tmp_path):
    text = (made / "records" / "esbn.table9.jsonl").read_text()
    (tmp_path / "esbn.table9.jsonl").write_text(text.replace('"test_accuracy"', '"accuracy"'))
    code, _, err = run("compare", "esbn.table9", "--records", tmp_path)
    assert code == 1
    assert "has no 'test_accuracy', which esbn.table9/ESBN + TCN/m=98 needs" in err


def test_the_version_is_told_before_any_command(run):
    code, out, _ = run("--version")
    assert code == 0
    assert out == f"mini-lib {code_version()}\n"


def test_compare_sees_the_runs(run, small, made):
    where = ("--records", made / "records")
    code, out, _ = run("compare", *CELL, *where)
    assert code == 0
    head, line, *_ = (re.split(r" {2,}", line) for line in out.splitlines())
    assert head == ["id", "paper (% ± SEM)", "ours (% ± SEM)", "n", "verdict"]
    found = dict(zip(head, line, strict=True))
    assert found["id"] == "esbn.table9/ESBN + TCN/m=98"
    assert found["n"] == "2"
    listed = {row["id"]: row for row in json.loads(run("compare", "esbn.table9", "--json", *where)[1])}
    assert listed[found["id"]]["n"] == 2
    assert found["verdict"] == listed[found["id"]]["verdict"] == "too few runs"
    assert listed["esbn.table9/LSTM + TCN/m=98"]["verdict"] == "not run"
    summary = run("compare", "--summary", *where)[1].splitlines()
    assert [re.split(r" {2,}", line)[:4] for line in summary if line.startswith(("paper ", "all "))] == [
        ["paper", "printed numbers", "with a run", "with 3 runs or more"],
        ["all", "50", "1", "0"],
        ["paper", "scale", "holds", "tie"],
    ]


def test_without_own_runs_compare_mine_says_where_it_looked(run, tmp_path):
    code, _, err = run("compare", "--mine")
    assert code == 2
    where = (tmp_path / "own_records").resolve()
    assert f"no runs of your own in {where}; `mini-lib reproduce TABLE --seed 101` makes one" in err


def test_a_folder_of_other_things_is_refused(run, tmp_path):
    (tmp_path / "notes.txt").write_text("no records")
    code, _, err = run("reproduce", *CELL, "--dry-run", "--records", tmp_path / "notes.txt")
    assert code == 2
    assert f"records lie in a folder, and {tmp_path / 'notes.txt'} is a file" in err
    for command in (("list",), ("compare", "scan.table1")):
        code, _, err = run(*command, "--records", tmp_path)
        assert code == 2
        assert "no record files (*.jsonl) in" in err


def test_compare_can_be_narrowed_to_a_variant(run, tmp_path):
    def compare(*options):
        return run("compare", "scan.table1", *options, "--records", tmp_path)[1]

    *main, note = compare().splitlines()
    every = compare("--variants").splitlines()
    assert note == f"and {len(every) - len(main)} lines of other readings: --variants shows them"
    assert {line.split("  ")[0] for line in main} < {line.split("  ")[0] for line in every}
    assert "scan.table1/Syntactic Attention/Add jump/tutorial" in {line.split("  ")[0] for line in main}
    assert "not run @tutorial (" in compare("--summary")
    assert len(json.loads(compare("--json"))) == len(main) - 1
    head, *lines = compare("--variant", "tutorial").splitlines()
    assert head.startswith("id ")
    assert [line.split("  ")[0] for line in lines] == ["scan.table1/Syntactic Attention/Add jump/tutorial"]
    found = json.loads(compare("--variant", "released files", "--json"))
    assert {row["variant"] for row in found} == {"released files"}


@pytest.mark.parametrize("cell", ["esbn.table9/ESBN + TCN/m=98", "scan.table1/CNN/Simple"])
def test_the_id_of_a_cell_that_compare_prints_stands_for_it_in_a_command(run, tmp_path, cell):
    code, out, _ = run("compare", cell, "--records", tmp_path)
    assert (code, [line.split("  ")[0] for line in out.splitlines()]) == (0, ["id", cell])


def test_the_id_of_a_reading_that_is_folded_shows_it(run, tmp_path):
    reading = "scan.table1/Syntactic Attention/Add jump/last checkpoint"
    assert reading not in run("compare", "scan.table1", "--records", tmp_path)[1]
    assert run("compare", reading, "--records", tmp_path)[1].splitlines()[1].startswith(f"{reading} ")


def test_the_id_of_a_reading_is_trained_where_it_is_named(run, tmp_path):
    reading = "esbn.table11/ESBN + TCN/m=95/released images"
    code, out, _ = run("reproduce", reading, "--seeds", 3, "--dry-run", "--records", tmp_path)
    assert (code, out.splitlines()[0].split(" to make")[0]) == (0, "3 runs")


def test_the_id_of_a_claim_stands_for_the_cells_that_decide_it_in_every_reading(run, tmp_path):
    claim, folder = "kanerva.fig2c.1", ("--records", tmp_path)
    cells = {f"kanerva.fig2c/{row}/loss" for row in ("k = 1", "k = 2")}
    small = {f"{cell}/tutorial, balanced at first" for cell in cells}
    told, listed = run("compare", claim, "--variants", *folder)[1].split("\n\n")
    assert told.startswith(f"{claim} Two machines of 30 columns lose less than one of 60.\n")
    assert told.splitlines()[1].startswith("          not run @paper")
    shown = {line.split("  ")[0] for line in listed.splitlines()}
    assert cells | small < shown
    assert {"/".join(each.split("/")[:3]) for each in shown} == {"id", *cells}
    planned = run("reproduce", claim, "--variant", "tutorial, balanced at first", "--dry-run", *folder)[1]
    assert f"claim {claim} @tutorial, balanced at first" in planned
    assert planned.startswith("10 runs to make")


def test_a_figure_without_printed_numbers_names_the_claims_that_are_judged_on_it(run, tmp_path):
    *_, told = run("compare", "kanerva.fig3c", "--records", tmp_path)[1].splitlines()
    claims = ", ".join(f"kanerva.fig3c.{number}" for number in (1, 2, 3))
    assert told == f"the paper prints no numbers here; claims are judged on these: {claims}"
    for other in ("esbn.table9", "kanerva.fig3c.1", "kanerva", "grid"):
        assert "claims are judged" not in run("compare", other, "--records", tmp_path)[1]


def test_a_claim_is_judged_on_all_its_cells_whichever_of_them_are_listed(run, tmp_path):
    whole = run("compare", "kanerva.fig2c.1", "--records", tmp_path)[1]
    assert "rest on all cells" not in whole
    narrowed = run("compare", "kanerva.fig2c.1", "--rows", "k = 1", "--records", tmp_path)[1]
    verdict, note, listed = narrowed.split("\n\n")
    assert verdict == whole.split("\n\n")[0]
    assert note == "The verdicts above rest on all cells of the claim, not only on those listed here."
    _, *lines, folded = listed.splitlines()
    cells = {line.split("  ")[0] for line in lines}
    assert cells == {f"kanerva.fig2c/k = 1/loss{scale}" for scale in ("", "/tutorial")}
    assert "of other readings" in folded


def test_merge_takes_records_over_once(run, made, tmp_path):
    merge = ("results", "merge", made / "records", "--records", tmp_path / "there")
    assert run(*merge)[1] == "2 records merged, 0 known already\n"
    assert run(*merge)[1] == "0 records merged, 2 known already\n"


# ------------------------------------------------------------------------------------------ reproduce


def test_reproduce_leaves_records_and_no_checkpoints(made):
    lines = (made / "records" / "esbn.table9.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    assert sorted(record["seed"] for record in records) == [1, 2]
    for record in records:
        assert 0 <= record["metrics"]["test_accuracy"] <= 100
        assert record["updates"] == 2
        assert record["scale"] == "paper"
        assert record["data"] == "rendered"
        assert record["provenance"]["device"].startswith("cpu: ")
    assert list((made / "checkpoints").glob("*.pt")) == []


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
    command = (*REPRODUCE, "--seeds", 2, "--records", made / "records", "--checkpoints", folder)
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


def test_a_run_that_another_command_put_on_record_with_other_results_stops_none_of_the_others(
    run, small, monkeypatch
):
    add = Records.add

    def meanwhile(store, record, home):
        if record["seed"] == 1:
            metrics = {name: value + 1e-3 for name, value in record["metrics"].items()}
            add(Records(store.folder), record | {"metrics": metrics}, home)
        return add(store, record, home)

    monkeypatch.setattr(Records, "add", meanwhile)
    code, _, err = run(*REPRODUCE, "--seeds", 3, "--records", "there")
    assert code == 1
    assert "mini-lib: esbn.table9/ESBN + TCN/m=98, seed 1: run" in err
    assert "has other results than the one on record" in err
    assert "all other finished runs are on record" in err
    assert {record["seed"] for record in Records("there")} == {1, 2, 3}


def test_a_dry_run_prints_the_whole_plan_and_trains_and_writes_nothing(run, small, tmp_path, monkeypatch):
    monkeypatch.setattr(launch, "launch", lambda *given, **named: pytest.fail("it trained"))
    code, out, _ = run(*REPRODUCE, "--seeds", 4, "--records", "none", "--budget", "9m", "--dry-run")
    assert code == 0
    assert out.startswith("4 runs to make on cpu: ")
    assert re.search(r" 3  .*esbn\.table9, ESBN \+ TCN: 3 runs\n.* 1  .*: all runs\n", out)
    assert re.search(r"in all 4 runs, ~\d+ s of one core, .* cores?; expected within 9m: \d runs?", out)
    assert not list(tmp_path.iterdir())


def test_the_result_of_a_run_is_told_by_one_metric():
    run = {"diverged": False, "metrics": {"nll": 41.25, "retrieved": 0.0}}
    assert cli.outcome_of(run, "nll") == "nll 41.25"
    assert cli.outcome_of(run, "retrieved") == "retrieved 0"
    assert cli.outcome_of(run, "contrast") == "no contrast"
    assert cli.outcome_of({"diverged": True, "metrics": {}}, "nll") == "DIVERGED"


def test_a_command_says_what_its_runs_took_and_what_was_expected(run, small):
    _, out, _ = run(*REPRODUCE, "--seeds", 1, "--records", "records")
    assert re.search(r"\n +1/1 esbn\.table9/ESBN \+ TCN/m=98, seed 1: test_accuracy [\d.]+ \(\d+ s\)\n", out)
    assert re.search(
        r"^1 run to make .*\n1 run finished, 0 left\nthey took \d+ s of training, where \d+ s were expected\n$",
        out,
        re.DOTALL,
    )


@pytest.mark.parametrize(
    ("records", "checkpoints", "message"),
    [
        ("records", "file", "cannot write checkpoints to file: it is a file; name another folder"),
        ("file/records", "checkpoints", "cannot write records"),
    ],
)
def test_folders_are_tried_before_training(run, small, tmp_path, records, checkpoints, message):
    (tmp_path / "file").touch()
    code, out, err = run(*REPRODUCE, "--records", records, "--checkpoints", checkpoints)
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
    where = ("--records", tmp_path / "records")
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
    (cell,) = cli.cells("esbn.table9/ESBN + TCN/m=98")
    if checkpoint:
        (tmp_path / f"{record['key']}.pt").touch()
    monkeypatch.setattr(os, "fsync", full)
    told = cli.rescue(record, cell, tmp_path, made / "records")
    assert told.startswith(f"{cell.id}, seed {record['seed']} had just finished")
    assert ("is lost; it is trained again" in told) != checkpoint
    assert (f"goes on from its last checkpoint in {tmp_path}" in told) == checkpoint


def test_a_run_of_ones_own_goes_to_ones_own_folder_and_is_shown_beside_the_stored_ones(
    run, small, made, monkeypatch, tmp_path
):
    monkeypatch.setattr(mine, "COMMITTED", made / "records")  # seeds 1 and 2
    before = (made / "records" / "esbn.table9.jsonl").read_text()
    code, _, err = run(*REPRODUCE, "--seed", 101, "--seed", 2)
    assert code == 2
    assert "seeds below 101 are kept for the stored runs, got 2" in err
    own = (*REPRODUCE, "--seed", 101, "--seed", 7_000, "--seed", 101)
    code, out, _ = run(*own)
    assert code == 0
    assert out.startswith("2 runs to make")
    assert "records go to own_records\n" in out
    assert sorted(record["seed"] for record in Records(tmp_path / "own_records")) == [101, 7_000]
    assert (made / "records" / "esbn.table9.jsonl").read_text() == before
    told = "nothing to train: all of it is on record in own_records; `mini-lib compare esbn.table9 --mine` shows it"
    assert run(*own)[1] == f"{told}\n"
    monkeypatch.setattr(records, "COMMITTED", tmp_path / "stored")
    said = run("results", "merge", "own_records", "--records", "stored")[1]
    assert said.startswith(
        "0 records merged, 0 known already, 2 left out: seeds from 101 on are readers' own"
    )
    code, out, _ = run("compare", "esbn.table9", "--mine")
    assert code == 0
    head, *lines = (re.split(r" {2,}", line) for line in out.splitlines())
    found = [dict(zip(head, line, strict=True)) for line in lines]
    assert [row["seed"] for row in found] == ["101", "7000"]
    assert {(row["id"], row["stored runs"]) for row in found} == {("esbn.table9/ESBN + TCN/m=98", "2")}
    assert {row["mine is"] for row in found} <= {"below", "within", "above"}


def test_the_plan_of_a_run_of_ones_own_rests_on_the_stored_runs(run, small, made, monkeypatch):
    for module in (mine, records):
        monkeypatch.setattr(module, "COMMITTED", made / "records")
    _, out, _ = run(*REPRODUCE, "--seed", 101, "--dry-run")
    assert re.search(r"\n +\d+ s +\d+ s +1  runs of your own\nin all 1 run, ", out)
    assert "~" not in out


# ------------------------------------------------------------------------------------------ budgets, interrupts


@pytest.mark.parametrize(("text", "value"), [("30s", 30), ("9m", 540), ("2h", 7200), ("1.5h", 5400)])
def test_budgets(text, value):
    assert cli.seconds(text) == value


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
    assert "the same command goes on from there" in out
    assert list((tmp_path / "records").glob("*.jsonl")) == []
    (updates,) = saved_updates(tmp_path / "checkpoints")
    settings = paper_settings("same_different", 0, "esbn").to_dict()
    stop = {"checkpoints": tmp_path / "checkpoints", "stop": lambda update: True}
    whole = esbn.build(settings, 1)
    stopped = launch.Job(esbn.build, settings, 1, whole.key)
    share = plan.share_trained(tmp_path / "checkpoints", plan.Costs([], "cpu", cli.build_run), stopped)
    assert share == updates / whole.updates
    [one_more] = train([whole], **stop)
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
        (signal.SIGINT, os.killpg, r"^0 of 1 runs: 0 updates", False),  # while the worker starts
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
    assert [updates > 0 for updates in saved_updates(tmp_path / "checkpoints")] == [True] * trained


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


def test_an_interrupt_while_numpy_loads_is_not_lost_in_torch():
    said = subprocess.run([sys.executable, "-c", INTERRUPTED_IN_NUMPY], capture_output=True, text=True)
    assert (said.returncode, said.stderr) == (130, f"{INTERRUPTED}\n")


def test_an_interrupt_while_libraries_load_says_the_same_line(monkeypatch, capsys):
    def interrupt(started):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "main", interrupt)
    with pytest.raises(SystemExit) as stop:
        __main__.main()
    assert stop.value.code == 130
    assert capsys.readouterr().err == f"{INTERRUPTED}\n"


# ------------------------------------------------------------------------------------------ data, what is loaded


def test_data_verify_tells_damaged_files(run, monkeypatch, tmp_path):
    (tmp_path / "scan").mkdir()
    (tmp_path / "scan" / "tasks_test_simple.txt.gz").write_bytes(b"not gzip")
    (tmp_path / "scan" / "tasks_train_simple.txt").write_bytes(b"of another language")
    monkeypatch.setenv("MINI_LIB_DATA", str(tmp_path))
    code, out, _ = run("data", "verify")
    assert code == 1
    assert str(tmp_path) in out
    statuses = {line.split()[1]: line.split()[0] for line in out.splitlines()[1:]}
    assert {"damaged", "differs"} <= set(statuses.values())


def python(script):
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_table_loads_no_other_paper_and_training_neither_widgets_nor_downloads():
    """A bare GPU machine has torch and little else; what trains must import there."""
    absent = ("pooch", "ipywidgets", "beartype", "IPython", "nbclient", "nbformat")
    script = f"import sys; sys.modules.update(dict.fromkeys({absent!r}))\n"
    script += "from mini_lib.reproduction import cli, launch; cli.cells('scan.table1')\n"
    script += (
        "print(*sorted(name for name in cli.PAPERS if f'mini_lib.{name}' in sys.modules)); cli.packages()"
    )
    assert python(script) == "scan\n"


def test_help_is_there_before_pytorch_is():
    """Loading it takes seconds, and so do the packages."""
    ask = "import sys; sys.argv[1:] = ['reproduce', '--help']; from mini_lib.__main__ import main"
    loaded = "print({'torch', 'scipy', 'mini_lib.esbn'} & {*sys.modules})"
    said = python(f"{ask}\ntry:\n    main()\nfinally:\n    {loaded}")
    assert "--budget" in said
    assert said.endswith("set()\n")


# ------------------------------------------------------------------------------------------ weights, timings


@pytest.mark.parametrize("path", ["", "folder", "pipe", "file/below"])
def test_weights_tries_its_file_before_training(run, tmp_path, monkeypatch, path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setattr(training, "train", lambda *given, **named: pytest.fail("it trained"))
    code, _, err = run("weights", "esbn.table9", "ESBN + TCN", "m=98", path, "--records", "records")
    assert code == 1
    assert "could not write" in err
    assert (tmp_path / "pipe").is_fifo()


@pytest.fixture
def tiny_weights(run, tmp_path, monkeypatch):
    """Calls `mini-lib weights` for a tiny network; its settings, the file, and what the command answered."""

    def command(**changes):
        size = {"dim": 8, "layers": 1, "heads": 1}
        small = {"epochs": 1, "checks": (), "batch_size": 2, "test_curves": 3, "options": size}
        settings = functions.tutorial_settings("one_d", **small | changes).to_dict()
        cell = Cell("functions.table1", "tiny", "lin", settings, 1, file="functions.table1", metric="mse_lin")
        monkeypatch.setattr(cli, "cells", lambda *narrowed: [cell])
        file = tmp_path / "tiny.safetensors"
        where = ("--records", tmp_path / "records")
        return settings, file, run("weights", "functions.table1", "tiny", "lin", file, *where)

    return command


def test_weights_keeps_the_network_and_its_record(tiny_weights, tmp_path):
    settings, file, (code, out, _) = tiny_weights()
    assert code == 0
    assert "as stored" in out
    (record,) = Records(tmp_path / "records")
    assert load(file).about["settings"] == record["settings"] == settings
    assert not list((tmp_path / "checkpoints").iterdir())
    *_, (code, _, _) = tiny_weights()
    assert code == 0
    assert len(Records(tmp_path / "records")) == 1


def test_a_run_that_diverges_is_recorded_and_leaves_no_file(tiny_weights, tmp_path):
    _, file, (code, _, err) = tiny_weights(lr=1e30)
    assert code == 1
    assert re.search(r"diverged after \d+ updates; it has no weights worth keeping", err)
    (record,) = Records(tmp_path / "records")
    assert record["diverged"]
    assert not file.exists()


def test_a_timing_of_the_cpu_says_so_on_a_machine_with_a_gpu(run, monkeypatch, tmp_path):
    for module in (devices, training):  # PyTorch's "meta" in the place of a GPU
        monkeypatch.setattr(module, "pick_device", lambda name: torch.device("meta"))
    monkeypatch.setattr(devices, "describe", lambda device: f"{device.type}: its name")
    metrics = {cell.metric for cell in cli.cells("kanerva.fig1d")}
    monkeypatch.setattr(timing, "evaluate_scaling", lambda *form, **sizes: dict.fromkeys(metrics, 0.5))
    code, out, _ = run(
        "reproduce", "kanerva.fig1d", "--variant", "tutorial", "--seeds", 2, "--records", tmp_path
    )
    assert code == 0
    assert "runs to make on meta: its name" in out
    told = r"1/4 kanerva\.fig1d/\w+/R\^2, m=400/tutorial, seed \d: r2_400 0\.5 \(fills 6 other cells too; 0 s\)\n"
    assert re.search(told, out)
    assert {record["provenance"]["device"] for record in Records(tmp_path)} == {"cpu: its name"}
    assert len(Records(tmp_path)) == 4


def test_weights_puts_the_run_on_record_before_a_full_disk_stops_it(tiny_weights, tmp_path, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    _, _, (code, _, err) = tiny_weights()
    assert code == 1
    assert re.search(r"could not write .*tiny\.safetensors: .*No space left on device", err)
    assert len(Records(tmp_path / "records")) == 1
