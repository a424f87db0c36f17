"""What is measured inside memories, against loops, statistics packages and structure that was planted."""

import itertools
import math

import numpy as np
import pytest
import torch
from scipy.stats import f_oneway
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn.metrics.pairwise import cosine_similarity

from mini_lib.kanerva.analysis import (
    Factor,
    class_means,
    cosines,
    factors,
    modulation,
    separation,
    single_machine,
    tuning,
    usage,
    variance_explained,
)
from mini_lib.kanerva.tasks import evaluation
from mini_lib.seeding import torch_rng


def drawn(*shape, seed=0):
    return torch.rand(shape, generator=torch_rng(seed, "numbers"), dtype=torch.float64)


def digits(*shape, seed=0, below=10):
    return torch.randint(below, shape, generator=torch_rng(seed, "labels"))


def gammas(*shape, seed=0):
    return torch.softmax(4 * drawn(*shape, seed=seed), dim=-1)


def items(tensor):
    """All indices of the first two axes."""
    return itertools.product(range(tensor.shape[0]), range(tensor.shape[1]))


# ------------------------------------------------------------------------------------------------ classes


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_class_means_are_those_of_a_loop(axes):
    values, labels = drawn(90, 2), digits(90, axes)
    means, number = class_means(values, labels)
    assert means.shape == (10,) * axes + (2,)
    assert number.sum() == 90
    for place in itertools.product(range(10), repeat=axes):
        mine = [v for v, label in zip(values.tolist(), labels.tolist(), strict=True) if tuple(label) == place]
        assert number[place] == len(mine)
        if mine:
            np.testing.assert_allclose(means[place], np.mean(mine, axis=0))
        else:
            assert means[place].isnan().all()
    assert (number == 0).any() == (axes > 1)


@pytest.mark.parametrize("seed", range(3))
def test_the_explained_share_is_that_of_an_analysis_of_variance(seed):
    labels = digits(80, seed=seed, below=6)
    values = drawn(80, 1, seed=seed + 10) + 0.1 * labels[:, None]
    groups = [values[labels == label, 0].numpy() for label in range(6)]
    f = f_oneway(*groups).statistic
    assert variance_explained(values, labels) == pytest.approx(5 * f / (5 * f + 80 - 6))


def test_all_numbers_of_an_item_count_together():
    values, labels = drawn(70, 3), digits(70, below=4)
    values[:, 1] = 5 * values[:, 1] + labels
    shown = torch.nn.functional.one_hot(labels).numpy()
    fitted = LinearRegression().fit(shown, values.numpy()).predict(shown)
    expected = r2_score(values.numpy(), fitted, multioutput="variance_weighted")
    assert variance_explained(values, labels) == pytest.approx(expected)


# ------------------------------------------------------------------------------------------------ machines


def test_sharing_is_that_of_a_loop():
    gamma = gammas(5, 4, 3)
    each = [gamma[b, t].numpy() for b, t in items(gamma)]
    found = usage(gamma)
    assert found["largest"] == pytest.approx(np.mean([max(g) for g in each]))
    assert found["least_used"] == pytest.approx(min(np.mean([g[i] for g in each]) for i in range(3)))
    means, sds = np.mean(each, axis=0), np.std(each, axis=0, ddof=1)
    assert found["changes"] == pytest.approx(sum(m * (sd / m) for m, sd in zip(means, sds, strict=True)))
    assert found.keys() == {"largest", "least_used", "changes"}
    assert usage(torch.tensor([[[0.2, 0.8]] * 4]))["changes"] == pytest.approx(0.0, abs=1e-12)


def slow_alone(pictures, gamma, images):
    """Both figures item by item, in numpy."""
    shown = {True: {}, False: {}}
    losses = []
    for b, t in items(gamma):
        top = gamma[b, t].argmax().item()
        for i in range(gamma.shape[2]):
            p = 1 / (1 + np.exp(-pictures[b, t, i].numpy().reshape(-1)))
            shown[i == top].setdefault(i, []).append(p)
            if i == top:
                x = images[b, t].numpy().reshape(-1)
                losses.append(-np.sum(x * np.log(p) + (1 - x) * np.log(1 - p)))
    spread = {}
    for ahead, by_machine in shown.items():
        kept = [np.array(each) for each in by_machine.values() if len(each) > 1]
        total = sum(len(each) * each.var(axis=0, ddof=1).mean() for each in kept)
        spread[ahead] = total / sum(len(each) for each in kept)
    return np.mean(losses), spread[False] / spread[True]


@pytest.mark.parametrize("machines", [2, 3])
def test_machines_alone_are_those_of_a_loop(machines):
    pictures = 4 * drawn(3, 5, machines, 1, 2, 2) - 2
    pictures[:, :, 0] *= 3
    gamma, images = gammas(3, 5, machines, seed=1), (drawn(3, 5, 1, 2, 2, seed=2) > 0.5).double()
    loss, ratio = slow_alone(pictures, gamma, images)
    found = single_machine(pictures, gamma, images)
    assert found["dominant_nll"] == pytest.approx(loss)
    assert found["idle_variance"] == pytest.approx(ratio)


def test_a_machine_in_charge_shows_the_image_and_the_other_a_fixed_pattern():
    images = (drawn(3, 6, 1, 2, 2) > 0.5).double()
    top = digits(3, 6, below=2)
    gamma = torch.nn.functional.one_hot(top, 2) * 0.8 + 0.1
    pattern = 3 * drawn(2, 1, 2, 2, seed=1)  # each machine's own
    mine = torch.stack([top == 0, top == 1], dim=2)[..., None, None, None]
    pictures = torch.where(mine, 20 * (2 * images[:, :, None] - 1), pattern)
    found = single_machine(pictures, gamma, images)
    assert found["dominant_nll"] < 1e-7
    assert found["idle_variance"] < 1e-12
    assert single_machine(pictures, 1 - gamma, images)["idle_variance"] > 1e12
    assert math.isnan(
        single_machine(pictures[:, :, :1], gamma[..., :1], images)["idle_variance"]
    )  # one is never idle


# ------------------------------------------------------------------------------------------------ templates


def test_cosines_are_those_of_another_package():
    pictures, templates = drawn(2, 3, 4, 5, 5), (drawn(2, 3, 2, 5, 5, seed=1) > 0.7).double()
    found = cosines(pictures, templates)
    assert found.shape == (2, 3, 4, 2)
    for b, t in items(found):
        expected = cosine_similarity(pictures[b, t].flatten(1).numpy(), templates[b, t].flatten(1).numpy())
        np.testing.assert_allclose(found[b, t], expected)


def test_an_empty_picture_is_like_nothing():
    assert cosines(torch.zeros(1, 1, 1, 2, 2), torch.ones(1, 1, 2, 2, 2)).eq(0).all()


def test_separation_is_that_of_a_loop():
    pictures, templates = drawn(3, 2, 4, 5, 5), (drawn(3, 2, 2, 5, 5, seed=1) > 0.7).double()
    contrast, shuffled, one, chance = [], [], [], []
    for b, t in items(pictures):
        mine, others = (
            cosine_similarity(pictures[b, t].flatten(1), templates[e, t].flatten(1)) for e in (b, b - 1)
        )
        for i in range(4):
            contrast.append(abs(mine[i, 0] - mine[i, 1]))
            shuffled.append(abs(others[i, 0] - others[i, 1]))
            one.append(max(mine[i]) >= 1.5 * min(mine[i]))
            chance.append(max(others[i]) >= 1.5 * min(others[i]))
    found = separation(pictures, templates)
    assert 0 < np.mean(one) < 1
    assert found["contrast"] == pytest.approx(np.mean(contrast))
    assert found["contrast_shuffled"] == pytest.approx(np.mean(shuffled))
    assert found["one_sprite"] == pytest.approx(np.mean(one))
    assert found["one_sprite_shuffled"] == pytest.approx(np.mean(chance)) != np.mean(one)


def apart(dances):
    """The episodes' templates without what both sprites cover."""
    first, second = dances.templates.unbind(2)
    return torch.stack([first * (1 - second), second * (1 - first)], dim=2)


def test_machines_that_show_single_sprites_are_found():
    templates = apart(evaluation("dsprites", 40, 4, size=14))
    found = separation(templates, templates)
    seen = templates.flatten(3).any(3).all(2)  # where none is hidden by the other
    assert found["one_sprite"] >= seen.double().mean()
    assert found["contrast"] > 0.9
    assert found["contrast"] > 2 * found["contrast_shuffled"]


# ------------------------------------------------------------------------------------------------ tuning


def test_factors_are_the_latents_in_bins():
    dances = evaluation("dsprites", 5, 3, size=14)
    found = {factor.name: factor for factor in factors(dances)}
    assert {name: factor.number for name, factor in found.items()} == {
        **{"position": 64, "shape": 3},
        **{"orientation": 8, "scale": 6},
    }
    for b, t, s in itertools.product(range(5), range(3), range(2)):
        x, y = dances.position[b, t, s].tolist()
        assert found["position"].bins[b, t, s] == (y // 4) * 8 + x // 4
        assert found["shape"].bins[b, t, s] == dances.shape[b, s]
        assert found["orientation"].bins[b, t, s] == dances.orientation[b, s] // 5
        assert found["scale"].bins[b, t, s] == dances.scale[b, s]


def slow_tuning(found, bins, number, sprites):
    """[K, J] means over items and these sprites, NaN where a bin is empty."""
    means = np.full((found.shape[2], number), np.nan)
    for i, j in itertools.product(range(found.shape[2]), range(number)):
        mine = [
            found[b, t, i, s].item()
            for b, t in items(found)
            for s in sprites
            if (bins[b, t, s] == j and bins[b, t, s] >= 0)
        ]
        if mine:
            means[i, j] = np.mean(mine)
    return means


def test_tuning_is_that_of_a_loop():
    found, bins = drawn(4, 3, 2, 2), digits(4, 3, 2, below=7)
    ours = tuning(found, Factor("shape", bins, 9))
    assert ours.shape == (2, 9, 2)
    assert ours[:, 7:].isnan().all()
    for s in range(2):
        np.testing.assert_allclose(ours[:, :, s], slow_tuning(found, bins, 9, [s]))


def slow_modulation(found, bins, number):
    halves = []
    for half in (0, 1):
        mine = [b for b in range(len(found)) if b % 2 == half]
        mean = slow_tuning(found[mine], bins[mine], number, [0, 1])
        left = np.empty_like(mean)
        for i, j in np.ndindex(*mean.shape):
            left[i, j] = mean[i, j] - mean[:, j].mean() - mean[i].mean() + mean.mean()
        halves.append(left)
    return np.mean([a * b for a, b in zip(*(half.flatten() for half in halves), strict=True)])


def test_modulation_is_that_of_a_loop():
    found, bins = drawn(9, 4, 3, 2), digits(9, 4, 2, below=5)
    assert modulation(found, Factor("shape", bins, 5)) == pytest.approx(slow_modulation(found, bins, 5))


def planted(seed=0, noise=0.0, episodes=40):
    """Cosines that depend on machine and bin together, and on each alone; what the first gives, squared."""
    bins = digits(episodes, 6, 2, below=8, seed=seed)
    together = drawn(4, 8, seed=1) - 0.5
    together = together - together.mean(0) - together.mean(1, keepdim=True) + together.mean()
    table = together + drawn(4, 1, seed=2) + drawn(8, seed=3)
    found = table.T[bins].transpose(2, 3) + noise * (drawn(episodes, 6, 4, 2, seed=seed + 4) - 0.5)
    return found, bins, together.square().mean().item()


def test_planted_modulation_is_found_and_what_all_share_is_not():
    found, bins, expected = planted()
    assert modulation(found, Factor("position", bins, 8)) == pytest.approx(expected)
    other = digits(40, 6, 2, below=8, seed=9)
    assert abs(modulation(found, Factor("shape", other, 8))) < 0.05 * expected
    shared = found.mean(dim=2, keepdim=True) + drawn(4, 1)
    assert modulation(shared, Factor("position", bins, 8)) == pytest.approx(0.0, abs=1e-15)


def test_a_machine_for_each_corner_is_tuned_to_position_alone():
    dances = evaluation("dsprites", 120, 8, size=14)
    corners = torch.zeros(4, 14, 14)
    for i, (row, column) in enumerate(itertools.product((0, 7), repeat=2)):
        corners[i, row : row + 7, column : column + 7] = 1
    like = cosines(corners.expand(120, 8, 4, 14, 14), dances.templates)
    found = {factor.name: modulation(like, factor) for factor in factors(dances)}
    assert found["position"] > 0.01
    assert all(abs(found[name]) < 1e-3 * found["position"] for name in ("shape", "orientation", "scale"))
    tuned = tuning(like, factors(dances)[0])[..., 0].reshape(4, 8, 8)  # y, x
    for i, (row, column) in enumerate(itertools.product((0, 4), repeat=2)):
        here = tuned[i, row : row + 4, column : column + 4].mean()
        assert here > 2 * (tuned[i].sum() - 16 * here) / 48


def test_bins_that_a_half_does_not_fill_are_left_out():
    found, bins = drawn(40, 3, 2, 2), digits(40, 3, 2, below=3)
    both = modulation(found, Factor("scale", bins, 3))
    assert modulation(found, Factor("scale", 2 * bins, 6)) == pytest.approx(both)
    bins[::2] = bins[::2].clamp(max=1)  # the third bin is empty in one half
    assert (bins == 2).any()
    assert math.isfinite(modulation(found, Factor("scale", bins, 3)))
    assert math.isnan(modulation(found[:1], Factor("scale", bins[:1], 3)))  # no second half
