"""Bounds against the numbers of the literature, a second computation, and a brute force loop."""

import math

import numpy as np
import pytest
import torch
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from functions.helpers import hand_made
from mini_lib.functions import bounds
from mini_lib.functions.baselines import PREDICTORS
from mini_lib.functions.tasks import evaluation_curves, sample_curves
from mini_lib.seeding import torch_rng

OBSERVED, STEPS = 20, 10
PER_STEP = [0.240, 0.430, 0.638, 0.809, 0.919, 0.974, 0.996, 1.003, 1.005, 1.005]


@pytest.fixture
def curves():
    return sample_curves(12, OBSERVED + STEPS, torch_rng(0, "bounds"))


@pytest.fixture
def small(monkeypatch):
    """A grid that a loop can walk through."""
    grid = {"slopes": 7, "periods": 5, "amplitudes": 3, "phases": 6}
    monkeypatch.setattr(bounds, "GRID", grid)
    return grid


# ---------------------------------------------------------------------------------------------- closed forms


def test_the_optimal_uncertainty_of_table_2():
    spread = bounds.optimal_spread(OBSERVED)
    assert spread.tolist() == pytest.approx(PER_STEP, abs=5e-4)
    assert round(float(spread.mean()), 4) == 0.8020
    assert float(bounds.posterior(OBSERVED).variance.sqrt().mean()) == pytest.approx(0.7942, abs=5e-5)


@pytest.mark.parametrize(
    ("observed", "noise", "mean"), [(20, 0.1 / 3**0.5, 0.771), (10, 0.1, 0.802), (50, 0.1, 0.802)]
)
def test_the_optimal_uncertainty_of_other_readings(observed, noise, mean):
    """With 0.1 as the half-width of the noise; and of other N, which hardly matter."""
    assert float(bounds.optimal_spread(observed, noise=noise).mean()) == pytest.approx(mean, abs=5e-4)


WINDOWS = [(2, True, 0.717), (3, True, 0.714), (4, True, 0.705), (6, True, 0.703)]


@pytest.mark.parametrize(("observed", "level", "error"), [(20, True, 0.7016), (20, False, 0.858), *WINDOWS])
def test_the_least_error_on_rbf_curves(observed, level, error):
    assert bounds.optimal_error(observed, sees_offset=level) == pytest.approx(error, abs=5e-4)


@pytest.mark.parametrize("level", [True, False])
def test_the_expected_error_is_the_mean_error(level):
    new = sample_curves(4000, OBSERVED + STEPS, torch_rng(1, "bounds"), kind="rbf")
    answer = bounds.gaussian_process(new.y[:, :OBSERVED], STEPS, sees_offset=level)
    error = (answer - new.truth[:, OBSERVED:]).square().mean(dim=0)
    torch.testing.assert_close(
        error, bounds.posterior(OBSERVED, sees_offset=level).variance, rtol=0.1, atol=1e-3
    )


def by_scikit_learn(y, kernel):
    regressor = GaussianProcessRegressor(kernel + WhiteKernel(0.01), optimizer=None, alpha=0)
    regressor.fit(np.arange(1.0, OBSERVED + 1)[:, None], y.double().numpy())
    return regressor, np.arange(OBSERVED + 1.0, OBSERVED + STEPS + 1)[:, None]


def test_the_posterior_is_scikit_learns(curves):
    y = curves.y[:, :OBSERVED]
    answer = bounds.gaussian_process(y, STEPS)
    evidence, _ = bounds._gaussian(y.double(), bounds.posterior(OBSERVED))
    for i in range(len(y)):
        regressor, ahead = by_scikit_learn(y[i], RBF(3.0))
        point, spread = regressor.predict(ahead, return_std=True)
        np.testing.assert_allclose(answer[i].numpy(), point, atol=1e-6)
        np.testing.assert_allclose(bounds.optimal_spread(OBSERVED).numpy(), spread, atol=1e-6)
        assert float(evidence[i]) == pytest.approx(regressor.log_marginal_likelihood_value_, abs=1e-6)


def test_without_level_it_is_the_limit_of_a_constant_kernel(curves):
    y = curves.y[:, :OBSERVED]
    answer = bounds.gaussian_process(y, STEPS, sees_offset=False)
    for i in range(len(y)):
        regressor, ahead = by_scikit_learn(y[i], RBF(3.0) + ConstantKernel(1e4))
        np.testing.assert_allclose(answer[i].numpy(), regressor.predict(ahead), atol=1e-3)


# ----------------------------------------------------------------------------------------------- the mixture


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


@pytest.mark.parametrize("level", [True, False])
@pytest.mark.parametrize("noise", [0.1, 0.8])
def test_the_mixture_against_a_loop(curves, small, level, noise):
    y = curves.y[:, :OBSERVED]
    contrasts = np.eye(OBSERVED)
    if not level:  # other contrasts than ours, of the same space
        contrasts = np.linalg.qr(np.diff(np.eye(OBSERVED), axis=0).T).Q.T
    answer = bounds.mixture(y, STEPS, noise, level)
    for i, curve in enumerate(y.double().numpy()):
        found = by_loop(curve, small, contrasts, noise)
        weights = np.exp(np.array([log for log, *_ in found]) - max(log for log, *_ in found))
        weights /= weights.sum()
        kinds = np.array([kind for _, kind, _ in found])
        shares = [weights[kinds == kind].sum() for kind in range(3)]
        np.testing.assert_allclose(answer.probabilities[i].numpy(), shares, atol=1e-4)
        np.testing.assert_allclose(answer.point[i].numpy(), weights @ [f for *_, f in found], atol=1e-3)
    if noise > 0.5:  # in so much noise every class is doubtful somewhere
        assert ((answer.probabilities > 0.02) & (answer.probabilities < 0.98)).any(dim=0).all()


@pytest.mark.parametrize("level", [True, False])
def test_adding_a_constant(curves, small, level):
    y = curves.y[:, :OBSERVED].double()
    plain, moved = (
        bounds.mixture(y, STEPS, sees_offset=level),
        bounds.mixture(y + 3, STEPS, sees_offset=level),
    )
    if level:
        assert (moved.point - plain.point - 3).abs().max() > 0.1
    else:
        torch.testing.assert_close(moved.point, plain.point + 3, rtol=0, atol=1e-6)
        torch.testing.assert_close(moved.probabilities, plain.probabilities, rtol=0, atol=1e-6)
        near = (
            bounds.gaussian_process(y, STEPS, sees_offset=False),
            bounds.gaussian_process(y + 3, STEPS, sees_offset=False),
        )
        torch.testing.assert_close(near[1], near[0] + 3, rtol=0, atol=1e-10)


def test_chunks_do_not_meet(curves, small, monkeypatch):
    y = curves.y[:, :OBSERVED]
    whole = bounds.mixture(y, STEPS)
    monkeypatch.setattr(bounds, "CHUNK", 5)
    torch.testing.assert_close(bounds.mixture(y, STEPS).point, whole.point, rtol=0, atol=1e-5)


# ------------------------------------------------------------------------------------------------- errors


def test_a_score_by_hand():
    point, curves = hand_made()
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
    "GP-RBF oracle": (1.47, 0.7016, 0.989),
    "zero": (2.20, 1.0, 0.507),
    "last value": (0.140, 1.335, 1.062),
    "OLS line": (0.004, 2.66, 0.668),
}


@pytest.mark.parametrize("count", [45, pytest.param(2500, marks=pytest.mark.slow)])
def test_known_errors(count):
    """Within four standard errors."""
    curves = evaluation_curves(count, OBSERVED + STEPS)
    y = curves.y[:, :OBSERVED]
    points = {
        "Bayes mixture": bounds.mixture(y).point,
        "best shift-invariant": bounds.mixture(y, sees_offset=False).point,
        "GP-RBF oracle": bounds.gaussian_process(y),
    } | {name: predict(y, STEPS) for name, predict in PREDICTORS.items()}
    rows = {name: bounds.score(point, curves, OBSERVED) for name, point in points.items()}
    for name, known in KNOWN.items():
        for kind, mse in zip(("lin", "rbf", "sine"), known, strict=True):
            ours = rows[name][kind]
            assert abs(ours.mse - mse) < 4 * ours.se + 0.001, (name, kind, ours)
    assert rows["best shift-invariant"]["even"].mse < min(rows[name]["even"].mse for name in PREDICTORS)
