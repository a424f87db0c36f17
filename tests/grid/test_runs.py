"""Runs of the study: same problems for all, what is measured, and that nothing of a test reaches training."""

import math

import pytest
import torch

from mini_lib.errors import UsageError
from mini_lib.grid import runs
from mini_lib.grid.analysis import (
    Exchanges,
    commands_exchanged,
    curves_exchanged,
    dissociation,
    glyphs_exchanged,
    signal,
)
from mini_lib.grid.runs import Settings, build, extrapolation_errors
from mini_lib.grid.tasks import CommandData, command_data, item_tests, rules, transformed_curves
from mini_lib.training import train


def tiny(task, model="corelnet fixed", **changes):
    given = {"updates": 3, "m": 95} if task in ("distribution_of_three", "rmts") else {"updates": 3}
    return Settings(task, model, 1e-3, **(given | changes))


@pytest.mark.parametrize("task", ["distribution_of_three", "rmts", "match", "name", "curves"])
def test_mechanisms_of_a_seed_have_the_same_problems(task):
    one, other, another_seed = (
        build(tiny(task, model), seed).epoch(0)
        for model, seed in (("corelnet fixed", 1), ("lstm", 1), ("lstm", 2))
    )
    assert all(torch.equal(one[name], other[name]) for name in one)
    assert any(not torch.equal(one[name], another_seed[name]) for name in one)


def test_runs_that_choose_a_learning_rate_share_no_problem_with_those_that_count():
    counting, choosing = (build(tiny("match", seeds_after=after), 1).epoch(0)["ids"] for after in (0, 900))
    assert not torch.equal(counting, choosing)
    assert torch.equal(choosing, build(tiny("match"), 901).epoch(0)["ids"])


def test_every_epoch_of_items_has_other_problems_of_the_same_glyphs():
    epoch = build(tiny("match"), 1).epoch
    first, second = epoch(0)["ids"], epoch(1)["ids"]
    assert not torch.equal(first, second)
    assert first.unique().equal(second.unique())
    assert len(first.unique()) == 16  # 15, and the hidden one


def test_a_fixed_relation_behind_a_bottleneck_solves_new_problems_after_a_few_updates():
    run = train([build(tiny("distribution_of_three", updates=150), 1)])[0]
    assert run.metrics["familiar"] > 95
    assert run.metrics["new"] > 95
    assert run.metrics["kept_content"] == pytest.approx(1)  # by construction
    assert run.metrics["kept_structure"] < 0.9


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "model", "changes"),
    [
        ("rmts", "lstm", {"normalised": False}),
        ("distribution_of_three", "corelnet tied", {"trained_encoder": True}),
        ("name", "transformer", {}),
        ("curves", "pointer", {}),
        ("commands", "sequential semantics", {}),
    ],
)
def test_a_run_of_every_sort_measures_all_that_is_asked(task, model, changes, monkeypatch):
    data = command_data(1)
    few = CommandData(data.train[:64], {name: part[:20] for name, part in data.tests.items()})
    monkeypatch.setattr(runs.tasks, "command_data", lambda seed: few)
    run = train([build(tiny(task, model, updates=1, **changes), 1)])[0]
    inside = {f"{when}kept_{what}" for when in ("", "untrained_") for what in ("content", "structure")}
    parts = {
        "rmts": {"training", "familiar", "new"},
        "name": {"familiar"},
        "curves": {"familiar", "slowed_sine"},
    }
    parts["distribution_of_three"] = parts["rmts"]
    parts["commands"] = {"training", "familiar", "jump", "dax", "familiar_loss"}
    assert inside | parts[task] <= run.metrics.keys()


def test_each_glyph_is_encoded_once_with_the_same_outcome():
    made = build(tiny("rmts", "lstm", trained_encoder=True), 1)
    batch = {name: value[:8] for name, value in made.epoch(0).items()}
    whole, once = made.loss(made.model, batch), made.loss(made.model, made.dedupe_batch(batch))
    torch.testing.assert_close(once, whole)


@pytest.mark.parametrize("model", ["differences", "lstm"])
def test_curves_are_gone_on_with_from_twelve_points(model):
    parts = transformed_curves(30)
    errors = extrapolation_errors(build(tiny("curves", model), 1).model.eval(), parts)
    expected = (errors["lifted_lin"] * errors["lifted_rbf"] * errors["lifted_sine"]) ** (1 / 3)
    assert errors["lifted"] == pytest.approx(expected)
    raw = extrapolation_errors(build(tiny("curves", model, normalised=False), 1).model.eval(), parts)
    assert errors["lifted"] == pytest.approx(errors["familiar"], rel=1e-3)  # by arithmetic
    assert (raw["lifted"] == pytest.approx(raw["familiar"], rel=1e-3)) == (model == "differences")


@pytest.mark.parametrize("task", ["distribution_of_three", "rmts"])
def test_exchanged_content_leaves_what_is_alike_and_exchanged_structure_the_glyphs(task):
    data = rules(task, 95, seed=1)
    (before,), (content,), (structure,) = glyphs_exchanged(data.familiar, *data.images)
    alike = [ids[..., 0][:, :, None] == ids[..., 0][:, None] for ids in (before, content, structure)]
    assert torch.equal(alike[0], alike[1])
    assert not {*before.unique().tolist()} & {*content.unique().tolist()}
    assert torch.equal(before.sort(dim=1).values, structure.sort(dim=1).values)
    assert (alike[0] != alike[2]).flatten(1).any(dim=1).all()  # in every problem


def test_curves_are_lifted_and_commands_say_another_verb():
    (y,), (lifted,), (other,) = curves_exchanged()
    torch.testing.assert_close(lifted.diff(dim=1), y.diff(dim=1), rtol=0, atol=1e-5)
    torch.testing.assert_close(other[:, -1], y[:, -1])
    words, lengths, _ = commands_exchanged().content
    assert torch.equal(lengths, commands_exchanged().before[1])
    assert not torch.equal(words, commands_exchanged().before[0])


def test_a_signal_that_does_not_depend_on_the_problem_keeps_all_of_itself():
    network = tiny("match").network()
    with torch.no_grad():
        network.codes.zero_()
    exchanges = glyphs_exchanged(item_tests(1, 20)["new"], torch.arange(5), torch.arange(5, 10))
    assert dissociation(network, exchanges) == {"kept_content": 1.0, "kept_structure": 1.0}


def test_a_broken_network_is_no_bottleneck():
    """NaN in a record makes the run a diverged one; signals that cannot be compared are an error."""
    network = tiny("match").network()
    exchanges = glyphs_exchanged(item_tests(1, 20)["new"], torch.arange(5), torch.arange(5, 10))
    with pytest.raises(ValueError, match="2 problems or more"):
        dissociation(network, Exchanges(*((ids[:1],) for (ids,) in exchanges)))
    with torch.no_grad():
        network.codes.fill_(torch.nan)
    assert all(math.isnan(value) for value in dissociation(network, exchanges).values())


def test_the_signal_is_what_the_last_layer_reads():
    network = tiny("match", "esbn").network().double()
    ids = item_tests(1, 4)["new"].ids
    network.codes = network.codes.double()
    read = signal(network, (ids,))
    torch.testing.assert_close(network.core.answer(read), network(ids))
    pointer = tiny("match", "pointer").network()
    torch.testing.assert_close(signal(pointer, (ids,)).sum(dim=1), torch.ones(4))


@pytest.mark.parametrize(
    "changes",
    [
        {"task": "rule"},
        {"model": "syntactic attention"},
        {"m": 95},
        {"trained_encoder": True},
        {"normalised": False},
        {"updates": 0},
        {"seeds_after": -1},
        {"options": {"hiden": 3}},
    ],
)
def test_bad_settings_are_named(changes):
    with pytest.raises(UsageError):
        Settings(**({"task": "match", "model": "corelnet fixed", "lr": 1e-3, "updates": 3} | changes))
