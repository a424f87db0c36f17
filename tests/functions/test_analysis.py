"""What is seen inside a network, and what the spread of its estimates is worth."""

import pytest
import torch

from functions.helpers import CURVE, network
from mini_lib.functions import analysis
from mini_lib.functions.tasks import Curves
from mini_lib.functions.transformer import MODELS
from mini_lib.seeding import torch_rng


def randn(*size, seed=1):
    return torch.randn(*size, generator=torch_rng(seed, "y"))


# -------------------------------------------------------------------------------------------------- attention


@pytest.mark.parametrize("name", ["relational", "relational_window"])
def test_attention_over_the_matrix_sums_to_one_over_what_a_query_sees(name):
    model = network(name)
    for query in range(1, 6):
        found = analysis.over_matrix(model, CURVE, query)
        assert (found.query, found.weights.shape) == (query, (5, 6))
        for i in range(1, 6):
            for j in range(1, 7):
                weight = found.weights[i - 1, j - 1]
                assert weight.isnan() == (i >= j)
                assert i >= j or (weight > 0) == (i <= query)
        assert found.weights.nansum().item() == pytest.approx(1, abs=1e-5)


def test_every_weight_lies_at_its_tokens_place():
    model, y = network("relational"), torch.tensor(CURVE)
    with torch.no_grad():
        trace = model.trace(y[None])
    weights, tokens = trace.attention, trace.tokens
    rows = {tuple(place): row for row, place in enumerate(tokens.places.int().tolist())}
    layer = analysis.over_matrix(model, y, 3, layer=1).weights
    every = analysis.over_matrix(model, y, 3).weights
    for place in ((1, 2), (3, 5), (2, 6), (3, 6)):
        both = torch.stack([weights[number][0, :, rows[3, 6], rows[place]] for number in (0, 1)])
        i, j = place[0] - 1, place[1] - 1
        torch.testing.assert_close(layer[i, j], both[1].mean())
        torch.testing.assert_close(every[i, j], both.mean())


def test_by_distance_is_the_mean_over_curves_and_pairs():
    one_d, y = network("one_d"), randn(2, 5)
    found = analysis.attention_by_distance(one_d, y)
    assert found.distance.tolist() == [0, 1, 2, 3, 4, 5]
    with torch.no_grad():
        weights = one_d.trace(y).attention
    torch.testing.assert_close(found.weights[1, 0], weights[1][:, 0, -1].mean(dim=0).flip(0))
    torch.testing.assert_close(found.even, torch.full((6,), 1 / 6))


def test_by_distance_of_the_later_point():
    model, y = network("relational_window"), randn(1, 4)
    found = analysis.attention_by_distance(model, y)
    at, even = {}, {}
    for query in range(1, 5):
        weights = analysis.over_matrix(model, y[0], query, layer=0).weights
        seen = [(i, j) for i in range(1, query + 1) for j in range(i + 1, 6)]
        for i, j in seen:
            at.setdefault(5 - j, []).append(weights[i - 1, j - 1].item())
            even.setdefault(5 - j, []).append(1 / len(seen))
    assert found.distance.tolist() == sorted(at)
    for place, distance in enumerate(found.distance.int().tolist()):
        count = len(at[distance])
        assert found.weights[0, :, place].mean().item() == pytest.approx(sum(at[distance]) / count)
        assert found.even[place].item() == pytest.approx(sum(even[distance]) / count)


def test_a_narrow_window_makes_attention_fall():
    wide, narrow = (network("one_d_window", length=length) for length in (1e4, 1.0))
    y = randn(2, 6, seed=2)
    even, steep = (analysis.attention_by_distance(net, y).weights.mean(dim=(0, 1)) for net in (wide, narrow))
    assert steep[-1] < 0.05 * even[-1]
    assert steep[0] > even[0]


@pytest.mark.parametrize("name", MODELS)
def test_local_weights_are_those_of_small_changes(name):
    model, y = network(name).double(), torch.tensor([CURVE, CURVE[::-1]], dtype=torch.float64)
    weights = analysis.local_weights(model, y)
    for place in range(len(CURVE)):
        ends = []
        for step in (-1e-6, 1e-6):
            near = y.clone()
            near[:, place] += step
            with torch.no_grad():
                ends.append(model.predict(near))
        torch.testing.assert_close(weights[:, place], (ends[1] - ends[0]) / 2e-6, rtol=1e-4, atol=1e-5)
    if name.startswith("relational"):
        torch.testing.assert_close(weights.sum(dim=1), torch.ones(2).double())


def test_errors_step_by_step_are_against_the_function():
    curves = Curves(torch.tensor([[9.0, 1.0, 2.0], [9.0, 0.0, 0.0]]), torch.zeros(2, 3), torch.tensor([0, 0]))
    point = torch.tensor([[2.0, 2.0], [1.0, -3.0]])
    assert analysis.error_by_step(point, curves) == {"lin": [1.0, 4.5]}
