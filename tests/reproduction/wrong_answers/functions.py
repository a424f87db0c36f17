"""Answers to the exercises of the function-learning chapters that a reader might give, and that must not pass."""

import math
from copy import deepcopy

import numpy as np
import torch
from scipy import stats

from mini_lib.files import trained
from mini_lib.functions import baselines, bounds, tasks
from mini_lib.functions.extrapolation import extrapolate
from mini_lib.reproduction.functions.exercises import exact_error
from mini_lib.reproduction.functions.readings import standard_error


def by_standard_errors(one, other, many: float, ddof: int = 1) -> str:
    """A verdict on the claim that `one` is less, by so many standard errors of the difference."""
    error = math.hypot(*(np.std(each, ddof=ddof) / len(each) ** 0.5 for each in (one, other)))
    if abs(gap := np.mean(other) - np.mean(one)) <= many * error:
        return "tie"
    return "holds" if gap > 0 else "fails"


def changed_a(network, length):
    """A copy whose a is another."""
    copy = trained("one_d_window")
    copy.window.log_a.data += math.log(1 / copy.window.length.item())
    return copy


def changed_more(network, length: float):
    """A copy with the length that is asked for, and with another change."""
    copy = deepcopy(network)
    with torch.no_grad():
        copy.window.log_b += math.log(length / copy.window.length.item()) / copy.window.rate
        next(p for name, p in copy.named_parameters() if not name.startswith("window")).add_(1.0)
    return copy


WRONG = {
    "functions 1.1": (lambda a, b, c: (2.0, -1.0), lambda a, b, c: (c / b, 0.0)),
    "functions 1.2": (
        lambda likelihoods, parameters, n: max(likelihoods, key=likelihoods.__getitem__),
        lambda likelihoods, parameters, n: min(parameters, key=parameters.__getitem__),
    ),
    "functions 1.3": (
        lambda steps: sum(2 - 2 * math.exp(-(t**2) / 18) for t in range(1, steps + 1)) / steps,
        lambda steps: 1.01,
    ),
    "functions 1.4": (
        lambda network, y, steps: extrapolate(network, y, steps).point,
        lambda network, y, steps: network(y).detach().expand(-1, steps),
    ),
    "functions 1.5": (
        lambda observed: tasks.NOISE**2 / observed,
        lambda observed: tasks.NOISE**2 * (1 + 1 / observed),
    ),
    "functions 2.1": (
        lambda y, distances: y[0] + distances[0],
        lambda y, distances: (y + distances).median(),
    ),
    "functions 2.2": (lambda n: (n * (n - 1) / 2 / n) ** 2, lambda n: (n * (n - 1) / 2 + n + 1) / (n + 1)),
    "functions 2.3": (lambda w: w, lambda w: w / w.sum()),
    "functions 2.4": (
        lambda model, y: extrapolate(model, y, context="sliding").point,
        lambda model, y: extrapolate(model, y / y.std(dim=1, keepdim=True), context="sliding").point,
    ),
    "functions 3.1": (lambda a, b: a * b, lambda a, b: b * (a - math.log(1 + 2 * math.exp(-a)))),
    "functions 3.2": (lambda: (2.0, 2.0), lambda: (16.0, 0.3)),
    "functions 3.3": (
        lambda i, n: (n * (n - 1) // 2,) * 2,
        lambda i, n: (i * n, (i - 1) * n),
        lambda i, n: (i * n - i * (i + 1) / 2 + 0.5, (i - 1) * (n - i / 2) + 0.5),
    ),
    "functions 3.4": (
        lambda start, end, lr: math.log(start / end) / lr,
        lambda start, end, lr: math.log(start / end) / (2 * lr),  # nothing for a window that grows
    ),
    "functions 3.5": (
        lambda network, length: network,
        changed_a,
        changed_more,
    ),
    "functions 4.1": (
        lambda estimates, following: (
            estimates.var(dim=1).mean() / (estimates - following[:, None]).square().mean()
        ),
        lambda estimates, following: (
            estimates.var(correction=0) / (estimates - following[:, None]).square().mean()
        ),
    ),
    "functions 4.2": (
        lambda point, spread, y: float(((y - point).abs() / spread).mean()),
        lambda point, spread, y: float((y - point).square().mean().sqrt() / spread.mean()),
    ),
    "functions 4.3": (
        lambda estimates, count: sum(float(e.std(dim=1).mean()) for e in estimates) / len(estimates),
        lambda estimates, count: (
            sum(float(e[:, -count:].std(dim=1).mean()) for e in estimates) / len(estimates)
        ),
    ),
    "functions 4.4": (lambda spread, error: (1.0, 1.0), lambda spread, error: (0.9, 0.0)),
    "functions 4.5": (
        lambda observed: float(bounds.posterior(observed, 1, sees_offset=False).variance.sqrt()),
        lambda observed: float((bounds.posterior(observed, 1).variance + tasks.NOISE**2).sqrt()),
    ),
    "functions 5.1": (lambda p, means: "B", lambda p, means: max(means, key=lambda n: means[n][0])),
    "functions 5.2": (lambda means, everything: (1 / 3, 1 / 3, 1 / 3), lambda means, everything: (1, 1, 1)),
    "functions 5.3": (
        lambda weights: 1.0,
        lambda weights: exact_error(weights) - tasks.NOISE**2 * weights.square().sum(dim=1).mean().item(),
    ),
    "functions 5.4": (
        lambda y, order: baselines.autoregression(y, tasks.STEPS, order),
        lambda y, order: baselines.autoregression(y.double().diff(), tasks.STEPS, order),
    ),
    "functions 5.5": (
        lambda spread, difference: (2 * spread / difference) ** 2,
        lambda spread, difference: 2 * (spread / difference) ** 2,
    ),
    "functions 6.1": (
        lambda ours, in_print: np.log(ours.mean(axis=2) / in_print).mean(),
        lambda ours, in_print: np.abs(np.log(ours / in_print[..., None])).mean(),
    ),
    "functions 6.2": (
        lambda one, other: by_standard_errors(one, other, 0.0),
        lambda one, other: by_standard_errors(one, other, 1.0),
        lambda one, other: by_standard_errors(one, other, 2.0, ddof=0),
        lambda one, other: "holds" if max(one) < min(other) else "fails" if max(other) < min(one) else "tie",
    ),
    "functions 6.3": (
        lambda runs: 0.0455,
        lambda runs: 2 * stats.t.sf(2, runs - 1),
        lambda runs: stats.t.sf(2, 2 * runs - 2),
    ),
    "functions 6.4": (
        lambda ours, in_print: (
            np.abs(np.log(ours / in_print[:, None])).mean(axis=0).std(ddof=1) / ours.shape[1] ** 0.5
        ),
        lambda ours, in_print: (
            standard_error(ours[None], in_print[None]) * ((ours.shape[1] - 1) / ours.shape[1]) ** 0.5
        ),
    ),
}
