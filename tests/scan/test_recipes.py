"""The numbers of the recipes, as the facts sheets' sources have them: nothing else in the tests would notice."""

import math
from dataclasses import replace

import pytest
import torch
from torch import nn

from mini_lib.scan.recipes import LINES, RECIPES, score
from mini_lib.scan.runs import VALIDATIONS, build, make_parts, paper_settings
from mini_lib.scan.tasks import EOS, NO_ACTION, WORD_IDS

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
    assert (VALIDATIONS[settings.validation], settings.options) == (share, options)
    if updates is not None and model != "li":  # Li et al. are built below, once
        assert build(replace(settings, options={"hidden": 4, "embedding": 4}), seed=1).updates == updates
    if model == "li":
        assert settings.epochs * 10 == updates


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


def test_the_others_have_a_constant_rate():
    assert RECIPES["syntactic_attention"].schedule is RECIPES["cnn"].schedule is None


@pytest.mark.parametrize(
    ("model", "kind", "options"),
    [
        ("syntactic_attention", "Adam", {"lr": 0.3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0}),
        ("li", "Adam", {"lr": 0.3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0}),
        ("gru_attention", "SGD", {"lr": 0.3, "momentum": 0, "weight_decay": 1e-8, "nesterov": False}),
        ("cnn", "SGD", {"lr": 0.3, "momentum": 0.99, "weight_decay": 0, "nesterov": True}),
    ],
)
def test_optimisers(model, kind, options):
    optimiser = RECIPES[model].optimiser([nn.Parameter(torch.zeros(1))], lr=0.3)
    assert type(optimiser).__name__ == kind
    assert {name: optimiser.defaults[name] for name in options} == options


def test_bastings_hold_out_a_tenth_in_which_the_primitive_stands_once():
    parts = make_parts(paper_settings("add_jump", "gru_attention"), seed=1)
    assert len(parts.train.lengths) == 13_203
    alone = (parts.validation.words[:, 1] == WORD_IDS["jump"]) & (
        parts.validation.words[:, 2] == WORD_IDS[EOS]
    )
    assert alone.sum() == 1
    assert 1_250 < len(parts.validation.lengths) < 1_467


def test_the_cnn_sees_as_many_lines_as_were_drawn_in_batches_that_fit():
    replica = build(paper_settings("add_jump", "cnn"), seed=1)
    rows = replica.epoch(0)["rows"]
    assert (rows >= 0).sum() == LINES
    other = build(paper_settings("add_jump", "cnn"), seed=2)
    assert not rows.equal(other.epoch(0)["rows"])
    assert sorted(map(tuple, rows.tolist())) == sorted(map(tuple, other.epoch(0)["rows"].tolist()))
    lengths = (replica.constants["actions"] != NO_ACTION).sum(dim=1)
    longest = torch.maximum(replica.constants["lengths"] - 1, lengths)
    for row in rows[::50]:
        held = row[row >= 0]
        assert len(held) == 1 or len(held) * longest[held].max() <= 500


def test_rows_without_actions_do_not_count_in_the_score():
    right = torch.zeros(3, 2, 8)
    right[0, 0, 2] = right[0, 1, 3] = right[1, 0, 4] = 1.0
    actions = torch.tensor([[2, 3], [5, 3], [NO_ACTION, NO_ACTION]])
    assert score(right, actions) == 50.0
