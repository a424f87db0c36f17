"""Runs of the study: same problems for all, what is measured, and that nothing of a test reaches training."""

import pytest
import torch

from mini_lib.errors import UsageError
from mini_lib.grid.analysis import commands_exchanged, curves_exchanged, dissociation, glyphs_exchanged
from mini_lib.grid.evaluation import extrapolation_errors
from mini_lib.grid.runs import Settings, build, recalled
from mini_lib.grid.tasks import rules, transformed_curves
from mini_lib.training import train


def tiny(task, model="corelnet fixed", **changes):
    given = {"updates": 3, "m": 95} if task in ("distribution_of_three", "rmts") else {"updates": 3}
    return Settings(task, model, 1e-3, **(given | changes))


@pytest.mark.parametrize("task", ["distribution_of_three", "rmts", "recall", "curves"])
def test_mechanisms_of_a_seed_meet_the_same_problems(task):
    one, other, another_seed = (
        build(tiny(task, model), seed).epoch(0)
        for model, seed in (("corelnet fixed", 1), ("lstm", 1), ("lstm", 2))
    )
    assert all(torch.equal(one[name], other[name]) for name in one)
    assert any(not torch.equal(one[name], another_seed[name]) for name in one)


def test_runs_that_choose_a_learning_rate_share_no_problem_with_those_that_count():
    counting, choosing = (build(tiny("recall", seeds_after=after), 1).epoch(0)["ids"] for after in (0, 900))
    assert not torch.equal(counting, choosing)
    assert torch.equal(choosing, build(tiny("recall"), 901).epoch(0)["ids"])


def test_every_epoch_of_recall_has_other_problems_of_the_same_glyphs():
    pool = torch.arange(15)
    first, second = (recalled(pool, 1, 64, epoch)["ids"] for epoch in (0, 1))
    assert not torch.equal(first, second)
    assert {*first.unique().tolist()} <= {*range(15), 100}


def test_a_fixed_relation_behind_a_wall_solves_new_problems_after_a_few_updates():
    run = train([build(tiny("distribution_of_three", updates=150), 1)])[0]
    assert run.metrics["familiar"] > 95
    assert run.metrics["new"] > 95
    assert run.metrics["kept_content"] > 0.95
    assert run.metrics["untrained_kept_content"] > 0.95


@pytest.mark.parametrize("model", ["differences", "lstm"])
def test_curves_are_gone_on_with_from_twelve_points(model):
    parts = transformed_curves(30)
    errors = extrapolation_errors(build(tiny("curves", model), 1).model.eval(), parts)
    expected = (errors["lifted_lin"] * errors["lifted_rbf"] * errors["lifted_sine"]) ** (1 / 3)
    assert errors["lifted"] == pytest.approx(expected)
    raw = extrapolation_errors(build(tiny("curves", model, normalised=False), 1).model.eval(), parts)
    assert errors["lifted"] == pytest.approx(errors["familiar"], rel=1e-3)  # by arithmetic
    assert (raw["lifted"] == pytest.approx(raw["familiar"], rel=1e-3)) == (model == "differences")


def test_what_is_exchanged_is_content_or_structure():
    data = rules("distribution_of_three", 95, seed=1)
    exchanges = glyphs_exchanged(data.familiar, *data.images)
    (before,), (content,), (structure,) = exchanges
    same = before[:, :, None] == before[:, None]
    assert torch.equal(same, content[:, :, None] == content[:, None])  # what is alike stays alike
    assert not {*before.unique().tolist()} & {*content.unique().tolist()}
    assert torch.equal(before.sort(dim=1).values, structure.sort(dim=1).values)
    assert not torch.equal(before, structure)
    (y,), (lifted,), (other,) = curves_exchanged()
    torch.testing.assert_close(lifted.diff(dim=1), y.diff(dim=1), rtol=0, atol=1e-5)
    torch.testing.assert_close(other[:, -1], y[:, -1])
    words, lengths, _ = commands_exchanged().content
    assert torch.equal(lengths, commands_exchanged().before[1])
    assert not torch.equal(words, commands_exchanged().before[0])


def test_a_signal_that_does_not_depend_on_the_problem_has_no_numbers():
    network = tiny("recall").network()
    with torch.no_grad():
        network.codes.zero_()
    exchanges = glyphs_exchanged(
        build(tiny("recall"), 1).evaluate.keywords["scores"].keywords["parts"]["new"],
        torch.arange(5),
        torch.arange(5, 10),
    )
    assert dissociation(network, exchanges) == {}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"task": "rule"}, "unknown task 'rule'"),
        ({"model": "syntactic attention"}, "unknown model for recall 'syntactic attention'"),
        ({"m": 95}, "m and trained_encoder are of rules"),
        ({"updates": 0}, "updates has to be a whole number from 1"),
        ({"seeds_after": -1}, "seeds_after is 0 or more"),
        ({"options": {"hiden": 3}}, "unknown option of corelnet fixed 'hiden'"),
    ],
)
def test_bad_settings_are_named(changes, message):
    with pytest.raises(UsageError, match=message):
        Settings(**({"task": "recall", "model": "corelnet fixed", "lr": 1e-3, "updates": 3} | changes))
