"""Runs: their settings, their commands, noise and losses, what is measured, stacks and resuming."""

import json
import os

import pytest
import torch

from mini_lib import datasets
from mini_lib.errors import UsageError
from mini_lib.hashing import settings_hash
from mini_lib.scan import recipes, tasks
from mini_lib.scan.recipes import examples_of
from mini_lib.scan.runs import (
    Settings,
    accuracy,
    answers,
    best_and_last,
    build,
    make_parts,
    paper_settings,
    tutorial_settings,
)
from mini_lib.scan.tasks import MAX_WORDS, NO_ACTION, encode, get_split, simple_order
from mini_lib.training import TrainingStack, train
from scan.networks import count
from scan.runs import SIZES, of_size, rows, small

CPU = torch.device("cpu")


def test_settings_keep_only_what_is_not_default():
    plain = paper_settings("length").to_dict()
    assert plain == {
        **{"paper": "scan", "split": "length", "model": "syntactic_attention"},
        **{"lr": 1e-3, "epochs": 15, "batch_size": 1, "checks": [5, 10]},
    }
    changes = {"validation": "random", "source": "released", "clip": 5.0, "options": {"ends": "zero"}}
    changed = paper_settings("length", **changes)
    assert changed.to_dict() == plain | changes
    assert Settings.from_dict(json.loads(json.dumps(changed.to_dict()))) == changed
    assert Settings.from_dict(plain) == paper_settings("length")


def test_a_run_has_one_name_however_its_settings_are_written():
    settings = tutorial_settings().to_dict()
    turned = dict(reversed(settings.items())) | {"options": dict(reversed(settings["options"].items()))}
    turned |= {"source": "generated", "clip": None}
    turned["options"] |= {"dropout": 0.5, "ends": "learned"}
    del turned["paper"]
    assert settings_hash(Settings.from_dict(turned).to_dict()) == settings_hash(settings) == "4d871cf4c7c5"


@pytest.mark.parametrize(
    "changes",
    [
        {"split": "addjump"},
        {"model": "syntactic_atention"},
        {"split": "add_dax", "source": "released"},
        {"checks": [4]},
        {"options": {"end": "zero"}},
    ],
)
def test_settings_that_make_no_run_are_refused(changes):
    with pytest.raises(UsageError, match=next(iter(changes)).removesuffix("s")):
        Settings.from_dict(small().to_dict() | changes)


def test_tutorial_settings_are_small_and_can_be_changed():
    settings = tutorial_settings()
    assert (settings.split, settings.batch_size, settings.lr) == ("add_jump", 16, 4e-3)
    assert count(settings.network()) == 233_624  # facts, section 8
    changed = tutorial_settings(epochs=1, options={"syntax": 8})
    assert changed.to_dict()["options"] == {"syntax": 8, "semantics": 38}


@pytest.mark.parametrize(
    ("split", "kept", "left", "epochs", "updates", "checks"),
    [
        ("simple", 13_382, 3_346, 15, 200_730, (5, 10)),
        ("length", 13_592, 3_398, 15, 203_880, (5, 10)),
        ("add_jump", 11_736, 2_934, 18, 211_248, (5, 10, 15)),
        ("add_turn_left", 17_512, 4_378, 12, 210_144, (5, 10)),
    ],
)
def test_the_schedule_and_the_validation_set_are_those_of_the_released_code(
    split, kept, left, epochs, updates, checks
):
    """The last fifth is for validation; epochs are whole ones until 200,000 updates are passed."""
    settings = paper_settings(split)
    assert (settings.epochs, settings.checks) == (epochs, checks)
    assert (settings.lr, settings.batch_size, settings.validation, settings.clip) == (1e-3, 1, "tail", None)
    run = build(paper_settings(split, options=SIZES["syntactic_attention"]), 1)
    assert run.updates == updates
    assert run.updates - run.updates_per_epoch < 200_000 <= run.updates
    assert (run.checks, run.clip, run.schedule) == (checks, None, None)
    parts, (train, test) = run.evaluate.keywords["parts"], get_split(split)
    assert [len(part.lengths) for part in parts] == [kept, left, len(test)]
    for part, commands in zip(parts, (train[:kept], train[kept:], test), strict=True):
        assert rows(part[::500], part[-1:]) == rows(encode([*commands[::500], commands[-1]]))


def test_validation_at_random_is_a_fifth_of_the_commands_and_the_seeds(few):
    every = rows(encode(few.train))
    parts = {seed: make_parts(small(validation="random"), seed) for seed in (1, 2)}
    again = make_parts(small(validation="random"), 1)
    for part in parts.values():
        assert (len(part.train.lengths), len(part.validation.lengths)) == (40, 10)
        assert rows(part.train, part.validation) == every
    assert again.validation.words.equal(parts[1].validation.words)
    assert not parts[1].validation.words.equal(parts[2].validation.words)
    assert not parts[1].validation.words.equal(make_parts(small(), 1).validation.words)


def test_released_files_take_the_place_of_the_generated(monkeypatch):
    if not os.environ.get("MINI_LIB_DATA"):
        pytest.skip("MINI_LIB_DATA is not set: no run is made of the released files")
    monkeypatch.setattr(datasets, "cache_folder", lambda: None)
    parts = make_parts(paper_settings("add_jump", source="released"), 1)
    assert [len(part.lengths) for part in parts] == [11_736, 2_934, 7_706]
    bare = [int((part.lengths == 3).logical_and(part.words[:, 1] == 1).sum()) for part in parts]
    assert bare == [1_194, 273, 0]


def test_a_run_is_a_function_of_settings_and_seed(few):
    """Another form of the network meets the same commands in the same order, under the same noise."""
    state, (train, _, _) = torch.get_rng_state(), make_parts(small(), 1)
    one, same, other = (build(small(), seed) for seed in (1, 1, 2))
    assert torch.get_rng_state().equal(state)
    for run, equal in ((same, True), (other, False)):
        pairs = [*zip(one.model.state_dict().values(), run.model.state_dict().values(), strict=True)]
        pairs += [(one.epoch(0)[part], run.epoch(0)[part]) for part in ("words", "actions")]
        pairs += [(mask, run.noise(5, of_size(4))[name]) for name, mask in one.noise(5, of_size(4)).items()]
        assert all(a.equal(b) is equal for a, b in pairs)
        assert (one.key == run.key) is equal
    assert rows(examples_of(one.epoch(0))) == rows(examples_of(one.epoch(1))) == rows(train)
    assert not one.epoch(0)["words"].equal(one.epoch(1)["words"])
    form = build(small(options={"syntax_action": True}), 1)
    assert one.epoch(2)["words"].equal(form.epoch(2)["words"])
    masks, later = (one.noise(update, of_size(2)) for update in (3, 4))
    for name, mask in form.noise(3, of_size(2)).items():
        assert mask.shape[:2] == (2, MAX_WORDS)
        assert mask.equal(masks[name])
        assert not mask.equal(later[name])


class Knows(torch.nn.Module):
    """Answers rightly but for some commands, and asks for no more steps than there are."""

    def __init__(self, examples, wrong):
        super().__init__()
        self.p = torch.nn.Parameter(torch.zeros(()))
        self.answers = {tuple(words.tolist()): i for i, words in enumerate(examples.padded().words)}
        self.actions, self.wrong, self.asked = examples.padded().actions, wrong, []

    def predict(self, words, lengths, steps):
        self.asked.append(len(words))
        places = [self.answers[(*row.tolist(), *[15] * (MAX_WORDS - len(row)))] for row in words]
        found = self.actions[places, :steps].clone()
        for row, place in enumerate(places):
            if place in self.wrong:
                found[row, 1] = 7 - found[row, 1]
        found[found == NO_ACTION] = 6  # what is said after the end is of no account
        return found


def test_accuracy_is_exact_match_over_all_commands_whatever_their_length(monkeypatch):
    monkeypatch.setattr(tasks, "EVAL_BATCH", 16)
    examples = encode(simple_order()[:50])
    model = Knows(examples, {3, 11, 12, 49})
    assert accuracy(model, examples) == pytest.approx(100 * 46 / 50)
    assert model.asked == [16, 16, 16, 2]
    right = examples.actions != NO_ACTION
    found = answers(Knows(examples, ()), examples)
    assert found.shape == examples.actions.shape
    assert found[right].equal(examples.actions[right])


def check(epoch, test, validation=None):
    measured = {"epoch": epoch, "test_accuracy": test}
    return measured if validation is None else measured | {"validation_accuracy": validation}


@pytest.mark.parametrize(
    ("checks", "test", "last", "epoch"),
    [
        ([check(5, 10.0, 80.0), check(10, 20.0, 90.0), check(12, 30.0, 85.0)], 20.0, 30.0, 10),
        ([check(5, 10.0, 90.0), check(10, 20.0, 90.0), check(12, 30.0, 90.0)], 10.0, 30.0, 5),
        ([check(5, 10.0, 0.0), check(12, 30.0, 0.0)], 10.0, 30.0, 5),
        ([check(5, 50.0), check(12, 30.0)], 30.0, 30.0, 12),
        ([check(5, 7.0, 3.0)], 7.0, 7.0, 5),
    ],
)
def test_the_first_best_check_is_reported_and_the_last(checks, test, last, epoch):
    metrics = best_and_last(checks)
    assert metrics["test_accuracy"] == test
    assert metrics["last_test_accuracy"] == last
    assert metrics["best_epoch"] == epoch
    best = [measured["validation_accuracy"] for measured in checks if "validation_accuracy" in measured]
    assert metrics.get("validation_accuracy") == max(best, default=None)


def test_a_run_measures_test_and_validation_and_reports_the_best(few):
    (run,) = train([build(small(), 1)])
    assert set(run.metrics) == {"test_accuracy", "last_test_accuracy", "best_epoch", "validation_accuracy"}
    assert run.metrics == best_and_last(run.checks)
    assert run.checks[-1]["test_accuracy"] == accuracy(run.model, make_parts(small(), 1).test)
    (run,) = train([build(small(validation="none"), 1)])
    assert set(run.metrics) == {"test_accuracy", "last_test_accuracy", "best_epoch"}
    assert run.metrics["best_epoch"] == 3


FORMS = [("syntactic_attention", {}), ("syntactic_attention", {"one_hot": True})]
FORMS += [(model, {}) for model in ("gru_attention", "cnn", "li")]
every_form = pytest.mark.parametrize(("model", "options"), FORMS)


@every_form
def test_stacked_equals_alone(model, options, few, monkeypatch):
    """Losses, scores and gradients of the first two updates; alone without padding, stacked with it."""
    monkeypatch.setattr(recipes, "LINES", 60)

    def runs(*seeds):
        made = [build(small(model, options=options), seed) for seed in seeds]
        for run in made:
            run.model.double()
        return made

    alone = [TrainingStack(runs(seed), CPU, stacked=False) for seed in (1, 2)]
    stack = TrainingStack(runs(1, 2), CPU, stacked=True)
    for update in range(2):
        found = [torch.cat(each.step(each.batch(update))) for each in alone]
        together = torch.stack(stack.step(stack.batch(update)), dim=1)
        torch.testing.assert_close(together, torch.stack(found), rtol=1e-8, atol=1e-10)
        for place, own in enumerate(alone):
            for name, parameter in own.params.items():
                stacked = stack.params[name].grad
                assert (stacked is None) == (parameter.grad is None), name
                if stacked is not None:
                    torch.testing.assert_close(stacked[place], parameter.grad, rtol=1e-7, atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "options", "stacked"),
    [*((*form, False) for form in FORMS), (*FORMS[0], True), (*FORMS[1], True)],
)
def test_killed_and_resumed_equals_uninterrupted(model, options, stacked, few, monkeypatch, tmp_path):
    monkeypatch.setattr(recipes, "LINES", 60)

    def runs():
        return [build(small(model, epochs=4, options=options), seed) for seed in (1, 2)[: 1 + stacked]]

    whole = train(runs(), stacked=stacked)
    halted = train(runs(), stacked=stacked, checkpoints=tmp_path, stop=lambda update: update > 7)
    assert [(run.finished, run.updates) for run in halted] == [(False, 8)] * len(whole)
    resumed = train(runs(), stacked=stacked, checkpoints=tmp_path)
    for one, other in zip(whole, resumed, strict=True):
        assert (one.curve, one.metrics, one.checks) == (other.curve, other.metrics, other.checks)
        assert [measured["epoch"] for measured in one.checks] == [1, 2, 4]
        assert all(a.equal(b) for a, b in zip(one.model.parameters(), other.model.parameters(), strict=True))


def test_only_networks_of_equal_options_are_stacked(few):
    one, two, three = (
        build(small(options=options), seed) for options, seed in (({}, 1), ({}, 2), ({"dropout": 0.0}, 1))
    )
    assert one.stack_key() == two.stack_key() != three.stack_key()
