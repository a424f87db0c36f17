"""The other networks' batches, and their training runs."""

from collections import Counter
from itertools import pairwise

import pytest
import torch

from mini_lib.scan import recipes
from mini_lib.scan.recipes import batch_of
from mini_lib.scan.runs import Settings, build
from mini_lib.scan.tasks import encode, get_split
from mini_lib.training import TrainingStack, train
from scan.runs import CPU, build_double, check_stack_gradients


def commands_of(batch):
    return [tuple(row.tolist()) for row in batch["words"]]


def test_bucketed_batches_are_of_like_length_and_show_every_command_once():
    examples = encode(get_split("size_1").train)
    sampler = recipes.bucketed(examples, 16, 1)
    first, again, second = (sampler.epoch(e) for e in (0, 0, 1))
    assert first["words"].equal(again["words"])
    assert not first["words"].equal(second["words"])
    assert Counter(commands_of(first)) == Counter(commands_of(batch_of(examples)))
    batches = [part.tolist() for part in first["lengths"].split(16)]
    ranges = sorted((min(batch), max(batch)) for batch in batches)
    assert all(one[1] <= other[0] for one, other in pairwise(ranges))
    assert batches != sorted(batches)


def test_drawn_batches_repeat_commands_and_an_epoch_is_ten_updates():
    examples = encode(get_split("size_1").train[:30])
    sampler = recipes.with_replacement(examples, 16, 1)
    assert sampler.examples == recipes.UPDATES * 16 == len(sampler.epoch(0)["words"])
    seen = Counter(commands_of(sampler.epoch(0)))
    assert set(seen) <= set(commands_of(batch_of(examples)))
    assert max(seen.values()) > 1
    assert not sampler.epoch(0)["words"].equal(sampler.epoch(1)["words"])


def test_crowded_batches_fill_so_many_places(monkeypatch):
    monkeypatch.setattr(recipes, "LINES", 500)
    examples = encode(get_split("size_1").train)
    sampler = recipes.max_token_batches(examples, 100, 1)
    longest = [
        max(int(n) - 1, int((a > 0).sum())) for n, a in zip(examples.lengths, examples.actions, strict=True)
    ]
    batches = [[number for number in row if number >= 0] for row in sampler.epoch(0)["rows"].tolist()]
    assert [sampler.commands(update) for update in range(len(batches))] == list(map(len, batches))
    again = [(row >= 0).sum() for row in sampler.epoch(3)["rows"]]
    assert [sampler.commands(3 * len(batches) + place) for place in range(len(batches))] == again
    assert sum(map(len, batches)) == 500
    places = [len(batch) * max(longest[n] for n in batch) for batch in batches]
    assert all(filled <= 100 for filled in places)
    assert sum(places) > 50 * len(places)  # more than half full, or two of them would have been one
    assert sorted(map(sorted, batches)) == sorted(
        sorted(number for number in row if number >= 0) for row in sampler.epoch(1)["rows"].tolist()
    )
    assert sampler.constants["words"].equal(batch_of(examples)["words"])


OTHERS = {
    "gru_attention": {"lr": 0.2, "clip": 5.0},
    "li": {"options": {"primitive": 4, "function": 4, "units": 6}},
    "cnn": {"batch_size": 100, "options": {"dim": 8, "layers": 2, "kernel": 3}, "clip": 0.1, "lr": 0.1},
}


def other(model, **changes):
    kept = {"split": "size_1", "lr": 0.01, "epochs": 2, "batch_size": 8, "validation": "none"}
    return Settings(model=model, **(kept | OTHERS[model] | changes))


@pytest.mark.parametrize("model", OTHERS)
def test_the_other_networks_stacked_equal_each_alone(model, few, monkeypatch):
    monkeypatch.setattr(recipes, "LINES", 60)
    settings = other(model)
    seeds = (1, 2)
    alone = [TrainingStack([build_double(settings, seed)], CPU, stacked=False) for seed in seeds]
    stack = TrainingStack([build_double(settings, seed) for seed in seeds], CPU, stacked=True)
    found = [torch.cat(stack_of_one.step(stack_of_one.batch(0))) for stack_of_one in alone]
    losses, scores = stack.step(stack.batch(0))
    torch.testing.assert_close(
        torch.stack([losses, scores], dim=1), torch.stack(found), rtol=1e-8, atol=1e-10
    )
    check_stack_gradients(stack, alone)


@pytest.mark.parametrize("model", OTHERS)
def test_the_other_networks_resume_where_they_were(model, few, monkeypatch, tmp_path):
    monkeypatch.setattr(recipes, "LINES", 60)
    settings = other(model, epochs=4)
    (whole,) = train([build(settings, 1)])
    (halted,) = train([build(settings, 1)], checkpoints=tmp_path, stop=lambda update: update > 10)
    assert not halted.finished
    (resumed,) = train([build(settings, 1)], checkpoints=tmp_path)
    assert (whole.curve, whole.metrics) == (resumed.curve, resumed.metrics)
    assert all(a.equal(b) for a, b in zip(whole.model.parameters(), resumed.model.parameters(), strict=True))
