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
    """Losses and all gradients of an update."""
    losses, _ = stack.step(batch)
    return losses, torch.cat([p.grad.flatten() for p in stack.params.values() if p.grad is not None])


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
        losses, _ = step_elsewhere(TrainingStack(replicas(name), OTHER, stacked=True))
    torch.testing.assert_close(loss, expected[0], rtol=1e-4, atol=1e-5)
    assert (own - gradients[0]).norm() < 1e-3 * gradients[0].norm()
    torch.testing.assert_close(losses, torch.cat(expected), rtol=1e-4, atol=1e-5)
