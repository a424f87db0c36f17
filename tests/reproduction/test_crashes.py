"""The command is killed at any moment: nothing that was finished is lost or doubled; all else goes on as it was."""

import os
import random
import re
import sys
import time

import pytest
import torch

from mini_lib import training
from mini_lib.reproduction import Cell, Records, cells, cli, launch
from mini_lib.reproduction.esbn import cells as esbn
from mini_lib.training import train
from reproduction.samples import small_settings, start_process, wait_until

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("MINI_LIB_KILLS", "1"))  # `make stress` sets it
RUNS = 4
SETTINGS = small_settings(epochs=20)


def train_here(jobs, checkpoints, deadline, workers, progress):
    for job in jobs:  # alone: only so is a run that was resumed equal to one that was not
        yield from launch.in_stacks([job], torch.device("cpu"), checkpoints, deadline, "fp32", False)


def command(folder):
    """Run the command; checkpoints come as often as they can, so that many moments fall into one."""
    os.chdir(folder)
    sys.stdout = open("printed", "w", buffering=1)
    usual, training.CHECKPOINT_SECONDS, launch._over_cores = cells.cells_of, 0.0, train_here
    esbn.CELLS = [Cell("esbn.table9", "RN", "m=98", SETTINGS, RUNS, file="esbn.table9")]
    cells.cells_of = cli.cells_of = lambda paper: tuple(esbn.CELLS) if paper == "esbn" else usual(paper)
    sys.argv = ["mini-lib", "reproduce", "esbn.table9", "--device", "cpu", "--records", "records"]
    cli.main()


def run(folder, seconds):
    """Whether the command was killed, n seconds after its first line, and the seeds that it said are finished."""
    folder.mkdir(exist_ok=True)
    printed = folder / "printed"
    printed.unlink(missing_ok=True)
    process = start_process(command, folder)
    wait_until(lambda: printed.exists() and printed.read_text())
    process.join(seconds)
    process.kill()
    process.join()
    assert process.exitcode in (0, -9)
    return process.exitcode != 0, {
        int(seed) for seed in re.findall(r"/\d+ .*, seed (\d+): ", printed.read_text())
    }


def on_record(folder):
    """The seeds on record, none twice; the last line may be cut short by a kill in the middle of its writing."""
    path = folder / "records" / "esbn.table9.jsonl"
    lines = re.findall(r".+\n", path.read_text()) if path.exists() else []
    records = list(Records(path.parent)) if lines else []
    assert len(records) == len(lines)
    return {record["seed"] for record in records}


def test_a_killed_command_goes_on_and_loses_and_doubles_nothing(tmp_path):
    """The moments are drawn anew every time; the name of the folder says which they were."""
    seed = random.randrange(10**6)
    moments, killed, queues, whole = random.Random(seed), 0, 0, 1.0
    runs = {number: train([esbn.build(SETTINGS, number)])[0] for number in range(1, RUNS + 1)}
    while killed < KILLS:
        queues += 1
        folder, known = tmp_path / f"{seed}-{queues}", set()
        while len(known) < RUNS:
            began = time.monotonic()
            ended, announced = run(folder, moments.uniform(0, whole) if killed < KILLS else 300)
            if ended:
                killed += 1
            else:
                whole = min(whole, time.monotonic() - began)
            now = on_record(folder)
            assert known | announced <= now, f"lost: {(known | announced) - now}"
            known = now
        assert not list((folder / "records" / "checkpoints").glob("*.pt"))
        for record in Records(folder / "records"):
            uninterrupted = runs[record["seed"]]
            assert record["metrics"] == pytest.approx(uninterrupted.metrics, rel=1e-4)
            assert record["curve"]["loss"] == pytest.approx(uninterrupted.curve["loss"], rel=1e-4)
