"""How each network is trained: its batches, its loss, its optimiser, and which checkpoint is reported.

A recipe is what the network's own authors did, as far as it is known; the ledger says what is not.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mini_lib.scan.models import cnn, gru_attention, li
from mini_lib.scan.tasks import MOST_ACTIONS, MOST_WORDS, NO_ACTION, Examples, exactly_right, padded
from mini_lib.seeding import torch_rng
from mini_lib.training import Batch, adam

EVALUATED_TOGETHER = 512
DRAWN = 10  # updates of an epoch where examples are drawn with replacement
LINES = 100_000  # drawn from the training file for the CNN


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


class Feed(NamedTuple):
    """How a run's examples come to the harness; see `TrainingRun` for the entries.

    Attributes:
        examples: an epoch's.
        batch_size: B.
        epoch: gives an epoch's examples in order.
        constants: what every batch gets besides.
        crowd: where an example is a whole batch, the most commands that one holds; else 0.
    """

    examples: int
    batch_size: int
    epoch: Callable[[int], Batch]
    constants: Batch
    crowd: int = 0


def shuffled(examples: Examples, batch_size: int, seed: int) -> Feed:
    """All training examples, in a random order every epoch."""
    count = len(examples.lengths)

    def epoch(number: int) -> Batch:
        return batch_of(examples[torch.randperm(count, generator=torch_rng(seed, "order", number))])

    return Feed(count, batch_size, epoch, {})


def bucketed(examples: Examples, batch_size: int, seed: int) -> Feed:
    """All training examples in batches of like length, the batches in a random order (a smaller one last)."""
    count = len(examples.lengths)
    whole = count // batch_size

    def epoch(number: int) -> Batch:
        rng = torch_rng(seed, "order", number)
        mixed = torch.randperm(count, generator=rng)
        mixed = mixed[torch.argsort(examples.lengths[mixed], stable=True)]
        batches = mixed[: whole * batch_size].view(whole, batch_size)
        batches = batches[torch.randperm(whole, generator=rng)]
        return batch_of(examples[torch.cat([batches.flatten(), mixed[whole * batch_size :]])])

    return Feed(count, batch_size, epoch, {})


def drawn(examples: Examples, batch_size: int, seed: int) -> Feed:
    """Examples drawn with replacement; an epoch is `DRAWN` updates."""
    count = DRAWN * batch_size

    def epoch(number: int) -> Batch:
        rng = torch_rng(seed, "order", number)
        return batch_of(examples[torch.randint(len(examples.lengths), (count,), generator=rng)])

    return Feed(count, batch_size, epoch, {})


def crowded(examples: Examples, tokens: int, seed: int) -> Feed:
    """`LINES` examples drawn with replacement, in batches of like length that hold so many tokens.

    The lines are the same in every run, as they were written to a file once; their order is the seed's. An example
    of the harness is a whole batch here: a row of numbers of examples, filled up with -1. The examples themselves
    are constants.
    """
    order = torch.randint(len(examples.lengths), (LINES,), generator=torch_rng(0, "lines"))
    steps = (examples.actions != NO_ACTION).sum(dim=1)
    longest = torch.maximum(examples.lengths - 1, steps)  # their commands have no <SOS>
    for size in (steps, examples.lengths):
        order = order[torch.argsort(size[order], stable=True)]
    batches, batch, most = [], [], 0
    for number in order.tolist():
        most = max(most, int(longest[number]))
        if batch and (len(batch) + 1) * most > tokens:
            batches.append(torch.tensor(batch))
            batch, most = [], int(longest[number])
        batch.append(number)
    batches.append(torch.tensor(batch))
    rows = torch.nn.utils.rnn.pad_sequence(batches, batch_first=True, padding_value=-1)

    def epoch(number: int) -> Batch:
        return {"rows": rows[torch.randperm(len(rows), generator=torch_rng(seed, "order", number))]}

    return Feed(len(rows), 1, epoch, batch_of(examples), crowd=rows.shape[1])


def noise(model: nn.Module, seed: int, feed: Feed, update: int, batch: Batch) -> Batch:
    """The network's random tensors of one update, at the size of the longest command.

    Where an example is a whole batch, masks are drawn for the commands that it holds; the others get zeros.
    """
    rng = torch_rng(seed, "noise", update)
    if not feed.crowd:
        return model.noise(len(batch["lengths"]), MOST_WORDS, MOST_ACTIONS, rng)
    held = int((batch["rows"] >= 0).sum())
    masks = model.noise(held, MOST_WORDS, MOST_ACTIONS, rng)
    return {name: F.pad(mask, (0, 0, 0, 0, 0, feed.crowd - held))[None] for name, mask in masks.items()}


def trim(batch: Batch) -> Batch:
    """Leave out the padding that no command of the batch needs."""
    return batch | dict(zip(("words", "lengths", "actions"), examples_of(batch).trimmed(), strict=True))


def fill(batch: Batch) -> Batch:
    """The examples that a row of `crowded` names, without its -1."""
    rows = batch["rows"][0]
    rows = rows[rows >= 0]
    masks = {name: mask[0, : len(rows)] for name, mask in batch["noise"].items()}
    return trim(batch_of(examples_of(batch)[rows])) | {"noise": masks}


def longest_first(batch: Batch) -> Batch:
    """Sort by falling number of actions, so that a network can leave out commands that have ended."""
    steps = (batch["actions"] != NO_ACTION).sum(dim=1)
    order = torch.argsort(steps, descending=True, stable=True)
    drawn_noise = {name: each[order] for name, each in batch["noise"].items()}
    batch = trim(batch | batch_of(examples_of(batch)[order])) | {"noise": drawn_noise}
    return batch | {"active": [int((steps > step).sum()) for step in range(batch["actions"].shape[1])]}


def command_mean(apply, batch: Batch) -> tuple[Tensor, Tensor]:
    """Cross-entropy, and the share of commands right, in percent.

    The loss is a mean over each command's actions and <EOS>, and then over commands: a larger batch is what several
    batches of one are, the paper's setting, and a long command does not outweigh a short one.
    """
    logits, actions = apply(*examples_of(batch), batch.get("noise")), batch["actions"]
    each = F.cross_entropy(logits.mT, actions, ignore_index=NO_ACTION, reduction="none").sum(dim=1)
    return (each / (actions != NO_ACTION).sum(dim=1)).mean(), score(logits, actions)


def cnn_loss(apply, batch: Batch) -> tuple[Tensor, Tensor]:
    """The loss of `models.cnn` for a batch of `crowded`, and the share of commands right, in percent."""
    if "rows" in batch:
        rows = batch["rows"][0]
        words, lengths, actions = examples_of(batch)[rows.clamp(min=0)]
        masks = {name: mask[0] for name, mask in batch["noise"].items()}
        actions = actions.where(rows[:, None] >= 0, NO_ACTION)
        batch = {"words": words, "lengths": lengths, "actions": actions, "noise": masks}
    logits = apply(*examples_of(batch), batch["noise"])
    return cnn.loss(logits, batch["actions"]), score(logits, batch["actions"])


def gru_loss(apply, batch: Batch) -> tuple[Tensor, Tensor]:
    """The loss of `models.gru_attention`, and the share of commands right, in percent."""
    logits = apply(*examples_of(batch), batch["noise"])
    return gru_attention.loss(logits, batch["actions"]), score(logits, batch["actions"])


def li_loss(apply, batch: Batch) -> tuple[Tensor, Tensor]:
    """The loss of `models.li` with its penalty, and the share of commands right, in percent."""
    more = {"active": batch["active"]} if "active" in batch else {}
    logits, penalty = apply(*examples_of(batch), batch["noise"], aux=True, **more)
    return li.loss(logits, batch["actions"], penalty), score(logits, batch["actions"])


def score(logits: Tensor, actions: Tensor) -> Tensor:
    """The share of commands whose actions are all the most probable, in percent; rows without any do not count."""
    asked = (actions != NO_ACTION).any(dim=1)
    return 100 * (exactly_right(logits.argmax(dim=-1), actions) & asked).sum() / asked.sum()


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
    """What differs between the networks' trainings: entries of `TrainingRun`, made of settings where need be.

    Attributes:
        loss: of the network.
        feed: (examples, B, seed) -> how they are fed.
        dedupe_batch: an exact saving on the CPU.
        optimiser: as in `TrainingRun`.
        schedule: (updates an epoch, update) -> the factor of the learning rate.
    """

    loss: Callable
    feed: Callable[[Examples, int, int], Feed] = shuffled
    dedupe_batch: Callable[[Batch], Batch] = trim
    optimiser: Callable = adam
    schedule: Callable[[int, int], float] | None = None


def gru_optimiser(parameters, lr: float) -> torch.optim.Optimizer:
    """Stochastic gradient descent with the released weight decay."""
    return torch.optim.SGD(parameters, lr=lr, weight_decay=1e-8)


def cnn_optimiser(parameters, lr: float) -> torch.optim.Optimizer:
    """Nesterov's accelerated gradient, with fairseq's momentum."""
    return torch.optim.SGD(parameters, lr=lr, momentum=0.99, nesterov=True)


def gru_schedule(updates_per_epoch: int, update: int) -> float:
    """4 % less after every epoch."""
    return 0.96 ** (update // updates_per_epoch)


def li_schedule(updates_per_epoch: int, update: int) -> float:
    """4 % less after every 100 updates."""
    return 0.96 ** (update // 100)


RECIPES = {
    "syntactic_attention": Recipe(command_mean),
    "gru_attention": Recipe(gru_loss, bucketed, optimiser=gru_optimiser, schedule=gru_schedule),
    "cnn": Recipe(cnn_loss, crowded, fill, optimiser=cnn_optimiser),
    "li": Recipe(li_loss, drawn, longest_first, schedule=li_schedule),
}
