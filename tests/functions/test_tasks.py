"""The three classes of curves against their definitions, the noise, the test curves, and a reader's own curve."""

import inspect
import math

import numpy as np
import pytest
import torch

from mini_lib.functions.tasks import KINDS, as_curve, covariance, evaluation_curves, sample_curves
from mini_lib.seeding import torch_rng

X = np.arange(1, 31)


def draw(kind=None, count=4000, points=30, seed=0, **options):
    return sample_curves(count, points, torch_rng(seed, "test"), kind=kind, **options)


def truths(kind, **options):
    return draw(kind, **options).truth.double().numpy()


def uniform_on(values, low, high):
    """Whether values fill a range and keep to it: extremes, mean and spread of a uniform distribution."""
    width, error = high - low, (high - low) / math.sqrt(len(values))
    assert low <= values.min() < low + 0.01 * width
    assert high - 0.01 * width < values.max() <= high
    assert values.mean() == pytest.approx((low + high) / 2, abs=1.5 * error)
    assert values.std() == pytest.approx(width / math.sqrt(12), abs=1.5 * error)


def test_lines_go_through_zero_with_slopes_of_up_to_a_tenth():
    """The first point is at x = 1."""
    slopes = truths("lin") / X
    assert np.ptp(slopes, axis=1).max() < 1e-7
    uniform_on(slopes[:, 0], -0.1, 0.1)


def frequencies(f):
    """A sinusoid has f(x + 1) + f(x - 1) = 2 cos(w) f(x) at every x."""
    around, middle = f[:, 2:] + f[:, :-2], f[:, 1:-1]
    cosine = (around * middle).sum(axis=1) / (2 * (middle**2).sum(axis=1))
    np.testing.assert_allclose(around, 2 * cosine[:, None] * middle, atol=1e-5)
    return np.arccos(cosine)


def test_sines_have_the_papers_periods_amplitudes_and_any_phase():
    f = truths("sine")
    w = frequencies(f)
    uniform_on(2 * np.pi / w, 5, 12)
    basis = np.stack([np.sin(w[:, None] * X), np.cos(w[:, None] * X)], axis=2)
    parts = np.stack([np.linalg.lstsq(each, row, rcond=None)[0] for each, row in zip(basis, f, strict=True)])
    uniform_on(np.hypot(*parts.T), 0.8, 1.2)
    uniform_on(np.arctan2(parts[:, 1], parts[:, 0]), -np.pi, np.pi)


def test_covariance_of_rbf_curves():
    expected = [[math.exp(-0.5 * (i - j) ** 2 / 9) for j in range(30)] for i in range(30)]
    np.testing.assert_allclose(covariance(30), expected, rtol=0, atol=1e-15)
    assert covariance(3, length_scale=1.0)[0].tolist() == pytest.approx([1, math.exp(-0.5), math.exp(-2)])


def test_rbf_curves_have_this_covariance_mean_zero_and_normal_values():
    f = truths("rbf", count=20_000)
    np.testing.assert_allclose(f.mean(axis=0), 0, atol=0.03)
    np.testing.assert_allclose(np.cov(f.T), covariance(30).numpy(), atol=0.05)
    assert (f[:, 7] ** 4).mean() == pytest.approx(3, abs=0.2)


@pytest.mark.parametrize("kind", KINDS)
def test_curves_slowed_down_are_at_even_places_what_others_are_at_every_place(kind):
    slow, plain = truths(kind, time_scale=2.0, count=20_000), truths(kind, points=15, count=20_000)
    if kind == "rbf":
        np.testing.assert_allclose(np.cov(slow[:, 1::2].T), covariance(15).numpy(), atol=0.05)
        assert slow[:, 2:4].prod(axis=1).mean() == pytest.approx(math.exp(-0.5 / 36), abs=0.05)
    else:
        np.testing.assert_allclose(slow[:, 1::2], plain, atol=1e-6)


def test_each_class_has_probability_a_third_and_keeps_its_name():
    curves = draw(count=9000, noise=0.0)
    counts = np.bincount(curves.kinds.numpy(), minlength=3)
    assert abs(counts - 3000).max() < 4 * math.sqrt(9000 * 2 / 9)
    lines, rbf, sines = (curves.truth[curves.kinds == number].double().numpy() for number in range(3))
    assert np.abs(np.diff(lines, n=2, axis=1)).max() < 1e-6
    assert np.abs(np.diff(rbf, n=2, axis=1)).max(axis=1).min() > 1e-6
    np.testing.assert_allclose(np.cov(rbf.T), covariance(30).numpy(), atol=0.12)
    frequencies(sines)


@pytest.mark.parametrize("kind", [None, *KINDS])
def test_noise_is_uniform_with_standard_deviation_a_tenth_at_every_point(kind):
    curves = draw(kind)
    noise = (curves.y - curves.truth).double().numpy()
    assert curves.y.dtype == curves.truth.dtype == torch.float32
    assert kind is None or set(curves.kinds.tolist()) == {KINDS.index(kind)}
    uniform_on(noise.flatten()[:100_000], -math.sqrt(3) / 10 - 1e-6, math.sqrt(3) / 10 + 1e-6)
    np.testing.assert_allclose(noise.std(axis=0), 0.1, atol=5e-3)
    assert (noise**4).mean() / 1e-4 == pytest.approx(9 / 5, abs=0.02)  # of a uniform distribution
    assert abs(np.corrcoef(noise.T) - np.eye(30)).max() < 0.09
    assert abs(np.corrcoef(noise[:, 4], curves.truth[:, 4].numpy())[0, 1]) < 0.09
    assert draw(kind, noise=0.0).y.equal(draw(kind, noise=0.0).truth)
    twice = draw(kind, noise=0.2)
    assert (twice.y - twice.truth).std().item() == pytest.approx(0.2, abs=1e-3)


def test_streams_are_fresh_and_reproducible_and_leave_the_global_one_alone():
    before, generator = torch.get_rng_state(), torch_rng(1, "test")
    first, second = (sample_curves(5, 6, generator) for _ in range(2))
    again = sample_curves(5, 6, torch_rng(1, "test"))
    assert all(a.equal(b) for a, b in zip(first, again, strict=True))
    assert not first.truth.equal(second.truth)
    assert not (first.y - first.truth).allclose(second.y - second.truth)
    evaluation_curves(3, 7)
    assert torch.get_rng_state().equal(before)


def test_evaluation_curves_are_split_evenly():
    """And are of their classes, with noise."""
    curves = evaluation_curves(2500, 30)
    assert curves.kinds.tolist() == 834 * [0] + 833 * [1] + 833 * [2]
    f = curves.truth.double().numpy()
    assert np.ptp(f[:834] / X, axis=1).max() < 1e-7
    np.testing.assert_allclose(f[834:1667].var(axis=0), 1, atol=0.2)
    frequencies(f[1667:])
    assert (curves.y - curves.truth).std().item() == pytest.approx(0.1, abs=1e-3)


@pytest.mark.parametrize("make", [list, tuple, np.array, lambda y: torch.tensor(y, dtype=torch.float64)])
def test_a_curve_of_ones_own_is_a_batch_of_one(make):
    curve = inspect.unwrap(as_curve)(make([0, 1, 4]))  # as a reader calls it, without the tests' type checks
    assert curve.tolist() == [[0, 1, 4]]
    assert curve.dtype == torch.float32


def test_a_curve_far_from_zero_keeps_its_shape():
    near, far = as_curve([0.1, 0.2, 0.4]), as_curve([1e8 + 0.1, 1e8 + 0.2, 1e8 + 0.4])
    assert far.dtype == torch.float64
    torch.testing.assert_close(far - 1e8, near.double(), rtol=0, atol=1e-6)
