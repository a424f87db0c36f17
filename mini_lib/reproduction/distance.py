"""How far apart the runs behind a reported accuracy and ours can be, as samples: Kolmogorov and Smirnov's distance.

It is the largest difference between the shares of two samples up to a score. A paper does not report its runs, but
their mean, their standard deviation and perhaps their median; these leave limits.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mini_lib.reproduction.tables import Printed

ROUNDING = 0.05  # how far a reported figure is from the right one, at most


class Distance(NamedTuple):
    """Limits, from 0 (equal samples) to 1 (samples that do not overlap)."""

    least: float  #: that the reported figures allow.
    most: float  #: that they allow.
    luck: float  #: which two samples of one distribution exceed in 5 of 100 cases, or fewer.


def distance(paper: Printed, ours: Sequence[float]) -> Distance:
    """How far our accuracies, in percent, are from the runs behind a reported mean; ValueError if no runs fit it."""
    from scipy.optimize import linprog  # here, since it takes half a second to load

    own, scores = np.asarray(ours), np.union1d(np.linspace(0, 100, 1001), ours)
    away, rounded = scores - paper.mean, np.array([-ROUNDING, ROUNDING])
    low, high = (paper.sd * (1 + rounded / paper.error)).clip(0) ** 2 * (1 - 1 / paper.runs)
    rows, limits = [away, -away, away**2, -(away**2)], [ROUNDING, ROUNDING, high + ROUNDING**2, -low]
    if paper.median is not None:
        rows += [scores < paper.median - ROUNDING, scores > paper.median + ROUNDING]
        limits += [0.5, 0.5]
    least = most = 0.0
    for chosen, mine in [(scores <= at, own <= at) for at in own] + [(scores < at, own < at) for at in own]:
        ends = [linprog(sign * chosen, rows, limits, np.ones((1, len(scores))), [1]) for sign in (1, -1)]
        if None in (low := ends[0].fun, ends[1].fun):
            raise ValueError("no runs have the reported mean, deviation and median")
        share, high = mine.mean(), -ends[1].fun
        least, most = max(least, low - share, share - high), max(most, high - share, share - low)
    return Distance(float(least), float(most), 1.358 * math.sqrt(1 / paper.runs + 1 / len(own)))
