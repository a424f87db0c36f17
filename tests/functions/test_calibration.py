"""How uncertainty is judged, errors step by step, and measures over training."""

import pytest
import torch

from functions.helpers import network
from mini_lib.errors import UsageError
from mini_lib.functions import analysis
from mini_lib.functions.analysis.calibration import in_bins
from mini_lib.functions.extrapolation import Extrapolation, extrapolate
from mini_lib.functions.tasks import KINDS, Curves
from mini_lib.seeding import torch_rng

# ------------------------------------------------------------------------------------------------ calibration


def made(point, spread, members=4):
    point, spread = torch.tensor(point), torch.tensor(spread)
    return Extrapolation(point, spread, [torch.zeros(len(point), members)] * point.shape[1])


def curves_of(y, kinds):
    y = torch.tensor(y)
    return Curves(torch.zeros_like(y), y, torch.tensor(kinds))


def test_coverage_counts_observations_within_deviations():
    found = made([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0]], [[1.0, 1.0], [0.1, 0.1], [0.5, 0.0]])
    # three observed points come first; misses are 0.9, 1.5; 0.15, 0; 1.2, 0.1
    curves = curves_of([[9.0] * 3 + [0.9, -1.5], [9.0] * 3 + [0.15, 1.0], [9.0] * 3 + [3.2, 0.1]], [0, 2, 2])
    cover = analysis.coverage(found, curves)
    assert cover.deviations == (1, 2)
    assert cover.by_step["lin"].tolist() == [[100, 0], [100, 100]]
    assert cover.by_step["sine"].tolist() == [[0, 50], [50, 50]]
    assert cover.by_kind == {"lin": [50, 100], "sine": [25, 50]}
    wide = analysis.coverage(found, curves, [3])
    assert wide.by_step["sine"].tolist() == [[100, 50]]


def test_a_calibrated_normal_is_covered_as_the_control_says():
    assert analysis.normal_coverage(1) == pytest.approx(68.27, abs=0.005)
    assert analysis.normal_coverage(2) == pytest.approx(95.45, abs=0.005)
    generator = torch_rng(0, "calibrated")
    spread = torch.rand(4000, 5, generator=generator) + 0.1
    y = spread * torch.randn(4000, 5, generator=generator)
    found = Extrapolation(torch.zeros_like(y), spread, [torch.zeros(4000, 2)])
    curves = Curves(torch.zeros(4000, 8), torch.cat([torch.zeros(4000, 3), y], 1), torch.ones(4000).long())
    one, two = analysis.coverage(found, curves).by_kind["rbf"]
    assert one == pytest.approx(68.27, abs=1)
    assert two == pytest.approx(95.45, abs=0.5)
    bins = analysis.error_by_spread(found, curves, bins=5)["rbf"]
    torch.testing.assert_close(bins.error, analysis.MEAN_ERROR * bins.spread, rtol=0.05, atol=0)


def test_bins_hold_equal_counts_of_every_step_from_the_least_spread_up():
    spread = torch.tensor([[4.0, 1.0], [2.0, 6.0], [9.0, 5.0]])
    found = in_bins(spread, 10 * spread + torch.tensor([[0.0, 60.0], [0.0, 0.0], [0.0, 0.0]]), 3)
    assert found.spread.tolist() == [1.5, 4.5, 7.5]
    assert found.error.tolist() == [45.0, 45.0, 75.0]
    assert found.counts.tolist() == [2, 2, 2]
    assert in_bins(spread, spread, 2).counts.tolist() == [4, 2]
    with pytest.raises(UsageError, match="3 curves make 1 to 3 bins, got 4"):
        in_bins(spread, spread, 4)


def test_errors_by_spread_are_against_observations_by_class():
    found = made([[0.0], [0.0], [1.0], [1.0]], [[2.0], [1.0], [3.0], [4.0]])
    curves = curves_of([[9.0, 0.5], [9.0, -0.25], [9.0, 3.0], [9.0, 1.0]], [1, 1, 2, 2])
    bins = analysis.error_by_spread(found, curves, bins=2)
    assert set(bins) == {"rbf", "sine"}
    assert bins["rbf"].spread.tolist() == [1, 2]
    assert bins["rbf"].error.tolist() == [0.25, 0.5]
    assert bins["sine"].error.tolist() == [2, 0]


def test_ranks_are_compared_within_each_step():
    """Both grow from the first step to the second, but within a step the larger spread has the smaller error."""
    found = made([[0.0, 0.0]] * 3, [[1.0, 11.0], [2.0, 12.0], [3.0, 13.0]])
    curves = curves_of([[9.0, 3.0, 30.0], [9.0, 2.0, 20.0], [9.0, 1.0, 10.0]], [2, 2, 2])
    assert analysis.rank_within_steps(found, curves) == {"sine": pytest.approx(-1)}
    curves = curves_of([[9.0, 1.0, 30.0], [9.0, 2.0, 20.0], [9.0, 3.0, 10.0]], [2, 2, 2])
    assert analysis.rank_within_steps(found, curves) == {"sine": pytest.approx(0)}


def test_what_cannot_be_calibrated_says_so():
    found, curves = made([[0.0]], [[1.0]]), curves_of([[0.0, 1.0]], [0])
    with pytest.raises(UsageError, match="do not belong to 2 curves"):
        analysis.coverage(found, curves_of([[0.0, 1.0]] * 2, [0, 0]))
    with pytest.raises(UsageError, match="do not belong to 1 curves of 1 points"):
        analysis.error_by_spread(found, curves_of([[0.0]], [0]))
    with pytest.raises(UsageError, match="one estimate has no spread"):
        analysis.coverage(made([[0.0]], [[1.0]], members=1), curves)


def test_coverage_of_a_network_is_that_of_its_evaluation():
    model, y = network("relational"), torch.randn(6, 9, generator=torch_rng(0, "y"))
    curves = Curves(y, y, torch.tensor([0, 0, 1, 1, 2, 2]))
    found = extrapolate(model, y[:, :5], steps=4)
    cover = analysis.coverage(found, curves)
    expected = 100 * found.covers(y[:, 5:], 2)[2:4].float().mean().item()
    assert cover.by_kind["rbf"][1] == pytest.approx(expected)


# ------------------------------------------------------------------------------------------ steps, training


def test_errors_step_by_step_are_against_the_function():
    curves = Curves(torch.tensor([[9.0, 1.0, 2.0], [9.0, 0.0, 0.0]]), torch.zeros(2, 3), torch.tensor([0, 0]))
    point = torch.tensor([[2.0, 2.0], [1.0, -3.0]])
    assert analysis.error_by_step(point, curves) == {"lin": [1.0, 4.5]}
    with pytest.raises(UsageError, match="2 predictions of 3 points do not belong"):
        analysis.error_by_step(torch.zeros(2, 3), curves)


def check(epoch, **metrics):
    return {
        "epoch": epoch,
        **{f"spread_{kind}": epoch + place for place, kind in enumerate(KINDS)},
        **metrics,
    }


def test_a_history_is_read_from_the_checks_of_a_record():
    run = {"checks": [check(1, window=9.0), check(10, window=8.0)]}
    history = analysis.metric_history(run, "spread")
    assert history.updates == [100, 1000]
    assert history.values == {"lin": [1, 10], "rbf": [2, 11], "sine": [3, 12]}
    assert analysis.metric_history(run, "window").values == {"window": [9.0, 8.0]}
    with pytest.raises(
        UsageError, match=r"unknown measure 'spred'; did you mean 'spread'. known: spread, window"
    ):
        analysis.metric_history(run, "spred")
    with pytest.raises(UsageError, match="one test, at the end"):
        analysis.metric_history({"checks": []}, "mse")
