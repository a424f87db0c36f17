"""Settings, what is built of them, the loss, and real runs by the harness."""

import pytest
import torch

from mini_lib.functions import runs
from mini_lib.functions.models import MODELS
from mini_lib.functions.runs import (
    Loss,
    Settings,
    build,
    paper_settings,
    tutorial_settings,
)
from mini_lib.functions.tasks import evaluation_curves
from mini_lib.training import TrainingStack, train

CPU = torch.device("cpu")


@pytest.fixture
def short(monkeypatch):
    """Epochs of three updates."""
    monkeypatch.setattr(runs, "UPDATES", 3)


def small(model, **changes):
    """Few points, few curves, a small network."""
    options = {"dim": 8, "layers": 2, "heads": 2, "scale": 0.05} | changes.pop("options", {})
    sizes = {"observed": 4, "epochs": 2, "batch_size": 5, "test_curves": 6, "lr": 1e-2}
    return Settings(model, **(sizes | {"options": options} | changes))


# ------------------------------------------------------------------------------------------------ settings


def test_settings_keep_only_what_is_not_default():
    chosen = {"options": {"mask": "strict"}, "prefixes": True}
    assert paper_settings("one_d").to_dict() == {"paper": "functions", "model": "one_d"} | chosen
    plain = {"options": {"mask": "causal"}, "prefixes": False}
    assert paper_settings("one_d", **plain).to_dict() == {"paper": "functions", "model": "one_d"}
    assert paper_settings("relational").to_dict()["checks"] == [1, 3, 10, 30]
    changed = paper_settings("one_d_window", options={"length": 3.0}).to_dict()
    assert changed == {
        **{"paper": "functions", "model": "one_d_window"},
        **{"prefixes": True, "options": {"mask": "strict", "length": 3.0}},
    }


def test_the_paper_settings_are_the_papers():
    s = paper_settings("one_d")
    assert s.epochs * runs.UPDATES == 10_000
    assert s.epochs * runs.UPDATES * s.batch_size == 320_000
    assert (s.batch_size, s.lr, s.observed, s.test_curves) == (32, 1e-4, 20, 2500)
    assert tutorial_settings("one_d").epochs == s.epochs


# ------------------------------------------------------------------------------------------------ runs


def test_curves_depend_on_seed_and_epoch_and_not_on_the_network():
    one, other = (build(small(model), 3) for model in ("one_d", "relational"))
    assert torch.equal(one.epoch(1)["y"], other.epoch(1)["y"])
    assert not torch.equal(one.epoch(0)["y"], one.epoch(1)["y"])
    assert not torch.equal(one.epoch(0)["y"], build(small("one_d"), 4).epoch(0)["y"])
    assert one.epoch(0)["y"].shape == (500, 5)


def test_the_test_is_the_same_for_every_run_and_not_what_was_trained_on():
    run = build(small("one_d"), 1)
    curves = run.evaluate.keywords["curves"]
    assert curves is evaluation_curves(6, 14)
    trained = {tuple(row) for row in run.epoch(0)["y"].tolist()}
    assert not trained & {tuple(row) for row in curves.y[:, :5].tolist()}


def test_weights_depend_on_the_network_and_the_seed():
    weights = [build(small("one_d"), seed).model.read_in.weight for seed in (1, 1, 2)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_loss_of_a_value_is_its_squared_error():
    batch = {"y": torch.tensor([[1.0, 2.0, 3.0], [0.0, 0.0, 5.0]])}
    seen = []

    def apply(y, prefixes):
        seen.append((y, prefixes))
        return torch.tensor([[2.5], [3.0]])

    loss, score = Loss(relational=False, prefixes=False, observed=2)(apply, batch)
    assert loss == pytest.approx((0.25 + 4.0) / 2)
    assert score == loss
    assert torch.equal(seen[0][0], batch["y"][:, :2])
    assert seen[0][1] is False


def test_loss_of_differences_counts_the_trivial_one_too():
    batch = {"y": torch.tensor([[1.0, 2.0, 4.0]])}
    answers = torch.tensor([[3.5, 1.0, 1.0]])  # y_3 - y_1 = 3, y_3 - y_2 = 2, y_3 - y_3 = 0
    loss, score = Loss(relational=True, prefixes=False, observed=2)(lambda y, prefixes: answers, batch)
    assert loss == pytest.approx((0.25 + 1.0 + 1.0) / 3)
    assert score == pytest.approx(((1 + 3.5 + 2 + 1.0) / 2 - 4) ** 2)


def test_every_prefix_counts_alike_in_the_loss():
    y = torch.tensor([[1.0, 2.0, 4.0, 8.0]])
    values, score = Loss(False, True, 3)(lambda y, prefixes: torch.tensor([[4.0, 6.0]]), {"y": y})
    assert values == pytest.approx(2.0)
    assert score == pytest.approx(4.0)
    right = torch.tensor([[3.0, 2.0, 0.0, 7.0, 6.0, 4.0, 0.0]])
    assert Loss(True, True, 3)(lambda y, prefixes: right, {"y": y})[0] == 0.0
    wrong = right + torch.tensor([[3.0, 3.0, 3.0, 1.0, 1.0, 1.0, 1.0]])
    assert Loss(True, True, 3)(lambda y, prefixes: wrong, {"y": y})[0] == (9 + 1) / 2


@pytest.mark.parametrize("model", MODELS)
def test_a_stack_trains_as_each_network_alone(model, short):
    pair = [build(small(model, prefixes=model == "relational"), seed) for seed in (1, 2)]
    assert pair[0].stack_key() == pair[1].stack_key()
    stack = TrainingStack(pair, CPU, stacked=True)
    together = [stack.step(stack.batch(update))[0] for update in range(4)]
    for i, seed in enumerate((1, 2)):
        alone = TrainingStack([build(small(model, prefixes=model == "relational"), seed)], CPU, stacked=False)
        for update, losses in enumerate(together):
            assert torch.allclose(alone.step(alone.batch(update))[0][0], losses[i], rtol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["one_d_window", "relational"])
def test_resumed_equals_uninterrupted(model, tmp_path, short):
    settings = small(model, epochs=8, checks=(2,))
    (whole,) = train([build(settings, 1)])
    train([build(settings, 1)], checkpoints=tmp_path, stop=lambda update: update > 5)
    (resumed,) = train([build(settings, 1)], checkpoints=tmp_path)
    assert resumed.metrics == whole.metrics
    assert resumed.checks == whole.checks
    assert [check["epoch"] for check in whole.checks] == [2, 8]


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_training_lowers_the_error(model, short, monkeypatch):
    monkeypatch.setattr(runs, "UPDATES", 100)
    (run,) = train([build(small(model, epochs=1, batch_size=16, options={"dim": 16}), 1)])
    losses = run.curve["loss"]
    assert sum(losses[-3:]) < 0.7 * sum(losses[:3])
