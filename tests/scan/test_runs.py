"""Runs: their settings, their commands, noise and losses, what is measured, stacks and resuming."""

from collections import Counter

import pytest
import torch

from mini_lib.errors import UsageError
from mini_lib.scan import recipes, runs, tasks
from mini_lib.scan.recipes import examples_of
from mini_lib.scan.runs import Settings, accuracy, answers, best_and_last, build, make_parts, paper_settings
from mini_lib.scan.tasks import MAX_WORDS, NO_ACTION, WORD_IDS, Split, encode, get_split, simple_order
from mini_lib.training import TrainingStack, train
from scan.by_hand import ByHand
from scan.networks import FORMS

CPU, WORDS = torch.device("cpu"), list(WORD_IDS)
SIZES = {
    "syntactic_attention": {"syntax": 8, "semantics": 6},
    "gru_attention": {"embedding": 6, "hidden": 5},
    "cnn": {"dim": 8, "layers": 2, "kernel": 3},
    "li": {"primitive": 4, "function": 4, "units": 6},
}


def small(model="syntactic_attention", **changes):
    """Few and small."""
    kept = {"split": "simple", "lr": 1e-2, "epochs": 3, "batch_size": 100 if model == "cnn" else 16}
    options = SIZES[model] | changes.pop("options", {})
    return Settings(model=model, **(kept | {"options": options, "checks": (1, 2)} | changes))


@pytest.fixture
def few(monkeypatch):
    """Fifty commands for training and thirty for the test, whatever split a run asks for."""
    split = Split(simple_order()[:50], simple_order()[209:239])
    monkeypatch.setattr(runs, "get_split", lambda name: split)
    return split


def texts(examples):
    """The commands, in words."""
    inside = [row[1 : length - 1] for row, length in zip(examples.words, examples.lengths, strict=True)]
    return [" ".join(WORDS[i] for i in row) for row in inside]


def of_size(count):
    """As much of a batch as noise asks for."""
    return {"lengths": torch.zeros(count)}


def test_the_split_with_dax_has_no_released_files():
    with pytest.raises(UsageError, match="split with released files 'add_dax'"):
        Settings.from_dict(small().to_dict() | {"split": "add_dax", "source": "released"})


@pytest.mark.parametrize(
    ("split", "kept", "epochs"),
    [("simple", 13_382, 15), ("length", 13_592, 15), ("add_jump", 11_736, 18), ("add_turn_left", 17_512, 12)],
)
def test_the_schedule_passes_200_000_updates_with_one_command_each_and_whole_epochs(split, kept, epochs):
    settings = paper_settings(split)
    assert (settings.lr, settings.batch_size, settings.clip) == (1e-3, 1, None)
    assert int(0.8 * len(get_split(split).train)) == kept
    assert settings.epochs == epochs == -(-200_000 // kept)
    assert settings.checks == tuple(range(5, epochs, 5))


def test_the_last_fifth_of_the_training_file_is_for_validation():
    run = build(paper_settings("add_jump", options=SIZES["syntactic_attention"]), 1)
    assert (run.updates, run.clip, run.schedule) == (18 * 11_736, None, None)
    train_commands, test = get_split("add_jump")
    expected = train_commands[:11_736], train_commands[11_736:], test
    for part, commands in zip(run.evaluate.keywords["parts"], expected, strict=True):
        assert len(part) == len(commands)
        assert texts(part[::500]) == list(commands[::500])


def test_validation_at_random_is_a_fifth_of_the_commands_and_the_seeds(few):
    parts = [make_parts(small(validation="random"), seed) for seed in (1, 1, 2)]
    for part in parts:
        assert (len(part.train), len(part.validation)) == (40, 10)
        assert sorted(texts(part.train) + texts(part.validation)) == sorted(few.train)
    one, again, other = (texts(part.validation) for part in parts)
    assert one == again != other
    assert one != texts(make_parts(small(), 1).validation)


def test_bastings_hold_out_a_tenth_in_which_a_repeated_command_is_once(monkeypatch):
    split = Split((*simple_order()[:70], *["jump"] * 30), simple_order()[209:219])
    monkeypatch.setattr(runs, "get_split", lambda name: split)
    parts = make_parts(paper_settings("add_jump", "gru_attention"), seed=1)
    kept, held_out = Counter(texts(parts.train)), Counter(texts(parts.validation))
    assert kept.total() == 90
    assert held_out == Counter(set(split.train) - {*kept} | {"jump"})


def test_released_files_take_the_place_of_generated_commands(monkeypatch):
    lines = {"train": ["run"] * 5, "test": ["jump twice"]}
    monkeypatch.setattr(runs, "scan_lines", lambda split, part: [(command, "") for command in lines[part]])
    parts = make_parts(paper_settings("add_jump", source="released"), 1)
    assert [texts(part) for part in parts] == [["run"] * 4, ["run"], ["jump twice"]]


def test_a_run_is_a_function_of_settings_and_seed(few):
    """Another form of the network meets the same commands in the same order, under the same noise."""
    state = torch.get_rng_state()
    one, same, other = (build(small(), seed) for seed in (1, 1, 2))
    assert torch.get_rng_state().equal(state)
    for run, equal in ((same, True), (other, False)):
        pairs = [*zip(one.model.state_dict().values(), run.model.state_dict().values(), strict=True)]
        pairs += [(one.epoch(0)[part], run.epoch(0)[part]) for part in ("words", "actions")]
        pairs += [(mask, run.noise(5, of_size(4))[name]) for name, mask in one.noise(5, of_size(4)).items()]
        assert all(a.equal(b) is equal for a, b in pairs)
        assert (one.key == run.key) is equal
    shown, next_shown = (texts(examples_of(one.epoch(number))) for number in (0, 1))
    assert sorted(shown) == sorted(next_shown) == sorted(few.train[:40])
    assert shown != next_shown
    form = build(small(options={"syntax_action": True}), 1)
    assert form.epoch(0)["words"].equal(one.epoch(0)["words"])
    masks, later = (one.noise(update, of_size(2)) for update in (3, 4))
    for name, mask in form.noise(3, of_size(2)).items():
        assert mask.shape[:2] == (2, MAX_WORDS)
        assert mask.equal(masks[name])
        assert not mask.equal(later[name])


def test_accuracy_is_exact_match_over_all_commands_whatever_their_length(monkeypatch):
    monkeypatch.setattr(tasks, "EVAL_BATCH", 16)
    commands = simple_order()[:50]
    examples = encode(commands)
    without = 100 * sum("jump" not in command for command in commands) / 50
    assert 0 < without < 100
    assert accuracy(ByHand(lost="jump"), examples) == pytest.approx(without)
    found, expected = answers(ByHand(), examples), examples.actions != NO_ACTION
    assert found[expected].equal(examples.actions[expected])


def check(epoch, test, **validation):
    return {"epoch": epoch, "test_accuracy": test} | validation


def test_the_first_best_check_is_reported_and_the_last():
    for scores, best in (((80.0, 90.0, 90.0), 1), ((0.0, 0.0, 0.0), 0)):
        checks = [check(5 + n, 10.0 * n, validation_accuracy=score) for n, score in enumerate(scores)]
        expected = {"test_accuracy": 10.0 * best, "validation_accuracy": scores[best], "best_epoch": 5 + best}
        assert best_and_last(checks) == expected | {"last_test_accuracy": 20.0}
    without = best_and_last([check(5, 50.0), check(12, 30.0)])
    assert without == {"test_accuracy": 30.0, "last_test_accuracy": 30.0, "best_epoch": 12}


STACKS = [*((model, {}) for model in SIZES), ("gru_attention", {"dependency": False})]
STACKS += [("syntactic_attention", FORMS[name]) for name in ("one-hot", "ends hear", "everything")]


@pytest.mark.parametrize(("model", "options"), STACKS)
def test_stacked_equals_alone(model, options, few, monkeypatch):
    """Losses, scores and gradients of the first two updates; alone without padding and Li's in blocks."""
    monkeypatch.setattr(recipes, "LINES", 60)
    monkeypatch.setattr(recipes, "BLOCK", 5)

    def doubled(*seeds):
        made = [build(small(model, options=options), seed) for seed in seeds]
        for run in made:
            run.model.double()
        return made

    alone = [TrainingStack(doubled(seed), CPU, stacked=False) for seed in (1, 2)]
    stack = TrainingStack(doubled(1, 2), CPU, stacked=True)
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
    ("model", "stacked"), [*((model, False) for model in SIZES), ("syntactic_attention", True)]
)
def test_killed_and_resumed_equals_uninterrupted(model, stacked, few, monkeypatch, tmp_path):
    monkeypatch.setattr(recipes, "LINES", 60)
    monkeypatch.setattr(recipes, "UPDATES", 3)

    def fresh():
        return [build(small(model), seed) for seed in (1, 2)[: 1 + stacked]]

    whole = train(fresh(), stacked=stacked)
    halted = train(fresh(), stacked=stacked, checkpoints=tmp_path, stop=lambda update: update > 4)
    assert [(run.finished, run.updates) for run in halted] == [(False, 5)] * len(whole)
    resumed = train(fresh(), stacked=stacked, checkpoints=tmp_path)
    for one, other in zip(whole, resumed, strict=True):
        assert (one.curve, one.metrics, one.checks) == (other.curve, other.metrics, other.checks)
        assert [measured["epoch"] for measured in one.checks] == [1, 2, 3]
        assert all(a.equal(b) for a, b in zip(one.model.parameters(), other.model.parameters(), strict=True))


def test_only_networks_of_equal_options_are_stacked(few):
    one, two, other = build(small(), 1), build(small(), 2), build(small(options={"dropout": 0.0}), 1)
    assert one.stack_key() == two.stack_key() != other.stack_key()
