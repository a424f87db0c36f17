"""The three classes of curves against their definitions, the noise, the test curves, and a reader's own curve."""

import inspect
import math

import numpy as np
import pytest
import torch

from mini_lib.functions import bounds
from mini_lib.functions.tasks import (
    KINDS,
    NOISE,
    STEPS,
    as_curve,
    covariance,
    evaluation_curves,
    positions,
    sample_curves,
)
from mini_lib.seeding import torch_rng

HALF_WIDTH = 0.1732  # facts, section 1


def draw(kind=None, count=4000, points=30, seed=0, **options):
    return sample_curves(count, points, torch_rng(seed, "test"), kind=kind, **options)


def uniform_on(values, low, high):
    """Whether values fill a range and keep to it: extremes, mean and spread of a uniform distribution."""
    width, error = high - low, (high - low) / math.sqrt(len(values))
    assert low <= values.min() < low + 0.01 * width
    assert high - 0.01 * width < values.max() <= high
    assert values.mean() == pytest.approx((low + high) / 2, abs=1.5 * error)
    assert values.std() == pytest.approx(width / math.sqrt(12), abs=1.5 * error)


def truths(kind, **options):
    return draw(kind, **options).truth.double().numpy()


# ------------------------------------------------------------------------------------------------- the classes


def test_names_and_numbers_of_the_paper():
    assert KINDS == ("lin", "rbf", "sine")
    assert (NOISE, STEPS) == (0.1, 10)
    assert positions(4).tolist() == [1, 2, 3, 4]


def test_lines_go_through_zero_with_slopes_of_up_to_a_tenth():
    slopes = truths("lin") / np.arange(1, 31)
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
    x = np.arange(1, 31)
    basis = np.stack([np.sin(w[:, None] * x), np.cos(w[:, None] * x)], axis=2)
    parts = np.stack([np.linalg.lstsq(each, row, rcond=None)[0] for each, row in zip(basis, f, strict=True)])
    uniform_on(np.hypot(*parts.T), 0.8, 1.2)
    uniform_on(np.arctan2(parts[:, 1], parts[:, 0]), -np.pi, np.pi)


def test_covariance_of_rbf_curves():
    c = covariance(30).numpy()
    for i in range(30):
        for j in range(30):
            assert c[i, j] == pytest.approx(math.exp(-0.5 * (i - j) ** 2 / 9), abs=1e-15)
    assert covariance(3, length_scale=1.0)[0].tolist() == pytest.approx([1, math.exp(-0.5), math.exp(-2)])


def test_rbf_curves_have_this_covariance_mean_zero_and_normal_values():
    f = truths("rbf", count=20_000)
    np.testing.assert_allclose(f.mean(axis=0), 0, atol=0.03)
    np.testing.assert_allclose(np.cov(f.T), covariance(30).numpy(), atol=0.05)
    assert (f[:, 7] ** 4).mean() == pytest.approx(3, abs=0.2)


def test_rbf_curves_are_smooth():
    """A third difference of a process of length scale 3 has variance 15 / 3^6, about .02; jitter adds 2e-5."""
    c = covariance(4).numpy()
    difference = np.array([-1, 3, -3, 1])
    expected = difference @ c @ difference
    assert (truths("rbf") @ np.pad(difference, (5, 21))).var() == pytest.approx(expected, rel=0.1)


def test_each_class_has_probability_a_third_and_keeps_its_name():
    curves = draw(count=9000, noise=0.0)
    counts = np.bincount(curves.kinds.numpy(), minlength=3)
    assert abs(counts - 3000).max() < 4 * math.sqrt(9000 * 2 / 9)
    f = curves.truth.double().numpy()
    lines = np.abs(np.diff(f, n=2, axis=1)).max(axis=1) < 1e-6
    assert (lines == (curves.kinds == 0).numpy()).all()
    frequencies(f[(curves.kinds == 2).numpy()])
    rbf = f[(curves.kinds == 1).numpy()]
    np.testing.assert_allclose(np.cov(rbf.T), covariance(30).numpy(), atol=0.12)


@pytest.mark.parametrize("number", range(3))
def test_one_class_when_asked_for(number):
    curves = draw(KINDS[number], count=7, points=5)
    assert curves.kinds.tolist() == 7 * [number]
    assert curves.truth.shape == curves.y.shape == (7, 5)
    assert (curves.truth.dtype, curves.y.dtype) == (torch.float32, torch.float32)


# --------------------------------------------------------------------------------------------- noise, streams


@pytest.mark.parametrize("kind", [None, *KINDS])
def test_noise_is_uniform_with_standard_deviation_a_tenth_at_every_point(kind):
    curves = draw(kind)
    noise = (curves.y - curves.truth).double().numpy()
    assert noise.std() == pytest.approx(0.1, abs=5e-4)
    assert noise.mean() == pytest.approx(0, abs=2e-3)
    assert HALF_WIDTH - 1e-3 < np.abs(noise).max() < HALF_WIDTH + 1e-4
    np.testing.assert_allclose(noise.std(axis=0), 0.1, atol=5e-3)
    assert (noise**4).mean() / 1e-4 == pytest.approx(9 / 5, abs=0.02)  # of a uniform distribution
    assert abs(np.corrcoef(noise.T) - np.eye(30)).max() < 0.09
    assert abs(np.corrcoef(noise[:, 4], curves.truth[:, 4].numpy())[0, 1]) < 0.09
    assert draw(kind, noise=0.0).y.equal(draw(kind, noise=0.0).truth)
    twice = draw(kind, noise=0.2)
    assert (twice.y - twice.truth).std().item() == pytest.approx(0.2, abs=1e-3)


def test_streams_are_fresh_and_reproducible():
    generator = torch_rng(1, "test")
    first, second = (sample_curves(5, 6, generator) for _ in range(2))
    again = sample_curves(5, 6, torch_rng(1, "test"))
    assert all(a.equal(b) for a, b in zip(first, again, strict=True))
    assert not first.truth.equal(second.truth)
    assert not (first.y - first.truth).allclose(second.y - second.truth)
    assert not sample_curves(5, 6, torch_rng(2, "test")).truth.equal(first.truth)


def test_the_global_stream_is_left_alone():
    before = torch.get_rng_state()
    draw(count=3)
    evaluation_curves(3, 7)
    assert torch.get_rng_state().equal(before)


# ------------------------------------------------------------------------------------------- evaluation curves


def test_evaluation_curves_are_split_evenly():
    """And are of their classes, with noise."""
    curves = evaluation_curves(2500, 30)
    assert curves.kinds.tolist() == 834 * [0] + 833 * [1] + 833 * [2]
    f = curves.truth.double().numpy()
    assert np.ptp(f[:834] / np.arange(1, 31), axis=1).max() < 1e-7
    np.testing.assert_allclose(f[834:1667].var(axis=0), 1, atol=0.2)
    frequencies(f[1667:])
    assert (curves.y - curves.truth).std().item() == pytest.approx(0.1, abs=1e-3)
    assert evaluation_curves(3, 30).kinds.tolist() == [0, 1, 2]


def test_evaluation_curves_are_the_same_for_everyone_whatever_is_done_to_them():
    one = evaluation_curves(9, 8)
    kept = [part.clone() for part in one]
    one.y.add_(5.0)
    torch.manual_seed(5)
    assert all(a.equal(b) for a, b in zip(evaluation_curves(9, 8), kept, strict=True))
    bounds.posterior(5).gain.mul_(0)
    assert bounds.posterior(5).gain.any()


# --------------------------------------------------------------------------------------------------- own curve


@pytest.mark.parametrize(
    "y",
    [
        *(
            [0, 1, 4],
            (0.0, 1.0, 4.0),
            np.array([0, 1, 4]),
            torch.tensor([0.0, 1.0, 4.0], dtype=torch.float64),
        ),
    ],
)
def test_an_as_curve_is_a_batch_of_one(y):
    curve = inspect.unwrap(as_curve)(y)  # as a reader calls it: types are checked in tests alone
    assert curve.tolist() == [[0, 1, 4]]
    assert curve.dtype == torch.float32


def test_a_curve_far_from_zero_keeps_its_shape():
    near, far = as_curve([0.1, 0.2, 0.4]), as_curve([1e8 + 0.1, 1e8 + 0.2, 1e8 + 0.4])
    assert far.dtype == torch.float64
    torch.testing.assert_close(far - 1e8, near.double(), rtol=0, atol=1e-6)
