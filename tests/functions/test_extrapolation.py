"""Rollouts against plain loops, and medians and spreads of hand-made ensembles."""

import statistics

import pytest
import torch

from functions import oracles
from functions.helpers import HEADS, every_model, make, observations
from mini_lib.functions.extrapolation import CONTEXTS, extrapolate, summarise
from mini_lib.functions.models import FunctionTransformer
from mini_lib.functions.tasks import LARGEST
from mini_lib.seeding import torch_rng

every_context = pytest.mark.parametrize("context", CONTEXTS)


class Fake(FunctionTransformer):
    """Answers with a function of what it sees, and writes down what that was."""

    def __init__(self, answer, mask="none"):
        torch.nn.Module.__init__(self)
        self.answer_with, self.mask, self.seen = answer, mask, []

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
    point, sd = summarise(ensembles)
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


def test_the_median_is_what_is_appended():
    def answer(y):
        return y[:, -1:] + torch.tensor([[1.0, 100.0, -7.0]])

    fake = Fake(answer)
    forecast = extrapolate(fake, torch.zeros(1, 2), steps=3)
    assert forecast.point.tolist() == [[1, 2, 3]]
    assert [estimates.tolist() for estimates in forecast.estimates] == [
        [[1, 100, -7]],
        [[2, 101, -6]],
        [[3, 102, -5]],
    ]
    assert forecast.spread[0].tolist() == pytest.approx(3 * [statistics.stdev([1, 100, -7])])


def test_a_sliding_context_is_the_last_observations():
    fake = Fake(lambda y: y[:, :1] + 10)
    forecast = extrapolate(fake, torch.tensor([[1.0, 2.0, 3.0]]), steps=5, context="sliding")
    assert [seen.tolist() for seen in fake.seen] == [
        [[1, 2, 3]],
        [[2, 3, 11]],
        [[3, 11, 12]],
        [[11, 12, 13]],
        [[12, 13, 21]],
    ]
    assert forecast.point.tolist() == [[11, 12, 13, 21, 22]]


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


@pytest.mark.parametrize("name", ["one_d_window", "relational_window"])
def test_equals_a_loop_over_the_numpy_forward_pass(name):
    network, y = make(name), observations(1, 4)
    weights = {key: value.numpy() for key, value in network.state_dict().items()}
    forecast, values = extrapolate(network, y, 3), y[0].tolist()
    for step in range(3):
        _, estimates, _ = oracles.forward(weights, values, HEADS)
        assert forecast.estimates[step][0].tolist() == pytest.approx(estimates.tolist(), abs=1e-8)
        values.append(statistics.median(estimates.tolist()))


@every_context
@pytest.mark.parametrize("name", ["relational", "relational_window"])
def test_a_constant_added_to_the_curve_moves_points_by_itself_and_leaves_the_spread(name, context):
    network, y = make(name), observations()
    plain, moved = (extrapolate(network, each, 5, context) for each in (y, y + 8))
    torch.testing.assert_close(moved.point, plain.point + 8, rtol=0, atol=1e-9)
    torch.testing.assert_close(moved.spread, plain.spread, rtol=0, atol=1e-9)


@every_context
def test_curves_go_on_alone(context):
    network, y = make("relational_window"), observations()
    together = extrapolate(network, y, 3, context)
    for row in range(3):
        alone = extrapolate(network, y[row : row + 1], 3, context)
        torch.testing.assert_close(alone.point[0], together.point[row], rtol=0, atol=1e-10)


@every_model
@every_context
def test_large_curves_end_in_finite_numbers(name, context):
    forecast = extrapolate(make(name).float(), LARGEST * observations(3, 8).sign().float(), 3, context)
    assert forecast.point.isfinite().all()
    assert forecast.spread.isfinite().all()
