"""The test of two samples, of one of which only the reported figures are known."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import ks_2samp

from mini_lib.reproduction.kolmogorov_smirnov import greatest_distance, least_p
from mini_lib.reproduction.pages import environment
from mini_lib.reproduction.tables import Printed


@pytest.mark.parametrize("kind", ["SD", "SEM"])
def test_samples_that_are_known_lie_within_the_limits_that_their_figures_leave(kind):
    rng = np.random.default_rng(0)
    for _ in range(3):
        theirs, ours = 100 * rng.beta(3, 1, 25), 100 * rng.beta(2, 1, 5)
        error = theirs.std(ddof=1) / (5 if kind == "SEM" else 1)
        figures = Printed(theirs.mean().round(1), error.round(1), kind, 25, "%")
        with_median = replace(figures, median=np.median(theirs).round(1))
        most, found = greatest_distance(with_median, ours), ks_2samp(theirs, ours)
        assert found.statistic <= most <= greatest_distance(figures, ours)
        assert least_p(with_median, ours) <= found.pvalue


@pytest.mark.parametrize("top", [0.25, 0.5])
def test_a_deviation_as_large_as_can_be_tells_that_all_runs_are_at_the_ends(top):
    paper = Printed(100 * top, 100 * np.sqrt(top * (1 - top) * 10 / 9), "SD", 10, "%")
    assert greatest_distance(paper, (60.0, 60.0)) == pytest.approx(1 - top, abs=0.02)
    with pytest.raises(ValueError, match="no runs have"):
        greatest_distance(replace(paper, error=60.0), (50.0,))


@pytest.mark.parametrize(("runs", "said"), [((70.0, 90.0, 95.0), "Any runs"), ((0.0,) * 9, "can fail")])
def test_a_page_says_what_the_reported_figures_decide(runs, said):
    each = SimpleNamespace(paper=Printed(90.0, 2.0, "SD", 10, "%"), ours=SimpleNamespace(values=runs))
    text = environment().get_template("one_distribution.md.j2").module.one_distribution(each, "this network")
    assert f"against our {len(runs)}" in text.partition("10 runs of this network. ")[2]
    assert (said in text, "(*p* is at least " in text) == (True, said == "Any runs")
