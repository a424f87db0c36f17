"""Records, entries and jobs made up for the tests of records, comparisons and trainings."""

import time
from multiprocessing import get_context

from mini_lib.hashing import run_key, settings_hash
from mini_lib.reproduction import Cell

FILE = "esbn.table11"


def record(seed=1, accuracy=99.0, *, scale="paper", diverged=False, score=(50.0, 100.0), **settings):
    settings = {"task": "distribution_of_three", "m": 95} | settings
    digest = settings_hash(settings)
    return {
        "key": f"{digest}-s{seed}",
        "hash": digest,
        "seed": seed,
        "paper": "esbn",
        "settings": settings,
        "scale": scale,
        "data": "rendered",
        "metrics": {} if diverged else {"test_accuracy": accuracy},
        "diverged": diverged,
        "curve": {"update": [10 * i + 1 for i in range(len(score))], "loss": [*score], "score": [*score]},
        "updates": 1800,
        "provenance": {"version": "1", "device": "cpu: x", "seconds": 36.0},
    }


def cell(table="esbn.table11", row="ESBN + TCN", column="m=95", variant="", **settings):
    settings = {"task": "distribution_of_three", "m": 95} | settings
    return Cell(table, row, column, settings, 10, file=FILE, variant=variant)


def small_settings(**changes):
    """Settings of a small network that learns to tell same from different in three updates."""
    from mini_lib.esbn.runs import paper_settings  # here, since it loads PyTorch

    small = {"epochs": 3, "options": {"hidden": 32, "relation_size": 32}, "test_size": 32}
    return paper_settings("same_different", 98, "rn", **small | changes).to_dict()


def job(seed, build=None, **changes):
    """A job to train that network."""
    from mini_lib.reproduction.esbn import cells
    from mini_lib.reproduction.launch import Job

    settings = small_settings(**changes)
    return Job(build or cells.build, settings, seed, run_key(settings, seed))


def start_process(function, *arguments):
    """Call a function in a process of its own, which has PyTorch at once: to load it takes seconds."""
    context = get_context("forkserver")
    context.set_forkserver_preload(["mini_lib.reproduction.launch", "mini_lib.reproduction.esbn.cells"])
    (process := context.Process(target=function, args=arguments)).start()
    return process


def wait_until(condition, seconds=60):
    """Wait for something that another process does."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.02)
