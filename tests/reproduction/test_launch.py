"""Spreading runs over cores, and grouping them into stacks."""

import os
import signal
import sys
import time
import weakref
from types import SimpleNamespace

import pytest
import torch

from mini_lib.esbn.runs import paper_settings
from mini_lib.hashing import run_key
from mini_lib.reproduction import launch as launching
from mini_lib.reproduction.esbn.cells import build
from mini_lib.reproduction.launch import Job, JobsFailed, _interrupts_held, launch, stacks
from mini_lib.training import TrainingStack, train

CPU = torch.device("cpu")


def job(seed, **changes):
    settings = paper_settings(
        "same_different", 98, "rn", epochs=3, options={"hidden": 32, "relation_size": 32}, **changes
    ).to_dict()
    return Job(build, settings, seed, run_key(settings, seed))


def over_cores(jobs, folder, **how):
    """Train in worker processes."""
    return launch(jobs, device=CPU, checkpoints=folder, **{"workers": 1, "progress": False} | how)


def in_stacks(jobs, folder, deadline=None):
    """Train as on a GPU, in this process."""
    return launching._in_stacks(jobs, CPU, folder, deadline, "fp32", False)


@pytest.mark.slow
def test_runs_over_two_cores_equal_those_trained_here_and_a_file_gets_lines(tmp_path, capfd):
    jobs = [job(1), job(2), job(3)]
    found = {j.seed: run for j, run in over_cores(jobs, tmp_path, workers=2, progress=True)}
    first, line = capfd.readouterr().err.splitlines()
    assert first.startswith("0 of 3 runs: 0 updates")
    assert line.startswith("3 of 3 runs: 9 updates")
    assert "\r" not in line
    here = train([j.build(j.settings, j.seed) for j in jobs])
    for seed, run in zip((1, 2, 3), here, strict=True):
        assert found[seed].curve["loss"] == pytest.approx(run.curve["loss"], rel=1e-4)
        assert found[seed].metrics == pytest.approx(run.metrics, rel=1e-3)
    assert here[0].curve != here[1].curve
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def hears_interrupts():
    """A shell starts background jobs with interrupts ignored, and what they start inherits that."""
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, usual)


@pytest.mark.usefixtures("hears_interrupts")
def test_an_interrupt_while_processes_start_comes_after_them_and_not_to_them():
    reached = []
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())

    def start_processes():
        with _interrupts_held():
            reached.append(signal.pthread_sigmask(signal.SIG_BLOCK, ()))  # what a new process would inherit
            signal.raise_signal(signal.SIGINT)
            signal.getsignal(signal.SIGINT)(signal.SIGINT, None)  # as if another thread had heard it
            reached.append("the end")

    with pytest.raises(KeyboardInterrupt):
        start_processes()
    assert signal.SIGINT in reached[0]
    assert reached[1] == "the end"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before


@pytest.mark.slow
@pytest.mark.usefixtures("hears_interrupts")
def test_an_interrupt_while_workers_end_waits_for_them(tmp_path, monkeypatch):
    ended = []

    class Interrupted(launching.ProcessPoolExecutor):
        def shutdown(self, **how):
            signal.raise_signal(signal.SIGINT)
            super().shutdown(**how)
            ended.append(how)

    monkeypatch.setattr(launching, "ProcessPoolExecutor", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        list(over_cores([job(1)], tmp_path))
    assert ended == [{"wait": True, "cancel_futures": True}]


def test_after_the_deadline_nothing_starts(tmp_path):
    assert list(over_cores([job(1), job(2)], tmp_path, deadline=time.time() - 1)) == []


def test_neighbours_of_equal_shape_share_a_stack_and_the_order_stays():
    jobs = [job(1), job(2), job(1, tcn=False), job(3)]
    groups = [[j.key for j, _ in group] for group in stacks(jobs, [])]
    assert groups == [[jobs[0].key, jobs[1].key], [jobs[2].key], [jobs[3].key]]


def test_regimes_of_one_task_share_a_stack():
    settings = [
        paper_settings(
            "distribution_of_three", m, "rn", options={"hidden": 32, "relation_size": 32}
        ).to_dict()
        for m in (0, 50, 85, 95)
    ]
    groups = stacks([Job(build, s, 1, str(i)) for i, s in enumerate(settings)], [])
    assert [[j.settings["m"] for j, _ in group] for group in groups] == [[0, 50, 85], [95]]


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


def test_no_run_is_built_for_a_stack_after_the_deadline(tmp_path, monkeypatch):
    asked, built = iter([False]), []
    monkeypatch.setattr(launching, "past", lambda deadline: next(asked, True))
    watched = Job(lambda *given: built.append(given) or build(*given), job(1).settings, 1, "watched")
    assert list(in_stacks([watched, watched], tmp_path, 0.0)) == []
    assert len(built) == 1


def small_memory(holds: int, tried: list[int]):
    """`train` on a device that runs out of memory with more than so many networks."""

    def limited(runs, **how):
        tried.append(len(runs))
        if len(runs) > holds:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return train(runs, **how)

    return limited


@pytest.mark.slow
def test_a_stack_that_does_not_fit_is_halved_and_goes_on(tmp_path, monkeypatch, capsys):
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


def test_networks_that_were_on_their_way_are_made_afresh(tmp_path, monkeypatch):
    """Out of memory at the first check: by then the network holds weights of its stack."""

    def full(runs, **how):
        if len(runs) == 1:
            return train(runs, **how)
        for each in runs:
            torch.nn.init.zeros_(next(each.model.parameters()))
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(launching, "train", full)
    ended = list(in_stacks([job(1), job(2)], tmp_path))
    for j, run in ended:
        assert run.curve == train([j.build(j.settings, j.seed)])[0].curve


def test_a_network_too_large_for_the_memory_is_named_and_the_others_are_done(tmp_path, monkeypatch):
    def full(runs, **how):
        if any(each.key == job(2).key for each in runs):
            raise torch.OutOfMemoryError("CUDA out of memory")
        return train(runs, **how)

    monkeypatch.setattr(launching, "train", full)
    ended = []
    with pytest.raises(JobsFailed, match=r"(?s)1 of 3 runs failed:.*seed 2: out of memory on cpu"):
        ended.extend(in_stacks([job(1), job(2), job(3)], tmp_path))
    assert sorted(j.seed for j, _ in ended) == [1, 3]


def in_stacks_until_failure(jobs, folder, match):
    """What `_in_stacks` yields before it ends in JobsFailed, whose message is checked."""
    ended = []
    with pytest.raises(JobsFailed, match=match):
        ended.extend(in_stacks(jobs, folder))
    return ended


def test_a_stack_that_fails_is_named_and_the_other_stacks_are_done(tmp_path):
    jobs = [job(1), job(2), job(1, tcn=False), job(2, tcn=False)]
    (tmp_path / f"{jobs[0].key}.pt").write_bytes(b"damaged")
    both = r"(?s)^2 of 4 runs failed:.*seed 1: .*\.pt is damaged.*seed 2: .*\.pt is damaged"
    ended = in_stacks_until_failure(jobs, tmp_path, both)
    assert [j.key for j, run in ended if run.finished] == [j.key for j in jobs[2:]]


def test_a_job_that_cannot_be_built_for_a_stack_is_named_and_the_others_are_done(tmp_path):
    def broken(settings, seed):
        raise AssertionError

    jobs = [job(1), Job(broken, {"many": "settings"}, 7, "broken"), job(2)]
    ended = in_stacks_until_failure(jobs, tmp_path, r"1 of 3 runs failed:\n.*seed 7: AssertionError$")
    assert [j.key for j, run in ended if run.finished] == [jobs[0].key, jobs[2].key]


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


def test_an_interrupt_of_a_stack_is_no_failure_of_it(tmp_path, monkeypatch):
    def interrupted(runs, **how):
        raise KeyboardInterrupt

    monkeypatch.setattr(launching, "train", interrupted)
    with pytest.raises(KeyboardInterrupt):
        list(in_stacks([job(1)], tmp_path))


def test_a_stack_whose_caller_stops_at_the_first_run_needs_no_update_again(tmp_path, monkeypatch):
    jobs = [job(1), job(2)]
    runs = in_stacks(jobs, tmp_path)
    _, first = next(runs)
    runs.close()
    monkeypatch.setattr(TrainingStack, "step", None)
    again = [run for _, run in in_stacks(jobs, tmp_path)]
    assert [(run.finished, run.updates) for run in again] == [(True, 3), (True, 3)]
    assert again[0].metrics == first.metrics


@pytest.mark.slow
def test_the_bar_says_how_many_runs_have_ended(tmp_path, capfd, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    list(over_cores([job(1), job(2)], tmp_path, progress=True))
    said = capfd.readouterr().err
    assert "\r0 of 2 runs: " in said
    assert "\r2 of 2 runs: " in said
    assert ": :" not in said


def end_process(settings, seed):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow
def test_a_killed_worker_is_told_in_two_lines(tmp_path):
    jobs = [job(1)] + [Job(end_process, {"many": "settings"}, seed, str(seed)) for seed in range(30)]
    found = []
    with pytest.raises(JobsFailed) as stop:
        found.extend(over_cores(jobs, str(tmp_path)))
    first, second = str(stop.value).splitlines()
    lost = 31 - len(found)  # the first run's result may be lost with the worker that has just sent it
    assert first == f"a worker process died, perhaps for want of memory; {lost} of 31 runs are not done."
    assert second.startswith("Finished runs are kept; the same command goes on")
    assert lost in (30, 31)
    assert all(run.finished for _, run in found)


def end_process_while_counting(settings, seed):
    launching._counter.get_lock().acquire()
    end_process(settings, seed)


def too_late(number, frame):
    raise TimeoutError("the parent waits for a lock that nobody will give back")


@pytest.mark.slow
def test_a_worker_that_is_killed_while_it_counts_keeps_nobody_waiting(tmp_path):
    usual = signal.signal(signal.SIGALRM, too_late)
    signal.alarm(120)
    try:
        with pytest.raises(JobsFailed, match="1 of 1 runs are not done"):
            list(over_cores([Job(end_process_while_counting, {}, 1, "counting")], tmp_path))
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, usual)


def test_a_checkpoint_goes_only_when_the_caller_has_kept_the_run(tmp_path, monkeypatch):
    runs = [
        (job(1), SimpleNamespace(finished=True, key="a")),
        (job(2), SimpleNamespace(finished=True, key="b")),
    ]
    for name in ("a", "b"):
        (tmp_path / f"{name}.pt").touch()
    monkeypatch.setattr(launching, "_over_cores", lambda *rest: iter(runs))
    found = launch([], device=CPU, checkpoints=tmp_path)
    assert [next(found)[1].key, next(found)[1].key] == ["a", "b"]
    found.close()  # the caller failed to keep b
    assert [path.name for path in tmp_path.iterdir()] == ["b.pt"]


@pytest.mark.slow
def test_a_job_that_fails_is_named_and_the_others_are_done(tmp_path):
    jobs = [job(1), job(2)]
    (tmp_path / f"{jobs[0].key}.pt").write_bytes(b"damaged")
    found = []
    with pytest.raises(JobsFailed, match=rf"(?s)1 of 2 runs failed:.*{jobs[0].key}\.pt is damaged") as stop:
        found.extend(over_cores(jobs, tmp_path))
    assert [j.seed for j, _ in found] == [2]
    assert "seed 1" in str(stop.value)


def test_different_constants_never_share_a_stack(tmp_path, monkeypatch):
    from mini_lib.datasets import glyphs

    monkeypatch.setattr(
        "mini_lib.esbn.runs.glyphs", lambda source: glyphs() if source == "rendered" else 1 - glyphs()
    )
    groups = stacks([job(1), job(2), job(3, images="released"), job(4)], [])
    assert [[j.seed for j, _ in group] for group in groups] == [[1, 2], [3], [4]]
