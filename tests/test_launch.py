"""Spreading runs over cores, and grouping them into stacks."""

import time

import pytest
import torch

from mini_lib.esbn.experiments import build, paper_settings
from mini_lib.launch import Job, _in_stacks, launch, stacks
from mini_lib.training import train

CPU = torch.device("cpu")


def job(seed, **changes):
    settings = paper_settings("same_different", 98, "rn", epochs=3, width=0.125, **changes).to_dict()
    return Job(build, settings, seed, f"{changes}-s{seed}".replace("'", ""))


def test_runs_over_two_cores_equal_those_trained_here(tmp_path):
    jobs = [job(1), job(2), job(3)]
    found = {
        j.seed: run for j, run in launch(jobs, device=CPU, checkpoints=tmp_path, workers=2, progress=False)
    }
    here = train([j.build(j.settings, j.seed) for j in jobs])
    for seed, run in zip((1, 2, 3), here, strict=True):
        assert found[seed].curve["loss"] == pytest.approx(run.curve["loss"], rel=1e-4)
        assert found[seed].metrics == pytest.approx(run.metrics, rel=1e-3)
    assert here[0].curve != here[1].curve
    assert list(tmp_path.iterdir()) == []


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
