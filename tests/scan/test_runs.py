"""Real runs by the harness: data, noise, losses, checks, stacks and resuming."""

import math

import pytest
import torch

from mini_lib.scan import tasks
from mini_lib.scan.evaluation import accuracy, answers, best_and_last
from mini_lib.scan.recipes import RECIPES, batch_of, examples_of, trim
from mini_lib.scan.runs import build, make_parts
from mini_lib.scan.tasks import MOST_ACTIONS, MOST_WORDS, NO_ACTION, encode, get_split, padded
from mini_lib.training import TrainingStack, train
from scan.runs import CPU, FORMS, build_double, check_stack_gradients, of_size, rows, small

loss_of = RECIPES["syntactic_attention"].loss


def test_a_replica_is_a_function_of_settings_and_seed(few):
    one, same, other = (build(small(), seed) for seed in (1, 1, 2))
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
    build(small(), 1)
    assert torch.get_rng_state().equal(state)


def test_forms_of_one_seed_meet_the_same_commands_in_the_same_order(few):
    one, other = (build(small(options=options), 1) for options in ({}, {"syntax_action": True}))
    assert one.epoch(2)["words"].equal(other.epoch(2)["words"])
    assert one.noise(3, of_size(2))["word"].equal(other.noise(3, of_size(2))["word"])


def test_an_epoch_shows_every_command_once_in_an_order_of_its_own(few):
    replica, train = build(small(), 1), make_parts(small(), 1).train
    first, second = (examples_of(replica.epoch(e)) for e in (0, 1))
    assert first.words.shape == (40, MOST_WORDS)
    assert first.actions.shape == (40, MOST_ACTIONS)
    assert rows(first) == rows(second) == rows(train)
    assert not first.words.equal(second.words)


def test_noise_is_of_the_update_and_of_the_size_of_the_longest_command(few):
    replica = build(small(), 1)
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
    loss, score = loss_of(lambda *given: logits, batch)
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
    replica, whole = build(small(options={"dropout": 0.0}), 1), make_parts(small(), 1).train[:6]
    together, _ = loss_of(replica.model, batch_of(whole))
    alone = [loss_of(replica.model, batch_of(whole[i : i + 1]))[0] for i in range(6)]
    assert together.item() == pytest.approx(sum(alone).item() / 6, rel=1e-5)


def test_leaving_out_padding_changes_nothing_but_the_work(few):
    replica = build(small(), 1)
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
        loss_of(replica.model, one)[0].backward()
        gradients.append(torch.cat([p.grad.flatten() for p in replica.model.parameters()]))
    torch.testing.assert_close(gradients[0], gradients[1], rtol=1e-4, atol=1e-6)


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
    monkeypatch.setattr(tasks, "TOGETHER", 16)
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
    """Losses and gradients of the first three updates; alone without padding, stacked with it."""
    settings = small(options=options)
    alone = [TrainingStack([build_double(settings, seed)], CPU, stacked=False) for seed in (1, 2)]
    stack = TrainingStack([build_double(settings, seed) for seed in (1, 2)], CPU, stacked=True)
    for update in range(3):
        losses = [trainee.step(trainee.batch(update))[0].item() for trainee in alone]
        assert stack.step(stack.batch(update))[0].tolist() == pytest.approx(losses, rel=1e-8)
        check_stack_gradients(stack, alone)


@pytest.mark.parametrize("stacked", [False, True])
@pytest.mark.parametrize("options", [{}, {"sequential_semantics": True}, {"one_hot": True}])
def test_killed_and_resumed_equals_uninterrupted(options, stacked, few, tmp_path):
    def replicas():
        return [build(small(epochs=6, options=options), seed) for seed in (1, 2)]

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
    (run,) = train([build(small(), 1)])
    assert set(run.metrics) == {"test_accuracy", "last_test_accuracy", "best_epoch", "validation_accuracy"}
    assert run.metrics == best_and_last(run.checks)
    assert run.checks[-1]["test_accuracy"] == accuracy(run.model, make_parts(small(), 1).test)
    (run,) = train([build(small(validation="none"), 1)])
    assert set(run.metrics) == {"test_accuracy", "last_test_accuracy", "best_epoch"}
    assert run.metrics["best_epoch"] == 3


def test_gradients_are_clipped_where_settings_say_so(few):
    for clip in (None, 0.01):
        trainee = TrainingStack([build(small(clip=clip), 1)], CPU, stacked=False)
        trainee.step(trainee.batch(0))
        norm = torch.cat([p.grad.flatten() for p in trainee.params.values()]).norm().item()
        assert norm > 0.1 if clip is None else norm == pytest.approx(clip, rel=1e-3)
