"""The command is killed at any moment, or its disk is full: nothing that was finished is lost or doubled.

Once here, and fifty times in `make stress`.
"""

import os
import random
import re
import subprocess
import sys
import time
from functools import cache

import pytest

from mini_lib.esbn.runs import paper_settings
from mini_lib.reproduction import Records
from mini_lib.reproduction.esbn import cells as esbn
from mini_lib.reproduction.records import record_of, to_line
from mini_lib.training import train

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("MINI_LIB_KILLS", "1"))  # `make stress` sets it
RUNS = 6
SETTINGS = paper_settings(
    "same_different", 98, "rn", epochs=60, options={"hidden": 32, "relation_size": 32}, test_size=32
).to_dict()
# Checkpoints come as often as they can, unless a line before says otherwise, so that many moments fall into one.
COMMAND = f"""
import sys
import torch
from mini_lib import training
from mini_lib.reproduction import Cell, cells, cli, launch
from mini_lib.reproduction.esbn import cells as esbn

def train_here(jobs, checkpoints, deadline, workers, progress):
    for job in jobs:  # alone: only so is a run that was resumed equal to one that was not
        yield from launch._in_stacks([job], torch.device("cpu"), checkpoints, deadline, "fp32", False)

training.CHECKPOINT_SECONDS = globals().get("seconds", 0.0)
launch._over_cores = train_here
esbn.CELLS = [Cell("esbn.table9", "RN", "m=98", {SETTINGS!r}, {RUNS}, file="esbn.table9")]
usual = cells.cells_of
cells.cells_of = cli.cells_of = lambda paper: tuple(esbn.CELLS) if paper == "esbn" else usual(paper)
sys.argv = ["mini-lib", "reproduce", "esbn.table9", "--device", "cpu", "--records", "records"]
cli.main()
"""


def start(folder, first=""):
    """Begin the command in a folder, after a line of Python; returns it once it says how many runs are to make."""
    folder.mkdir(exist_ok=True)
    command = subprocess.Popen(
        [sys.executable, "-u", "-c", first + COMMAND],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    command.stdout.readline()
    return command


def end(command):
    """Let it come to its end; returns its exit status and the seeds of the runs that it said are finished."""
    out, err = command.communicate(timeout=300)
    assert command.returncode in (0, -9), out + err
    return command.returncode, {int(seed) for seed in re.findall(r"/\d+ .*, seed (\d+): ", out)}


def on_record(folder):
    """The seeds on record; a line that is no record, or a key that is there twice, is an error.

    The last line may be cut short by a kill in the middle of its writing.
    """
    path = folder / "records" / "esbn.table9.jsonl"
    lines = re.findall(r".+\n", path.read_text()) if path.exists() else []
    records = list(Records(path.parent)) if lines else []
    assert len(records) == len(lines)
    return {record["seed"] for record in records}


@cache
def uninterrupted():
    """The record of every run, trained here, by seed."""
    runs = {seed: train([esbn.build(SETTINGS, seed)])[0] for seed in range(1, RUNS + 1)}
    kind = {"paper": "esbn", "scale": "paper", "data": "rendered", "device": "cpu"}
    return {seed: record_of(run, SETTINGS, seed, **kind) for seed, run in runs.items()}


def check_results(folder):
    """All runs are on record, with what they measure where nothing disturbs them."""
    found = {record["seed"]: record["metrics"] for record in Records(folder / "records")}
    assert found == {seed: pytest.approx(record["metrics"]) for seed, record in uninterrupted().items()}


def test_a_killed_command_goes_on_and_loses_and_doubles_nothing(tmp_path):
    """The moments are drawn anew every time; the name of the folder says which they were."""
    seed = random.randrange(10**6)
    moments, killed, queues, whole = random.Random(seed), 0, 0, 4.0
    while killed < KILLS:
        queues += 1
        folder, known = tmp_path / f"{seed}-{queues}", set()
        while len(known) < RUNS:
            command, began = start(folder), time.monotonic()
            if killed < KILLS:
                time.sleep(moments.uniform(0, whole))
                command.kill()
            status, announced = end(command)
            if status == 0:
                whole = min(whole, time.monotonic() - began)
            else:
                killed += 1
            now = on_record(folder)
            assert known | announced <= now, f"lost: {(known | announced) - now}"
            known = now
        assert not list((folder / "records" / "checkpoints").glob("*.pt"))
        check_results(folder)


def test_two_commands_in_one_folder_double_nothing(tmp_path):
    first, second = start(tmp_path), start(tmp_path)
    ended, told = zip(end(first), end(second), strict=True)
    assert ended == (0, 0)
    assert set.union(*told) == on_record(tmp_path) == set(range(1, RUNS + 1))
    check_results(tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="limits the size of files as Unix does")
def test_a_full_disk_stops_the_command_in_a_line_and_what_was_finished_stays(tmp_path):
    size = int(2.5 * len(to_line(uninterrupted()[1])))  # the third record does not fit
    full = f"seconds = 60.0; import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))"
    command = start(tmp_path, full)
    _, err = command.communicate(timeout=300)
    assert command.returncode == 1
    assert "could not write" in err
    assert "its record is safe in records/checkpoints/unrecorded" in err
    assert "Traceback" not in err
    assert len(on_record(tmp_path)) == 2
    assert end(start(tmp_path))[0] == 0
    assert on_record(tmp_path) == set(range(1, RUNS + 1))
    check_results(tmp_path)
