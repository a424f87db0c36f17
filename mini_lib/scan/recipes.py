"""How each network is trained: its batches, loss, optimizer and schedule, as its own authors did."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mini_lib.scan import cnn, gru_attention, li, syntactic_attention
from mini_lib.scan.tasks import MAX_ACTIONS, MAX_WORDS, NO_ACTION, Examples, exactly_right
from mini_lib.seeding import torch_rng
from mini_lib.training import Batch, adam

UPDATES = 10  # of an epoch where examples are drawn with replacement
LINES = 100_000  # drawn from the training file for the CNN
# Sorted commands that Li's network gets at a time: what fits into a cache takes a third less time.
BLOCK = 512


def batch_of(examples: Examples) -> Batch:
    """Examples as a batch of `TrainingRun`, at the size of the longest command."""
    return vars(examples.padded())


def examples_of(batch: Batch) -> Examples:
    """The inverse of `batch_of`."""
    return Examples(batch["words"], batch["lengths"], batch["actions"])


def drawn(order: Callable, examples: Examples, batch_size: int, seed: int) -> dict[str, Any]:
    """The parts of a `TrainingRun` on examples whose numbers are `order(examples, batch_size, generator)`."""

    def epoch(number: int) -> Batch:
        return batch_of(examples[order(examples, batch_size, torch_rng(seed, "order", number))])

    return {"examples": len(epoch(0)["lengths"]), "batch_size": batch_size, "epoch": epoch}


def shuffled(examples: Examples, batch_size: int, rng: torch.Generator) -> Tensor:
    """All training examples, in a random order every epoch."""
    return torch.randperm(len(examples), generator=rng)


def bucketed(examples: Examples, batch_size: int, rng: torch.Generator) -> Tensor:
    """All training examples in batches of similar length, the batches in a random order (a smaller one last)."""
    mixed = torch.randperm(len(examples), generator=rng)
    mixed = mixed[torch.argsort(examples.lengths[mixed], stable=True)]
    whole = len(examples) // batch_size * batch_size
    batches = mixed[:whole].view(-1, batch_size)
    batches = batches[torch.randperm(len(batches), generator=rng)]
    return torch.cat([batches.flatten(), mixed[whole:]])


def with_replacement(examples: Examples, batch_size: int, rng: torch.Generator) -> Tensor:
    """Examples drawn with replacement; an epoch is `UPDATES` updates."""
    return torch.randint(len(examples), (UPDATES * batch_size,), generator=rng)


def max_token_batches(examples: Examples, tokens: int, seed: int) -> dict[str, Any]:
    """The same for `LINES` examples, drawn with replacement once for all seeds, in batches of up to `tokens` tokens.

    An example of the `TrainingRun` is a whole batch: a row of indices of examples, filled up with -1.
    """
    order = torch.randint(len(examples), (LINES,), generator=torch_rng(0, "lines"))
    steps = (examples.actions != NO_ACTION).sum(dim=1)
    for size in (steps, examples.lengths):
        order = order[torch.argsort(size[order], stable=True)]
    longest = torch.maximum(examples.lengths - 1, steps).tolist()  # their commands have no <SOS>
    batches: list[list[int]] = [[]]
    most = 0
    for number in order.tolist():
        most = max(most, longest[number])
        if batches[-1] and (len(batches[-1]) + 1) * most > tokens:
            batches.append([])
            most = longest[number]
        batches[-1].append(number)
    rows = nn.utils.rnn.pad_sequence([torch.tensor(each) for each in batches], True, -1)  # [rows, most]

    def epoch(number: int) -> Batch:
        return {"rows": rows[torch.randperm(len(rows), generator=torch_rng(seed, "order", number))]}

    return {"examples": len(rows), "batch_size": 1, "epoch": epoch, "constants": batch_of(examples)}


def noise(model: Any, seed: int, update: int, batch: Batch) -> Batch:
    """The network's random tensors of one update, at the size of the longest command."""
    rng = torch_rng(seed, "noise", update, device=next(iter(batch.values())).device)
    if "rows" not in batch:
        return model.draw_noise(len(batch["lengths"]), MAX_WORDS, MAX_ACTIONS, rng)
    rows = batch["rows"][0]
    count = int((rows >= 0).sum())
    masks = model.draw_noise(count, MAX_WORDS, MAX_ACTIONS, rng)
    return {name: F.pad(mask, (0, 0, 0, 0, 0, len(rows) - count))[None] for name, mask in masks.items()}


def trim(batch: Batch) -> Batch:
    """Leave out the padding that no command of the batch needs."""
    return batch | vars(examples_of(batch).trimmed())


def take(batch: Batch, rows: Tensor) -> Batch:
    """The examples of a row of `max_token_batches`; one without actions for each -1."""
    chosen = examples_of(batch)[rows.clamp(min=0)]
    masks = {name: mask[0, : len(rows)] for name, mask in batch["noise"].items()}
    return vars(chosen) | {"actions": chosen.actions.where(rows[:, None] >= 0, NO_ACTION), "noise": masks}


def gather_rows(batch: Batch) -> Batch:
    """The same without the -1."""
    rows = batch["rows"][0]
    return trim(take(batch, rows[rows >= 0]))


def longest_first(batch: Batch) -> Batch:
    """Sort by falling number of actions, so that each block of commands can end where its first one does."""
    steps, order = (batch["actions"] != NO_ACTION).sum(dim=1).sort(descending=True, stable=True)
    noise = {name: each[order] for name, each in batch["noise"].items()}
    ordered = trim(batch | vars(examples_of(batch)[order]))
    return ordered | {"noise": noise, "steps": steps[::BLOCK].tolist()}


def score(logits: Tensor, actions: Tensor) -> Tensor:
    """Percent of commands right; rows without any action do not count."""
    asked = (actions != NO_ACTION).any(dim=1)
    return 100 * (exactly_right(logits.argmax(dim=-1), actions) & asked).sum() / asked.sum()


def loss_and_score(loss: Callable, model: Callable, batch: Batch) -> tuple[Tensor, Tensor]:
    """A network's own loss of its logits, and the percentage of commands right."""
    logits, actions = model(*examples_of(batch).tensors, batch.get("noise")), batch["actions"]
    return loss(logits, actions), score(logits, actions)


def cnn_loss(model: Callable, batch: Batch) -> tuple[Tensor, Tensor]:
    """The same for a row of `max_token_batches`."""
    return loss_and_score(cnn.loss, model, take(batch, batch["rows"][0]) if "rows" in batch else batch)


def li_loss(model: Any, batch: Batch) -> tuple[Tensor, Tensor]:
    """The same with the penalty, block by block after `longest_first`; after a block's last action logits are 0."""
    examples, found = examples_of(batch), []
    size = BLOCK if "steps" in batch else len(examples)
    for number, steps in enumerate(batch.get("steps", [None])):
        part = slice(number * size, (number + 1) * size)
        words, lengths, actions = examples[part].tensors
        noise = {name: each[part] for name, each in batch["noise"].items()}
        logits = model(words, lengths, actions[:, :steps], noise)
        found.append(F.pad(logits, (0, 0, 0, actions.shape[1] - logits.shape[1])))
    logits, penalty = torch.cat(found), model.penalty(examples.words, examples.lengths)
    return li.loss(logits, examples.actions) + penalty, score(logits, examples.actions)


class Recipe(NamedTuple):
    """What differs between the networks' trainings: entries of `TrainingRun`."""

    loss: Callable
    sampler: Callable[[Examples, int, int], dict] = partial(drawn, shuffled)  #: of (examples, B, seed).
    dedupe_batch: Callable[[Batch], Batch] = trim
    optimizer: Callable = adam
    #: (updates an epoch, update) -> the factor of the learning rate.
    schedule: Callable[[int, int], float] | None = None


RECIPES = {
    "syntactic_attention": Recipe(partial(loss_and_score, syntactic_attention.loss)),
    "gru_attention": Recipe(
        partial(loss_and_score, gru_attention.loss),
        partial(drawn, bucketed),
        optimizer=partial(torch.optim.SGD, weight_decay=1e-8),
        schedule=lambda per_epoch, update: 0.96 ** (update // per_epoch),
    ),
    "cnn": Recipe(
        cnn_loss,
        max_token_batches,
        gather_rows,
        optimizer=partial(torch.optim.SGD, momentum=0.99, nesterov=True),  # fairseq's "nag"
    ),
    "li": Recipe(
        li_loss,
        partial(drawn, with_replacement),
        longest_first,
        schedule=lambda per_epoch, update: 0.96 ** (update // 100),
    ),
}
