"""An update on another device than the CPU, with nothing that waits for that device, against the same on the CPU."""

from copy import deepcopy
from dataclasses import replace

import torch
from other_device import OTHER, OtherDevice

from mini_lib.reproduction.cli import wing
from mini_lib.training import TrainingRun, TrainingStack

CPU = torch.device("cpu")


def check_a_step_elsewhere(settings: dict) -> None:
    """Two runs of these settings make an update there, alone and stacked, that equals the CPU's."""
    built = [wing(settings["paper"]).build(settings, seed) for seed in (1, 2)]

    def replicas() -> list[TrainingRun]:
        """Both, with fresh weights."""
        return [replace(run, model=deepcopy(run.model)) for run in built]

    here = [TrainingStack([replica], CPU, stacked=False) for replica in replicas()]
    expected, gradients = zip(*(step(each, each.batch(0)) for each in here), strict=True)
    with OtherDevice():
        loss, own = step_elsewhere(TrainingStack(replicas()[:1], OTHER, stacked=False))
        losses, _ = step_elsewhere(TrainingStack(replicas(), OTHER, stacked=True))
    torch.testing.assert_close(loss, expected[0], rtol=1e-4, atol=1e-5)
    assert (own - gradients[0]).norm() < 1e-3 * gradients[0].norm()
    torch.testing.assert_close(losses, torch.cat(expected), rtol=1e-4, atol=1e-5)


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
