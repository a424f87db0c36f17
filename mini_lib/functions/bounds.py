"""Lower bounds on the error, as closed forms and exact mixtures, and the error of any predictor.

All are Bayesian regressions on curves whose class is known, or one of three. A predictor that does not see the
offset of a curve, as behind the relational bottleneck, gets z = H y with H the N - 1 orthonormal contrasts (rows
sum to 0), and predicts f(x) less the mean of the observations. With T = I and o = 0, or T = H and o_i = 1/N:

    z = T y,    prediction = o . y + E[f(x) - o . y | z].

H H^T = I, so noise stays independent noise. It is taken as Gaussian with the variance of the true, uniform one:
errors of the Gaussian process stay exact, since only second moments enter, but on lines and sines the mixture bounds
only predictors that do not exploit the edges of the uniform noise (.0022 on lines from 20 observations, else .0007).
"""

import math
from collections.abc import Mapping
from typing import NamedTuple

import torch
from jaxtyping import Float
from scipy.linalg import helmert
from torch import Tensor
from torch.nn import functional as F

from mini_lib.errors import UsageError, check_names, check_positive, check_positive_int
from mini_lib.functions import tasks
from mini_lib.functions.baselines import checked
from mini_lib.functions.tasks import KINDS, NOISE, STEPS, Curves, covariance, positions

GRID = {"slopes": 4001, "periods": 500, "amplitudes": 9, "phases": 96}
CHUNK = 256  # curves at a time: their likelihoods at one period stay in the processor's cache
NEGLIGIBLE = -60.0  # log weights are clamped here; below -87 float32 slows down tenfold


def _contrasts(observed: int, sees_offset: bool) -> tuple[Float[Tensor, "n N"], Float[Tensor, "N"]]:
    """T and o of a predictor that sees the curve's offset, or its differences only."""
    if sees_offset:
        return torch.eye(observed, dtype=torch.float64), torch.zeros(observed, dtype=torch.float64)
    return torch.from_numpy(helmert(observed)), torch.full((observed,), 1 / observed, dtype=torch.float64)


class Posterior(NamedTuple):
    """The posterior of f(N+1), ..., f(N+S) on RBF curves, given z: N observations, or N - 1 contrasts of them."""

    gain: Float[Tensor, "S n"]  #: times z, the posterior mean; of contrasts, less the mean observation.
    variance: Float[Tensor, "S"]  #: of f itself, without the noise of another observation.
    inner: Float[Tensor, "n n"]  #: covariance of z.


def posterior(observed: int, steps: int = STEPS, noise: float = NOISE, sees_offset: bool = True) -> Posterior:
    """The posterior of an RBF curve given N noisy observations (or their differences, without `sees_offset`)."""
    check_positive_int(observed=observed, steps=steps)
    if observed == 1 and not sees_offset:
        raise UsageError("one observation has no differences; give at least 2")
    check_positive(noise=noise)
    contrasts, mean = _contrasts(observed, sees_offset)
    full = covariance(observed + steps)
    seen = full[:observed, :observed] + noise**2 * torch.eye(observed, dtype=torch.float64)
    across = full[observed:, :observed]
    inner = contrasts @ seen @ contrasts.mT
    outer = (across - mean @ seen) @ contrasts.mT
    gain = torch.linalg.solve(inner, outer.mT).mT
    prior = full.diagonal()[observed:] - 2 * across @ mean + mean @ seen @ mean
    return Posterior(gain, prior - (gain * outer).sum(dim=1), inner)


def optimal_spread(observed: int, steps: int = STEPS, noise: float = NOISE) -> Float[Tensor, "S"]:
    """Standard deviation of y_{N+t} given y_1..y_N on RBF curves, t = 1..S; the observation's own noise counts.

    Its mean over ten steps is the .802 of Table 2 ("Uncertainty Estimation Results").
    """
    return (posterior(observed, steps, noise).variance + noise**2).sqrt()


def optimal_error(observed: int, steps: int = STEPS, noise: float = NOISE, sees_offset: bool = True) -> float:
    """Exact expected squared error, against the noiseless truth, of the best predictor of RBF curves."""
    return float(posterior(observed, steps, noise, sees_offset).variance.mean())


class Mixture(NamedTuple):
    """The posterior of B curves under the mixture of the three true classes."""

    point: Float[Tensor, "B S"]  #: E[f(N+1..N+S) | y].
    probabilities: Float[Tensor, "B 3"]  #: of the classes, in the order of `KINDS`.


def _gaussian(z: Float[Tensor, "B n"], given: Posterior) -> tuple[Float[Tensor, "B"], Float[Tensor, "B S"]]:
    """Log evidence of RBF curves for z, and the posterior mean."""
    evidence = torch.distributions.MultivariateNormal(torch.zeros_like(z[0]), given.inner).log_prob(z)
    return evidence, z @ given.gain.mT


def _line_grid(points: int) -> tuple[Float[Tensor, "1 1 T"], Float[Tensor, "G 1"]]:
    """Lines s x: the feature x, and slopes s that fill the prior evenly."""
    return positions(points)[None, None], tasks.SLOPE * _even(GRID["slopes"])[:, None]


def _sine_grid(points: int) -> tuple[Float[Tensor, "K 2 T"], Float[Tensor, "G 2"]]:
    """Sines A cos(phi) sin(2 pi x / P) + A sin(phi) cos(2 pi x / P): two features a period, and their weights."""
    low, high = tasks.PERIODS
    periods = (low + high) / 2 + (high - low) / 2 * _even(GRID["periods"])
    low, high = tasks.AMPLITUDES
    amplitudes = (low + high) / 2 + (high - low) / 2 * _even(GRID["amplitudes"])
    phases = torch.arange(GRID["phases"], dtype=torch.float64) * (2 * math.pi / GRID["phases"])
    angles = 2 * math.pi * positions(points) / periods[:, None]
    circle = torch.stack([phases.cos(), phases.sin()], dim=1)
    weights = (amplitudes[:, None, None] * circle).flatten(0, 1)
    return torch.stack([angles.sin(), angles.cos()], dim=1), weights


def _even(count: int) -> Float[Tensor, "G"]:
    """Middles of equal parts of [-1, 1]."""
    return (torch.arange(count, dtype=torch.float64) + 0.5) * (2 / count) - 1


def _regression(
    z: Float[Tensor, "B n"],
    seen: Float[Tensor, "K k n"],
    ahead: Float[Tensor, "K k S"],
    coefficients: Float[Tensor, "G k"],
    noise: float,
) -> tuple[Float[Tensor, "B"], Float[Tensor, "B S"]]:
    """Log evidence and posterior mean of f = c . features, all K sets of features and G coefficients equally likely.

    Exponentials, half a million a curve for sines, are in float32; what is common to all is added in float64.
    """
    rows = torch.cat([coefficients, torch.ones_like(coefficients[:, :1])], dim=1).float().mT.contiguous()
    penalties = -0.5 * torch.einsum("gi,kin,kjn,gj->kg", coefficients, seen, seen, coefficients) / noise**2
    matches = torch.einsum("bn,kin->kbi", z, seen).float() / noise**2
    tops, sums = [], []
    for match, penalty in zip(matches, penalties.float(), strict=True):
        logits = torch.addmm(penalty, match, rows[:-1])  # [B, G]
        top = logits.amax(dim=1, keepdim=True)
        sums.append(F.linear(logits.sub_(top).clamp_(min=NEGLIGIBLE).exp_(), rows))
        tops.append(top[:, 0])
    totals = torch.stack(sums).double()  # weighted coefficients, and the weights: [K, B, k + 1]
    evidence = torch.stack(tops).double() + totals[..., -1].log()
    shares = evidence.softmax(dim=0)[..., None] * totals[..., :-1] / totals[..., -1:]
    constant = -0.5 * z.square().sum(dim=1) / noise**2 - z.shape[1] * math.log(noise * math.sqrt(2 * math.pi))
    grid = math.log(len(seen) * len(coefficients))
    return evidence.logsumexp(dim=0) - grid + constant, torch.einsum("kbi,kis->bs", shares, ahead)


def mixture(
    y: Float[Tensor, "B N"], steps: int = STEPS, noise: float = NOISE, sees_offset: bool = True
) -> Mixture:
    """Posterior mean over the three classes as `tasks.sample_curves` draws them, each with probability 1/3.

    Slopes, periods, amplitudes and phases are on the grids of `GRID`; the evidence of RBF curves is exact. Without
    `sees_offset` it is the best predictor that sees differences only: adding a constant to y adds it to `point`.
    """
    y = checked(y, steps)
    observed = y.shape[1]
    given = posterior(observed, steps, noise, sees_offset)
    contrasts, mean = _contrasts(observed, sees_offset)
    parts = []
    for grid in (_line_grid, _sine_grid):
        features, coefficients = grid(observed + steps)
        seen, ahead = features[..., :observed], features[..., observed:]
        parts.append((seen @ contrasts.mT, ahead - (seen @ mean)[..., None], coefficients, noise))
    points, probabilities = [], []
    for chunk in y.split(CHUNK):
        z = chunk @ contrasts.mT
        answers = [_regression(z, *parts[0]), _gaussian(z, given), _regression(z, *parts[1])]  # as in KINDS
        probabilities.append(torch.stack([evidence for evidence, _ in answers], dim=1).softmax(dim=1))
        point = torch.einsum("bc,cbs->bs", probabilities[-1], torch.stack([point for _, point in answers]))
        points.append(point + (chunk @ mean)[:, None])
    return Mixture(torch.cat(points), torch.cat(probabilities))


EVEN = dict.fromkeys(KINDS, 1 / len(KINDS))


class Score(NamedTuple):
    """A mean squared error over curves and steps."""

    mse: float  #: the mean.
    se: float  #: its standard error over curves.


def score(
    point: Float[Tensor, "B S"], curves: Curves, observed: int, weights: Mapping[str, float] = EVEN
) -> dict[str, Score]:
    """Mean squared error of predictions after `observed` points: by class, "all" by `weights`, and "even"."""
    end = observed + point.shape[1]
    if curves.truth.shape[1] < end:
        raise UsageError(f"curves of {curves.truth.shape[1]} points end before x = {end}; sample longer ones")
    errors = (point.double() - curves.truth[:, observed:end].double()).square().mean(dim=1)
    scores = {}
    for number, kind in enumerate(KINDS):
        of_kind = errors[curves.kinds == number]
        if len(of_kind) < 2:
            raise UsageError(f"a standard error needs two curves of each class, got {len(of_kind)} of {kind}")
        scores[kind] = Score(of_kind.mean().item(), of_kind.std().item() / math.sqrt(len(of_kind)))
    return scores | {"all": _weighted(scores, weights), "even": _weighted(scores, EVEN)}


def _weighted(scores: Mapping[str, Score], weights: Mapping[str, float]) -> Score:
    check_names("class of curves", KINDS, weights)
    mse = sum(weights[kind] * scores[kind].mse for kind in KINDS)
    return Score(mse, math.hypot(*(weights[kind] * scores[kind].se for kind in KINDS)))
