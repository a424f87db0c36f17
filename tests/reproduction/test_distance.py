"""The distance between two samples of runs, of one of which only the reported figures are known."""

import numpy as np
import pytest
from scipy.stats import ks_2samp

from mini_lib.reproduction.distance import distance
from mini_lib.reproduction.tables import Printed


@pytest.mark.parametrize("kind", ["SD", "SEM"])
def test_the_distance_of_the_samples_lies_within_the_limits_that_their_figures_leave(kind):
    """Of samples that are drawn, and so known, with the figures that a paper would report of them."""
    rng, narrower = np.random.default_rng(0), 0
    for _ in range(4):
        theirs, ours = 100 * rng.beta(3, 1, 25).round(3), 100 * rng.beta(2, 1, 5)
        error = theirs.std(ddof=1) / (5 if kind == "SEM" else 1)
        figures = theirs.mean().round(1), error.round(1), kind, 25, "%"
        median = np.median(theirs).round(1)
        least, most, _ = distance(Printed(*figures, median), ours)
        assert least <= ks_2samp(theirs, ours).statistic <= most
        narrower += most - least < np.subtract(*distance(Printed(*figures), ours)[1::-1])
    assert narrower >= 2  # a median often narrows them


@pytest.mark.parametrize("top", [0.25, 0.5])
def test_a_deviation_as_large_as_can_be_tells_that_all_runs_are_at_the_ends(top):
    deviation = 100 * np.sqrt(top * (1 - top) * 10 / 9)
    least, most, luck = distance(Printed(100 * top, deviation, "SD", 10, "%"), (60.0, 60.0))
    assert (least, most) == pytest.approx((1 - top, 1 - top), abs=0.02)
    assert luck == pytest.approx(1.358 * np.sqrt(0.6))
    with pytest.raises(ValueError, match="no runs have"):
        distance(Printed(100 * top, 1.1 * deviation, "SD", 10, "%"), (50.0,))
