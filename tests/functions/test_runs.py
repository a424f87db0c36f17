"""Settings, the runs built from them, the losses, the test, and real training."""

import numpy as np
import pytest
import torch
from other_device import OTHER, OtherDevice

from functions.helpers import CASES, make, options_of
from mini_lib.functions import runs
from mini_lib.functions.baselines import PREDICTORS
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
from mini_lib.functions.tasks import KINDS, STEPS, evaluation_curves
from mini_lib.training import TrainingStack


def small(model, form="default", **changes):
    """Few points, few curves, a small network."""
    options = {"dim": 8, "layers": 2, "heads": 2, "scale": 0.05} | options_of(model, form)
    options |= changes.pop("options", {})
    sizes = {"observed": 4, "epochs": 2, "batch_size": 5, "test_curves": 6, "lr": 1e-2}
    return Settings(model, **(sizes | {"options": options, "prefixes": form != "no mask"} | changes))


def test_the_paper_settings_are_the_papers():
    """And are those of `Settings` and of the small networks, but for sizes and tests on the way."""
    s = paper_settings("relational_window")
    assert s.epochs * runs.UPDATES * s.batch_size == 320_000
    assert (s.batch_size, s.lr, s.observed, s.test_curves) == (32, 1e-4, 20, 2500)
    form = {"mask": "strict", "gate": "renormalized", "length": 10.0, "window_rate": 1.0, "scale": 1.0}
    assert s.options == {"dim": 256, "layers": 12, "heads": 8} | form
    assert s.prefixes
    assert s == Settings("relational_window", checks=(1, 3, 10, 30))
    assert build(small("one_d", checks=(1,)), 1).checks == (1,)
    tutorial = tutorial_settings("relational_window", options={"heads": 2})
    assert tutorial.options == form | {"dim": 64, "layers": 3, "heads": 2, "scale": 1 / 20}
    assert (tutorial.epochs, tutorial.batch_size, tutorial.prefixes) == (s.epochs, 32, True)


def test_random_streams_stay_those_of_the_records():
    """The test is one for all, curves depend on seed and epoch, and weights on seed and network."""
    one, other = (build(small(model), 3) for model in ("one_d", "relational"))
    test = [-0.16384, 0.17446, -0.82448, -0.2596, -0.48944, 1.18993]
    assert one.evaluate.keywords["curves"].y[:, 0].tolist() == pytest.approx(test, abs=1e-5)
    assert one.epoch(1)["y"].equal(other.epoch(1)["y"])
    assert one.epoch(1)["y"].shape == (500, 5)
    assert one.epoch(1)["y"][:3, 0].tolist() == pytest.approx([0.2138, -0.0744, 0.00835], abs=1e-5)
    assert one.model.read_in.weight[0].tolist() == pytest.approx([-0.46045, 0.30434], abs=1e-5)


def test_loss_of_a_value_is_its_squared_error():
    y = torch.tensor([[1.0, 2.0, 3.0], [0.0, 0.0, 5.0]])
    assert value_loss(torch.tensor([[2.5], [3.0]]), y, 3) == pytest.approx((0.25 + 4.0) / 2)
    y = torch.tensor([[1.0, 2.0, 4.0, 8.0]])
    assert value_loss(torch.tensor([[4.0, 6.0]]), y, 3) == pytest.approx(2.0)


def test_loss_of_differences_counts_the_trivial_one_too():
    """And every prefix counts alike."""
    y = torch.tensor([[1.0, 2.0, 4.0]])
    answers = torch.tensor([[3.5, 1.0, 1.0]])  # y_3 - y_1 = 3, y_3 - y_2 = 2, y_3 - y_3 = 0
    assert difference_loss(answers, y, 3) == pytest.approx((0.25 + 1.0 + 1.0) / 3)
    y = torch.tensor([[1.0, 2.0, 4.0, 8.0]])
    right = torch.tensor([[3.0, 2.0, 0.0, 7.0, 6.0, 4.0, 0.0]])
    assert difference_loss(right, y, 3) == 0.0
    wrong = right + torch.tensor([[3.0, 3.0, 3.0, 1.0, 1.0, 1.0, 1.0]])
    assert difference_loss(wrong, y, 3) == (9 + 1) / 2


@pytest.mark.parametrize("model", ["one_d", "one_d_level_hidden", "relational"])
@pytest.mark.parametrize("prefixes", [True, False])
def test_the_loss_of_a_run_is_that_of_its_network_and_the_score_is_of_the_last_value(model, prefixes):
    run = build(small(model, prefixes=prefixes), 1)
    y = run.epoch(0)["y"][:5]
    answers, first = run.model(y[:, :-1], prefixes=prefixes), 3 if prefixes else 5
    seen = y - y[:, :1] if model == "one_d_level_hidden" else y
    expected = (difference_loss if model == "relational" else value_loss)(answers, seen, first)
    loss, score = run.loss(run.model, {"y": y})
    torch.testing.assert_close(loss, expected)
    estimates = run.model.trace(y[:, :-1]).estimates
    torch.testing.assert_close(score, (estimates.mean(dim=1) - y[:, -1]).square().mean())


@pytest.mark.parametrize(("model", "form"), [case for case in CASES if case[1] in ("no mask", "everything")])
def test_a_stack_trains_as_each_network_alone(model, form):
    settings = small(model, form)
    pair = [build(settings, seed) for seed in (1, 2)]
    stack = TrainingStack(pair, torch.device("cpu"), stacked=True)
    together = torch.stack([stack.step(stack.batch(update))[0] for update in range(3)])
    for seed in (1, 2):
        alone = TrainingStack([build(settings, seed)], torch.device("cpu"), stacked=False)
        losses = torch.cat([alone.step(alone.batch(update))[0] for update in range(3)])
        torch.testing.assert_close(together[:, seed - 1], losses, rtol=1e-4, atol=0)


def test_runs_that_differ_in_what_a_program_does_are_not_stacked():
    changes = {"form": "causal"}, {"prefixes": False}, {"observed": 5}, {}
    every = [small("one_d"), *(small("relational", **change) for change in changes)]
    keys = {build(settings, 1).stack_key() for settings in every}
    assert len(keys) == 5
    assert build(small("relational"), 2).stack_key() in keys


def test_means_are_taken_by_class_and_weighted():
    values = torch.tensor([[1.0, 3.0], [10.0, 10.0], [4.0, 4.0], [6.0, 6.0]])
    means = per_kind(values, torch.tensor([0, 1, 2, 2]))
    assert means == pytest.approx(
        {"lin": 2.0, "rbf": 10.0, "sine": 5.0, "even": 17 / 3, "all": (15 * 2 + 10 * 10 + 9 * 5) / 34}
    )


def test_extrapolating_in_parts_changes_nothing(monkeypatch):
    model, curves = make("relational_window"), evaluation_curves(7, 16)
    y = curves.y[:, :6].double()
    whole = extrapolate(model, y)
    monkeypatch.setitem(runs.EVAL_BATCH, "cpu", 3)
    parts = extrapolate_all(model, y)
    for ours, expected in zip((*parts[:2], *parts.estimates), (*whole[:2], *whole.estimates), strict=True):
        torch.testing.assert_close(ours, expected)


@pytest.mark.parametrize("name", ["one_d_window", "relational"])
def test_every_metric_is_what_its_name_says(name):
    """Of the last ten points, which the network does not see."""
    model, curves = make(name).float(), evaluation_curves(9, 16)
    metrics = evaluate(model, curves)
    grown, slid = (extrapolate(model, curves.y[:, :6], STEPS, way) for way in ("growing", "sliding"))
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
            off = np.abs(y[mine] - point)
            expected |= {f"covered_{n}": 100 * np.mean(off <= n * spread) for n in (1, 2)}
            ranks = [np.argsort(np.argsort(values.flatten())) for values in (spread, off)]
            expected |= {"spread": spread.mean(), "spread_error": np.corrcoef(*ranks)[0, 1]}
        for measure, value in expected.items():
            assert metrics[f"{measure}_{kind}"] == pytest.approx(value, rel=1e-4), (measure, kind)
    assert ("spread_all" in metrics) == (name == "relational")
    length = model.window.length.item() if name == "one_d_window" else None
    assert metrics.get("window") == length


@pytest.mark.slow
@pytest.mark.parametrize("model", ["one_d", "relational_window"])
def test_a_network_elsewhere_measures_what_it_does_on_the_cpu(model):
    curves, network = evaluation_curves(3, 12), make(model, "causal").float()

    def measure():
        metrics = torch.tensor(list(evaluate(network, curves).values()))
        return metrics.nan_to_num(0.0), extrapolate_all(network, curves.y[:, :4]).point

    with OtherDevice():
        here = measure()
        network.to(OTHER)
        for one, other in zip(here, measure(), strict=True):
            assert other.device.type == "cpu"
            torch.testing.assert_close(other, one, rtol=1e-3, atol=1e-4)


def test_predictors_answer_on_the_cpu():
    y = evaluation_curves(3, 12).y
    with OtherDevice():
        for name, predict in PREDICTORS.items():
            torch.testing.assert_close(predict(y.to(OTHER), 2), predict(y, 2), msg=name)
