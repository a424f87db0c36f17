"""Spreading runs over cores, and grouping them into stacks."""

import time

import torch

from mini_lib.esbn.experiments import build, paper_settings
from mini_lib.launch import Job, _in_stacks, launch, stacks

CPU = torch.device("cpu")


def job(seed, **changes):
    settings = paper_settings("same_different", 98, "rn", epochs=3, width=0.125, **changes).to_dict()
    return Job(build, settings, seed, f"{changes}-s{seed}".replace("'", ""))


def test_runs_over_two_cores_equal_one_after_the_other(tmp_path):
    jobs = [job(1), job(2), job(3)]
    results = {}
    for workers in (1, 2):
        found = launch(jobs, device=CPU, checkpoints=tmp_path, workers=workers, progress=False)
        results[workers] = {j.seed: (run.metrics, run.curve) for j, run in found}
    assert sorted(results[1]) == [1, 2, 3]
    assert results[1] == results[2]


def test_after_the_deadline_nothing_starts(tmp_path):
    found = launch(
        [job(1), job(2)],
        device=CPU,
        checkpoints=tmp_path,
        deadline=time.time() - 1,
        workers=1,
        progress=False,
    )
    assert list(found) == []


def test_equal_shapes_share_a_stack_and_others_do_not():
    jobs = [job(1), job(1, tcn=False), job(2), job(3)]
    groups = [[j.key for j, _ in group] for group in stacks(jobs, most=2)]
    assert groups == [[jobs[0].key, jobs[2].key], [jobs[3].key], [jobs[1].key]]


def test_regimes_of_one_task_share_a_stack():
    settings = [
        paper_settings("distribution_of_three", m, "rn", width=0.125).to_dict() for m in (0, 50, 85, 95)
    ]
    groups = stacks([Job(build, s, 1, str(i)) for i, s in enumerate(settings)])
    assert [[j.settings["m"] for j, _ in group] for group in groups] == [[0, 50, 85], [95]]


def test_stacks_stop_at_the_deadline_and_resume_from_their_checkpoint(tmp_path):
    jobs = [job(1), job(2), job(1, tcn=False)]
    halted = list(_in_stacks(jobs, CPU, tmp_path, deadline=time.time() + 0.5, progress=_late))
    assert [run.finished for _, run in halted] == [False, False]
    assert len(list(tmp_path.glob("*.pt"))) == 1
    ended = list(_in_stacks(jobs, CPU, tmp_path, deadline=None, progress=False))
    assert [j.key for j, run in ended if run.finished] == [j.key for j in jobs]
    assert list(tmp_path.glob("*.pt")) == []


def _late(updates):
    time.sleep(0.6)
