"""What is measured of a run, and which of its checkpoints is reported."""

from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor, nn

from mini_lib.scan.tasks import NO_ACTION, Examples, exactly_right


class Parts(NamedTuple):
    """The examples of a run: for training, for choosing among its checkpoints (or None), and for the test."""

    train: Examples  #: to learn from.
    validation: Examples | None  #: to choose among checkpoints, or None.
    test: Examples  #: for the test.


def answers(model: nn.Module, examples: Examples) -> Int[Tensor, "N L"]:
    """The network's actions for every command, for as many steps as are right; on the CPU."""
    device = next(model.parameters()).device
    predicted = torch.full_like(examples.actions, NO_ACTION)
    for part in examples.of_like_length():
        words, lengths, actions = examples[part].trimmed()
        steps = actions.shape[1]
        predicted[part, :steps] = model.predict(words.to(device), lengths.to(device), steps).cpu()
    return predicted


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
