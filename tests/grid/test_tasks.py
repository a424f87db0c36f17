"""The study's problems: right by brute force, and content that is new is new."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

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
from mini_lib.scan.tasks import encode
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


def test_half_of_the_matching_problems_have_equal_sources_whatever_m_is():
    ids = rules("rmts", 85, seed=3).train.ids[..., 0]
    assert (ids[:, 0] == ids[:, 1]).double().mean() == pytest.approx(0.5, abs=0.03)


@given(st.integers(0, 99), st.booleans())
@settings(max_examples=10)
def test_the_item_that_is_asked_for_is_the_only_one_with_both_parts(seed, name):
    pool, others = item_pools(seed)
    assert sorted([*pool.tolist(), *others.tolist()]) == list(range(100))
    assert len(pool) == 15
    problems = items(100, pool, numpy_rng(seed, "test"), name=name)
    assert set(problems.ids[:, :8].flatten().tolist()) == {*pool.tolist()}
    half_alike = 0
    for ids, answer in zip(problems.ids.tolist(), problems.answers.tolist(), strict=True):
        *shown, asked = ids
        (found,) = [i for i, item in enumerate(shown) if item[:2] == asked[:2]]
        assert asked[2] == HIDDEN
        assert pool[answer] == shown[found][2] if name else answer == found
        half_alike += any(i != found and item[0] == asked[0] for i, item in enumerate(shown))
    assert half_alike > 10  # one part alone does often not say which
    assert name or np.bincount(problems.answers, minlength=8).min() > 0


def test_familiar_and_new_items_share_no_glyph():
    tests, (pool, others) = item_tests(seed=2, count=50), item_pools(seed=2)
    assert set(tests["familiar"].ids.flatten().tolist()) - {HIDDEN} <= {*pool.tolist()}
    assert set(tests["new"].ids.flatten().tolist()) - {HIDDEN} <= {*others.tolist()}
    assert set(item_tests(2, 5, name=True)) == {"familiar"}  # who could name what was never seen?


def test_curves_are_lifted_doubled_and_slowed():
    parts = transformed_curves(30)
    own, slow = parts["familiar"], parts["slowed"]
    assert (own.y.shape[1], own.truth.shape[1]) == (12, 10)
    for part, change in (("lifted", lambda y: y + 2), ("stretched", lambda y: 2 * y)):
        torch.testing.assert_close(parts[part].y, change(own.y))
        torch.testing.assert_close(parts[part].truth, change(own.truth))
    lines = own.kinds["lin"]
    close = {"rtol": 1e-3, "atol": 1e-5}
    torch.testing.assert_close(slow.truth[lines].diff(), own.truth[lines].diff() / 1.5, **close)


@pytest.mark.parametrize("kind", ["lin", "rbf", "sine"])
def test_a_slower_curve_is_the_same_function_of_a_slower_place(kind):
    own, slow = (
        sample_curves(500, 21, torch_rng(1, "slow"), kind=kind, noise=0.0, time_scale=by).truth
        for by in (1.0, 2.0)
    )
    if kind == "rbf":  # other draws, whose neighbours are as alike as those half as far apart
        products = [(slow[:, :-2] * slow[:, 2:]).mean(), (own[:, :-1] * own[:, 1:]).mean()]
        torch.testing.assert_close(*products, rtol=0.1, atol=0.05)
    else:
        torch.testing.assert_close(slow[:, 1::2], own[:, :10])


def test_two_verbs_are_shown_alone_and_asked_about_in_everything_else(few_commands):
    data = command_data(seed=1)
    spelled = {tuple(encode([c]).words[0].tolist()): c for c in {*few_commands.train, *few_commands.test}}

    def commands(part):
        rows = zip(part.words.tolist(), part.lengths.tolist(), strict=True)
        return [spelled[tuple(row[:length])] for row, length in rows]

    train, tests = commands(data.train), {name: commands(part) for name, part in data.tests.items()}
    assert [train.count(verb) for verb in ("jump", "dax")] == [3, 3]
    for verb in ("jump", "dax"):
        assert [command for command in train if verb in command.split()] == [verb] * 3
        assert {*tests[verb]} == {command for command in few_commands.test if verb in command.split()}
    known = {command for command in few_commands.train if command not in ("jump", "dax")}
    assert len(tests["familiar"]) == len(known) // 10 > 0
    assert {*tests["familiar"]} == known - {*train}
    assert {*tests["training"]} <= {*train}
    assert len(tests["training"]) == len(tests["familiar"])
