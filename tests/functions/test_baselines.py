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


def fitted(curve, order, ridge, skip, left_out=()):
    """Weights of a curve by scikit-learn, from the values after the first few but those left out."""
    kept = [i for i in range(skip, len(curve)) if i not in left_out]
    rows = [curve[i - order : i][::-1] for i in kept]
    return Ridge(alpha=ridge, fit_intercept=False).fit(rows, curve[kept]).coef_


@pytest.mark.parametrize("name", baselines.PREDICTORS)
def test_every_predictor_has_one_interface(name, noisy):
    predict = baselines.PREDICTORS[name]
    answer = predict(noisy, 4)
    assert (answer.shape, answer.dtype) == ((30, 4), torch.float64)
    alone = predict(noisy[3:4], 4)  # curves do not meet
    torch.testing.assert_close(alone, answer[3:4], rtol=1e-8, atol=1e-9)
    assert not predict(torch.zeros(1, OBSERVED), 3).any()
    known = {"zero": 0 * answer, "last value": noisy[:, [-1, -1, -1, -1]].double()}
    assert answer.equal(known.get(name, answer))


def test_the_straight_line_is_least_squares(noisy):
    x = positions(OBSERVED + STEPS).numpy()[:, None]
    model = LinearRegression().fit(x[:OBSERVED], noisy.double().numpy().T)
    answer = baselines.straight_line(noisy, STEPS).numpy()
    np.testing.assert_allclose(answer, model.predict(x[OBSERVED:]).T, atol=1e-9)


@pytest.mark.parametrize(("order", "ridge"), [(2, 0.1), (6, 1.0)])
def test_autoregression_against_a_loop(noisy, order, ridge):
    answer = baselines.autoregression(noisy, STEPS, order, ridge)
    for curve, own in zip(noisy.double().numpy(), answer.numpy(), strict=True):
        weights = fitted(curve, order, ridge, skip=order)
        known, limit = list(curve), 3 * np.abs(curve).max()
        for _ in range(STEPS):
            known.append(float(np.clip(weights @ known[: -order - 1 : -1], -limit, limit)))
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
    for curve, error in zip(noisy[:5].double().numpy(), errors, strict=False):
        squares = [
            (curve[out] - curve[out - order : out][::-1] @ fitted(curve, order, 0.1, skip, {out})) ** 2
            for out in range(skip, OBSERVED)
        ]
        assert float(error) == pytest.approx(np.mean(squares), rel=1e-8)


def test_order_by_loocv_takes_the_order_with_the_least_error(noisy):
    orders = (2, 5)
    answer = baselines.order_by_loocv(noisy, STEPS, orders)
    errors = [baselines.leave_one_out(noisy.double(), order, 0.1, 5) for order in orders]
    best = [orders[second < first] for first, second in zip(*errors, strict=True)]
    expected = [baselines.autoregression(y[None], STEPS, order) for y, order in zip(noisy, best, strict=True)]
    torch.testing.assert_close(answer, torch.cat(expected))
    assert set(best) == {2, 5}
