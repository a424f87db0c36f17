"""The study's tasks, right by brute force; its runs: same problems for all, and nothing of a test in training."""

import numpy as np
import pytest
import torch
from esbn.networks import Stub
from hypothesis import given, settings, strategies as st
from scan.by_hand import ByHand

from mini_lib.errors import UsageError
from mini_lib.grid import runs, tasks
from mini_lib.grid.runs import Settings, accuracies, build, exact_matches, extrapolation_errors
from mini_lib.grid.tasks import HIDDEN, RULES, Problems, Transformed, item_pools, item_tests, items
from mini_lib.scan.syntactic_attention import loss
from mini_lib.scan.tasks import Split, encode
from mini_lib.seeding import numpy_rng, seeded, torch_rng
from mini_lib.training import train

VERBS = ("walk", "look", "run")
FORMS = ("{}", "{} twice", "{} left", "{} and walk", "walk twice and {}", "run left and {} twice")


@pytest.fixture
def few_commands(monkeypatch):
    """A split of SCAN in which each of two verbs is shown alone, with 19 other commands: one is kept, of 20 two."""
    trained = [*(form.format(verb) for verb in VERBS for form in FORMS), "turn right"] * 2
    asked = [form.format(verb) for verb in ("jump", "dax") for form in FORMS[1:]]
    split = Split((*trained, *["jump"] * 3, *["dax"] * 3), tuple(asked))
    monkeypatch.setattr(tasks, "get_split", lambda name: split)
    return split


@pytest.mark.parametrize(
    ("task", "m", "sizes"), [("distribution_of_three", 95, (288, 72)), ("rmts", 95, (384, 96))]
)
def test_familiar_problems_are_of_the_glyphs_of_training_and_are_no_training_problems(task, m, sizes):
    data = tasks.rules(task, m, seed=3)
    assert (len(data.train.answers), len(data.familiar.answers)) == sizes
    train, familiar = (list(map(tuple, part.ids[..., 0].tolist())) for part in (data.train, data.familiar))
    assert not {*train} & {*familiar}
    known = {glyph for problem in (*train, *familiar) for glyph in problem}
    assert len(known) == 5
    assert not known & set(data.new.ids.flatten().tolist())


def test_half_of_the_matching_problems_have_equal_sources_whatever_m_is():
    ids = tasks.rules("rmts", 85, seed=3).train.ids[..., 0]
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
    parts = tasks.transformed_curves(30)
    own, slow = parts["familiar"], parts["slowed"]
    assert (own.y.shape[1], own.truth.shape[1]) == (12, 10)
    for part, change in (("lifted", lambda y: y + 2), ("stretched", lambda y: 2 * y)):
        torch.testing.assert_close(parts[part].y, change(own.y))
        torch.testing.assert_close(parts[part].truth, change(own.truth))
    lines = own.kinds["lin"]
    close = {"rtol": 1e-3, "atol": 1e-5}
    torch.testing.assert_close(slow.truth[lines].diff(), own.truth[lines].diff() / 1.5, **close)


def test_two_verbs_are_shown_alone_and_asked_about_in_everything_else(few_commands):
    data = tasks.command_data(seed=1)
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


@pytest.fixture(autouse=True)
def small_epochs(monkeypatch):
    """Few problems in an epoch and in a test."""
    for name, value in {"FRESH": 4, "TESTED": 40, "TEST_CURVES": 12}.items():
        monkeypatch.setattr(runs, name, value)


def tiny(task, model="corelnet fixed", **changes):
    given = {"updates": 3, "m": 95} if task in RULES else {"updates": 3}
    return Settings(task, model, 1e-3, **(given | changes))


@pytest.mark.parametrize("task", ["distribution_of_three", "rmts", "match", "name", "curves"])
def test_mechanisms_of_a_seed_have_the_same_problems(task):
    one, other, another_seed = (
        build(tiny(task, model), seed).epoch
        for model, seed in (("corelnet fixed", 1), ("lstm", 1), ("lstm", 2))
    )
    assert all(one(0)[name].equal(other(0)[name]) for name in one(0))
    for epoch in (another_seed(0), one(1)):  # which has the same problems in another order, or others
        assert any(not one(0)[name].equal(epoch[name]) for name in epoch)
    if task in ("match", "name"):
        assert len(one(0)["ids"]) == 4 * 32
        assert one(0)["ids"].unique().equal(one(1)["ids"].unique())


def test_runs_that_choose_a_learning_rate_share_no_problem_with_those_that_count():
    counting, choosing = (build(tiny("match", seeds_after=after), 1) for after in (0, 900))
    assert not torch.equal(counting.epoch(0)["ids"], choosing.epoch(0)["ids"])
    assert torch.equal(choosing.epoch(0)["ids"], build(tiny("match"), 901).epoch(0)["ids"])


@pytest.mark.parametrize("after", [0, 900])
def test_networks_of_one_seed_draw_their_weights_from_one_stream(after):
    with seeded(1 + after, "weights"):
        wanted = tiny("match", "corelnet learned").network().state_dict()
    made = build(tiny("match", "corelnet learned", seeds_after=after), 1).model.state_dict()
    torch.testing.assert_close(made, wanted, rtol=0, atol=0)


@pytest.mark.parametrize(("task", "updates"), [("match", 8), ("distribution_of_three", 9)])
def test_an_epoch_that_was_begun_is_ended(task, updates):
    assert build(tiny(task, updates=5), 1).updates == updates  # of 4 updates, and of 288 problems


@pytest.mark.slow
def test_a_fixed_relation_behind_a_bottleneck_solves_new_problems_after_a_few_updates():
    run = train([build(tiny("distribution_of_three", updates=150), 1)])[0]
    assert run.metrics["familiar"] > 90
    assert run.metrics["new"] > 90


RULE_PARTS = {"training", "familiar", "new", "training_loss"}


@pytest.mark.parametrize(
    ("task", "model", "changes", "parts"),
    [
        ("rmts", "lstm", {"normalised": False}, RULE_PARTS),
        ("distribution_of_three", "corelnet tied", {"trained_encoder": True}, RULE_PARTS),
        ("name", "transformer", {}, {"familiar", "familiar_loss"}),
        ("curves", "pointer", {}, {"familiar", "slowed_sine"}),
        ("commands", "lstm", {}, {"training", "familiar", "jump", "dax", "familiar_loss"}),
    ],
)
def test_a_run_of_every_sort_measures_all_that_is_asked(task, model, changes, parts, few_commands):
    metrics = train([build(tiny(task, model, updates=1, **changes), 1)])[0].metrics
    assert parts <= metrics.keys()
    assert all(np.isfinite(value) for value in metrics.values())


def test_each_glyph_is_encoded_once_with_the_same_outcome():
    made = build(tiny("rmts", "lstm", trained_encoder=True), 1)
    batch = {name: value[:8] for name, value in made.epoch(0).items()}
    small = made.dedupe_batch(batch)
    assert len(small["shown"]) == 5
    torch.testing.assert_close(made.loss(made.model, small), made.loss(made.model, batch))


def test_accuracy_is_in_percent_and_the_loss_the_mean_cross_entropy():
    ids = torch.arange(700)[:, None, None]
    problems = Problems(ids, (ids[:, 0, 0] % 4 == 0).long())
    always_1 = Stub(lambda ids: torch.tensor([0.0, 1.0]).expand(len(ids), -1))
    found = accuracies(always_1, {"part": problems})
    assert found["part"] == pytest.approx(25)
    wrong, right = np.log(1 + np.e), np.log(1 + np.e) - 1
    assert found["part_loss"] == pytest.approx(0.75 * wrong + 0.25 * right, rel=1e-5)


def test_curves_are_gone_on_with_from_the_last_twelve_points():
    y, truth = torch.rand(3, 22, generator=torch_rng(1, "curves")).split((12, 10), dim=1)
    kinds = {"a": torch.tensor([True, False, True]), "b": torch.tensor([False, True, False])}
    step = Stub(lambda c: c[:, 0] - 0.5 * c[:, -1])
    found = extrapolation_errors(step, {"p": Transformed(y, truth, kinds)})
    errors = []
    for curve, wanted in zip(y.tolist(), truth.tolist(), strict=True):
        for _ in wanted:
            curve = [*curve, curve[-1] + curve[-12] - 0.5 * curve[-1]]
        errors.append(np.mean([(a - b) ** 2 for a, b in zip(curve[12:], wanted, strict=True)]))
    assert found["p_a"] == pytest.approx((errors[0] + errors[2]) / 2, rel=1e-5)
    assert found["p_b"] == pytest.approx(errors[1], rel=1e-5)
    assert found["p"] == pytest.approx((found["p_a"] * found["p_b"]) ** 0.5, rel=1e-5)


def test_the_step_to_the_next_point_is_what_a_curve_teaches():
    y = torch.rand(5, 13, generator=torch_rng(1, "curves"))
    error, score = runs.step_loss(Stub(lambda seen: seen[:, 0]), {"y": y})
    wanted = np.mean([(c[0] - (c[12] - c[11])) ** 2 for c in y.tolist()])
    assert error.item() == score.item() == pytest.approx(wanted, rel=1e-5)


def test_commands_are_counted_where_every_action_is_right_and_the_loss_is_a_mean_over_commands():
    model = ByHand(lost="jump").eval()  # wrong where a command has this word
    familiar = encode(["walk", "look twice and run", "run left", "jump", "walk and jump thrice", "look left"])
    parts = {
        "familiar": familiar,
        "jump": encode(["jump", "jump left"]),
        "dax": encode(["dax", "walk twice"]),
    }
    mean = loss(model(*familiar.tensors), familiar.actions).item()
    assert exact_matches(model, parts) == pytest.approx(
        {"familiar": 400 / 6, "jump": 0, "dax": 100, "familiar_loss": mean}
    )


def test_bad_settings_are_named():
    wrong = {"task": "rule", "model": "syntactic attention", "m": 95, "normalised": False, "seeds_after": -1}
    for name, value in wrong.items():
        with pytest.raises(UsageError):
            Settings(**({"task": "match", "model": "lstm", "lr": 1e-3, "updates": 3} | {name: value}))
