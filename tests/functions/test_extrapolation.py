"""Rollouts against plain loops, and medians and spreads of hand-made ensembles."""

import statistics

import pytest
import torch

from functions.helpers import every_model, make, observations
from mini_lib.errors import UsageError
from mini_lib.functions.extrapolation import CONTEXTS, extrapolate
from mini_lib.functions.tasks import LARGEST, check_curves
from mini_lib.functions.transformer import FunctionTransformer, summarize
from mini_lib.seeding import torch_rng

every_context = pytest.mark.parametrize("context", CONTEXTS)


class Fake(FunctionTransformer):
    """Answers with a function of its input, and keeps the input."""

    sees_offset = True

    def __init__(self, answer):
        torch.nn.Module.__init__(self)
        self.answer_with, self.seen = answer, []

    def forward(self, y, prefixes=False):
        self.seen.append(y.clone())
        return self.answer_with(y)

    def estimates(self, y, answers):
        return answers


# ----------------------------------------------------------------------------------------------- median and spread


@pytest.mark.parametrize("members", [1, 2, 3, 4, 19, 20])
def test_median_and_sample_standard_deviation(members):
    """Of an even number the median is the mean of the two in the middle."""
    ensembles = torch.randn(20, members, generator=torch_rng(0, "ensembles"), dtype=torch.float64)
    point, sd = summarize(ensembles)
    for row, median, spread in zip(ensembles.tolist(), point.tolist(), sd.tolist(), strict=True):
        assert median == pytest.approx(statistics.median(row), abs=1e-12)
        assert spread == pytest.approx(statistics.stdev(row) if members > 1 else 0, abs=1e-12)


# ------------------------------------------------------------------------------------- going on, with a fake model


def test_predictions_are_taken_for_observations():
    fake = Fake(lambda y: 2 * y[:, -1:] - y[:, -2:-1])  # a straight line
    y = torch.tensor([[1.0, 2.0, 3.0], [0.0, 5.0, 3.0]])
    forecast = extrapolate(fake, y)
    assert forecast.point.tolist() == [list(range(4, 14)), list(range(1, -19, -2))]
    assert not forecast.spread.any()
    assert [seen.shape[1] for seen in fake.seen] == list(range(3, 13))
    for step, seen in enumerate(fake.seen):
        assert seen.equal(torch.cat([y, forecast.point[:, :step]], dim=1))


# ---------------------------------------------------------------------------------------- going on, with a network


def plain_loop(network, y, steps, context):
    """Without anything kept, one curve and one step at a time: medians, spreads [B, S], and counts of estimates."""
    points, spreads, members = [], [], []
    for row in y:
        values = row.tolist()
        for _step in range(steps):
            seen = torch.tensor([values if context == "growing" else values[-y.shape[1] :]], dtype=y.dtype)
            estimates = network.estimates(seen, network(seen))[0].tolist()
            members.append(len(estimates))
            points.append(statistics.median(estimates))
            spreads.append(statistics.stdev(estimates) if len(estimates) > 1 else 0.0)
            values.append(points[-1])
    return *(torch.tensor(found).reshape(len(y), steps) for found in (points, spreads)), members[:steps]


@every_context
@every_model
@pytest.mark.parametrize("form", ["default", "no mask", "everything"])
def test_equals_a_plain_loop(name, form, context):
    network, y = make(name, form), observations(2, 4)
    point, spread, members = plain_loop(network, y, 3, context)
    forecast = extrapolate(network, y, 3, context)
    torch.testing.assert_close(forecast.point.float(), point, rtol=0, atol=1e-5)
    torch.testing.assert_close(forecast.spread.float(), spread, rtol=0, atol=1e-5)
    assert [estimates.shape for estimates in forecast.estimates] == [(2, count) for count in members]
    assert not forecast.point.requires_grad


@every_model
@every_context
def test_large_curves_end_in_finite_numbers(name, context):
    forecast = extrapolate(make(name).float(), LARGEST * observations(3, 8).sign().float(), 3, context)
    assert forecast.point.isfinite().all()
    assert forecast.spread.isfinite().all()


# --------------------------------------------------------------------------------------------------- offset, scale


@pytest.mark.parametrize("offset", [1e6, 1e8])
def test_an_offset_changes_no_prediction_of_a_relational_network(offset):
    """Differences are taken in float64; float32 holds 1e8 in steps of 8."""
    network, y = make("relational").float(), observations(2, 6)
    plain, moved = (extrapolate(network, each, 3) for each in (y, y + offset))
    torch.testing.assert_close(moved.point - offset, plain.point, rtol=0, atol=1e-5)
    torch.testing.assert_close(moved.spread, plain.spread, rtol=0, atol=1e-5)
    for ours, theirs in zip(moved.estimates, plain.estimates, strict=True):
        torch.testing.assert_close(ours - offset, theirs, rtol=0, atol=1e-5)
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
    network = make("relational", "default")
    for kind in (torch.int64, torch.uint8):
        falling = torch.arange(12, 0, -1)[None].to(kind)
        torch.testing.assert_close(
            extrapolate(network, falling, 3).point, extrapolate(network, falling.double(), 3).point
        )
    with pytest.raises(UsageError, match=r"real numbers, got torch\.bool"):
        check_curves(torch.ones(1, 5, dtype=torch.bool))
