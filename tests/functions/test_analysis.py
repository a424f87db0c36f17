"""What is looked at inside the networks: ensembles, windows and attention."""

import math

import pytest
import torch

from functions.helpers import network
from mini_lib.errors import UsageError
from mini_lib.functions import analysis
from mini_lib.functions.extrapolation import summarise
from mini_lib.functions.models import MODELS
from mini_lib.seeding import torch_rng

CURVE = [0.1, 0.5, -0.2, 0.4, 0.9]


# -------------------------------------------------------------------------------------------------- ensembles


def test_an_ensemble_is_one_estimate_for_every_earlier_point():
    model, y = network("relational"), torch.tensor(CURVE)
    found = analysis.ensemble(model, CURVE, steps=3)
    seen = y
    for step in range(3):
        with torch.no_grad():
            estimates = model(seen[None])[0, :-1] + seen
        torch.testing.assert_close(found.estimates[step, : 5 + step], estimates)
        assert found.estimates[step, 5 + step :].isnan().all()
        assert found.spread[step].item() == pytest.approx(estimates.std().item(), abs=1e-5)
        seen = torch.cat([seen, estimates.quantile(0.5)[None]])
    torch.testing.assert_close(found.point, seen[5:])
    assert found.estimates.shape == (3, 7)
    assert found.places.tolist() == [6, 7, 8]
    assert torch.equal(analysis.ensemble(model, y[None], steps=3).point, found.point)


def test_only_relational_networks_have_ensembles():
    with pytest.raises(UsageError, match="several estimates of a point, this one is a OneDTransformer"):
        analysis.ensemble(network("one_d"), CURVE)
    with pytest.raises(UsageError, match="at least 2 observed points"):
        analysis.ensemble(network("relational"), [1.0])
    with pytest.raises(UsageError, match=r"shape \(2, 5\)"):
        analysis.ensemble(network("relational"), torch.zeros(2, 5))


# ---------------------------------------------------------------------------------------------------- windows


def test_the_factor_is_one_at_no_distance_and_about_a_half_at_a_b():
    model = network("relational_window", length=6.0)
    with torch.no_grad():
        model.window.log_a.fill_(math.log(4.0))
        model.window.log_b.fill_(math.log(3.0))
    found = analysis.window_profile(model, length=6.0, points=31)
    assert found.distance.tolist() == list(range(31))
    assert found.factor.shape == (1, 1, 31)
    factor = found.factor[0, 0]
    assert factor[0].item() == pytest.approx(1)
    assert factor[12].item() == pytest.approx((1 + math.exp(-4)) / 2, abs=1e-6)
    assert (factor.diff() < 0).all()
    assert found.length.item() == pytest.approx(12)
    assert found.start_length == 6.0
    assert found.start[0].item() == pytest.approx(1)
    assert found.start[6].item() == pytest.approx((1 + math.exp(-2)) / 2, abs=1e-6)


def test_windows_of_layers_and_heads_fall_apart():
    model = network("one_d_window", own_windows=True, length=5.0)
    with torch.no_grad():
        model.window.log_b[1, 0] += math.log(2)
    found = analysis.window_profile(model, length=5.0)
    assert found.factor.shape == (2, 2, 121)
    torch.testing.assert_close(found.length, torch.tensor([[5.0, 5.0], [10.0, 5.0]]))
    torch.testing.assert_close(found.factor[0, 1], found.start)
    assert (found.factor[1, 0, 1:] > found.start[1:]).all()
    with pytest.raises(UsageError, match="this OneDTransformer has no window; give 'one_d_window' or"):
        analysis.window_profile(network("one_d"))


# -------------------------------------------------------------------------------------------------- attention


@pytest.mark.parametrize("name", ["relational", "relational_window"])
def test_attention_over_the_matrix_sums_to_one_over_what_a_query_sees(name):
    model = network(name)
    for query in range(1, 6):
        found = analysis.over_matrix(model, CURVE, query)
        assert found.query == query
        assert found.weights.shape == (5, 6)
        for i in range(1, 6):
            for j in range(1, 7):
                weight = found.weights[i - 1, j - 1]
                assert weight.isnan() == (i >= j)
                if i < j:
                    assert (weight > 0) == (i <= query)
        assert found.weights.nansum().item() == pytest.approx(1, abs=1e-5)


def test_every_weight_lies_at_its_tokens_place():
    model, y = network("relational"), torch.tensor(CURVE)[None]
    with torch.no_grad():
        weights, tokens = model.attention(y)
    rows = {tuple(place): row for row, place in enumerate(tokens.places.int().tolist())}
    layer = analysis.over_matrix(model, y, 3, layer=1).weights
    every = analysis.over_matrix(model, y, 3).weights
    for place in ((1, 2), (3, 5), (2, 6), (3, 6)):
        both = torch.stack([weights[number][0, :, rows[3, 6], rows[place]] for number in (0, 1)])
        i, j = place[0] - 1, place[1] - 1
        torch.testing.assert_close(layer[i, j], both[1].mean())
        torch.testing.assert_close(every[i, j], both.mean())


def test_attention_that_is_not_there():
    one_d, relational = network("one_d"), network("relational")
    for ask, words in (
        (
            lambda: analysis.over_matrix(one_d, CURVE, 1),
            "a matrix of differences to look at, this one is a OneD",
        ),
        (lambda: analysis.over_matrix(relational, CURVE, 6), "queries 1 to 5, got 6"),
        (lambda: analysis.over_matrix(relational, CURVE, 1, layer=2), "layer has to be from 0 to 1, got 2"),
        (lambda: analysis.attention_by_distance(one_d, torch.zeros(0, 5)), "no curve to look at"),
    ):
        with pytest.raises(UsageError, match=words):
            ask()


def test_by_distance_is_the_mean_over_curves_and_pairs():
    y = torch.randn(2, 5, generator=torch_rng(1, "y"))
    one_d = network("one_d")
    found = analysis.attention_by_distance(one_d, y)
    assert found.distance.tolist() == [0, 1, 2, 3, 4, 5]
    with torch.no_grad():
        weights, _ = one_d.attention(y)
    torch.testing.assert_close(found.weights[1, 0], weights[1][:, 0, -1].mean(dim=0).flip(0))
    torch.testing.assert_close(found.even, torch.full((6,), 1 / 6))


def test_by_distance_of_the_later_point():
    model, y = network("relational_window"), torch.randn(1, 4, generator=torch_rng(1, "y"))
    found = analysis.attention_by_distance(model, y)
    at, even = {}, {}
    for query in range(1, 5):
        weights = analysis.over_matrix(model, y, query, layer=0).weights
        seen = [(i, j) for i in range(1, query + 1) for j in range(i + 1, 6)]
        for i, j in seen:
            at.setdefault(5 - j, []).append(weights[i - 1, j - 1].item())
            even.setdefault(5 - j, []).append(1 / len(seen))
    assert found.distance.tolist() == sorted(at)
    for place, distance in enumerate(found.distance.int().tolist()):
        assert found.weights[0, :, place].mean().item() == pytest.approx(
            sum(at[distance]) / len(at[distance])
        )
        assert found.even[place].item() == pytest.approx(sum(even[distance]) / len(even[distance]))


def test_a_narrow_window_makes_attention_fall():
    y = torch.randn(2, 6, generator=torch_rng(2, "y"))
    wide, narrow = (network("one_d_window", length=length) for length in (1e4, 1.0))
    even, steep = (analysis.attention_by_distance(net, y).weights.mean(dim=(0, 1)) for net in (wide, narrow))
    assert steep[-1] < 0.05 * even[-1]
    assert steep[0] > even[0]


@pytest.mark.parametrize("name", MODELS)
def test_local_weights_are_those_of_small_changes(name):
    model, y = network(name).double(), torch.tensor([CURVE, CURVE[::-1]], dtype=torch.float64)
    weights = analysis.local_weights(model, y)
    assert weights.shape == y.shape
    for place in range(len(CURVE)):
        ends = []
        for step in (-1e-6, 1e-6):
            near = y.clone()
            near[:, place] += step
            with torch.no_grad():
                ends.append(summarise(model.estimates(near, model(near)))[0])
        torch.testing.assert_close(weights[:, place], (ends[1] - ends[0]) / 2e-6, rtol=1e-4, atol=1e-5)
    if name.startswith("relational"):
        torch.testing.assert_close(weights.sum(dim=1), torch.ones(2).double())
