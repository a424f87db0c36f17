"""The command is killed at any moment: nothing that was finished is lost or doubled; all else goes on as it was."""

import os
import random
import re
import sys

import pytest

from mini_lib import training
from mini_lib.reproduction import Records, cli
from mini_lib.reproduction.esbn import cells as esbn
from mini_lib.training import train
from reproduction.samples import small_settings, start_process, wait_until
from reproduction.test_cli import REPRODUCE, small_cells

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("MINI_LIB_KILLS", "1"))  # `make stress` sets it
RUNS = 4
EPOCHS = 20


def command(folder):
    """Run the command; checkpoints come as often as they can, so that many moments fall into one."""
    os.chdir(folder)
    sys.stdout = open("printed", "w", buffering=1)
    training.CHECKPOINT_SECONDS = 0.0
    sys.argv = ["mini-lib", *REPRODUCE, "--seeds", str(RUNS), "--records", "records"]
    with small_cells(epochs=EPOCHS):
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
    finished = re.findall(r"/\d+ .*, seed (\d+): ", printed.read_text())
    return process.exitcode != 0, set(map(int, finished))


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
    moments, killed, queues = random.Random(seed), 0, 0
    settings = small_settings(epochs=EPOCHS)
    runs = {number: train([esbn.build(settings, number)])[0] for number in range(1, RUNS + 1)}
    while killed < KILLS:
        queues += 1
        folder, known = tmp_path / f"{seed}-{queues}", set()
        while len(known) < RUNS:
            ended, announced = run(folder, moments.uniform(0, 1) if killed < KILLS else 300)
            killed += ended
            now = on_record(folder)
            assert known | announced <= now, f"lost: {(known | announced) - now}"
            known = now
        assert not list((folder / "records" / "checkpoints").glob("*.pt"))
        for record in Records(folder / "records"):
            uninterrupted = runs[record["seed"]]
            assert record["metrics"] == pytest.approx(uninterrupted.metrics, rel=1e-4)
            assert record["curve"]["loss"] == pytest.approx(uninterrupted.curve["loss"], rel=1e-4)
