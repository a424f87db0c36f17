"""How each network is trained: optimizers, schedules and batches, as its own authors did."""

from collections import Counter
from itertools import pairwise

import pytest
import torch
from torch import nn

from mini_lib.scan import recipes
from mini_lib.scan.recipes import RECIPES, batch_of, score
from mini_lib.scan.tasks import NO_ACTION, encode, simple_order


def test_the_rate_falls_by_4_percent_each_epoch_of_the_gru_and_each_100_updates_of_li():
    gru, li = (RECIPES[model].schedule for model in ("gru_attention", "li"))
    assert [gru(400, update) for update in (0, 399, 400, 4000)] == pytest.approx([1, 1, 0.96, 0.96**10])
    assert [li(10, update) for update in (0, 99, 100, 4999)] == pytest.approx([1, 1, 0.96, 0.96**49])
    assert RECIPES["syntactic_attention"].schedule is RECIPES["cnn"].schedule is None


ADAM = {"betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0}
OPTIMIZERS = {
    "syntactic_attention": (torch.optim.Adam, ADAM),
    "li": (torch.optim.Adam, ADAM),
    "gru_attention": (torch.optim.SGD, {"momentum": 0, "weight_decay": 1e-8, "nesterov": False}),
    "cnn": (torch.optim.SGD, {"momentum": 0.99, "weight_decay": 0, "nesterov": True}),
}


@pytest.mark.parametrize("model", OPTIMIZERS)
def test_optimizers_are_those_of_the_authors(model):
    kind, options = OPTIMIZERS[model]
    optimizer = RECIPES[model].optimizer([nn.Parameter(torch.zeros(1))], lr=0.3)
    assert isinstance(optimizer, kind)
    assert optimizer.defaults.items() >= (options | {"lr": 0.3}).items()


def test_rows_without_actions_do_not_count_in_the_score():
    logits = torch.zeros(3, 2, 8)
    logits[0, 0, 2] = logits[0, 1, 3] = logits[1, 0, 4] = 1.0
    actions = torch.tensor([[2, 3], [5, 3], [NO_ACTION, NO_ACTION]])
    assert score(logits, actions) == 50.0


def commands_of(batch):
    return [tuple(row.tolist()) for row in batch["words"]]


def test_bucketed_batches_are_of_similar_length_and_show_every_command_once():
    examples = encode(simple_order()[:209])
    sampler = recipes.drawn(recipes.bucketed, examples, 16, 1)
    first, again, second = (sampler["epoch"](e) for e in (0, 0, 1))
    assert first["words"].equal(again["words"])
    assert not first["words"].equal(second["words"])
    assert Counter(commands_of(first)) == Counter(commands_of(batch_of(examples)))
    batches = [part.tolist() for part in first["lengths"].split(16)]
    ranges = sorted((min(batch), max(batch)) for batch in batches)
    assert all(one[1] <= other[0] for one, other in pairwise(ranges))
    assert batches != sorted(batches)


def test_drawn_batches_repeat_commands_and_an_epoch_is_ten_updates():
    examples = encode(simple_order()[:30])
    sampler = recipes.drawn(recipes.with_replacement, examples, 16, 1)
    first, second = (sampler["epoch"](e) for e in (0, 1))
    assert sampler["examples"] == 10 * 16 == len(first["words"])
    seen = Counter(commands_of(first))
    assert set(seen) <= set(commands_of(batch_of(examples)))
    assert max(seen.values()) > 1
    assert not first["words"].equal(second["words"])


def test_batches_by_tokens_are_filled_with_as_many_commands_as_fit(monkeypatch):
    monkeypatch.setattr(recipes, "LINES", 500)
    examples = encode(simple_order()[:209])
    sampler, other = (recipes.max_token_batches(examples, 100, seed) for seed in (1, 2))
    steps = (examples.actions != NO_ACTION).sum(dim=1)
    longest = torch.maximum(examples.lengths - 1, steps).tolist()
    rows, others = (each["epoch"](0)["rows"] for each in (sampler, other))
    batches = [[number for number in row if number >= 0] for row in rows.tolist()]
    assert sum(map(len, batches)) == 500
    sizes = torch.stack([examples.lengths, steps], dim=1).tolist()
    batches.sort(key=lambda batch: [sizes[n] for n in batch] + [[99]])
    assert all(len(batch) * max(longest[n] for n in batch) <= 100 for batch in batches)
    for batch, (following, *_) in pairwise(batches):
        assert (len(batch) + 1) * max(longest[n] for n in (*batch, following)) > 100
    assert sampler["constants"]["words"].equal(batch_of(examples)["words"])
    assert not others.equal(rows)  # another seed has the same batches in another order
    assert sorted(others.tolist()) == sorted(rows.tolist())
