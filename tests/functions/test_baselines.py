"""Predictors on curves whose continuation is known, and against slow loops and scikit-learn."""

import math

import numpy as np
import pytest
import torch
from sklearn.linear_model import LinearRegression, Ridge

from mini_lib.functions import baselines
from mini_lib.functions.tasks import positions, sample_curves
from mini_lib.seeding import torch_rng

OBSERVED, STEPS = 20, 10


@pytest.fixture
def noisy():
    """Thirty noisy curves of all classes."""
    return sample_curves(30, OBSERVED, torch_rng(0, "baselines")).y


def sines():
    """Noiseless sines of three periods, and where they go."""
    x = positions(OBSERVED + STEPS)
    curves = torch.stack([1.1 * torch.sin(2 * math.pi * x / period + 0.4) for period in (5.0, 7.3, 12.0)])
    return curves[:, :OBSERVED], curves[:, OBSERVED:]


def lines(starts=(0.0, 1.0, -0.5)):
    x = positions(OBSERVED + STEPS)
    curves = torch.stack([start + slope * x for start, slope in zip(starts, (0.1, -0.03, 0.07), strict=True)])
    return curves[:, :OBSERVED], curves[:, OBSERVED:]


@pytest.mark.parametrize("name", baselines.PREDICTORS)
def test_every_predictor_has_one_interface(name, noisy):
    answer = baselines.PREDICTORS[name](noisy, 4)
    assert answer.shape == (30, 4)
    assert answer.dtype == torch.float64
    assert answer.isfinite().all()
    alone = baselines.PREDICTORS[name](noisy[3:4], 4)
    torch.testing.assert_close(alone, answer[3:4], rtol=1e-8, atol=1e-9)  # curves do not meet
    assert (baselines.PREDICTORS[name](torch.zeros(1, OBSERVED), 3) == 0).all()
    if name in ("zero", "last value"):
        assert answer.equal(0 * answer if name == "zero" else noisy[:, [-1, -1, -1, -1]].double())


def test_the_straight_line_is_least_squares(noisy):
    x = positions(OBSERVED + STEPS).numpy()[:, None]
    model = LinearRegression().fit(x[:OBSERVED], noisy.double().numpy().T)
    answer = baselines.straight_line(noisy, STEPS).numpy()
    np.testing.assert_allclose(answer, model.predict(x[OBSERVED:]).T, atol=1e-9)


# --------------------------------------------------------------------------------------------- autoregression


@pytest.mark.parametrize("curves", [sines, lines])
def test_two_weights_go_on_exactly_as_the_ridge_vanishes(curves):
    seen, ahead = curves()
    answer = baselines.autoregression(seen, STEPS, order=2, ridge=1e-9)
    torch.testing.assert_close(answer, ahead, rtol=0, atol=1e-4)  # no line of the task is clipped


def test_the_two_weights_are_the_known_ones():
    of_sines = [[2 * math.cos(2 * math.pi / period), -1] for period in (5.0, 7.3, 12.0)]
    for curves, expected in ((sines, of_sines), (lines, 3 * [[2.0, -1.0]])):
        weights = baselines.ar_weights(curves()[0], 2, 1e-9)
        torch.testing.assert_close(weights, torch.tensor(expected).double(), rtol=0, atol=1e-5)


@pytest.mark.parametrize(("order", "ridge"), [(2, 0.1), (3, 0.1), (6, 1.0)])
def test_autoregression_against_a_loop(noisy, order, ridge):
    answer = baselines.autoregression(noisy, STEPS, order, ridge)
    for curve, own in zip(noisy.double().numpy(), answer.numpy(), strict=True):
        rows = [curve[i - order : i][::-1] for i in range(order, OBSERVED)]
        model = Ridge(alpha=ridge, fit_intercept=False).fit(np.array(rows), curve[order:])
        known, limit = list(curve), 3 * np.abs(curve).max()
        for _ in range(STEPS):
            known.append(float(np.clip(model.coef_ @ known[: -order - 1 : -1], -limit, limit)))
        np.testing.assert_allclose(own, known[OBSERVED:], atol=1e-8)


def test_a_rollout_is_clipped_at_three_times_the_largest_observation():
    y = torch.tensor([[1.0, 2.0], [-10.0, -20.0], [1.0, 2.0]]).double()
    weights = torch.tensor([[2.0, 0.0], [2.0, 0.0], [0.5, 0.0]]).double()
    answer = baselines.roll_out(y, weights, 4)
    assert answer.tolist() == [[4, 6, 6, 6], [-40, -60, -60, -60], [1, 0.5, 0.25, 0.125]]
    free = baselines.roll_out(y, weights, 4, clip_factor=math.inf)
    assert free.tolist() == [[4, 8, 16, 32], [-40, -80, -160, -320], [1, 0.5, 0.25, 0.125]]


def test_leave_one_out_leaves_one_out(noisy):
    order, skip = 3, 6
    errors = baselines.leave_one_out(noisy.double(), order, 0.1, skip)
    for curve, error in zip(noisy.double().numpy()[:5], errors, strict=False):
        rows = np.array([curve[i - order : i][::-1] for i in range(skip, OBSERVED)])
        squares = []
        for out in range(len(rows)):
            kept = np.arange(len(rows)) != out
            model = Ridge(alpha=0.1, fit_intercept=False).fit(rows[kept], curve[skip:][kept])
            squares.append((curve[skip + out] - rows[out] @ model.coef_) ** 2)
        assert float(error) == pytest.approx(np.mean(squares), rel=1e-8)


def test_order_by_loocv_takes_the_order_with_the_least_error(noisy):
    orders = (2, 5)
    answer = baselines.order_by_loocv(noisy, STEPS, orders)
    errors = [baselines.leave_one_out(noisy.double(), order, 0.1, 5) for order in orders]
    taken = set()
    for i in range(len(noisy)):
        best = orders[int(errors[1][i] < errors[0][i])]
        taken.add(best)
        torch.testing.assert_close(answer[i : i + 1], baselines.autoregression(noisy[i : i + 1], STEPS, best))
    assert taken == {2, 5}


def test_maximum_entropy_solves_yule_and_walker(noisy):
    """The process with these weights has the curve's own autocovariances, and dies away."""
    answer = baselines.maximum_entropy(noisy, 1, order=3)
    for curve, own in zip(noisy.double().numpy(), answer[:, 0], strict=True):
        r = [curve[lag:] @ curve[: OBSERVED - lag] for lag in range(4)]
        weights = np.linalg.solve([[r[0], r[1], r[2]], [r[1], r[0], r[1]], [r[2], r[1], r[0]]], r[1:])
        assert float(own) == pytest.approx(float(weights @ curve[:-4:-1]), abs=1e-6)
        assert np.abs(np.roots([1, *-weights])).max() < 1
    assert baselines.maximum_entropy(noisy, 500)[:, -1].abs().max() < 0.1


def test_pooled_weights_are_least_squares_over_all_curves():
    y = sample_curves(baselines.POOL, 4, torch_rng(0, "pooled autoregression")).y.double().numpy()
    expected = np.linalg.lstsq(y[:, 2::-1], y[:, 3])[0]
    answer = baselines.pooled(torch.eye(3), 1)[:, 0].flip(0)
    np.testing.assert_allclose(answer.numpy(), expected, atol=1e-6)


def test_with_two_observations_there_are_two_pooled_lags(noisy):
    assert baselines.pooled(noisy[:, :2], 3).shape == (30, 3)


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("ridge AR(2)", (0.129, 1.025, 0.099)),
        ("ridge AR(3)", (0.156, 1.186, 0.024)),
        ("ridge AR(6)", (0.133, 1.48, 0.015)),
        ("pooled AR(20)", (0.326, 1.039, 0.452)),
    ],
)
def test_the_errors_that_are_known(name, known):
    """An independent computation on 2,500 curves, clipped at 10 rather than by the curve's own scale."""
    for kind, mse in zip(("lin", "rbf", "sine"), known, strict=True):
        curves = sample_curves(3000, OBSERVED + STEPS, torch_rng(0, "known errors"), kind=kind)
        answer = baselines.PREDICTORS[name](curves.y[:, :OBSERVED], STEPS)
        error = float((answer - curves.truth[:, OBSERVED:]).square().mean())
        assert error == pytest.approx(mse, rel=0.2 if name.startswith("pooled") else 0.1), kind
