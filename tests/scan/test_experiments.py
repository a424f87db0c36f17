"""The declared cells against the paper's tables, the released code's schedule, and real runs by the harness."""

import json
import math
import os
from collections import Counter
from importlib import resources
from itertools import pairwise

import pytest
import torch

from mini_lib import datasets
from mini_lib.errors import WrongUse
from mini_lib.results import settings_hash
from mini_lib.results.compare import TUTORIAL
from mini_lib.scan import experiments, recipes
from mini_lib.scan.experiments import (
    CELLS,
    COLUMNS,
    Settings,
    build,
    data_source,
    make_parts,
    paper_settings,
    tutorial_settings,
)
from mini_lib.scan.models import SyntacticAttention, build_network
from mini_lib.scan.recipes import accuracy, answers, batch_of, best_and_last, command_mean, examples_of, trim
from mini_lib.scan.tasks import MOST_ACTIONS, MOST_WORDS, NO_ACTION, Split, encode, get_split, padded
from mini_lib.training import Trainee, train

PRINTED = json.loads((resources.files("mini_lib.results") / "tables.json").read_text())
SMALL = {"syntax": 8, "semantics": 6}
CPU = torch.device("cpu")
FORMS = [
    {},
    {"sequential_semantics": True},
    {"syntax_action": True},
    {"nonlinear_semantics": True},
    {"surrounding": "top"},
    {"ends": "zero"},
    {"one_hot": True},
]


def of_size(count):
    """As much of a batch as noise asks for."""
    return {"lengths": torch.zeros(count)}


def small(**changes):
    """Few and small; commands are those of `few` where a test asks for it."""
    options = SMALL | changes.pop("options", {})
    return Settings(
        **{
            **{"split": "size_1", "model": "syntactic_attention", "lr": 1e-2, "epochs": 3, "batch_size": 16},
            **{"options": options, "checks": (1, 2)},
            **changes,
        }
    )


@pytest.fixture
def few(monkeypatch):
    """Fifty commands for training and thirty for the test."""
    train, test = get_split("size_1")
    monkeypatch.setattr(experiments, "get_split", lambda name: Split(train[:50], test[:30]))


# --------------------------------------------------------------------------------------------- settings


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


def test_order_of_keys_does_not_change_the_name_of_a_run():
    settings = tutorial_settings().to_dict()
    turned = dict(reversed(settings.items())) | {"options": dict(reversed(settings["options"].items()))}
    assert list(turned) != list(settings)
    assert settings_hash(Settings.from_dict(turned).to_dict()) == settings_hash(settings)
    assert build(small().to_dict(), 1).key != build(small().to_dict(), 2).key


def test_settings_describe_what_is_not_the_papers():
    assert paper_settings("add_jump").describe() == "syntactic_attention, add_jump"
    changed = paper_settings("length", validation="random", clip=5.0)
    assert changed.describe() == "syntactic_attention, length, clip 5.0, validation random"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"split": "addjump"}, "unknown split 'addjump'; did you mean 'add_jump'"),
        ({"split": "few_shot_3_1"}, "few-shot splits have"),
        ({"model": "syntactic_atention"}, "unknown model 'syntactic_atention'; did you mean 'syntactic_att"),
        ({"validation": "tails"}, "unknown validation 'tails'; did you mean 'tail'"),
        ({"source": "relesed"}, "unknown source of commands 'relesed'; did you mean 'released'"),
        ({"split": "size_1", "source": "released"}, "unknown split with released files 'size_1'"),
        ({"epochs": 0}, "epochs has to be a whole number from 1, got 0"),
        ({"batch_size": -1}, "batch_size has to be a whole number from 1, got -1"),
        ({"lr": 0.0}, "lr has to be above 0"),
        ({"epoch": 3}, "unknown setting 'epoch'; did you mean 'epochs'"),
        ({"options": {"ends": "zeros"}}, "unknown ends 'zeros'; did you mean 'zero'"),
    ],
)
def test_settings_that_make_no_run_are_refused(changes, message):
    settings = small(validation="none").to_dict() | changes
    with pytest.raises(WrongUse, match=message):
        build(settings, 1)


def test_a_wrong_split_is_refused_where_settings_are_made():
    with pytest.raises(WrongUse, match="did you mean 'add_jump'"):
        paper_settings("ad_jump")


# --------------------------------------------------------------------------------------------- schedule


@pytest.mark.parametrize(
    ("split", "epochs", "updates", "checks"),
    [
        ("simple", 15, 200_730, (5, 10)),
        ("length", 15, 203_880, (5, 10)),
        ("add_jump", 18, 211_248, (5, 10, 15)),
        ("add_turn_left", 12, 210_144, (5, 10)),
    ],
)
def test_updates_and_checks_are_those_of_the_released_code(split, epochs, updates, checks):
    settings = paper_settings(split)
    assert (settings.epochs, settings.checks) == (epochs, checks)
    assert (settings.lr, settings.batch_size, settings.validation, settings.clip) == (1e-3, 1, "tail", None)
    replica = build(paper_settings(split, options=SMALL).to_dict(), 1)
    assert replica.updates == updates
    assert replica.updates - replica.updates_per_epoch < 200_000 <= replica.updates
    assert (replica.checks, replica.clip, replica.schedule) == (checks, None, None)


@pytest.mark.parametrize(
    ("split", "kept", "left"),
    [
        ("simple", 13_382, 3_346),
        ("length", 13_592, 3_398),
        ("add_jump", 11_736, 2_934),
        ("add_turn_left", 17_512, 4_378),
    ],
)
def test_the_last_fifth_is_for_validation(split, kept, left):
    parts = make_parts(paper_settings(split), 1)
    assert (len(parts.train.lengths), len(parts.validation.lengths)) == (kept, left)
    train, test = (encode(part) for part in get_split(split))
    assert parts.train.words.equal(train.words[:kept])
    assert parts.validation.actions.equal(train.actions[kept:])
    assert parts.test.words.equal(test.words)


def rows(*parts):
    return Counter(
        tuple(row[row != NO_ACTION].tolist()) + tuple(words.tolist())
        for part in parts
        for words, row in zip(padded(part).words, padded(part).actions, strict=True)
    )


def test_validation_at_random_is_a_fifth_of_the_commands_and_the_seeds(few):
    every = rows(encode(experiments.get_split("").train))
    parts = {seed: make_parts(small(validation="random"), seed) for seed in (1, 2)}
    again = make_parts(small(validation="random"), 1)
    for part in parts.values():
        assert (len(part.train.lengths), len(part.validation.lengths)) == (40, 10)
        assert rows(part.train, part.validation) == every
    assert again.validation.words.equal(parts[1].validation.words)
    assert not parts[1].validation.words.equal(parts[2].validation.words)
    assert not parts[1].validation.words.equal(make_parts(small(), 1).validation.words)


def test_without_validation_all_is_for_training(few):
    parts = make_parts(small(validation="none"), 1)
    assert parts.validation is None
    assert rows(parts.train) == rows(encode(experiments.get_split("").train))
    assert make_parts(small(validation="none"), 2).train.words.equal(parts.train.words)


def test_released_files_take_the_place_of_the_generated(monkeypatch):
    if not os.environ.get("MINI_LIB_DATA"):
        pytest.skip("MINI_LIB_DATA is not set: no run is made of the released files")
    monkeypatch.setattr(datasets, "cache_folder", lambda: None)
    parts = make_parts(paper_settings("add_jump", source="released"), 1)
    assert [len(part.lengths) for part in parts] == [11_736, 2_934, 7_706]
    bare = [int((part.lengths == 3).logical_and(part.words[:, 1] == 1).sum()) for part in parts]
    assert bare == [1_194, 273, 0]


def test_records_say_where_the_commands_are_from():
    assert data_source(paper_settings("length").to_dict()) == "generated"
    assert data_source(paper_settings("length", source="released").to_dict()) == "released"


# -------------------------------------------------------------------------------------------------- runs


def test_a_replica_is_a_function_of_settings_and_seed(few):
    one, same, other = (build(small().to_dict(), seed) for seed in (1, 1, 2))
    for replica, equal in ((same, True), (other, False)):
        assert all(
            a.equal(b) is equal
            for a, b in zip(one.model.state_dict().values(), replica.model.state_dict().values(), strict=True)
        )
        assert all(one.epoch(0)[k].equal(replica.epoch(0)[k]) is equal for k in ("words", "actions"))
        assert all(
            v.equal(replica.noise(5, of_size(4))[k]) is equal for k, v in one.noise(5, of_size(4)).items()
        )
    assert (one.key == same.key, one.key == other.key) == (True, False)
    state = torch.get_rng_state()
    build(small().to_dict(), 1)
    assert torch.get_rng_state().equal(state)


def test_forms_of_one_seed_meet_the_same_commands_in_the_same_order(few):
    one, other = (build(small(options=options).to_dict(), 1) for options in ({}, {"syntax_action": True}))
    assert one.epoch(2)["words"].equal(other.epoch(2)["words"])
    assert one.noise(3, of_size(2))["word"].equal(other.noise(3, of_size(2))["word"])


def test_an_epoch_shows_every_command_once_in_an_order_of_its_own(few):
    replica, train = build(small().to_dict(), 1), make_parts(small(), 1).train
    first, second = (examples_of(replica.epoch(e)) for e in (0, 1))
    assert first.words.shape == (40, MOST_WORDS)
    assert first.actions.shape == (40, MOST_ACTIONS)
    assert rows(first) == rows(second) == rows(train)
    assert not first.words.equal(second.words)


def test_noise_is_of_the_update_and_of_the_size_of_the_longest_command(few):
    replica = build(small().to_dict(), 1)
    masks = replica.noise(7, of_size(4))
    assert {name: tuple(mask.shape) for name, mask in masks.items()} == {
        "meaning": (4, MOST_WORDS, 6),
        "word": (4, MOST_WORDS, 4),
    }
    assert all(mask.equal(replica.noise(7, of_size(4))[name]) for name, mask in masks.items())
    assert not any(mask.equal(replica.noise(8, of_size(4))[name]) for name, mask in masks.items())


def test_loss_is_the_mean_over_steps_and_then_over_commands_and_the_score_exact_match():
    logits = torch.randn(3, 5, 8, generator=torch.Generator().manual_seed(0))
    actions = torch.tensor([[2, 3, 0, 0, 0], [5, 4, 5, 4, 3], [1, 3, 0, 0, 0]])
    logits[0, [0, 1], [2, 3]] = 20.0  # the first is right; the third is right but for its end
    logits[2, 0, 1], logits[2, 1, 4] = 20.0, 20.0
    batch = {"words": torch.zeros(3, 5).long(), "lengths": torch.full((3,), 5), "actions": actions}
    loss, score = command_mean(lambda *given: logits, batch)
    each = []
    for row, steps in zip(logits, actions.tolist(), strict=True):
        terms = [
            math.log(step.exp().sum()) - step[action]
            for step, action in zip(row, steps, strict=True)
            if action
        ]
        each.append(sum(terms) / len(terms))
    assert loss.item() == pytest.approx(sum(each).item() / 3)
    assert score.item() == pytest.approx(100 / 3)


def test_a_batch_weighs_commands_as_batches_of_one_do(few):
    replica, whole = build(small(options={"dropout": 0.0}).to_dict(), 1), make_parts(small(), 1).train[:6]
    together, _ = command_mean(replica.model, batch_of(whole))
    alone = [command_mean(replica.model, batch_of(whole[i : i + 1]))[0] for i in range(6)]
    assert together.item() == pytest.approx(sum(alone).item() / 6, rel=1e-5)


def test_leaving_out_padding_changes_nothing_but_the_work(few):
    replica = build(small().to_dict(), 1)
    batch = {k: v[:6] for k, v in replica.epoch(0).items()} | {"noise": replica.noise(0, of_size(6))}
    batch["words"], batch["lengths"], batch["actions"] = padded(
        encode(["jump", "walk twice", "turn left", "look", "run left", "run and run"])
    )
    less = trim(batch)
    assert less["words"].shape == (6, 5)
    assert less["actions"].shape == (6, 3)
    gradients = []
    for one in (batch, less):
        replica.model.zero_grad()
        command_mean(replica.model, one)[0].backward()
        gradients.append(torch.cat([p.grad.flatten() for p in replica.model.parameters()]))
    torch.testing.assert_close(gradients[0], gradients[1], rtol=1e-4, atol=1e-6)


def test_examples_survive_the_way_through_a_batch():
    examples = encode(["jump", "walk left twice"])
    for one, other in zip(examples_of(batch_of(examples)).trimmed(), examples, strict=True):
        assert one.equal(other)


class Knows(torch.nn.Module):
    """Answers rightly but for some commands, and asks for no more steps than there are."""

    def __init__(self, examples, wrong):
        super().__init__()
        self.p = torch.nn.Parameter(torch.zeros(()))
        self.answers = {tuple(words.tolist()): i for i, words in enumerate(padded(examples).words)}
        self.actions, self.wrong, self.asked = padded(examples).actions, wrong, []

    def predict(self, words, lengths, steps):
        self.asked.append(len(words))
        places = [self.answers[(*row.tolist(), *[15] * (MOST_WORDS - len(row)))] for row in words]
        found = self.actions[places, :steps].clone()
        for row, place in enumerate(places):
            if place in self.wrong:
                found[row, 1] = 7 - found[row, 1]
        found[found == NO_ACTION] = 6  # what is said after the end is of no account
        return found


def test_accuracy_is_exact_match_over_all_commands_whatever_their_length(monkeypatch):
    monkeypatch.setattr(recipes, "EVALUATED_TOGETHER", 16)
    examples = encode(get_split("size_1").train[:50])
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


@pytest.mark.parametrize("options", [*FORMS, {"dropout": 0.0}])
def test_stacked_equals_alone(options, few):
    """Gradients of the first update and losses of the first three; alone without padding, stacked with it."""
    settings = small(options=options).to_dict()
    alone = [Trainee([build(settings, seed)], CPU, stacked=False) for seed in (1, 2)]
    stack = Trainee([build(settings, seed) for seed in (1, 2)], CPU, stacked=True)
    for update in range(3):
        losses = [trainee.step(trainee.batch(update))[0].item() for trainee in alone]
        assert stack.step(stack.batch(update))[0].tolist() == pytest.approx(losses, rel=1e-3)
        for i, trainee in enumerate(alone if update == 0 else ()):
            learned = [name for name, p in trainee.params.items() if p.grad is not None]
            assert learned == [name for name, p in stack.params.items() if p.grad is not None]
            ours = torch.cat([trainee.params[name].grad.flatten() for name in learned])
            theirs = torch.cat([stack.params[name].grad[i].flatten() for name in learned])
            assert (ours - theirs).abs().max() < 1e-4 * ours.abs().max()


@pytest.mark.parametrize("stacked", [False, True])
@pytest.mark.parametrize("options", [{}, {"sequential_semantics": True}, {"one_hot": True}])
def test_killed_and_resumed_equals_uninterrupted(options, stacked, few, tmp_path):
    def replicas():
        return [build(small(epochs=6, options=options).to_dict(), seed) for seed in (1, 2)]

    whole = train(replicas(), stacked=stacked)
    halted = train(replicas(), stacked=stacked, checkpoints=tmp_path, stop=lambda update: update > 10)
    assert [(run.finished, run.updates) for run in halted] == [(False, 11)] * 2
    resumed = train(replicas(), stacked=stacked, checkpoints=tmp_path)
    for one, other in zip(whole, resumed, strict=True):
        assert one.curve == other.curve
        assert one.metrics == other.metrics
        assert one.checks == other.checks
        assert [measured["epoch"] for measured in one.checks] == [1, 2, 6]
        assert all(a.equal(b) for a, b in zip(one.model.parameters(), other.model.parameters(), strict=True))


def test_a_run_measures_test_and_validation_and_reports_the_best(few):
    (run,) = train([build(small().to_dict(), 1)])
    assert set(run.metrics) == {"test_accuracy", "last_test_accuracy", "best_epoch", "validation_accuracy"}
    assert run.metrics == best_and_last(run.checks)
    assert run.checks[-1]["test_accuracy"] == accuracy(run.model, make_parts(small(), 1).test)
    (run,) = train([build(small(validation="none").to_dict(), 1)])
    assert set(run.metrics) == {"test_accuracy", "last_test_accuracy", "best_epoch"}
    assert run.metrics["best_epoch"] == 3


def test_gradients_are_clipped_where_settings_say_so(few):
    for clip in (None, 0.01):
        trainee = Trainee([build(small(clip=clip).to_dict(), 1)], CPU, stacked=False)
        trainee.step(trainee.batch(0))
        norm = torch.cat([p.grad.flatten() for p in trainee.params.values()]).norm().item()
        assert norm > 0.1 if clip is None else norm == pytest.approx(clip, rel=1e-3)


# ------------------------------------------------------------------------------------- other networks' batches


def commands_of(batch):
    return [tuple(row.tolist()) for row in batch["words"]]


def test_bucketed_batches_are_of_like_length_and_show_every_command_once():
    examples = encode(get_split("size_1").train)
    feed = recipes.bucketed(examples, 16, 1)
    first, again, second = (feed.epoch(e) for e in (0, 0, 1))
    assert first["words"].equal(again["words"])
    assert not first["words"].equal(second["words"])
    assert Counter(commands_of(first)) == Counter(commands_of(batch_of(examples)))
    batches = [part.tolist() for part in first["lengths"].split(16)]
    ranges = sorted((min(batch), max(batch)) for batch in batches)
    assert all(one[1] <= other[0] for one, other in pairwise(ranges))
    assert batches != sorted(batches)


def test_drawn_batches_repeat_commands_and_an_epoch_is_ten_updates():
    examples = encode(get_split("size_1").train[:30])
    feed = recipes.drawn(examples, 16, 1)
    assert feed.examples == recipes.DRAWN * 16 == len(feed.epoch(0)["words"])
    seen = Counter(commands_of(feed.epoch(0)))
    assert set(seen) <= set(commands_of(batch_of(examples)))
    assert max(seen.values()) > 1
    assert not feed.epoch(0)["words"].equal(feed.epoch(1)["words"])


def test_crowded_batches_fill_so_many_places(monkeypatch):
    monkeypatch.setattr(recipes, "LINES", 500)
    examples = encode(get_split("size_1").train)
    feed = recipes.crowded(examples, 100, 1)
    longest = [
        max(int(n) - 1, int((a > 0).sum())) for n, a in zip(examples.lengths, examples.actions, strict=True)
    ]
    batches = [[number for number in row if number >= 0] for row in feed.epoch(0)["rows"].tolist()]
    assert sum(map(len, batches)) == 500
    assert all(len(batch) * max(longest[n] for n in batch) <= 100 for batch in batches)
    assert sorted(map(sorted, batches)) == sorted(
        sorted(number for number in row if number >= 0) for row in feed.epoch(1)["rows"].tolist()
    )
    assert feed.constants["words"].equal(batch_of(examples)["words"])


OTHERS = {
    "gru_attention": {"lr": 0.2, "clip": 5.0},
    "li": {"options": {"primitive": 4, "function": 4, "units": 6}},
    "cnn": {"batch_size": 100, "options": {"dim": 8, "layers": 2, "kernel": 3}, "clip": 0.1, "lr": 0.1},
}


def other(model, **changes):
    kept = {"split": "size_1", "lr": 0.01, "epochs": 2, "batch_size": 8, "validation": "none", "options": {}}
    return Settings(model=model, **(kept | OTHERS[model] | changes)).to_dict()


@pytest.mark.parametrize("model", OTHERS)
def test_the_other_networks_stacked_equal_each_alone(model, few, monkeypatch):
    monkeypatch.setattr(recipes, "LINES", 60)
    settings = other(model)
    seeds = (1, 2)
    alone = [Trainee([build(settings, seed)], CPU, stacked=False) for seed in seeds]
    stack = Trainee([build(settings, seed) for seed in seeds], CPU, stacked=True)
    found = [torch.cat(trainee.step(trainee.batch(0))) for trainee in alone]
    losses, scores = stack.step(stack.batch(0))
    torch.testing.assert_close(torch.stack([losses, scores], dim=1), torch.stack(found), rtol=1e-4, atol=1e-5)
    for i, trainee in enumerate(alone):
        for name, parameter in trainee.params.items():
            if parameter.grad is not None:
                torch.testing.assert_close(stack.params[name].grad[i], parameter.grad, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("model", OTHERS)
def test_the_other_networks_resume_where_they_were(model, few, monkeypatch, tmp_path):
    monkeypatch.setattr(recipes, "LINES", 60)
    settings = other(model, epochs=4)
    (whole,) = train([build(settings, 1)])
    (halted,) = train([build(settings, 1)], checkpoints=tmp_path, stop=lambda update: update > 10)
    assert not halted.finished
    (resumed,) = train([build(settings, 1)], checkpoints=tmp_path)
    assert (whole.curve, whole.metrics) == (resumed.curve, resumed.metrics)
    assert all(a.equal(b) for a, b in zip(whole.model.parameters(), resumed.model.parameters(), strict=True))


# ------------------------------------------------------------------------------------------------- cells


def by_table(table, variant=""):
    return [cell for cell in CELLS if cell.table == table and cell.variant == variant]


OURS = "Syntactic Attention"
UNPRINTED = {
    ("scan.table2", "Nonlinear semantics", "Add turn left"),
    ("scan.table2", "Nonlinear semantics", "Add jump"),
    ("scan.table2", "Sequential semantics", "Simple"),  # in the text
}


def test_every_printed_entry_is_declared_once():
    declared = Counter((cell.table, cell.row, cell.column) for cell in CELLS if not cell.variant)
    assert set(declared.values()) == {1}
    printed = {
        (table, row, column)
        for table in ("scan.table1", "scan.table2")
        for row, entries in PRINTED[table]["rows"].items()
        for column, entry in entries.items()
        if entry
    }
    assert set(declared) == printed | UNPRINTED


def test_cells_have_as_many_runs_as_the_paper():
    for cell in CELLS:
        if cell.variant or (cell.table, cell.row, cell.column) in UNPRINTED:
            continue
        printed = PRINTED[cell.table]
        assert cell.runs == printed["rows"][cell.row][cell.column].get("runs", printed["runs"])


def test_columns_are_the_splits_they_name():
    assert set(COLUMNS.values()) == set(PRINTED["scan.table1"]["columns"])
    assert all(cell.column == COLUMNS[cell.settings["split"]] for cell in CELLS)


def test_cells_of_equal_settings_share_a_home_and_ids_are_unique():
    assert len({cell.id for cell in CELLS}) == len(CELLS)
    homes = {}
    for cell in CELLS:
        assert homes.setdefault(cell.hash, cell.home) == cell.home
    assert {cell.home for cell in by_table("scan.table2") if cell.row == OURS} == {"scan.table1"}


def test_every_cell_can_be_built_from_its_settings():
    for cell in CELLS:
        settings = Settings.from_dict(cell.settings)
        assert settings.to_dict() == cell.settings
    options = {cell.row: cell.settings.get("options", {}) for cell in by_table("scan.table2")}
    assert options == {
        "Sequential semantics": {"sequential_semantics": True},
        "Syntax-action": {"syntax_action": True},
        "Nonlinear semantics": {"nonlinear_semantics": True},
        OURS: {},
    }
    assert not any(cell.settings.get("options") for cell in by_table("scan.table1") if cell.row == OURS)
    for options in {json.dumps(c.settings.get("options", {})) for c in CELLS if c.row == OURS}:
        SyntacticAttention(**(json.loads(options) | SMALL))


def test_only_the_last_checkpoints_are_read_by_another_metric():
    for cell in CELLS:
        if cell.variant == "last checkpoint":
            assert cell.metric == "last_test_accuracy"
        else:
            assert cell.metric == "test_accuracy"


def test_variants_say_what_is_different():
    variants = {
        cell.variant: cell.settings for cell in CELLS if cell.row == OURS and cell.column == "Add jump"
    }
    assert variants["released files"]["source"] == "released"
    assert variants["gradients clipped"]["clip"] == 5.0
    assert variants["neighbours at the top"]["options"] == {"surrounding": "top"}
    assert variants["ends are zero"]["options"] == {"ends": "zero"}
    assert variants["one-hot syntax"]["options"] == {"one_hot": True}
    assert variants[TUTORIAL] == tutorial_settings().to_dict()
    (length,) = by_table("scan.table1", "random validation set")
    assert (length.column, length.settings["validation"]) == ("Length", "random")


def test_tutorial_settings_are_small_and_can_be_changed():
    settings = tutorial_settings()
    assert (settings.split, settings.batch_size, settings.lr) == ("add_jump", 16, 4e-3)
    model = SyntacticAttention(**settings.options)
    assert sum(p.numel() for p in model.parameters()) == 233_624  # facts, section 8
    assert tutorial_settings(epochs=1, options={"syntax": 8}).options == {"syntax": 8, "semantics": 38}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"clip": -1.0}, "clip has to be above 0"),
        ({"checks": (0,)}, "checks are epochs from 1 to 3, got 0"),
        ({"checks": (4,)}, "checks are epochs from 1 to 3, got 4"),
    ],
)
def test_settings_that_no_run_can_follow(changes, message):
    with pytest.raises(WrongUse, match=message):
        small(**changes)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sintax": 64}, "unknown option of syntactic_attention 'sintax'; did you mean 'syntax'"),
        ({"dropout": 1.0}, "a dropout rate is at least 0 and below 1, got 1.0"),
        ({"syntax": 7}, "syntax is halved between two directions"),
        ({"semantics": 5}, "semantics is halved between two directions"),
    ],
)
def test_options_that_make_no_network(options, message):
    with pytest.raises(WrongUse, match=message):
        build_network("syntactic_attention", **options)


@pytest.mark.parametrize(
    ("model", "options"),
    [("li", {"strength": 50.0}), ("li", {"sigma": 0.5}), ("syntactic_attention", {"dropout": 0.0})],
)
def test_networks_with_other_options_are_not_stacked(model, options):
    settings = paper_settings("size_1", model, epochs=1, checks=(), batch_size=4)
    other = paper_settings("size_1", model, epochs=1, checks=(), batch_size=4, options=options)
    one, two, three = (build(s.to_dict(), seed) for s, seed in ((settings, 1), (settings, 2), (other, 1)))
    assert one.stack_key() == two.stack_key()
    assert one.stack_key() != three.stack_key()


def test_a_run_has_one_name_however_its_settings_are_written():
    settings = small()
    written = settings.to_dict() | {"source": "generated", "clip": None}
    written["options"] = written["options"] | {"dropout": 0.5, "ends": "learned"}
    del written["paper"]
    assert build(written, 1).key == build(settings.to_dict(), 1).key
