"""Gaussian processes fitted to single curves, against curves that are known and scikit-learn's own words."""

import math
import warnings

import numpy as np
import pytest
import torch
from sklearn.exceptions import ConvergenceWarning

from mini_lib.errors import UsageError
from mini_lib.functions.tasks import positions, sample_curves
from mini_lib.reproduction.functions import gaussian_processes
from mini_lib.seeding import torch_rng

OBSERVED, STEPS = 20, 10


def test_a_process_finds_the_line_and_its_noise():
    curve = sample_curves(1, OBSERVED + STEPS, torch_rng(3, "gp"), kind="lin")
    answer = gaussian_processes.predict(curve.y[:, :OBSERVED], STEPS, restarts=0)
    assert answer.kernels == ("linear",)
    assert (answer.point - curve.truth[:, OBSERVED:]).abs().max() < 0.2
    assert 0.05 < answer.spread.min() <= answer.spread.max() < 0.2  # the noise is .1, and counts


def test_a_process_finds_a_period(monkeypatch):
    """Period 4, far from the kernel's other places to start from."""
    monkeypatch.setattr(gaussian_processes, "KERNELS", gaussian_processes.PARTS)
    x = positions(OBSERVED + STEPS)
    curve = (torch.sin(math.pi * x / 2) + torch.cos(math.pi * x) / 2 + 0.02 * torch.cos(9 * x**2))[None]
    seen = curve[:, :OBSERVED]
    assert gaussian_processes.strongest_period(seen[0]) == 4
    answer = gaussian_processes.predict(seen, STEPS, restarts=0)
    assert answer.kernels == ("periodic",)
    assert (answer.point - curve[:, OBSERVED:]).abs().max() < 0.1


def test_the_best_kernel_is_the_one_of_most_worth(monkeypatch):
    names = ("rbf", "linear", "rbf+linear")
    monkeypatch.setattr(gaussian_processes, "KERNELS", names)
    y = sample_curves(1, OBSERVED, torch_rng(0, "baselines")).y
    fitted = {name: gaussian_processes.fit(y[0], name, 0) for name in names}
    answer = gaussian_processes.predict(y, 3, 0)
    best = max(names, key=lambda name: gaussian_processes.worth(fitted[name]))
    assert answer.kernels == (best,)
    point, spread = fitted[best].predict([[21.0], [22.0], [23.0]], return_std=True)
    np.testing.assert_allclose(answer.point[0], point)
    np.testing.assert_allclose(answer.spread[0], spread)
    gap = gaussian_processes.worth(fitted["rbf"], False) - gaussian_processes.worth(fitted["rbf"])
    assert fitted["rbf"].kernel_.theta.size == 3
    assert gap == pytest.approx(1.5 * math.log(OBSERVED))


def test_scikit_learns_warning_stays_inside():
    """Some optimum lies on a bound: without the filter there would be a warning, and warnings are errors here."""
    regressor = gaussian_processes.fit(0.1 * positions(OBSERVED), "rbf+linear", 0)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        regressor.fit(regressor.X_train_, regressor.y_train_)
    assert any(issubclass(each.category, ConvergenceWarning) for each in seen)


def test_kernels_have_names():
    pairs = ("rbf+linear", "rbf+periodic", "linear+periodic")
    assert gaussian_processes.KERNELS == ("rbf", "linear", "periodic", *pairs)
    two = gaussian_processes.predict(torch.tensor([[0.1, 0.2]]), 2, restarts=0)
    assert two.point.isfinite().all()
    with pytest.raises(UsageError, match="did you mean 'linear'"):
        gaussian_processes.fit(torch.ones(5), "liner")
    with pytest.raises(UsageError, match="N from 2"):
        gaussian_processes.predict(torch.ones(1, 1))
