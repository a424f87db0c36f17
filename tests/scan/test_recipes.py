"""How each network is trained: the numbers of its recipe, as the facts sheets' sources have them; its batches."""

import math
from collections import Counter
from itertools import pairwise

import pytest
import torch
from torch import nn

from mini_lib.scan import recipes
from mini_lib.scan.recipes import RECIPES, batch_of, score
from mini_lib.scan.runs import VALIDATIONS, build, make_parts, paper_settings
from mini_lib.scan.tasks import EOS, NO_ACTION, WORD_IDS, encode, simple_order
from scan.runs import SIZES

# (network, split): learning rate, batch, updates, clip, share of the file that is trained on, options.
TABLE = {
    ("gru_attention", "add_jump"): (0.2, 32, 50 * math.ceil(13_203 / 32), 5.0, 0.9, {}),
    ("gru_attention", "simple"): (0.2, 32, 50 * math.ceil(15_055 / 32), 5.0, 0.9, {}),
    ("li", "add_jump"): (0.01, 4096, 5_000, 1.0, 1.0, {}),
    ("li", "simple"): (0.01, 4096, 5_000, 1.0, 1.0, {}),
    ("li", "add_turn_left"): (0.01, 4096, 5_000, 1.0, 1.0, {"primitive": 8}),
    ("li", "length"): (0.01, 64, 10_000, 1.0, 1.0, {"primitive": 8, "units": 32, "strength": 0.01}),
    ("cnn", "add_jump"): (0.1, 500, None, 0.1, 1.0, {}),
    ("cnn", "simple"): (0.01, 25, None, 0.1, 1.0, {"dim": 512, "kernel": 4, "layers": 7, "dropout": 0.0}),
}


@pytest.mark.parametrize("case", TABLE, ids=" ".join)
def test_settings_of_the_tables(case):
    model, split = case
    lr, batch, updates, clip, share, options = TABLE[case]
    settings = paper_settings(split, model)
    assert (settings.lr, settings.batch_size, settings.clip) == (lr, batch, clip)
    assert (VALIDATIONS[settings.validation], settings.to_dict().get("options", {})) == (share, options)
    if model == "li":
        assert settings.epochs * recipes.UPDATES == updates
    elif updates:
        assert build(paper_settings(split, model, options=SIZES[model]), seed=1).updates == updates


@pytest.mark.parametrize(
    ("model", "per_epoch", "factors"),
    [
        ("gru_attention", 400, {0: 1.0, 399: 1.0, 400: 0.96, 4000: 0.96**10}),
        ("li", 10, {0: 1.0, 99: 1.0, 100: 0.96, 4999: 0.96**49}),
    ],
)
def test_schedules(model, per_epoch, factors):
    schedule = RECIPES[model].schedule
    assert {update: schedule(per_epoch, update) for update in factors} == pytest.approx(factors)
    assert RECIPES["syntactic_attention"].schedule is RECIPES["cnn"].schedule is None


@pytest.mark.parametrize(
    ("model", "kind", "options"),
    [
        ("syntactic_attention", torch.optim.Adam, {"betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0}),
        ("li", torch.optim.Adam, {"betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0}),
        ("gru_attention", torch.optim.SGD, {"momentum": 0, "weight_decay": 1e-8, "nesterov": False}),
        ("cnn", torch.optim.SGD, {"momentum": 0.99, "weight_decay": 0, "nesterov": True}),
    ],
)
def test_optimizers(model, kind, options):
    optimizer = RECIPES[model].optimizer([nn.Parameter(torch.zeros(1))], lr=0.3)
    assert isinstance(optimizer, kind)
    assert optimizer.defaults.items() >= (options | {"lr": 0.3}).items()


def test_bastings_hold_out_a_tenth_in_which_the_primitive_stands_once():
    parts = make_parts(paper_settings("add_jump", "gru_attention"), seed=1)
    assert len(parts.train.lengths) == 13_203
    alone = (parts.validation.words[:, 1] == WORD_IDS["jump"]) & (
        parts.validation.words[:, 2] == WORD_IDS[EOS]
    )
    assert alone.sum() == 1
    assert 1_250 < len(parts.validation.lengths) < 1_467


def test_rows_without_actions_do_not_count_in_the_score():
    right = torch.zeros(3, 2, 8)
    right[0, 0, 2] = right[0, 1, 3] = right[1, 0, 4] = 1.0
    actions = torch.tensor([[2, 3], [5, 3], [NO_ACTION, NO_ACTION]])
    assert score(right, actions) == 50.0


def commands_of(batch):
    return [tuple(row.tolist()) for row in batch["words"]]


def test_bucketed_batches_are_length_buckets_and_show_every_command_once():
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
    assert sampler["examples"] == recipes.UPDATES * 16 == len(sampler["epoch"](0)["words"])
    seen = Counter(commands_of(sampler["epoch"](0)))
    assert set(seen) <= set(commands_of(batch_of(examples)))
    assert max(seen.values()) > 1
    assert not sampler["epoch"](0)["words"].equal(sampler["epoch"](1)["words"])


def test_crowded_batches_fill_so_many_places(monkeypatch):
    monkeypatch.setattr(recipes, "LINES", 500)
    examples = encode(simple_order()[:209])
    sampler = recipes.max_token_batches(examples, 100, 1)
    longest = [
        max(int(n) - 1, int((a > 0).sum())) for n, a in zip(examples.lengths, examples.actions, strict=True)
    ]
    batches = [[number for number in row if number >= 0] for row in sampler["epoch"](0)["rows"].tolist()]
    assert sum(map(len, batches)) == 500
    places = [len(batch) * max(longest[n] for n in batch) for batch in batches]
    assert all(filled <= 100 for filled in places)
    assert sum(places) > 50 * len(places)  # more than half full, or two of them would have been one
    assert sampler["constants"]["words"].equal(batch_of(examples)["words"])
    other = recipes.max_token_batches(examples, 100, seed=2)["epoch"](0)["rows"]  # the same in another order
    assert not other.equal(sampler["epoch"](0)["rows"])
    assert sorted(other.tolist()) == sorted(sampler["epoch"](0)["rows"].tolist())
