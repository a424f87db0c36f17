"""What is measured inside memories, against loops, statistics packages and structure that was planted."""

import itertools
import math

import numpy as np
import pytest
import torch
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn.metrics.pairwise import cosine_similarity

from mini_lib.kanerva import analysis
from mini_lib.kanerva.tasks import evaluation
from mini_lib.seeding import torch_rng


def drawn(*shape, seed=0):
    return torch.rand(shape, generator=torch_rng(seed, "numbers"), dtype=torch.float64)


def labels_for(*shape, seed=0, below=10):
    return torch.randint(below, shape, generator=torch_rng(seed, "labels"))


def gammas(*shape, seed=0):
    return torch.softmax(4 * drawn(*shape, seed=seed), dim=-1)


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_class_means_are_those_of_a_loop(axes):
    values, labels = drawn(90, 2), labels_for(90, axes)
    means, number = analysis.class_means(values, labels)
    assert means.shape == (10,) * axes + (2,)
    for place in itertools.product(range(10), repeat=axes):
        mine = values[(labels == torch.tensor(place)).all(1)]
        assert number[place] == len(mine)
        np.testing.assert_allclose(means[place], mine.mean(0))  # NaN where there is none


@pytest.mark.parametrize("features", [1, 3])
def test_the_explained_share_is_that_of_an_analysis_of_variance(features):
    labels = labels_for(80, below=6)
    values = drawn(80, features, seed=1)
    values[:, -1] = 2 * values[:, -1] + 0.3 * labels
    shown = torch.nn.functional.one_hot(labels).numpy()
    fitted = LinearRegression().fit(shown, values.numpy()).predict(shown)
    expected = r2_score(values.numpy(), fitted, multioutput="variance_weighted")
    assert analysis.variance_explained(values, labels) == pytest.approx(expected)
    assert analysis.variance_explained(torch.ones(80, features), labels) == 0


def test_usage_is_that_of_a_loop():
    gamma = gammas(5, 4, 3)
    each = gamma.flatten(0, 1).numpy()
    expected = {"largest": np.mean([max(g) for g in each]), "least_used": min(each.mean(0))}
    expected["changes"] = sum(each.std(axis=0, ddof=1))
    assert analysis.usage(gamma) == pytest.approx(expected)


def slow_alone(pictures, gamma, images):
    """Both figures item by item, in numpy."""
    shown, losses = {True: {}, False: {}}, []
    for b, t in np.ndindex(gamma.shape[:2]):
        top, x = gamma[b, t].argmax().item(), images[b, t].numpy().reshape(-1)
        for i in range(gamma.shape[2]):
            p = 1 / (1 + np.exp(-pictures[b, t, i].numpy().reshape(-1)))
            shown[i == top].setdefault(i, []).append(p)
            if i == top:
                losses.append(-np.sum(x * np.log(p) + (1 - x) * np.log(1 - p)))
    spread = {}
    for ahead, by_machine in shown.items():
        kept = [np.array(each) for each in by_machine.values() if len(each) > 1]
        total = sum(len(each) * each.var(axis=0, ddof=1).mean() for each in kept)
        spread[ahead] = total / sum(len(each) for each in kept)
    return {"dominant_nll": np.mean(losses), "idle_variance": spread[False] / spread[True]}


@pytest.mark.parametrize("machines", [2, 3])
def test_machines_alone_are_those_of_a_loop(machines):
    pictures = 4 * drawn(3, 5, machines, 1, 2, 2) - 2
    pictures[:, :, 0] *= 3
    gamma, images = gammas(3, 5, machines, seed=1), (drawn(3, 5, 1, 2, 2, seed=2) > 0.5).double()
    expected = slow_alone(pictures, gamma, images)
    assert analysis.single_machine(pictures, gamma, images) == pytest.approx(expected)
    never_idle = analysis.single_machine(pictures[:, :, :1], gamma[..., :1], images)
    assert math.isnan(never_idle["idle_variance"])


def test_separation_is_that_of_a_loop_over_another_packages_cosines():
    pictures, templates = drawn(3, 2, 4, 5, 5), (drawn(3, 2, 2, 5, 5, seed=1) > 0.7).double()
    found = {"": [], "_shuffled": [], "_fixed": []}
    for b, t in np.ndindex(3, 2):
        mine = [pictures[b, t].flatten(1), pictures[b, t].flatten(1), pictures.mean((0, 1)).flatten(1)]
        for kind, shown, episode in zip(found, mine, (b, b - 1, b), strict=True):
            found[kind] += list(cosine_similarity(shown, templates[episode, t].flatten(1)))
        np.testing.assert_allclose(analysis.cosines(pictures, templates)[b, t], found[""][-4:])
    expected = {f"contrast{kind}": np.mean([abs(a - b) for a, b in each]) for kind, each in found.items()}
    for kind, each in found.items():
        expected[f"one_sprite{kind}"] = np.mean([max(pair) >= 1.5 * min(pair) for pair in each])
    assert analysis.separation(pictures, templates) == pytest.approx(expected)
    assert len({*expected.values()}) == 6
    assert analysis.cosines(torch.zeros(1, 1, 1, 2, 2), torch.ones(1, 1, 2, 2, 2)).eq(0).all()
    assert analysis.fixed(pictures)[2, 1].allclose(pictures.mean((0, 1)))


def test_factors_are_the_latents_in_bins():
    dances = evaluation("dsprites", 5, 3, size=14)
    found = {factor.name: factor for factor in analysis.factors(dances)}
    numbers = {name: factor.number for name, factor in found.items()}
    assert numbers == {"position": 64, "shape": 3, "orientation": 8, "scale": 6}
    for b, t, s in np.ndindex(5, 3, 2):
        x, y = dances.position[b, t, s].tolist()
        bins = {"position": (y // 4) * 8 + x // 4, "orientation": dances.orientation[b, s] // 5}
        bins |= {"shape": dances.shape[b, s], "scale": dances.scale[b, s]}
        assert all(found[name].bins[b, t, s] == number for name, number in bins.items())


def slow_tuning(found, bins, number, sprites):
    """[K, J] means over items and these sprites, NaN where a bin is empty."""
    means = np.full((found.shape[2], number), np.nan)
    for i, j in np.ndindex(*means.shape):
        places = (place for place in np.ndindex(*bins.shape) if bins[place] == j and place[2] in sprites)
        mine = [found[b, t, i, s] for b, t, s in places]
        means[i, j] = np.mean(mine) if mine else np.nan
    return means


def test_tuning_is_that_of_a_loop():
    found, bins = drawn(4, 3, 2, 2), labels_for(4, 3, 2, below=7)
    ours = analysis.tuning(found, analysis.Factor("shape", bins, 9))
    assert ours.shape == (2, 9, 2)
    for s in range(2):
        np.testing.assert_allclose(ours[:, :, s], slow_tuning(found, bins, 9, [s]))


def slow_modulation(found, bins, number):
    halves = []
    for half in (0, 1):
        mean = slow_tuning(found[half::2], bins[half::2], number, [0, 1])
        halves.append(mean - mean.mean(0) - mean.mean(1, keepdims=True) + mean.mean())
    return np.mean(halves[0] * halves[1])


def test_modulation_is_that_of_a_loop_and_bins_that_a_half_does_not_fill_are_left_out():
    found, bins = drawn(9, 4, 3, 2), labels_for(9, 4, 2, below=5)
    expected = pytest.approx(slow_modulation(found, bins, 5))
    assert analysis.modulation(found, analysis.Factor("shape", bins, 5)) == expected
    assert analysis.modulation(found, analysis.Factor("scale", 2 * bins, 10)) == expected
    bins[::2] = bins[::2].clamp(max=3)  # the last bin is empty in one half
    assert math.isfinite(analysis.modulation(found, analysis.Factor("scale", bins, 5)))
    assert math.isnan(analysis.modulation(found[:1], analysis.Factor("scale", bins[:1], 5)))  # no second half
