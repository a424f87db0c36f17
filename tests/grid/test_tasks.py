"""The study's problems: right by brute force, and content that is new is new."""

import numpy as np
import pytest
import torch

from mini_lib.functions.tasks import sample_curves
from mini_lib.grid.tasks import (
    HIDDEN,
    command_data,
    item_pools,
    item_tests,
    items,
    rules,
    transformed_curves,
)
from mini_lib.scan.tasks import WORD_IDS
from mini_lib.seeding import numpy_rng, torch_rng


@pytest.mark.parametrize(
    ("task", "m", "sizes"), [("distribution_of_three", 95, (288, 72)), ("rmts", 95, (384, 96))]
)
def test_familiar_problems_are_of_the_glyphs_of_training_and_are_no_training_problems(task, m, sizes):
    data = rules(task, m, seed=3)
    assert (len(data.train.answers), len(data.familiar.answers)) == sizes
    known, other = (set(part.tolist()) for part in data.images)
    train, familiar = (list(map(tuple, part.ids[..., 0].tolist())) for part in (data.train, data.familiar))
    assert not {*train} & {*familiar}
    assert {glyph for problem in (*train, *familiar) for glyph in problem} == known
    assert set(data.new.ids.flatten().tolist()) <= other


def test_the_item_to_be_matched_has_both_parts_and_no_other_item_has_them():
    pool, others = item_pools(seed=2)
    assert sorted([*pool.tolist(), *others.tolist()]) == list(range(100))
    problems = items(300, pool, numpy_rng(1, "test"))
    assert set(problems.ids[:, :8].flatten().tolist()) == {*pool.tolist()}
    half_alike = 0
    for ids, answer in zip(problems.ids.tolist(), problems.answers.tolist(), strict=True):
        *shown, asked = ids
        assert [i for i, item in enumerate(shown) if item[:2] == asked[:2]] == [answer]
        assert asked[2] == HIDDEN
        half_alike += any(i != answer and (item[0] == asked[0]) for i, item in enumerate(shown))
    assert half_alike > 50  # one part alone does often not say which
    assert np.bincount(problems.answers, minlength=8).min() > 15


def test_the_glyph_to_be_named_is_the_hidden_one():
    pool, _ = item_pools(seed=2)
    problems = items(300, pool, numpy_rng(1, "test"), name=True)
    for ids, answer in zip(problems.ids.tolist(), problems.answers.tolist(), strict=True):
        *shown, asked = ids
        (item,) = [item for item in shown if item[:2] == asked[:2]]
        assert item[2] == pool[answer]
    assert set(item_tests(2, 5, name=True)) == {"familiar"}  # who could name what was never seen?


def test_familiar_and_new_items_share_no_glyph():
    tests, (pool, others) = item_tests(seed=2, count=50), item_pools(seed=2)
    assert set(tests["familiar"].ids.flatten().tolist()) - {HIDDEN} <= {*pool.tolist()}
    assert set(tests["new"].ids.flatten().tolist()) - {HIDDEN} <= {*others.tolist()}


def test_curves_are_lifted_doubled_and_slowed():
    parts = transformed_curves(30)
    own = parts["familiar"]
    torch.testing.assert_close(parts["lifted"].truth, own.truth + 2)
    torch.testing.assert_close(parts["stretched"].y, own.y * 2)
    lines = own.kinds["lin"]
    slope = (own.truth[lines, 1] - own.truth[lines, 0]) / 1.5
    torch.testing.assert_close(
        parts["slowed"].truth[lines, 1] - parts["slowed"].truth[lines, 0], slope, rtol=1e-3, atol=1e-5
    )
    sines = parts["slowed"].kinds["sine"]
    whole = torch.cat([parts["slowed"].truth[sines], own.truth[sines]])
    assert whole.abs().max() < 1.2


@pytest.mark.parametrize("kind", ["lin", "rbf", "sine"])
def test_a_slower_curve_is_the_same_function_of_a_slower_place(kind):
    own, slow = (
        sample_curves(500, 21, torch_rng(1, "slow"), kind=kind, noise=0.0, time_scale=by).truth
        for by in (1.0, 2.0)
    )
    if kind == "rbf":  # other draws, whose neighbours are as alike as those half as far apart
        torch.testing.assert_close(
            (slow[:, :-2] * slow[:, 2:]).mean(), (own[:, :-1] * own[:, 1:]).mean(), rtol=0.1, atol=0.05
        )
    else:
        torch.testing.assert_close(slow[:, 1::2], own[:, :10])


def test_two_verbs_are_shown_alone_and_asked_about_in_everything_else():
    data = command_data(seed=1)
    jump, dax = WORD_IDS["jump"], WORD_IDS["dax"]
    for verb in (jump, dax):
        holds = (data.train.words == verb).any(dim=1)
        assert (data.train.lengths[holds] == 3).all()  # between <SOS> and <EOS> nothing but the verb
        assert holds.sum() == 1467
    for name, verb, other in (("jump", jump, dax), ("dax", dax, jump)):
        words = data.tests[name].words
        assert (words == verb).any(dim=1).all()
        assert not (words == other).any()
        assert (data.tests[name].lengths > 3).all()
    trained = {tuple(row) for row in data.train.words.tolist()}
    width = data.train.words.shape[1]
    kept = torch.nn.functional.pad(
        data.tests["familiar"].words,
        (0, width - data.tests["familiar"].words.shape[1]),
        value=WORD_IDS["<NULL>"],
    )
    assert not trained & {tuple(row) for row in kept.tolist()}
