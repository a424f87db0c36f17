"""Rollouts against plain loops, and medians and spreads of ensembles."""

import statistics

import pytest
import torch
from hypothesis import given, strategies as st

from functions.helpers import every_model, make, observations
from mini_lib.errors import UsageError
from mini_lib.functions.extrapolation import CONTEXTS, extrapolate
from mini_lib.functions.transformer import summarize


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=20))
def test_median_and_sample_standard_deviation(estimates):
    """Of an even number the median is the mean of the two in the middle."""
    point, spread = summarize(torch.tensor([estimates, estimates[::-1]], dtype=torch.float64))
    expected = statistics.stdev(estimates) if len(estimates) > 1 else 0
    assert point.tolist() == pytest.approx(2 * [statistics.median(estimates)], abs=1e-9)
    assert spread.tolist() == pytest.approx(2 * [expected], abs=1e-9)


def plain_loop(network, row, steps, context):
    """Medians, spreads, and estimates of each step after one curve, with nothing kept from step to step."""
    values, found = row.tolist(), []
    for _step in range(steps):
        seen = torch.tensor([values if context == "growing" else values[-len(row) :]], dtype=row.dtype)
        estimates = network.estimates(seen, network(seen))[0].tolist()
        spread = statistics.stdev(estimates) if len(estimates) > 1 else 0.0
        found.append((statistics.median(estimates), spread, estimates))
        values.append(found[-1][0])
    return found


@every_model
@pytest.mark.parametrize("context", CONTEXTS)
def test_predictions_are_taken_for_observations(name, context):
    network, y = make(name, "everything"), observations(2, 4)
    forecast = extrapolate(network, y, 3, context)
    assert not forecast.point.requires_grad
    for row in range(2):
        for step, (median, spread, estimates) in enumerate(plain_loop(network, y[row], 3, context)):
            assert forecast.point[row, step].item() == pytest.approx(median, abs=1e-8)
            assert forecast.spread[row, step].item() == pytest.approx(spread, abs=1e-8)
            assert forecast.estimates[step][row].tolist() == pytest.approx(estimates, abs=1e-8)


@pytest.mark.parametrize("offset", [1e6, 1e8])
def test_an_offset_changes_no_prediction_of_a_relational_network(offset):
    """Differences are taken in float64; float32 holds 1e8 in steps of 8."""
    network, y = make("relational").float(), observations(2, 6)
    plain, moved = (extrapolate(network, each, 3) for each in (y, y + offset))
    for ours, theirs in zip(moved.estimates, plain.estimates, strict=True):
        torch.testing.assert_close(ours - offset, theirs, rtol=0, atol=1e-5)
    torch.testing.assert_close(moved.point - offset, plain.point, rtol=0, atol=1e-5)
    torch.testing.assert_close(moved.spread, plain.spread, rtol=0, atol=1e-5)
    with pytest.raises(UsageError, match="hides how the curve changes; give it as"):
        extrapolate(network, y.float() + offset, 3)


def test_a_sliding_context_is_as_long_as_in_training():
    network, y = make("one_d").float(), observations(2, 9).float()
    network.about = {"settings": {"observed": 4}}
    short = extrapolate(network, y[:, -4:], 3, "sliding")
    assert extrapolate(network, y, 3, "sliding").point.allclose(short.point)
    assert not extrapolate(network, y, 3).point.allclose(short.point)
    network.about = {"settings": {"observed": 20}}  # more than there are: as many as there are
    assert extrapolate(network, y[:, -4:], 3, "sliding").point.allclose(short.point)


def test_integers_are_extrapolated_as_numbers():
    """Differences of unsigned ones would not be."""
    network, falling = make("relational"), torch.arange(12, 0, -1, dtype=torch.uint8)[None]
    expected = extrapolate(network, falling.double(), 3)
    torch.testing.assert_close(extrapolate(network, falling, 3).point, expected.point)
