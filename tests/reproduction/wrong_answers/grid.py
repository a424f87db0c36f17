"""Answers to the exercises of the last part that a reader might give, and that must not pass."""

import math

import numpy as np
import torch
from scipy import stats

from mini_lib.grid.networks import build_core
from mini_lib.reproduction.grid.exercises import apart, student


def up_to_itself(alike: torch.Tensor) -> torch.Tensor:
    """Each row's softmax over its own place and those before it."""
    return alike.masked_fill(torch.ones_like(alike).triu(1) > 0, -math.inf).softmax(dim=1)


def normal(values: np.ndarray) -> tuple[float, float]:
    """An interval as if the spread were known."""
    return stats.norm.interval(0.95, values.mean(), stats.sem(values))


WRONG = {
    "grid 1.1": (
        lambda z: z,
        lambda z: 2 * z,
        lambda z: z.flip(0),
    ),
    "grid 1.2": (
        lambda z: (z @ z.T).softmax(dim=1),
        lambda z: (z @ z.T).softmax(dim=1).tril(),
        lambda z: (z @ z.T).tril().softmax(dim=1),
        lambda z: up_to_itself(z @ z.T / len(z[0]) ** 0.5),
    ),
    "grid 1.3": (
        lambda r: 0,
        lambda r: int(r[3, 2] < r[5, 4]),
        lambda r: int((r[0, 1] > 0.25) != (r[2, 3] > 0.25)),
    ),
    "grid 1.4": (
        lambda network: network,
        lambda network: build_core("abstractor tied", "rmts", features=128, classes=2, length=6),
    ),
    "grid 2.1": (
        lambda error, last, fitted: (last - error) / (last - fitted),
        lambda error, last, fitted: math.log(error / last) / math.log(last / fitted),
        lambda error, last, fitted: min(1.0, max(0.0, math.log(last / error) / math.log(last / fitted))),
    ),
    "grid 2.2": (
        lambda before, after: (after - before).square().sum(1).mean() / apart(before, after),
        lambda before, after: 1 - (after - before).square().sum(1).mean() / before.square().sum(1).mean(),
        lambda before, after: torch.cosine_similarity(before, after, dim=1).mean(),
        lambda before, after: 1 - (after - before).square().sum(1).mean() / apart(before, before),
    ),
    "grid 2.3": (
        lambda one, other: student(np.array([*one.values()]).mean() - np.array([*other.values()])),
        lambda one, other: normal(np.array([one[s] - other[s] for s in one if s in other])),
        lambda one, other: student(np.array([other[s] - one[s] for s in one if s in other])),
    ),
    "grid 2.4": (
        lambda tasks: stats.spearmanr([pair for own in tasks.values() for pair in own]).statistic,
        lambda tasks: np.corrcoef(
            np.concatenate([np.subtract(own, np.mean(own, axis=0)) / len(own) for own in tasks.values()]).T
        )[0, 1],
        lambda tasks: np.mean([stats.spearmanr(own).statistic for own in tasks.values()]),
    ),
}
