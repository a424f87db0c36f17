"""What a record keeps of a test: every figure against a second computation on curves made by hand."""

import numpy as np
import pytest
import torch

from functions.helpers import network
from mini_lib.functions.evaluation import CURVES_AT_ONCE, evaluate, extrapolate_all, per_kind
from mini_lib.functions.extrapolation import extrapolate
from mini_lib.functions.tasks import KINDS, STEPS, Curves, evaluation_curves

# ------------------------------------------------------------------------------------------------ means


def test_means_are_taken_by_class_and_weighted():
    values = torch.tensor([[1.0, 3.0], [10.0, 10.0], [4.0, 4.0], [6.0, 6.0]])
    means = per_kind(values, torch.tensor([0, 1, 2, 2]))
    assert means["lin"] == 2.0
    assert means["rbf"] == 10.0
    assert means["sine"] == 5.0
    assert means["even"] == pytest.approx(17 / 3)
    assert means["all"] == pytest.approx((15 * 2 + 10 * 10 + 9 * 5) / 34)


# ------------------------------------------------------------------------------------------------ figures


def test_extrapolating_in_parts_changes_nothing(monkeypatch):
    model, curves = network("relational_window"), evaluation_curves(10, 16)
    whole = extrapolate(model, curves.y[:, :6])
    monkeypatch.setitem(CURVES_AT_ONCE, "cpu", 3)
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
