"""May the runs behind a reported accuracy and ours be draws of one distribution? Kolmogorov and Smirnov's test.

A paper reports the mean of its runs, their standard deviation and perhaps their median. So the distance of the two
samples, the largest difference between their shares of runs up to a score, is known within limits only: those of
all distributions on 0 to 100 % with these figures, whether or not n runs can have them.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from mini_lib.reproduction.tables import Printed

ROUNDING = 0.05  # how far a reported figure is from the right one, at most: each has one decimal


def greatest_distance(paper: Printed, ours: Sequence[float]) -> float:
    """The greatest distance of our accuracies, in percent, from runs that the paper's can be.

    Their deviation may be the sample's or the population's. ValueError if no runs have the reported figures.
    """
    from scipy.optimize import linprog  # here, since it takes half a second to load

    own, scores = np.asarray(ours), np.union1d(np.linspace(0, 100, 1001), ours)
    low, high = (replace(paper, error=max(0, paper.error + rounded)).sd for rounded in (-ROUNDING, ROUNDING))
    away = scores - paper.mean
    rows = [away, -away, away**2, -(away**2)]
    limits = [ROUNDING, ROUNDING, high**2 + ROUNDING**2, -(low**2) * (1 - 1 / paper.runs)]
    if paper.median is not None:
        rows += [scores < paper.median - ROUNDING, scores > paper.median + ROUNDING]
        limits += [0.5, 0.5]
    found = []
    for at, part in product(own, (np.less, np.less_equal, np.greater, np.greater_equal)):
        least = linprog(part(scores, at), rows, limits, np.ones((1, len(scores))), [1]).fun  # their share
        if least is None:
            raise ValueError("no runs have the reported mean, deviation and median")
        found.append(part(own, at).mean() - least)
    return max(found)


def least_p(paper: Printed, ours: Sequence[float]) -> float:
    """The least p of the two-sample test, over all runs that the paper's can be."""
    from scipy.stats import ks_2samp

    n, m = paper.runs, len(ours)
    gaps = {abs(i / n - j / m): (i, j) for i, j in product(range(n + 1), range(m + 1))}
    distance = greatest_distance(paper, ours)
    i, j = gaps[min(gap for gap in gaps if gap > distance - 1e-9)]
    # Samples that are so far apart: the test looks at the distance alone.
    return float(ks_2samp([0] * i + [1] * (n - i), [0] * j + [1] * (m - j)).pvalue)
