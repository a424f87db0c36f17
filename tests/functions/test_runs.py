"""Settings, the runs built from them, the losses, the test, and real training."""

import numpy as np
import pytest
import torch

from functions.helpers import network
from mini_lib.functions import runs
from mini_lib.functions.extrapolation import extrapolate
from mini_lib.functions.runs import (
    Settings,
    build,
    difference_loss,
    evaluate,
    extrapolate_all,
    paper_settings,
    per_kind,
    tutorial_settings,
    value_loss,
)
from mini_lib.functions.tasks import KINDS, STEPS, Curves, evaluation_curves
from mini_lib.functions.transformer import MODELS
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


def test_settings_keep_only_what_differs_from_the_first_runs():
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
    assert s == Settings("one_d")
    assert (s.prefixes, s.options["mask"]) == (True, "strict")
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
    assert all(a.equal(b) for a, b in zip(curves, evaluation_curves(6, 14), strict=True))
    trained = {tuple(row) for row in run.epoch(0)["y"].tolist()}
    assert not trained & {tuple(row) for row in curves.y[:, :5].tolist()}


def test_weights_depend_on_the_network_and_the_seed():
    weights = [build(small("one_d"), seed).model.read_in.weight for seed in (1, 1, 2)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_loss_of_a_value_is_its_squared_error():
    y = torch.tensor([[1.0, 2.0, 3.0], [0.0, 0.0, 5.0]])
    assert value_loss(torch.tensor([[2.5], [3.0]]), y, 3) == pytest.approx((0.25 + 4.0) / 2)
    y = torch.tensor([[1.0, 2.0, 4.0, 8.0]])
    assert value_loss(torch.tensor([[4.0, 6.0]]), y, 3) == pytest.approx(2.0)


def test_loss_of_differences_counts_the_trivial_one_too():
    y = torch.tensor([[1.0, 2.0, 4.0]])
    answers = torch.tensor([[3.5, 1.0, 1.0]])  # y_3 - y_1 = 3, y_3 - y_2 = 2, y_3 - y_3 = 0
    assert difference_loss(answers, y, 3) == pytest.approx((0.25 + 1.0 + 1.0) / 3)


def test_every_prefix_counts_alike_in_the_loss():
    y = torch.tensor([[1.0, 2.0, 4.0, 8.0]])
    right = torch.tensor([[3.0, 2.0, 0.0, 7.0, 6.0, 4.0, 0.0]])
    assert difference_loss(right, y, 3) == 0.0
    wrong = right + torch.tensor([[3.0, 3.0, 3.0, 1.0, 1.0, 1.0, 1.0]])
    assert difference_loss(wrong, y, 3) == (9 + 1) / 2


@pytest.mark.parametrize("model", ["one_d", "relational"])
@pytest.mark.parametrize("prefixes", [True, False])
def test_the_loss_of_a_run_is_that_of_its_network_and_the_score_is_of_the_last_value(model, prefixes):
    run = build(small(model, prefixes=prefixes), 1)
    batch = {"y": run.epoch(0)["y"][:5]}
    y, answers = batch["y"], run.model(batch["y"][:, :-1], prefixes=prefixes)
    loss, score = run.loss(run.model, batch)
    expected = {"one_d": value_loss, "relational": difference_loss}[model](answers, y, 3 if prefixes else 5)
    torch.testing.assert_close(loss, expected)
    estimates = run.model.trace(y[:, :-1]).estimates
    torch.testing.assert_close(score, (estimates.mean(dim=1) - y[:, -1]).square().mean())


@pytest.mark.parametrize("model", MODELS)
def test_a_stack_trains_as_each_network_alone(model, short):
    pair = [build(small(model, prefixes=model == "relational"), seed) for seed in (1, 2)]
    assert pair[0].stack_key() == pair[1].stack_key()
    other = build(small(model, prefixes=model != "relational"), 1)
    assert pair[0].stack_key() != other.stack_key()
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


# ------------------------------------------------------------------------------------------------ the test


def test_means_are_taken_by_class_and_weighted():
    values = torch.tensor([[1.0, 3.0], [10.0, 10.0], [4.0, 4.0], [6.0, 6.0]])
    means = per_kind(values, torch.tensor([0, 1, 2, 2]))
    assert means["lin"] == 2.0
    assert means["rbf"] == 10.0
    assert means["sine"] == 5.0
    assert means["even"] == pytest.approx(17 / 3)
    assert means["all"] == pytest.approx((15 * 2 + 10 * 10 + 9 * 5) / 34)


def test_extrapolating_in_parts_changes_nothing(monkeypatch):
    model, curves = network("relational_window"), evaluation_curves(10, 16)
    whole = extrapolate(model, curves.y[:, :6])
    monkeypatch.setitem(runs.EVAL_BATCH, "cpu", 3)
    parts = extrapolate_all(model, curves.y[:, :6])
    assert torch.allclose(parts.point, whole.point, atol=1e-5)
    assert torch.allclose(parts.spread, whole.spread, atol=1e-5)
    assert [e.shape for e in parts.estimates] == [e.shape for e in whole.estimates]


@pytest.mark.parametrize("name", ["one_d_window", "relational"])
def test_every_metric_is_what_its_name_says(name):
    model, curves = network(name), evaluation_curves(9, 16)
    metrics = evaluate(model, curves)
    grown = extrapolate(model, curves.y[:, :6], STEPS)
    slid = extrapolate(model, curves.y[:, :6], STEPS, "sliding")
    truth, y = curves.truth[:, 6:].numpy(), curves.y[:, 6:].numpy()
    for number, kind in enumerate(KINDS):
        mine = (curves.kinds == number).numpy()
        point, spread = grown.point.numpy()[mine], grown.spread.numpy()[mine]
        expected = {
            "mse": np.mean((point - truth[mine]) ** 2),
            "noisy_mse": np.mean((point - y[mine]) ** 2),
            "sliding_mse": np.mean((slid.point.numpy()[mine] - truth[mine]) ** 2),
        }
        if name == "relational":
            expected["spread"] = spread.mean()
            expected["covered_2"] = 100 * np.mean(np.abs(y[mine] - point) <= 2 * spread)
            ranks = [np.argsort(np.argsort(values.flatten())) for values in (spread, np.abs(point - y[mine]))]
            expected["spread_error"] = np.corrcoef(*ranks)[0, 1]
        for measure, value in expected.items():
            assert metrics[f"{measure}_{kind}"] == pytest.approx(value, rel=1e-4), (measure, kind)
    assert ("spread_all" in metrics) == (name == "relational")
    assert metrics.get("window") == (pytest.approx(10.0) if name == "one_d_window" else None)


def test_only_the_last_ten_points_are_extrapolated():
    """What a network is not shown cannot change its predictions, but does change its error."""
    model, curves = network("one_d"), evaluation_curves(6, 16)
    moved = Curves(curves.truth + torch.cat([torch.zeros(6), torch.ones(10)]), curves.y, curves.kinds)
    before, after = evaluate(model, curves), evaluate(model, moved)
    assert after["noisy_mse_all"] == before["noisy_mse_all"]
    assert after["mse_all"] != before["mse_all"]
