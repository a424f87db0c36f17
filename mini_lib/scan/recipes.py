"""How each network is trained: its batches, its loss, its optimiser, and which checkpoint is reported.

A recipe is what the network's own authors did, as far as it is known; the ledger says what is not.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mini_lib.scan.tasks import MOST_ACTIONS, MOST_WORDS, NO_ACTION, Examples, exactly_right, padded
from mini_lib.seeding import torch_rng
from mini_lib.training import Batch, adam

EVALUATED_TOGETHER = 512


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


def shuffled(examples: Examples, seed: int, epoch: int) -> Batch:
    """All training examples in the order of one epoch."""
    order = torch.randperm(len(examples.lengths), generator=torch_rng(seed, "order", epoch))
    return batch_of(examples[order])


def noise(model: nn.Module, seed: int, update: int, size: int) -> Batch:
    """The network's random tensors of one update, at the size of the longest command."""
    return model.noise(size, MOST_WORDS, MOST_ACTIONS, torch_rng(seed, "noise", update))


def trim(batch: Batch) -> Batch:
    """Leave out the padding that no command of the batch needs."""
    return batch | dict(zip(("words", "lengths", "actions"), examples_of(batch).trimmed(), strict=True))


def token_mean(apply, batch: Batch) -> tuple[Tensor, Tensor]:
    """Cross-entropy, as the mean over the batch's actions and <EOS>; and the share of commands right, in percent."""
    logits = apply(*examples_of(batch), batch.get("noise"))
    loss = F.cross_entropy(logits.flatten(0, 1), batch["actions"].flatten(), ignore_index=NO_ACTION)
    return loss, score(logits, batch["actions"])


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
    """What differs between the networks' trainings; every entry is one of `Replica`'s."""

    loss: Callable
    epoch: Callable[[Examples, int, int], Batch] = shuffled
    compact: Callable[[Batch], Batch] = trim
    optimiser: Callable = adam
    schedule: Callable[[int], float] | None = None
    clip: float | None = None


RECIPES = {"syntactic_attention": Recipe(token_mean)}
