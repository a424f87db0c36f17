"""How each network is trained: its batches, its loss, its optimiser, and which checkpoint is reported.

A recipe is what the network's own authors did, as far as it is known; the ledger says what is not.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mini_lib.scan.models import gru_attention, li
from mini_lib.scan.tasks import MOST_ACTIONS, MOST_WORDS, NO_ACTION, Examples, exactly_right, padded
from mini_lib.seeding import torch_rng
from mini_lib.training import Batch, adam

EVALUATED_TOGETHER = 512
DRAWN = 10  # updates of an epoch where examples are drawn with replacement


class Parts(NamedTuple):
    """The examples of a run: for training, for choosing among its checkpoints (or None), and for the test."""

    train: Examples
    validation: Examples | None
    test: Examples


def batch_of(examples: Examples) -> Batch:
    """Examples as the harness wants them, at the size of the longest command."""
    return dict(zip(("words", "lengths", "actions"), padded(examples), strict=True))


def examples_of(batch: Batch) -> Examples:
    """The inverse of `batch_of`."""
    return Examples(batch["words"], batch["lengths"], batch["actions"])


def shuffled(examples: Examples, batch_size: int, seed: int, epoch: int) -> Batch:
    """All training examples in the order of one epoch."""
    order = torch.randperm(len(examples.lengths), generator=torch_rng(seed, "order", epoch))
    return batch_of(examples[order])


def bucketed(examples: Examples, batch_size: int, seed: int, epoch: int) -> Batch:
    """All training examples in batches of like length, the batches in a random order (a smaller one last)."""
    rng = torch_rng(seed, "order", epoch)
    order = torch.randperm(len(examples.lengths), generator=rng)
    order = order[torch.argsort(examples.lengths[order], stable=True)]
    whole = len(order) // batch_size
    batches = order[: whole * batch_size].view(whole, batch_size)
    mixed = batches[torch.randperm(whole, generator=rng)].flatten()
    return batch_of(examples[torch.cat([mixed, order[whole * batch_size :]])])


def drawn(examples: Examples, batch_size: int, seed: int, epoch: int) -> Batch:
    """Examples drawn with replacement, for `DRAWN` updates."""
    rng = torch_rng(seed, "order", epoch)
    return batch_of(examples[torch.randint(len(examples.lengths), (DRAWN * batch_size,), generator=rng)])


def noise(model: nn.Module, seed: int, update: int, size: int) -> Batch:
    """The network's random tensors of one update, at the size of the longest command."""
    return model.noise(size, MOST_WORDS, MOST_ACTIONS, torch_rng(seed, "noise", update))


def trim(batch: Batch) -> Batch:
    """Leave out the padding that no command of the batch needs."""
    return batch | dict(zip(("words", "lengths", "actions"), examples_of(batch).trimmed(), strict=True))


def longest_first(batch: Batch) -> Batch:
    """Sort by falling number of actions, so that a network can leave out commands that have ended."""
    steps = (batch["actions"] != NO_ACTION).sum(dim=1)
    order = torch.argsort(steps, descending=True, stable=True)
    noise = {name: each[order] for name, each in batch["noise"].items()}
    batch = trim(batch | batch_of(examples_of(batch)[order])) | {"noise": noise}
    return batch | {"active": [int((steps > step).sum()) for step in range(batch["actions"].shape[1])]}


def token_mean(apply, batch: Batch) -> tuple[Tensor, Tensor]:
    """Cross-entropy, as the mean over the batch's actions and <EOS>; and the share of commands right, in percent."""
    logits = apply(*examples_of(batch), batch.get("noise"))
    loss = F.cross_entropy(logits.flatten(0, 1), batch["actions"].flatten(), ignore_index=NO_ACTION)
    return loss, score(logits, batch["actions"])


def gru_loss(apply, batch: Batch) -> tuple[Tensor, Tensor]:
    """The loss of `models.gru_attention`, and the share of commands right, in percent."""
    logits = apply(*examples_of(batch), batch.get("noise"))
    return gru_attention.loss(logits, batch["actions"]), score(logits, batch["actions"])


def li_loss(apply, batch: Batch) -> tuple[Tensor, Tensor]:
    """The loss of `models.li` with its penalty, and the share of commands right, in percent."""
    more = {"active": batch["active"]} if "active" in batch else {}
    logits, penalty = apply(*examples_of(batch), batch.get("noise"), aux=True, **more)
    return li.loss(logits, batch["actions"], penalty), score(logits, batch["actions"])


def score(logits: Tensor, actions: Tensor) -> Tensor:
    """The share of commands whose actions are all the most probable ones, in percent."""
    return 100 * exactly_right(logits.argmax(dim=-1), actions).float().mean()


# ------------------------------------------------------------------------------------------------ measuring


def answers(model: nn.Module, examples: Examples) -> Tensor:
    """The network's actions for every command, for as many steps as are right. [N, L]

    Commands of like length are answered together, so that little is computed for padding.
    """
    device = next(model.parameters()).device
    found = torch.full_like(examples.actions, NO_ACTION)
    steps = (examples.actions != NO_ACTION).sum(dim=1)
    for part in torch.argsort(steps).split(EVALUATED_TOGETHER):
        words, lengths, actions = examples[part].trimmed()
        predicted = model.predict(words.to(device), lengths.to(device), actions.shape[1])
        found[part, : actions.shape[1]] = predicted.cpu()
    return found


def accuracy(model: nn.Module, examples: Examples) -> float:
    """The share of commands whose every action, and the end, is right, in percent."""
    return 100 * exactly_right(answers(model, examples), examples.actions).float().mean().item()


def evaluate(model: nn.Module, parts: Parts) -> dict[str, float]:
    """Exact-match accuracy on the test set, and on the validation set if there is one."""
    metrics = {"test_accuracy": accuracy(model, parts.test)}
    if parts.validation is not None:
        metrics["validation_accuracy"] = accuracy(model, parts.validation)
    return metrics


def best_and_last(checks: list[dict]) -> dict[str, float]:
    """The test accuracy where the validation accuracy was best (the first such checkpoint), and at the end."""
    last = checks[-1]
    best = max(checks, key=lambda check: check.get("validation_accuracy", check["epoch"]))
    return {
        "test_accuracy": best["test_accuracy"],
        "last_test_accuracy": last["test_accuracy"],
        "best_epoch": best["epoch"],
        **{name: best[name] for name in ("validation_accuracy",) if name in best},
    }


# ------------------------------------------------------------------------------------------------ recipes


class Recipe(NamedTuple):
    """What differs between the networks' trainings: entries of `Replica`, made of settings where need be.

    Attributes:
        loss: of the network.
        epoch: (examples, B, seed, epoch) -> the epoch's batches in a row.
        compact: an exact saving on the CPU.
        optimiser: as in `Replica`.
        schedule: (updates an epoch, update) -> the factor of the learning rate.
    """

    loss: Callable
    epoch: Callable[[Examples, int, int, int], Batch] = shuffled
    compact: Callable[[Batch], Batch] = trim
    optimiser: Callable = adam
    schedule: Callable[[int, int], float] | None = None


def gru_optimiser(parameters, lr: float) -> torch.optim.Optimizer:
    """Stochastic gradient descent with the released weight decay."""
    return torch.optim.SGD(parameters, lr=lr, weight_decay=1e-8)


def gru_schedule(updates_per_epoch: int, update: int) -> float:
    """4 % less after every epoch."""
    return 0.96 ** (update // updates_per_epoch)


def li_schedule(updates_per_epoch: int, update: int) -> float:
    """4 % less after every 100 updates."""
    return 0.96 ** (update // 100)


RECIPES = {
    "syntactic_attention": Recipe(token_mean),
    "gru_attention": Recipe(gru_loss, bucketed, optimiser=gru_optimiser, schedule=gru_schedule),
    "li": Recipe(li_loss, drawn, longest_first, schedule=li_schedule),
}
