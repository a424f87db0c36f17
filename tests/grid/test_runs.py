"""Runs of the study: same problems for all, what is measured, and that nothing of a test reaches training."""

import numpy as np
import pytest
import torch

from mini_lib.errors import UsageError
from mini_lib.grid import runs
from mini_lib.grid.runs import Settings, accuracies, build, extrapolation_errors
from mini_lib.grid.tasks import RULES, Problems, Transformed
from mini_lib.scan.runs import accuracy
from mini_lib.seeding import seeded
from mini_lib.training import train


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
    other = build(tiny("match"), 901)
    assert torch.equal(choosing.epoch(0)["ids"], other.epoch(0)["ids"])
    torch.testing.assert_close(choosing.model.state_dict(), other.model.state_dict(), rtol=0, atol=0)


def test_networks_of_one_seed_draw_their_weights_from_one_stream():
    with seeded(1, "weights"):
        wanted = tiny("match", "corelnet learned").network().state_dict()
    made = build(tiny("match", "corelnet learned"), 1).model.state_dict()
    torch.testing.assert_close(made, wanted, rtol=0, atol=0)


@pytest.mark.parametrize(("task", "updates"), [("match", 8), ("distribution_of_three", 9)])
def test_an_epoch_that_was_begun_is_ended(task, updates):
    assert build(tiny(task, updates=5), 1).updates == updates  # of 4 updates, and of 288 problems


@pytest.mark.slow
def test_a_fixed_relation_behind_a_bottleneck_solves_new_problems_after_a_few_updates():
    run = train([build(tiny("distribution_of_three", updates=150), 1)])[0]
    assert run.metrics["familiar"] > 90
    assert run.metrics["new"] > 90
    assert run.metrics["kept_content"] == pytest.approx(1, abs=1e-3)  # by construction
    assert run.metrics["kept_structure"] < 0.9


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
    inside = {f"{when}kept_{what}" for when in ("", "untrained_") for what in ("content", "structure")}
    assert inside | parts <= metrics.keys()
    assert metrics["kept_structure"] != metrics["untrained_kept_structure"]


def test_each_glyph_is_encoded_once_with_the_same_outcome():
    made = build(tiny("rmts", "lstm", trained_encoder=True), 1)
    batch = {name: value[:8] for name, value in made.epoch(0).items()}
    small = made.dedupe_batch(batch)
    assert len(small["shown"]) == 5
    torch.testing.assert_close(made.loss(made.model, small), made.loss(made.model, batch))


class Stub(torch.nn.Module):
    """A function of the input, in the place of a network."""

    def __init__(self, function):
        super().__init__()
        self.function, self.parameter = function, torch.nn.Parameter(torch.zeros(()))

    def forward(self, given):
        return self.function(given)


def test_accuracy_is_in_percent_and_the_loss_the_mean_cross_entropy():
    ids = torch.arange(700)[:, None, None]
    problems = Problems(ids, (ids[:, 0, 0] % 4 == 0).long())
    always_1 = Stub(lambda ids: torch.tensor([0.0, 1.0]).expand(len(ids), -1))
    found = accuracies(always_1, {"part": problems})
    assert found["part"] == pytest.approx(25)
    wrong, right = np.log(1 + np.e), np.log(1 + np.e) - 1
    assert found["part_loss"] == pytest.approx(0.75 * wrong + 0.25 * right, rel=1e-5)


def test_curves_are_gone_on_with_from_the_last_twelve_points():
    y, truth = torch.rand(3, 12), torch.rand(3, 10)
    kinds = {"a": torch.tensor([True, False, True]), "b": torch.tensor([False, True, False])}
    found = extrapolation_errors(
        Stub(lambda c: c[:, 0] - 0.5 * c[:, -1]), {"p": Transformed(y, truth, kinds)}
    )
    errors = []
    for curve, wanted in zip(y.tolist(), truth.tolist(), strict=True):
        for _ in wanted:
            curve = [*curve, curve[-1] + curve[-12] - 0.5 * curve[-1]]
        errors.append(np.mean([(a - b) ** 2 for a, b in zip(curve[12:], wanted, strict=True)]))
    assert found["p_a"] == pytest.approx((errors[0] + errors[2]) / 2, rel=1e-5)
    assert found["p_b"] == pytest.approx(errors[1], rel=1e-5)
    assert found["p"] == pytest.approx((found["p_a"] * found["p_b"]) ** 0.5, rel=1e-5)


def test_the_step_to_the_next_point_is_what_a_curve_teaches():
    y = torch.rand(5, 13)
    error, score = runs.step_loss(Stub(lambda seen: seen[:, 0]), {"y": y})
    wanted = np.mean([(c[0] - (c[12] - c[11])) ** 2 for c in y.tolist()])
    assert error.item() == score.item() == pytest.approx(wanted, rel=1e-5)


def test_commands_are_counted_where_every_action_is_right(few_commands):
    made = build(tiny("commands", "lstm"), 1)
    scores = made.evaluate.keywords["scores"]
    found = scores(made.model.eval())
    for name, part in scores.keywords["parts"].items():
        assert found[name] == accuracy(made.model, part)


@pytest.mark.parametrize(
    "changes",
    [
        {"task": "rule"},
        {"model": "syntactic attention"},
        {"m": 95},
        {"trained_encoder": True},
        {"normalised": False},
        {"seeds_after": -1},
        {"options": {"hiden": 3}},
    ],
)
def test_bad_settings_are_named(changes):
    with pytest.raises(UsageError):
        Settings(**({"task": "match", "model": "corelnet fixed", "lr": 1e-3, "updates": 3} | changes))
