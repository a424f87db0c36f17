"""The command as a reader uses it: what it prints, what it exits with, what it leaves on disk."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import torch
from safetensors import SafetensorError

from mini_lib import __main__, devices, training
from mini_lib.errors import INTERRUPTED
from mini_lib.esbn.runs import paper_settings
from mini_lib.reproduction import Cell, Records, cli, launch, settings_hash
from mini_lib.reproduction.esbn.cells import CELLS, build
from mini_lib.reproduction.functions import cells as functions
from mini_lib.reproduction.kanerva import timing
from mini_lib.reproduction.records import COMMITTED
from mini_lib.training import train
from mini_lib.weights import header


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)

    def command(*arguments):
        monkeypatch.setattr(sys, "argv", ["mini-lib", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        captured = capsys.readouterr()
        return stop.value.code, captured.out, captured.err

    return command


M98 = ("esbn.table9", "--rows", "ESBN + TCN", "--columns", "m=98", "--no-variants", "--device", "cpu")


def test_list_names_every_cell(run, tmp_path):
    code, out, _ = run("list", "--records", tmp_path)
    assert code == 0
    assert out.count(" of 10 runs") == len(CELLS)
    assert "esbn.table20" in out
    assert "scan.table2" in out


def test_list_of_one_paper(run, tmp_path):
    code, out, _ = run("list", "scan", "--records", tmp_path)
    assert code == 0
    tables = re.findall(r"^  (\S+)$", out, re.MULTILINE)
    assert tables == ["scan.table1", "scan.table2"]


def test_list_of_one_table(run, tmp_path):
    code, out, _ = run("list", "scan.table2", "--records", tmp_path)
    assert code == 0
    assert [line.split(":")[0].strip() for line in out.splitlines()[:2]] == ["scan", "scan.table2"]
    assert "esbn" not in out
    assert "  0 of 25 runs" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("reproduce",), "name a table, such as esbn.table11, or --all"),
        (("reproduce", "esbn.table11", "--all"), "name a table, such as esbn.table11, or --all"),
        (("reproduce", "esbn.tabel11"), "unknown table 'esbn.tabel11'; did you mean 'esbn.table11'"),
        (
            ("reproduce", "esbn.table9", "--rows", "LSTM+TCN"),
            "unknown row 'LSTM+TCN'; did you mean 'LSTM + TCN'",
        ),
        (("reproduce", "esbn.table9", "--columns", "m=97"), "unknown column 'm=97'; did you mean"),
        (("reproduce", "esbn.table9", "--budget", "soon"), "a budget is a number and s, m or h"),
        (("reproduce", "esbn.table9", "--budget", "-3s"), "a budget is a number and s, m or h"),
        (("reproduce", "esbn.table9", "--device", "cuda:77"), "device 'cuda:77' is not there"),
        (("reproduce", "esbn.table9", "--device", "tpu9"), "unknown device 'tpu9'"),
        (("reproduce", "esbn.table9", "--precision", "fp8"), "unknown precision 'fp8'"),
        (("list", "scan.table9"), "unknown table 'scan.table9'; did you mean"),
        (("compare", "esbn.table99"), "unknown table 'esbn.table99'; did you mean"),
        (("compare", "esbn.table9", "--rows", "GRU"), "unknown row 'GRU'"),
        (("bench", "--model", "lstmm"), "unknown model 'lstmm'; did you mean 'lstm'"),
        (("results", "merge", "empty"), "no record files"),
        (
            ("reproduce", "esbn.table9", "--device", "cpu", "--precision", "tf32"),
            "tf32 is a precision of GPUs",
        ),
        (("compare", "--json", "--summary"), "ask for one"),
        (
            ("compare", "scan.table1", "--variant", "tutorail"),
            "unknown variant 'tutorail'; did you mean 'tutorial'? known: last checkpoint,",
        ),
        (("compare", "--records", "nowhere"), "no folder of records at nowhere"),
        (("list", "--records", "nowhere"), "no folder of records at nowhere"),
        (
            ("weights", "esbn", "Same/different", "m=98", "o.safetensors"),
            "'esbn' is a paper; `mini-lib list esbn`",
        ),
        (
            ("reproduce", *M98, "--seeds", 30_000_000, "--budget", "5s"),
            "30,000,000 runs, and 100,000 can be asked",
        ),
    ],
)
def test_wrong_use_exits_with_2_and_says_what_would_do(run, arguments, message):
    code, _, err = run(*arguments)
    assert code == 2
    assert message in err
    assert "Traceback" not in err


def test_a_damaged_record_exits_with_1(run, tmp_path):
    (tmp_path / "esbn.table9.jsonl").write_text("{half\n")
    code, _, err = run("compare", "--records", tmp_path)
    assert code == 1
    assert "line 1: not a whole record" in err


def test_a_record_without_its_metric_exits_with_1(run, measured, tmp_path):
    (path,) = (measured / "records").glob("*.jsonl")
    (tmp_path / path.name).write_text(path.read_text().replace('"test_accuracy"', '"accuracy"'))
    code, _, err = run("compare", "esbn.table9", "--records", tmp_path)
    assert code == 1
    assert "has no 'test_accuracy', which esbn.table9/ESBN + TCN/m=98 needs" in err


def test_a_folder_of_checkpoints_that_is_a_file_is_found_before_training(run, tmp_path):
    (tmp_path / "file").touch()
    code, out, err = run("reproduce", *M98, "--records", tmp_path / "records", "--checkpoints", "file")
    assert code == 1
    assert "cannot write checkpoints to file" in err
    assert "runs to make" not in out


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


def test_reproduce_says_where_records_go(run, measured):
    code, out, _ = run("reproduce", *M98, "--seeds", 2, "--records", measured / "records")
    assert code == 0
    assert f"records go to {measured / 'records'}" in out


def full_disk(path):
    """Stands for a disk on which records cannot be written, though other folders can."""
    usual = os.fsync

    def fsync(descriptor):
        if path in Path(os.readlink(f"/proc/self/fd/{descriptor}")).parents:
            raise OSError(28, "No space left on device")
        usual(descriptor)

    return fsync


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="tells files by /proc")
def test_a_finished_run_that_cannot_be_recorded_is_kept_beside_the_checkpoints(run, tmp_path, monkeypatch):
    where = ("--seeds", 1, "--records", tmp_path / "records")
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full_disk(tmp_path / "records"))
        code, _, err = run("reproduce", *M98, *where)
    assert code == 1
    assert "its record is safe in checkpoints/unrecorded" in err
    assert (
        run("results", "merge", "checkpoints/unrecorded", *where[2:])[1] == "1 records merged, 0 were known\n"
    )
    assert "0 runs to make" in run("reproduce", *M98, *where)[1]


@pytest.mark.parametrize("checkpoint", [True, False])
def test_what_is_lost_on_a_full_disk_is_said_to_be(measured, tmp_path, monkeypatch, checkpoint):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    (record, *_) = Records(measured / "records")
    (made,) = train(
        [build(paper_settings("same_different", 98, "esbn").to_dict(), 1)], stop=lambda update: True
    )
    if checkpoint:
        (tmp_path / f"{made.key}.pt").touch()
    monkeypatch.setattr(os, "fsync", full)
    told = cli.rescue(record, "esbn.table9", made, tmp_path)
    assert ("is lost; it is trained again" in told) != checkpoint
    assert (f"goes on from its last checkpoint in {tmp_path}" in told) == checkpoint


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The package as pip leaves it: without a checkout around it."""
    site = tmp_path_factory.mktemp("site")
    root = Path(cli.__file__).parents[1]
    shutil.copytree(root, site / "mini_lib", ignore=shutil.ignore_patterns("__pycache__", "*.lock"))
    return site


def test_an_installed_command_writes_records_into_the_readers_folder(installed, tmp_path):
    def command(*words):
        environment = os.environ | {"PYTHONPATH": str(installed)}
        line = [sys.executable, "-m", "mini_lib", *words]
        done = subprocess.run(line, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def tree():
        found = installed.rglob("*.*")
        return {path: path.stat().st_mtime for path in found if path.suffix not in (".pyc", ".lock")}

    before, digest = tree(), settings_hash(paper_settings("same_different", 98, "esbn").to_dict())
    known = len(Records(COMMITTED).of(digest))
    assert "records go to records" in command("reproduce", *M98, "--seeds", str(known + 1))
    assert tree() == before
    (record,) = Records(tmp_path / "records")
    assert record["seed"] == known + 1
    assert f"{known + 1:3} of 10 runs" in command("list", "esbn.table9")
    listed = json.loads(command("compare", *M98[:-3], "--json"))
    assert listed[0]["n"] == known + 1


def test_an_unwritable_folder_is_found_before_training(run, tmp_path):
    (tmp_path / "file").write_text("")
    code, out, err = run("reproduce", *M98, "--records", tmp_path / "file" / "records")
    assert code == 1
    assert "cannot write records" in err
    assert "runs to make" not in out


def test_an_unknown_option_exits_with_2(run):
    code, _, err = run("list", "--colour")
    assert code == 2
    assert "--colour" in err


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Two runs of the cheapest cell, made by the command itself."""
    folder = tmp_path_factory.mktemp("measured")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(
            sys, "argv", ["mini-lib", "reproduce", *M98, "--seeds", "2", "--records", str(folder / "records")]
        )
        with pytest.raises(SystemExit) as stop:
            cli.main()
    assert stop.value.code == 0
    return folder


def test_reproduce_leaves_records_and_no_checkpoints(measured):
    lines = (measured / "records" / "esbn.table9.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    assert sorted(record["seed"] for record in records) == [1, 2]
    for record in records:
        assert record["metrics"]["test_accuracy"] > 95
        assert record["updates"] == 100
        assert record["scale"] == "paper"
        assert record["data"] == "rendered"
        assert record["provenance"]["device"].startswith("cpu: ")
    assert list((measured / "checkpoints").glob("*.pt")) == []


def test_what_is_on_record_is_not_trained_again(run, measured):
    code, out, _ = run("reproduce", *M98, "--seeds", 2, "--records", measured / "records")
    assert code == 0
    assert "0 runs to make" in out


def test_compare_sees_the_runs(run, measured):
    code, out, _ = run(
        "compare",
        "esbn.table9",
        "--rows",
        "ESBN + TCN",
        "--columns",
        "m=98",
        "--records",
        measured / "records",
    )
    assert code == 0
    head, line, *_ = (re.split(r" {2,}", line) for line in out.splitlines())
    assert head == ["id", "row", "column", "paper", "ours", "n", "verdict"]
    found = dict(zip(head, line, strict=True))
    assert found["id"] == "esbn.table9/ESBN + TCN/m=98"
    assert (found["row"], found["column"], found["n"]) == ("ESBN + TCN", "m=98", "2")
    assert found["verdict"] == "match, partial"
    code, out, _ = run("compare", "esbn.table9", "--json", "--records", measured / "records")
    found = {row["id"]: row for row in json.loads(out)}
    assert found["esbn.table9/ESBN + TCN/m=98"]["n"] == 2
    assert found["esbn.table9/LSTM + TCN/m=0"]["verdict"] == "not run"
    code, out, _ = run("compare", "--summary", "--records", measured / "records")
    assert code == 0
    assert "not run" in out


def test_compare_can_be_narrowed_to_a_variant(run, tmp_path):
    code, out, _ = run("compare", "scan.table1", "--variant", "tutorial", "--records", tmp_path)
    assert code == 0
    head, *lines = out.splitlines()
    assert head.startswith("id ")
    assert [line.split("  ")[0] for line in lines] == ["scan.table1/Syntactic Attention/Add jump/tutorial"]
    code, out, _ = run(
        "compare", "scan.table1", "--variant", "released files", "--json", "--records", tmp_path
    )
    assert {row["variant"] for row in json.loads(out)} == {"released files"}


def test_merge_takes_records_over_once(run, measured, tmp_path):
    there = tmp_path / "there"
    assert (
        run("results", "merge", measured / "records", "--records", there)[1]
        == "2 records merged, 0 were known\n"
    )
    assert (
        run("results", "merge", measured / "records", "--records", there)[1]
        == "0 records merged, 2 were known\n"
    )


LONG = (
    "esbn.table9",
    "--rows",
    "ESBN + TCN",
    "--columns",
    "m=0",
    "--no-variants",
    "--device",
    "cpu",
    "--seeds",
    "1",
)


def saved_updates(folder):
    return [torch.load(path)["update"] for path in folder.glob("*.pt")]


def test_a_budget_stops_cleanly_and_the_run_goes_on_from_there(run, tmp_path):
    where = ("--records", tmp_path / "records", "--checkpoints", tmp_path / "checkpoints")
    code, out, _ = run("reproduce", *LONG, *where, "--budget", "30s")
    assert code == 0
    assert "0 runs finished, 1 left" in out
    assert "the same command goes on from there" in out
    assert list((tmp_path / "records").glob("*.jsonl")) == []
    (updates,) = saved_updates(tmp_path / "checkpoints")
    told = []
    settings = paper_settings("same_different", 0, "esbn").to_dict()
    stop = {"checkpoints": tmp_path / "checkpoints", "stop": lambda update: True}
    train([build(settings, 1)], progress=told.append, **stop)
    assert told[0] == updates > 0


def test_a_budget_that_is_over_before_training_says_so(run, tmp_path):
    where = ("--records", tmp_path / "records", "--checkpoints", tmp_path / "checkpoints")
    code, out, _ = run("reproduce", *LONG, *where, "--budget", "0.01s")
    assert code == 0
    assert re.search(
        r"the budget of 0\.01s was over before a training could begin \(starting alone took \d+ s\); give it more",
        out,
    )
    assert "0 runs finished, 1 left" in out


def gone(group):
    """Whether a process group has ended, within some seconds."""
    for _ in range(50):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False


def interrupted(tmp_path, end, moment):
    """What a long run says on stderr when it is ended as soon as it has said `moment`; it leaves no process."""
    # A shell starts background jobs with interrupts ignored, and what they start inherits that; here one is wanted.
    hears = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    command = [sys.executable, "-c", f"{hears}; from mini_lib.__main__ import main; main()", "reproduce"]
    command += [*map(str, LONG), "--workers", "1", "--records", str(tmp_path / "records")]
    command += ["--checkpoints", str(tmp_path / "checkpoints")]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    began, said = threading.Event(), []

    def watch():
        for piece in iter(lambda: process.stderr.read(1), ""):
            said.append(piece)
            if re.search(moment, "".join(said)):
                began.set()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    assert began.wait(timeout=90), "it did not come to this"
    if end == signal.SIGINT:
        os.killpg(process.pid, end)  # as a terminal does: to the command and its workers
    else:
        process.send_signal(end)
    assert process.wait(timeout=60) == 130
    assert gone(process.pid), "a worker lives on"
    watcher.join()
    process.stderr.close()
    return "".join(said)


def test_an_interrupt_while_workers_start_says_one_line(tmp_path):
    said = interrupted(tmp_path, signal.SIGINT, r"0 of 1 runs")
    assert [line for line in said.split("\n") if line and "0 of 1 runs" not in line] == [INTERRUPTED]


def test_an_interrupt_while_libraries_load_says_the_same_line(monkeypatch, capsys):
    def interrupt(started):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "main", interrupt)
    with pytest.raises(SystemExit) as stop:
        __main__.main()
    assert stop.value.code == 130
    assert capsys.readouterr().err == f"{INTERRUPTED}\n"


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_leaves_a_checkpoint_and_no_process(end, tmp_path):
    assert INTERRUPTED in interrupted(tmp_path, end, r"\b[1-9]\d* updates")
    (updates,) = saved_updates(tmp_path / "checkpoints")
    assert updates > 0


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
    monkeypatch.setattr(
        sys, "argv", ["mini-lib", "reproduce", *M98, "--records", "records", "--budget", "9m"]
    )
    with pytest.raises(SystemExit):
        cli.main(5000.0)
    assert told["deadline"] == 5525.0
    with pytest.raises(SystemExit):
        __main__.main()
    assert 0 < time.time() + 525.0 - told["deadline"] < 60


def test_data_verify_tells_damaged_files(run, monkeypatch, tmp_path):
    (tmp_path / "scan").mkdir()
    (tmp_path / "scan" / "tasks_test_simple.txt.gz").write_bytes(b"not gzip")
    monkeypatch.setenv("MINI_LIB_DATA", str(tmp_path))
    code, out, _ = run("data", "verify")
    assert code == 1
    assert str(tmp_path) in out
    statuses = {line.split()[1]: line.split()[0] for line in out.splitlines()[1:]}
    assert "damaged" in statuses.values()
    assert "ok" in statuses.values()


def test_training_needs_neither_widgets_nor_downloads():
    """A bare GPU machine has torch and little else; what trains must import there."""
    absent = ("pooch", "ipywidgets", "beartype", "IPython", "nbclient", "nbformat")
    load = "from mini_lib.reproduction import cli, launch; cli.wings()"
    blocked = f"import sys; sys.modules.update(dict.fromkeys({absent!r})); {load}"
    done = subprocess.run([sys.executable, "-c", blocked], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_help_is_there_before_pytorch_is():
    """Loading it takes seconds, and so do the wings."""
    ask = "import sys; sys.argv[1:] = ['reproduce', '--help']; from mini_lib.__main__ import main"
    loaded = "print({'torch', 'scipy', 'mini_lib.esbn'} & {*sys.modules})"
    script = f"{ask}\ntry:\n    main()\nfinally:\n    {loaded}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "--budget" in done.stdout
    assert done.stdout.endswith("set()\n")


def test_a_table_loads_no_other_paper():
    script = "import sys; from mini_lib.reproduction import cli; cli.cells('scan.table1'); "
    script += "print(*sorted(name for name in cli.WINGS if f'mini_lib.{name}' in sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "scan\n", done.stderr


@pytest.fixture
def tiny_weights(run, tmp_path, monkeypatch):
    """Calls `mini-lib weights` for a tiny network; its settings, the file, and what the command answered."""

    def command(**changes):
        size = {"dim": 8, "layers": 1, "heads": 1}
        small = {"epochs": 1, "checks": (), "batch_size": 2, "test_curves": 3, "options": size}
        settings = functions.tutorial_settings("one_d", **small | changes).to_dict()
        cell = Cell("functions.table1", "tiny", "lin", settings, 1, home="functions.table1", metric="mse_lin")
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
    assert header(file)["settings"] == record["settings"] == settings
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
    monkeypatch.setattr(timing, "evaluate_scaling", lambda *form, **sizes: {"r2_400": 0.5})
    code, out, _ = run(
        "reproduce", "kanerva.fig1d", "--variant", "tutorial", "--seeds", 2, "--records", tmp_path
    )
    assert code == 0
    assert "runs to make on meta: its name" in out
    assert {record["provenance"]["device"] for record in Records(tmp_path)} == {"cpu: its name"}
    assert len(Records(tmp_path)) == 4


def test_weights_puts_the_run_on_record_before_a_full_disk_stops_it(run, tmp_path, monkeypatch):
    def full(*args, **kwargs):
        raise SafetensorError("No space left on device (os error 28)")

    monkeypatch.setattr("mini_lib.weights.save_file", full)
    path = tmp_path / "same.safetensors"
    code, _, err = run(
        "weights", "esbn.table9", "ESBN + TCN", "m=98", path, "--records", tmp_path / "records"
    )
    assert code == 1
    assert re.search(r"could not write .*same\.safetensors: No space left on device", err)
    assert len(Records(tmp_path / "records")) == 1
