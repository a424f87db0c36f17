"""One update on another device than the CPU, held to the same update on the CPU."""

from copy import deepcopy
from dataclasses import replace

import torch
from other_device import OTHER, OtherDevice

from mini_lib.reproduction.cli import wing
from mini_lib.training import TrainingRun, TrainingStack

CPU = torch.device("cpu")


def check_a_step_elsewhere(settings: dict) -> None:
    """Of two runs of these settings, each alone and both stacked: losses and gradients are those of the CPU.

    Nothing waits for the other device meanwhile.
    """
    built = [wing(settings["paper"]).build(settings, seed) for seed in (1, 2)]

    def runs() -> list[TrainingRun]:
        """The two runs, with fresh weights."""
        return [replace(run, model=deepcopy(run.model)) for run in built]

    here = [TrainingStack([run], CPU, stacked=False) for run in runs()]
    expected, gradients = zip(*(step(each, each.batch(0)) for each in here), strict=True)
    with OtherDevice():
        loss, own = step_elsewhere(TrainingStack(runs()[:1], OTHER, stacked=False))
        losses, owns = step_elsewhere(TrainingStack(runs(), OTHER, stacked=True))
    torch.testing.assert_close(loss, expected[0], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(losses, torch.cat(expected), rtol=1e-4, atol=1e-5)
    for gradient, right in zip((own, *owns[:, None]), (gradients[0], *gradients), strict=True):
        assert (gradient - right).norm() < 1e-3 * right.norm()


def step(stack: TrainingStack, batch: dict) -> tuple[torch.Tensor, torch.Tensor]:
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
