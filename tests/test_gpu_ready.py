"""Every network learns on another device than the CPU, alone and stacked, and nothing waits for that device."""

from copy import deepcopy
from dataclasses import replace
from functools import lru_cache

import pytest
import torch
from other_device import OTHER, OtherDevice

from mini_lib.esbn.models import MODELS as ESBN
from mini_lib.functions.models import MODELS as FUNCTIONS
from mini_lib.kanerva.models import MODELS as KANERVA
from mini_lib.reproduction.cli import wing
from mini_lib.reproduction.doctor import TINY
from mini_lib.scan.models import MODELS as SCAN
from mini_lib.training import TrainingRun, TrainingStack

CPU = torch.device("cpu")


@lru_cache(maxsize=2)
def built(name: str, seed: int) -> TrainingRun:
    return wing(TINY[name]["paper"]).build(TINY[name], seed)


def replicas(name: str) -> list[TrainingRun]:
    """Two runs of a network, with fresh weights."""
    runs = [built(name, seed) for seed in (1, 2)]
    return [replace(run, model=deepcopy(run.model)) for run in runs]


def test_every_network_is_here():
    models = {"esbn": ESBN, "scan": SCAN, "functions": FUNCTIONS, "kanerva": KANERVA}
    tried = {(settings["paper"], settings["model"]) for settings in TINY.values()}
    assert tried == {(wing, model) for wing, known in models.items() for model in known}


def step(stack: TrainingStack, batch) -> tuple[torch.Tensor, torch.Tensor]:
    """Losses [R] and all gradients [R, n] of an update; zeros where a parameter has none."""
    losses, _ = stack.step(batch)
    gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in stack.params.values()]
    return losses, torch.cat([each.reshape(len(losses), -1) for each in gradients], dim=1)


def step_elsewhere(stack: TrainingStack) -> tuple[torch.Tensor, torch.Tensor]:
    """`step` where nothing may wait for the device, once its own tables are made."""
    batch = stack.batch(0)
    with torch.no_grad():
        stack.losses(batch)
    with OtherDevice(waits=False):
        losses, gradients = step(stack, batch)
    return losses.cpu(), gradients.cpu()


@pytest.mark.parametrize("name", TINY)
def test_a_network_learns_as_on_the_cpu_alone_and_stacked_and_waits_for_nothing(name):
    here = [TrainingStack([replica], CPU, stacked=False) for replica in replicas(name)]
    expected, gradients = zip(*(step(each, each.batch(0)) for each in here), strict=True)
    with OtherDevice():
        loss, own = step_elsewhere(TrainingStack(replicas(name)[:1], OTHER, stacked=False))
        losses, owns = step_elsewhere(TrainingStack(replicas(name), OTHER, stacked=True))
    torch.testing.assert_close(loss, expected[0], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(losses, torch.cat(expected), rtol=1e-4, atol=1e-5)
    for gradient, right in zip((own, *owns[:, None]), (gradients[0], *gradients), strict=True):
        assert (gradient - right).norm() < 1e-3 * right.norm()
