"""How each network is trained: its batches, loss, optimizer and schedule, as its own authors did."""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import NamedTuple

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


class Sampler(NamedTuple):
    """The examples of a run as `TrainingRun` takes them."""

    examples: int
    batch_size: int
    epoch: Callable[[int], Batch]
    constants: Batch
    #: Where an example is a whole batch: the most commands in one, and how many the batch of an update holds.
    max_commands: int = 0
    commands: Callable[[int], int] | None = None


def _sampler(
    examples: Examples, count: int, batch_size: int, seed: int, order: Callable[[torch.Generator], Tensor]
) -> Sampler:
    """Epochs of `count` examples, each in the order that is drawn for its number."""

    def epoch(number: int) -> Batch:
        return batch_of(examples[order(torch_rng(seed, "order", number))])

    return Sampler(count, batch_size, epoch, {})


def shuffled(examples: Examples, batch_size: int, seed: int) -> Sampler:
    """All training examples, in a random order every epoch."""
    count = len(examples)
    return _sampler(examples, count, batch_size, seed, lambda rng: torch.randperm(count, generator=rng))


def bucketed(examples: Examples, batch_size: int, seed: int) -> Sampler:
    """All training examples in batches of similar length, the batches in a random order (a smaller one last)."""
    count, whole = len(examples), len(examples) // batch_size * batch_size

    def order(rng: torch.Generator) -> Tensor:
        mixed = torch.randperm(count, generator=rng)
        mixed = mixed[torch.argsort(examples.lengths[mixed], stable=True)]
        batches = mixed[:whole].view(-1, batch_size)
        batches = batches[torch.randperm(len(batches), generator=rng)]
        return torch.cat([batches.flatten(), mixed[whole:]])

    return _sampler(examples, count, batch_size, seed, order)


def with_replacement(examples: Examples, batch_size: int, seed: int) -> Sampler:
    """Examples drawn with replacement; an epoch is `UPDATES` updates."""
    count, n = UPDATES * batch_size, len(examples)
    return _sampler(examples, count, batch_size, seed, lambda rng: torch.randint(n, (count,), generator=rng))


def max_token_batches(examples: Examples, tokens: int, seed: int) -> Sampler:
    """`LINES` examples drawn with replacement, the same for all seeds, in batches of at most that many tokens.

    An example of the `TrainingRun` is a whole batch: a row of indices of examples, filled up with -1.
    """
    order = torch.randint(len(examples), (LINES,), generator=torch_rng(0, "lines"))
    steps = (examples.actions != NO_ACTION).sum(dim=1)
    for size in (steps, examples.lengths):
        order = order[torch.argsort(size[order], stable=True)]
    longest = torch.maximum(examples.lengths - 1, steps).tolist()  # their commands have no <SOS>
    batches, most = [[]], 0
    for number in order.tolist():
        most = max(most, longest[number])
        if batches[-1] and (len(batches[-1]) + 1) * most > tokens:
            batches.append([])
            most = longest[number]
        batches[-1].append(number)
    rows = nn.utils.rnn.pad_sequence([torch.tensor(each) for each in batches], True, -1)  # [rows, most]

    @lru_cache(maxsize=1)
    def order_of(number: int) -> Tensor:
        return torch.randperm(len(rows), generator=torch_rng(seed, "order", number))

    def commands(update: int) -> int:
        epoch, place = divmod(update, len(rows))
        return len(batches[order_of(epoch)[place]])

    def epoch(number: int) -> Batch:
        return {"rows": rows[order_of(number)]}

    return Sampler(len(rows), 1, epoch, batch_of(examples), rows.shape[1], commands)


def noise(model: nn.Module, seed: int, sampler: Sampler, update: int, batch: Batch) -> Batch:
    """The network's random tensors of one update, at the size of the longest command."""
    rng = torch_rng(seed, "noise", update, device=next(iter(batch.values())).device)
    if sampler.commands is None:
        return model.draw_noise(len(batch["lengths"]), MAX_WORDS, MAX_ACTIONS, rng)
    count = sampler.commands(update)
    masks, missing = model.draw_noise(count, MAX_WORDS, MAX_ACTIONS, rng), sampler.max_commands - count
    return {name: F.pad(mask, (0, 0, 0, 0, 0, missing))[None] for name, mask in masks.items()}


def trim(batch: Batch) -> Batch:
    """Leave out the padding that no command of the batch needs."""
    return batch | vars(examples_of(batch).trimmed())


def gather_rows(batch: Batch) -> Batch:
    """The examples of a row of `max_token_batches`, without its -1."""
    rows = batch["rows"][0]
    rows = rows[rows >= 0]
    masks = {name: mask[0, : len(rows)] for name, mask in batch["noise"].items()}
    return trim(batch_of(examples_of(batch)[rows])) | {"noise": masks}


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
    """The same for a batch of `max_token_batches`."""
    if "rows" in batch:
        rows = batch["rows"][0]
        chosen = examples_of(batch)[rows.clamp(min=0)]
        masks = {name: mask[0] for name, mask in batch["noise"].items()}
        actions = chosen.actions.where(rows[:, None] >= 0, NO_ACTION)
        batch = {**vars(chosen), "actions": actions, "noise": masks}
    return loss_and_score(cnn.loss, model, batch)


def li_loss(model: Callable, batch: Batch) -> tuple[Tensor, Tensor]:
    """The same with the penalty, block by block after `longest_first`; after a block's last action logits are 0."""
    examples, logits = examples_of(batch), []
    blocks = batch.get("steps", [examples.actions.shape[1]])
    size = BLOCK if len(blocks) > 1 else len(examples)
    for number, steps in enumerate(blocks):
        part = slice(number * size, (number + 1) * size)
        words, lengths, actions = examples[part].tensors
        noise = {name: each[part] for name, each in batch["noise"].items()}
        found = model(words, lengths, actions[:, :steps], noise)
        logits.append(F.pad(found, (0, 0, 0, examples.actions.shape[1] - steps)))
    logits = torch.cat(logits)
    penalty = model.penalty(examples.words, examples.lengths)
    return li.loss(logits, examples.actions) + penalty, score(logits, examples.actions)


class Recipe(NamedTuple):
    """What differs between the networks' trainings: entries of `TrainingRun`."""

    loss: Callable
    sampler: Callable[[Examples, int, int], Sampler] = shuffled  #: (examples, B, seed) -> their order.
    dedupe_batch: Callable[[Batch], Batch] = trim
    optimizer: Callable = adam
    #: (updates an epoch, update) -> the factor of the learning rate.
    schedule: Callable[[int, int], float] | None = None


RECIPES = {
    "syntactic_attention": Recipe(partial(loss_and_score, syntactic_attention.loss)),
    "gru_attention": Recipe(
        partial(loss_and_score, gru_attention.loss),
        bucketed,
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
        li_loss, with_replacement, longest_first, schedule=lambda per_epoch, update: 0.96 ** (update // 100)
    ),
}
