"""Spreading runs over cores, and grouping them into stacks."""

import builtins
import io
import os
import signal
import subprocess
import sys
import time
import weakref
from contextlib import suppress
from pathlib import Path

import pytest
import torch

from mini_lib.esbn.runs import paper_settings
from mini_lib.reproduction import launch as launching
from mini_lib.reproduction.esbn.cells import build
from mini_lib.reproduction.launch import Job, JobsFailed, default_workers, launch, stacks
from mini_lib.settings import run_key
from mini_lib.training import TrainingStack, train

CPU = torch.device("cpu")
SMALL = {"epochs": 3, "options": {"hidden": 32, "relation_size": 32}}


def job(seed, make=build, **changes):
    settings = paper_settings("same_different", 98, "rn", **SMALL | changes).to_dict()
    return Job(make, settings, seed, run_key(settings, seed))


def over_cores(jobs, folder, **how):
    """Train in worker processes."""
    return launch(jobs, device=CPU, checkpoints=folder, **{"workers": 1, "progress": False} | how)


def in_stacks(jobs, folder, deadline=None):
    """Train as on a GPU, in this process."""
    return launching._in_stacks(jobs, CPU, folder, deadline, "fp32", False)


def until_failure(runs, match):
    """What comes before JobsFailed, whose message is checked: whether it finished, by seed."""
    ended = {}
    with pytest.raises(JobsFailed, match=match):
        ended.update((job.seed, run.finished) for job, run in runs)
    return ended


# ------------------------------------------------------------------------------------------ over cores


@pytest.mark.parametrize(("quota", "cores"), [("200000 100000", 2), ("150000 100000", 2), ("max 100000", 64)])
def test_a_container_with_a_quota_has_as_many_workers_as_it_allows(quota, cores, monkeypatch):
    opened = builtins.open
    files = {"/sys/fs/cgroup/cpu.max": quota}
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(64)), raising=False)
    monkeypatch.setattr(os.path, "exists", lambda path: str(path) in files)
    monkeypatch.setattr(
        builtins, "open", lambda path, *how: io.StringIO(files[path]) if path in files else opened(path, *how)
    )
    assert default_workers() == cores


def test_processes_that_are_bound_to_some_cores_have_a_worker_for_each(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0}, raising=False)
    assert default_workers() == 1


@pytest.mark.slow
def test_runs_over_two_cores_equal_those_trained_here_and_a_file_gets_lines(tmp_path, capfd):
    jobs = [job(1), job(2), job(3)]
    found = {j.seed: run for j, run in over_cores(jobs, tmp_path, workers=2, progress=True)}
    first, line = capfd.readouterr().err.splitlines()
    assert first.startswith("0 of 3 runs: 0 updates")
    assert line.startswith("3 of 3 runs: 9 updates")
    here = train([j.build(j.settings, j.seed) for j in jobs])
    for seed, run in zip((1, 2, 3), here, strict=True):
        assert found[seed].curve["loss"] == pytest.approx(run.curve["loss"], rel=1e-4)
        assert found[seed].metrics == pytest.approx(run.metrics, rel=1e-3)
    assert here[0].curve != here[1].curve
    assert list(tmp_path.iterdir()) == []


def test_after_the_deadline_nothing_starts(tmp_path):
    assert list(over_cores([job(1), job(2)], tmp_path, deadline=time.time() - 1)) == []


@pytest.mark.slow
def test_at_the_deadline_a_run_stops_with_a_checkpoint_and_what_waits_is_left_out(tmp_path):
    jobs = [job(1, epochs=10**6), job(2)]
    [(stopped, run)] = over_cores(jobs, tmp_path, deadline=time.time() + 8)
    assert (stopped.seed, run.finished) == (1, False)
    assert [path.stem for path in tmp_path.iterdir()] == [jobs[0].key]


def end_process(settings, seed):
    if seed < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return build(settings, seed)


@pytest.mark.slow
def test_a_worker_that_dies_is_told_in_two_lines_and_the_others_go_on(tmp_path):
    jobs = [job(seed, end_process) for seed in (-1, 1, 2)]
    ended = until_failure(
        over_cores(jobs, tmp_path, workers=2),
        r"^a worker process died, perhaps for want of memory; 1 of 3 runs are not done\.\nFinished runs are kept",
    )
    assert ended == {1: True, 2: True}
    assert until_failure(over_cores(jobs, tmp_path), "died, .* 3 of 3 runs are not done") == {}


@pytest.mark.slow
def test_a_job_that_fails_is_named_and_the_others_are_done(tmp_path):
    jobs = [job(1), job(2)]
    (tmp_path / f"{jobs[0].key}.pt").write_bytes(b"damaged")
    named = rf"(?s)1 of 2 runs failed:\n.*seed 1: .*{jobs[0].key}\.pt is damaged"
    assert until_failure(over_cores(jobs, tmp_path), named) == {2: True}


@pytest.mark.slow
def test_a_checkpoint_goes_only_when_the_caller_has_kept_the_run(tmp_path):
    jobs = [job(1), job(2)]
    runs = over_cores(jobs, tmp_path)
    assert [next(runs)[1].key, next(runs)[1].key] == [each.key for each in jobs]
    runs.close()  # the caller failed to keep the second
    assert [path.stem for path in tmp_path.iterdir()] == [jobs[1].key]


def endless(settings, seed):
    """A run that never ends, and says in a file when it is trained."""
    run = build(settings | {"epochs": 10**6}, seed)
    epoch = run.epoch

    def begun(number):
        Path(os.environ["BEGUN"], str(seed)).touch()
        return epoch(number)

    run.epoch = begun
    return run


COMMAND = """
import signal, sys
from reproduction.test_launch import endless, job, over_cores
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGTERM, signal.default_int_handler)
try:
    for _ in over_cores([job(seed, endless) for seed in range(4)], sys.argv[1], workers=2):
        pass
except KeyboardInterrupt:
    sys.exit(130)
"""


def workers_of(parent):
    """The living worker processes of a process; not its tracker of resources."""
    listed = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return [int(each) for each in listed if b"spawn_main" in Path(f"/proc/{each}/cmdline").read_bytes()]


def alive(process):
    state = Path(f"/proc/{process}/stat")
    return state.exists() and state.read_text().rpartition(")")[2].split()[0] != "Z"


def wait_until(happened, seconds=120):
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.1)


@pytest.fixture
def command(tmp_path):
    """The command, in a process group of its own, once its first worker is there."""
    (tmp_path / "begun").mkdir()
    environment = {
        "PYTHONPATH": os.pathsep.join(sys.path),
        "TQDM_DISABLE": "1",
        "BEGUN": str(tmp_path / "begun"),
    }
    how = {"stderr": subprocess.PIPE, "start_new_session": True, "text": True}
    words = [sys.executable, "-c", COMMAND, str(tmp_path / "checkpoints")]
    with subprocess.Popen(words, env=os.environ | environment, **how) as process:
        wait_until(lambda: workers_of(process.pid))
        yield process
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "whom"),
    [
        (signal.SIGINT, "all"),  # Ctrl-C
        (signal.SIGTERM, "all"),  # a scheduler
        (signal.SIGTERM, "parent"),
        (signal.SIGKILL, "parent"),
    ],
)
def test_whatever_ends_the_command_no_worker_outlives_it_and_checkpoints_stay(
    number, whom, tmp_path, command
):
    wait_until(lambda: len(list((tmp_path / "begun").iterdir())) == 2)
    workers = workers_of(command.pid)
    (os.killpg if whom == "all" else os.kill)(command.pid, number)
    _, said = command.communicate(timeout=60)
    assert (command.returncode, said) == (-9 if number == signal.SIGKILL else 130, "")
    wait_until(lambda: not any(map(alive, workers)), 30)
    assert [path.suffix for path in (tmp_path / "checkpoints").iterdir()] == [".pt", ".pt"]


@pytest.mark.slow
def test_an_interrupt_while_workers_load_ends_without_a_word(command):
    os.killpg(command.pid, signal.SIGINT)
    _, said = command.communicate(timeout=60)
    assert (command.returncode, said) == (130, "")


# ------------------------------------------------------------------------------------------ in stacks


def test_neighbors_of_equal_shape_share_a_stack_and_the_order_stays():
    jobs = [job(1), job(2), job(1, tcn=False), job(3)]
    groups = [[j.key for j, _ in group] for group in stacks(jobs, [])]
    assert groups == [[jobs[0].key, jobs[1].key], [jobs[2].key], [jobs[3].key]]


def test_different_constants_never_share_a_stack(monkeypatch):
    from mini_lib.datasets import glyphs

    monkeypatch.setattr(
        "mini_lib.esbn.runs.glyphs", lambda source: glyphs() if source == "rendered" else 1 - glyphs()
    )
    groups = stacks([job(1), job(2), job(3, images="released"), job(4)], [])
    assert [[j.seed for j, _ in group] for group in groups] == [[1, 2], [3], [4]]


def test_stacks_stop_at_the_deadline_and_resume_from_their_checkpoints(tmp_path, monkeypatch):
    jobs = [job(1), job(2), job(1, tcn=False)]
    asked = iter([*[False] * 3, False, True])  # before each is built, before the first stack, after an update
    monkeypatch.setattr(launching, "past", lambda deadline: next(asked, True))
    halted = list(in_stacks(jobs, tmp_path, 0.0))
    assert [run.finished for _, run in halted] == [False, False]
    assert sorted(path.stem for path in tmp_path.glob("*.pt")) == sorted(j.key for j in jobs[:2])
    monkeypatch.undo()
    ended = list(in_stacks(jobs, tmp_path))
    assert [j.key for j, run in ended if run.finished] == [j.key for j in jobs]
    assert all(run.updates == 3 for _, run in ended)


def small_memory(holds: int, tried: list[int]):
    """`train` on a device that runs out of memory with more than so many networks, at its first update."""

    def limited(runs, **how):
        tried.append(len(runs))
        if len(runs) > holds:
            for each in runs:  # by then a network holds weights of its stack
                torch.nn.init.zeros_(next(each.model.parameters()))
            raise torch.OutOfMemoryError("CUDA out of memory")
        return train(runs, **how)

    return limited


@pytest.mark.slow
def test_a_stack_that_does_not_fit_is_halved_and_its_networks_are_made_afresh(tmp_path, monkeypatch, capsys):
    jobs, tried = [job(seed) for seed in range(1, 6)] + [job(1, tcn=False)], []
    monkeypatch.setattr(launching, "train", small_memory(2, tried))
    ended = list(in_stacks(jobs, tmp_path))
    assert tried == [5, 2, 2, 1, 1]
    assert [j.key for j, run in ended if run.finished] == [j.key for j in jobs]
    assert "out of memory: 2 networks at a time" in capsys.readouterr().err
    expected = train([jobs[0].build(jobs[0].settings, 1)])[0]
    assert ended[0][1].curve["loss"][:1] == pytest.approx(expected.curve["loss"][:1], rel=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limits", "holds", "count", "sizes"),
    [
        ({"WINDOW": 4}, 2, 8, [4, 2, 2, 2, 2]),  # later stacks of that shape are small at once
        ({"STACK": 2}, 9, 3, [2, 1]),
    ],
)
def test_no_stack_is_larger_than_the_most_that_fits(tmp_path, monkeypatch, limits, holds, count, sizes):
    tried = []
    for name, value in limits.items():
        monkeypatch.setattr(launching, name, value)
    monkeypatch.setattr(launching, "train", small_memory(holds, tried))
    list(in_stacks([job(seed) for seed in range(1, count + 1)], tmp_path))
    assert tried == sizes


def test_a_network_too_large_for_the_memory_is_named_and_the_others_are_done(tmp_path, monkeypatch):
    def full(runs, **how):
        if any(each.key == job(2).key for each in runs):
            raise torch.OutOfMemoryError("CUDA out of memory")
        return train(runs, **how)

    monkeypatch.setattr(launching, "train", full)
    named = r"(?s)1 of 3 runs failed:.*seed 2: out of memory on cpu"
    assert until_failure(in_stacks([job(1), job(2), job(3)], tmp_path), named) == {1: True, 3: True}


def test_all_of_a_stack_that_fails_are_named_and_the_other_stacks_are_done(tmp_path):
    def broken(settings, seed):
        raise AssertionError

    jobs = [job(1), job(2), job(7, broken), job(3, tcn=False)]
    (tmp_path / f"{jobs[0].key}.pt").write_bytes(b"damaged")
    named = (
        r"(?s)^3 of 4 runs failed:\n.*seed 7: AssertionError\n.*seed 1: .* is damaged.*seed 2: .* is damaged"
    )
    assert until_failure(in_stacks(jobs, tmp_path), named) == {3: True}


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


def test_a_stack_whose_caller_stops_at_the_first_run_needs_no_update_again(tmp_path, monkeypatch):
    jobs = [job(1), job(2)]
    runs = in_stacks(jobs, tmp_path)
    _, first = next(runs)
    runs.close()
    monkeypatch.setattr(TrainingStack, "step", None)
    again = [run for _, run in in_stacks(jobs, tmp_path)]
    assert [(run.finished, run.updates) for run in again] == [(True, 3), (True, 3)]
    assert again[0].metrics == first.metrics
