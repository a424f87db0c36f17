"""Trainings over cores and in stacks: what fails, dies or is stopped costs nothing that was done."""

import os
import signal
import threading
import time
import weakref
from multiprocessing import Pipe
from pathlib import Path

import pytest
import torch
from filelock import FileLock

from mini_lib.datasets import glyphs
from mini_lib.reproduction import launch as launching
from mini_lib.reproduction.esbn.cells import build
from mini_lib.reproduction.launch import JobsFailed, launch, stacks
from mini_lib.training import train
from reproduction.samples import job, start_process, wait_until

CPU = torch.device("cpu")


def in_stacks(jobs, folder, deadline=None):
    """Train as on a GPU, in this process."""
    runs = launching.in_stacks(jobs, CPU, folder, deadline, "fp32", False)
    return launching.what_ended(runs, len(jobs), folder)


def until_failure(runs, match):
    """What comes before JobsFailed, whose message is checked: the runs by their seed."""
    ended = {}
    with pytest.raises(JobsFailed, match=match):
        ended.update((job.seed, run) for job, run in runs)
    return ended


def broken(settings, seed):
    raise AssertionError


def stems(folder):
    return sorted(path.stem for path in folder.iterdir())


# ------------------------------------------------------------------------------------------ over cores


def test_after_the_deadline_nothing_starts(tmp_path):
    how = {"device": CPU, "checkpoints": tmp_path, "progress": False}
    assert list(launch([job(1), job(2)], deadline=time.time() - 1, **how)) == []


@pytest.fixture
def worker(tmp_path, monkeypatch):
    """A worker, in a thread of this process, and our end of its pipe; it ends when that is closed."""
    handlers = {}
    monkeypatch.setattr(launching.signal, "signal", handlers.__setitem__)
    monkeypatch.setattr(launching, "_end_with_parent", lambda: None)
    begun = []

    def work(first, deadline=None):
        ours, theirs = Pipe()
        ours.send(first)
        thread = threading.Thread(target=launching._work, args=(theirs, tmp_path, deadline), daemon=True)
        thread.start()
        begun.append((thread, ours))
        return thread, ours, handlers

    yield work
    for thread, ours in begun:
        ours.close()
        thread.join(30)


def outcome(pipe):
    """What a worker sends of a job, after the numbers of updates, and how many there were."""
    updates = 0
    while pipe.poll(30) and updates < 100:
        if not isinstance(answer := pipe.recv(), int):
            return answer, updates
        updates += answer
    raise AssertionError("it does not end")


def test_a_worker_trains_job_after_job_and_sends_its_updates_and_what_failed(worker, tmp_path):
    _, pipe, _ = worker(job(1))
    run, updates = outcome(pipe)
    assert (run.finished, run.updates, updates, stems(tmp_path)) == (True, 3, 3, [job(1).key])
    pipe.send(job(7, broken))
    assert outcome(pipe)[0] == "AssertionError"
    pipe.send(job(2))
    assert outcome(pipe)[0].key == job(2).key


def test_at_the_deadline_a_worker_stops_its_run_with_a_checkpoint(worker, tmp_path):
    _, pipe, _ = worker(job(1, epochs=10**6), deadline=time.time() - 1)
    run, _ = outcome(pipe)
    assert (run.finished, run.updates) == (False, 1)
    assert stems(tmp_path) == [run.key]


@pytest.mark.parametrize("parent_is_gone", [True, False])
def test_a_worker_ends_with_a_checkpoint_when_it_is_stopped_or_alone(parent_is_gone, worker, tmp_path):
    endless = job(1, epochs=10**6)
    thread, pipe, handlers = worker(endless)
    assert pipe.recv() >= 1
    if parent_is_gone:
        pipe.close()
    else:
        handlers[signal.SIGTERM](signal.SIGTERM, None)
    thread.join(30)
    assert not thread.is_alive()
    assert stems(tmp_path) == [endless.key]


def launch_all(jobs, how):
    list(launch(jobs, device=CPU, progress=False, **how))


def long_test(settings, seed):
    """A run whose test takes ten minutes; the lock is held as long as its process is alive."""
    launching.GRACE = 0.1
    run = build(settings, seed)

    def evaluate(model):
        with FileLock("held"):
            Path("begun").touch()
            time.sleep(600)

    run.evaluate = evaluate
    return run


@pytest.mark.slow
def test_a_worker_does_not_outlive_a_killed_parent_even_in_the_middle_of_a_test(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    parent = start_process(launch_all, [job(1, long_test)], {"checkpoints": tmp_path, "workers": 1})
    wait_until(Path("begun").exists)
    parent.kill()
    FileLock("held").acquire(timeout=30)
    assert job(1).key in stems(tmp_path)


def end_process(settings, seed):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow
def test_runs_over_two_cores_equal_those_trained_here_whatever_becomes_of_other_runs(tmp_path, capfd):
    jobs = [job(9, end_process), *map(job, (1, 2, 3, 4)), job(8, end_process), job(5), job(6)]
    (tmp_path / f"{jobs[2].key}.pt").write_bytes(b"damaged")
    runs = launch(jobs, device=CPU, checkpoints=tmp_path, workers=2)
    named = (
        rf"(?s)^4 of 8 runs failed:\n(?=.*seed 2: .*{jobs[2].key}\.pt is damaged)"
        r"(?=.*seed 9: its worker process died; if memory is short).*seed 8: its worker process died"
        r".*seed 5: no worker process is left for it, and for 1 runs after it$"
    )
    ended = until_failure(runs, named)
    assert sorted(ended) == [1, 3, 4]
    for seed, run in ended.items():
        (here,) = train([build(jobs[0].settings, seed)])
        assert run.curve["loss"] == pytest.approx(here.curve["loss"], rel=1e-4)
        assert run.metrics == pytest.approx(here.metrics, rel=1e-3)
    assert stems(tmp_path) == [jobs[2].key]
    first, *_, last = capfd.readouterr().err.splitlines()
    assert first.startswith("0 of 8 runs: 0 updates")
    assert last.startswith("3 of 8 runs: 9 updates")


# ------------------------------------------------------------------------------------------ in stacks


def test_neighbors_of_equal_shape_and_constants_share_a_stack_and_the_order_stays(monkeypatch):
    monkeypatch.setattr(launching, "STACK", 2)
    monkeypatch.setattr("mini_lib.esbn.runs.glyphs", lambda source: abs(glyphs() - int(source == "released")))
    jobs = [job(1), job(2), job(4), job(1, tcn=False), job(3), job(5, images="released"), job(6)]
    groups = [[each for each, _ in group] for group in stacks(jobs, [])]
    assert groups == [jobs[:2], jobs[2:3], jobs[3:4], jobs[4:5], jobs[5:6], jobs[6:]]


def test_stacks_stop_at_the_deadline_and_resume_from_their_checkpoints(tmp_path, monkeypatch):
    jobs = [job(1), job(2), job(1, tcn=False)]
    asked = iter([*[False] * 3, False, True])  # before each is built, before the first stack, after an update
    monkeypatch.setattr(launching, "past", lambda deadline: next(asked, True))
    halted = list(in_stacks(jobs, tmp_path, 0.0))
    assert [(run.finished, run.updates) for _, run in halted] == [(False, 1), (False, 1)]
    assert stems(tmp_path) == sorted(j.key for j in jobs[:2])
    monkeypatch.undo()
    ended = list(in_stacks(jobs, tmp_path))
    assert [(j.key, run.finished, run.updates) for j, run in ended] == [(j.key, True, 3) for j in jobs]
    pair = train([each.build(each.settings, each.seed) for each in jobs[:2]], stacked=True)
    for (_, resumed), uninterrupted in zip(ended, pair, strict=False):
        assert resumed.curve["loss"] == pytest.approx(uninterrupted.curve["loss"], rel=1e-4)


def test_a_stack_that_does_not_fit_is_halved_and_its_networks_are_made_afresh(tmp_path, monkeypatch, capsys):
    jobs, tried = [*map(job, range(1, 6)), job(6, tcn=False), *map(job, (7, 8, 9))], []

    def small_memory(runs, **how):
        tried.append(len(runs))
        if len(runs) > 2 or jobs[4].key in {each.key for each in runs}:
            for each in runs:  # by then a network holds weights of its stack
                torch.nn.init.zeros_(next(each.model.parameters()))
            raise torch.OutOfMemoryError("CUDA out of memory")
        return train(runs, **how)

    monkeypatch.setattr(launching, "train", small_memory)
    named = r"(?s)^1 of 9 runs failed:.*seed 5: out of memory on cpu"
    ended = until_failure(in_stacks(jobs, tmp_path), named)
    assert tried == [5, 2, 2, 1, 1, 2, 1]  # no more than 2 of this shape from then on
    assert list(ended) == [1, 2, 3, 4, 6, 7, 8, 9]
    assert "out of memory: 2 networks at a time from here on" in capsys.readouterr().err
    third, _ = train([build(each.settings, each.seed) for each in jobs[2:4]], stacked=True)
    assert ended[3].curve["loss"] == pytest.approx(third.curve["loss"], rel=1e-4)


def test_all_of_a_stack_that_fails_are_named_and_the_other_stacks_are_done(tmp_path):
    jobs = [job(1), job(2), job(7, broken), job(3, tcn=False)]
    (tmp_path / f"{jobs[0].key}.pt").write_bytes(b"damaged")
    named = (
        r"(?s)^3 of 4 runs failed:\n.*seed 7: AssertionError\n.*seed 1: .* is damaged.*seed 2: .* is damaged"
    )
    ended = until_failure(in_stacks(jobs, tmp_path), named)
    assert [(seed, run.finished) for seed, run in ended.items()] == [(3, True)]


def test_what_a_failed_stack_held_is_free_again(monkeypatch):
    held = []

    def failing(runs, **how):
        large = torch.zeros(3)
        held.append(weakref.ref(large))
        raise RuntimeError("a device-side assert")

    monkeypatch.setattr(launching, "train", failing)
    runs, error = launching._attempt([])
    assert (runs, str(error)) == ([], "a device-side assert")
    assert held[0]() is None
