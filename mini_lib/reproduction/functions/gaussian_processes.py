"""Gaussian processes fitted to one curve at a time: the most popular account of how people learn functions.

As in Lucas et al. (2015) and Schulz et al. (2017) a learner has a few kernels and sums of them. Each is fitted to
the observations by maximum marginal likelihood, noise included, and the best one predicts: mean and standard
deviation. A sum has its parts as special cases and is never less likely, so every hyperparameter costs log(N) / 2
(the BIC of Duvenaud et al., 2013); `penalized=False` leaves this out.

scikit-learn does the fitting, at about a fifth of a second a curve: for a few curves, not for 2,500.
"""

import warnings
from itertools import combinations
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Kernel,
    WhiteKernel,
)
from torch import Tensor

from mini_lib.errors import check_names
from mini_lib.functions.baselines import checked
from mini_lib.functions.tasks import NOISE, STEPS, positions

PARTS = ("rbf", "linear", "periodic")
SHORTEST_PERIOD = 3.0  # shorter ones fit the noise
SIZES = (1e-4, 1e2)  # of the variance of a component
SLOPES = (1e-6, 1e1)  # of the variance of a slope


def _parts(observed: int, period: float) -> dict[str, Kernel]:
    """The kernels, with places to start from and bounds that suit N observations one step apart."""
    widest = float(max(observed, 4))
    period = min(max(period, SHORTEST_PERIOD), widest)
    repeating = ExpSineSquared(1.5, period, (0.5, 10.0), (SHORTEST_PERIOD, widest))
    return {
        "rbf": ConstantKernel(1.0, SIZES) * RBF(2.0, (0.5, 2 * widest)),
        "linear": ConstantKernel(0.01, SLOPES) * DotProduct(1.0, (1e-2, 1e2)),
        "periodic": ConstantKernel(1.0, SIZES) * repeating,
    }


KERNELS = tuple("+".join(names) for size in (1, 2) for names in combinations(PARTS, size))


class Prediction(NamedTuple):
    """What fitted processes say of the S points after the last observation."""

    point: Float[Tensor, "B S"]  #: posterior mean.
    #: posterior standard deviation of another observation there, its noise included.
    spread: Float[Tensor, "B S"]
    kernels: tuple[str, ...]  #: the chosen kernel of each curve, by name.


def strongest_period(y: Float[Tensor, "N"]) -> float:
    """The period of the largest Fourier coefficient of a curve less its mean."""
    spectrum = torch.fft.rfft(y - y.mean()).abs()[1:]
    return len(y) / (1 + int(spectrum.argmax()))


def build_kernel(name: str, y: Float[Tensor, "N"]) -> Kernel:
    """The kernel of that name, such as "rbf+linear", plus white noise, with a place to start from for this curve.

    The likelihood has a local maximum at every wrong period, so the search starts at the strongest one.
    """
    check_names("kernel", [name], KERNELS)
    parts = _parts(len(y), strongest_period(y))
    kernel = WhiteKernel(NOISE**2, (1e-5, 1.0))
    for part in reversed(name.split("+")):
        kernel = parts[part] + kernel
    return kernel


def fit(y: Float[Tensor, "N"], name: str, restarts: int = 1) -> GaussianProcessRegressor:
    """Fit one kernel, by its name, to one curve by maximum marginal likelihood.

    The search begins at the kernel's own place; `restarts` more begin at random ones, always the same.
    """
    x = positions(len(y)).numpy()[:, None]
    kernel = build_kernel(name, y)
    regressor = GaussianProcessRegressor(kernel, n_restarts_optimizer=restarts, random_state=0, alpha=1e-8)
    with warnings.catch_warnings():
        # It says that an optimum lies on a bound. Here that is an answer: a part of the kernel is not needed.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return regressor.fit(x, y.double().numpy())


def worth(regressor: GaussianProcessRegressor, penalized: bool = True) -> float:
    """Log marginal likelihood, less log(N) / 2 for each hyperparameter."""
    cost = 0.5 * np.log(len(regressor.X_train_)) * regressor.kernel_.n_dims
    return float(regressor.log_marginal_likelihood_value_ - penalized * cost)


def predict(y: Float[Tensor, "B N"], steps: int = STEPS, restarts: int = 1) -> Prediction:
    """Fit every kernel (see `fit`) to each curve of observations at x = 1..N, and let the best one predict."""
    y = checked(y, steps)
    ahead = positions(y.shape[1] + steps)[y.shape[1] :].numpy()[:, None]
    points, spreads, chosen = [], [], []
    for curve in y:
        fitted = {name: fit(curve, name, restarts) for name in KERNELS}
        best = max(fitted, key=lambda name: worth(fitted[name]))
        point, spread = fitted[best].predict(ahead, return_std=True)
        points.append(torch.from_numpy(point))
        spreads.append(torch.from_numpy(spread))
        chosen.append(best)
    return Prediction(torch.stack(points), torch.stack(spreads), tuple(chosen))
