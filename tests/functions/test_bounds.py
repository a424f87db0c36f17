"""Bounds against the numbers of the literature, a second computation, and a brute force loop."""

import math

import numpy as np
import pytest
import torch
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

from mini_lib.functions import bounds
from mini_lib.functions.baselines import PREDICTORS
from mini_lib.functions.tasks import Curves, evaluation_curves, sample_curves
from mini_lib.seeding import torch_rng

OBSERVED, STEPS = 20, 10


@pytest.fixture
def y():
    """Twelve noisy curves of all classes."""
    return sample_curves(12, OBSERVED, torch_rng(0, "bounds")).y


def test_the_optimal_uncertainty_of_table_2():
    spread = bounds.optimal_spread(OBSERVED)
    by_step = [0.240, 0.430, 0.638, 0.809, 0.919, 0.974, 0.996, 1.003, 1.005, 1.005]
    assert spread.tolist() == pytest.approx(by_step, abs=5e-4)
    assert float(spread.mean()) == pytest.approx(0.802, abs=5e-5)
    half_width = 0.1 / math.sqrt(3)  # if 0.1 were the half-width of the noise
    assert float(bounds.optimal_spread(OBSERVED, noise=half_width).mean()) == pytest.approx(0.771, abs=5e-4)


@pytest.mark.parametrize(("sees_offset", "error"), [(True, 0.7016), (False, 0.858)])
def test_the_least_error_on_rbf_curves_is_the_mean_error_of_the_posterior(sees_offset, error):
    known = bounds.posterior(OBSERVED, sees_offset=sees_offset)
    new = sample_curves(4000, OBSERVED + STEPS, torch_rng(1, "bounds"), kind="rbf")
    seen, level = new.y[:, :OBSERVED].double(), 0
    if not sees_offset:
        level = seen.mean(dim=1, keepdim=True)
        seen = seen @ bounds._contrasts(OBSERVED, False)[0].mT
    errors = (seen @ known.gain.mT + level - new.truth[:, OBSERVED:]).square().mean(dim=0)
    torch.testing.assert_close(errors, known.variance, rtol=0.1, atol=1e-3)
    assert bounds.optimal_error(OBSERVED, sees_offset=sees_offset) == pytest.approx(error, abs=5e-4)


def test_the_posterior_is_scikit_learns(y):
    known = bounds.posterior(OBSERVED)
    evidence, points = bounds._gaussian(y.double(), known)
    regressor = GaussianProcessRegressor(RBF(3.0) + WhiteKernel(0.01), optimizer=None, alpha=0)
    for curve, log, point in zip(y.double().numpy(), evidence, points, strict=True):
        regressor.fit(np.arange(1.0, OBSERVED + 1)[:, None], curve)
        mean, spread = regressor.predict(np.arange(21.0, 31.0)[:, None], return_std=True)
        np.testing.assert_allclose(point, mean, atol=1e-6)
        np.testing.assert_allclose(bounds.optimal_spread(OBSERVED), spread, atol=1e-6)
        assert float(log) == pytest.approx(regressor.log_marginal_likelihood_value_, abs=1e-6)


def every_function(grid):
    """Each line and sine of the grid, and its log prior probability: (class, f(1..30), log p)."""

    def middles(low, high, count):
        return [low + (high - low) * (i + 0.5) / count for i in range(count)]

    x = np.arange(1, OBSERVED + STEPS + 1)
    for slope in middles(-0.1, 0.1, grid["slopes"]):
        yield 0, slope * x, -math.log(3 * grid["slopes"])
    count = grid["periods"] * grid["amplitudes"] * grid["phases"]
    for period in middles(5, 12, grid["periods"]):
        for amplitude in middles(0.8, 1.2, grid["amplitudes"]):
            for step in range(grid["phases"]):
                phase = 2 * math.pi * step / grid["phases"]
                yield 2, amplitude * np.sin(2 * math.pi * x / period + phase), -math.log(3 * count)


def by_loop(y, grid, contrasts, noise):
    """Log weights, classes and predictions of all explanations of a curve, one at a time."""
    covariance = np.exp(-0.5 * np.subtract.outer(range(30), range(30)) ** 2 / 9)
    found = []
    for kind, f, prior in every_function(grid):
        rest = contrasts @ (y - f[:OBSERVED])
        likelihood = -0.5 * rest @ rest / noise**2 - len(rest) * math.log(noise * math.sqrt(2 * math.pi))
        level = 0 if len(rest) == OBSERVED else np.mean(y - f[:OBSERVED])
        found.append((prior + likelihood, kind, f[OBSERVED:] + level))
    # A level as unsure as can be, for the Gaussian process that sees differences only.
    vague = covariance + (1e4 if len(contrasts) < OBSERVED else 0)
    seen = vague[:OBSERVED, :OBSERVED] + noise**2 * np.eye(OBSERVED)
    inner = contrasts @ seen @ contrasts.T
    z = contrasts @ y
    likelihood = -0.5 * z @ np.linalg.solve(inner, z) - 0.5 * np.linalg.slogdet(2 * math.pi * inner)[1]
    found.append((likelihood - math.log(3), 1, vague[OBSERVED:, :OBSERVED] @ np.linalg.solve(seen, y)))
    return found


@pytest.mark.parametrize("sees_offset", [True, False])
@pytest.mark.parametrize("noise", [0.1, 0.8])
def test_the_mixture_against_a_loop(y, noise, sees_offset, monkeypatch):
    """On a grid that a loop can walk through, and in chunks of curves."""
    grid = {"slopes": 7, "periods": 5, "amplitudes": 3, "phases": 6}
    monkeypatch.setattr(bounds, "GRID", grid)
    monkeypatch.setattr(bounds, "CHUNK", 5)
    contrasts = np.eye(OBSERVED)
    if not sees_offset:  # other contrasts than ours, of the same space
        contrasts = np.linalg.qr(np.diff(np.eye(OBSERVED), axis=0).T).Q.T
    answer = bounds.mixture(y, STEPS, noise, sees_offset)
    for i, curve in enumerate(y.double().numpy()):
        logs, kinds, points = zip(*by_loop(curve, grid, contrasts, noise), strict=True)
        weights = np.exp(np.array(logs) - max(logs))
        weights /= weights.sum()
        shares = [weights[np.array(kinds) == kind].sum() for kind in range(3)]
        np.testing.assert_allclose(answer.probabilities[i], shares, atol=1e-4)
        np.testing.assert_allclose(answer.point[i], weights @ points, atol=1e-3)
    if noise > 0.5:  # in so much noise every class is doubtful somewhere
        assert ((answer.probabilities > 0.02) & (answer.probabilities < 0.98)).any(dim=0).all()


def test_a_score_by_hand():
    """Six curves of two points after one observation; errors 1, 3 (lines), 0, 0 (RBF), 4, 8 (sines)."""
    truth = torch.zeros(6, 3)
    curves = Curves(truth, truth + 9, torch.tensor([0, 0, 1, 1, 2, 2]))
    point = torch.tensor([[1.0, 1.0], [0.0, 6.0**0.5], [0.0, 0.0], [0.0, 0.0], [2.0, -2.0], [0.0, 4.0]])
    scores = bounds.score(point, curves, 1, {"lin": 0.5, "rbf": 0.3, "sine": 0.2})
    assert scores["lin"] == pytest.approx((2.0, 1.0))  # standard deviation sqrt 2, of two curves
    assert scores["rbf"] == (0.0, 0.0)
    assert scores["sine"] == pytest.approx((6.0, 2.0))
    assert scores["all"] == pytest.approx((2.2, math.hypot(0.5, 0.4)))  # errors of classes are independent
    assert scores["even"] == pytest.approx((8 / 3, math.sqrt(5) / 3))


# Lines, RBF curves, sines, by an independent computation on other curves; the RBF bounds are exact.
KNOWN = {
    "Bayes mixture": (0.0023, 0.7016, 0.0047),
    "best shift-invariant": (0.004, 0.858, 0.006),
    "zero": (2.20, 1.0, 0.507),
    "last value": (0.140, 1.335, 1.062),
    "OLS line": (0.004, 2.66, 0.668),
    "ridge AR(2)": (0.129, 1.025, 0.099),
}


@pytest.mark.parametrize("count", [90, pytest.param(800, marks=pytest.mark.slow)])
def test_known_errors(count):
    """Within four standard errors."""
    curves = evaluation_curves(count, OBSERVED + STEPS)
    seen = curves.y[:, :OBSERVED]
    points = {name: predict(seen, STEPS) for name, predict in PREDICTORS.items()} | {
        "Bayes mixture": bounds.mixture(seen).point,
        "best shift-invariant": bounds.mixture(seen, sees_offset=False).point,
    }
    rows = {name: bounds.score(point, curves, OBSERVED) for name, point in points.items()}
    for name, known in KNOWN.items():
        for kind, mse in zip(("lin", "rbf", "sine"), known, strict=True):
            ours = rows[name][kind]
            assert abs(ours.mse - mse) < 4 * ours.se + 0.001, (name, kind, ours)
    assert rows["best shift-invariant"]["even"].mse < min(rows[name]["even"].mse for name in PREDICTORS)
