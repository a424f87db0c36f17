"""The three classes of curves against their definitions, the noise, the test curves, and a reader's own curve."""

import inspect
import math

import numpy as np
import pytest
import torch

from mini_lib.errors import UsageError
from mini_lib.functions.tasks import (
    KINDS,
    NOISE,
    STEPS,
    as_curve,
    check_curves,
    covariance,
    evaluation_curves,
    positions,
    sample,
)
from mini_lib.seeding import torch_rng

HALF_WIDTH = 0.1732  # facts, section 1


def draw(kind=None, count=4000, points=30, seed=0, **options):
    return sample(count, points, torch_rng(seed, "test"), kind=kind, **options)


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


def test_an_intercept_moves_lines_and_changes_nothing_else():
    plain, moved = truths("lin"), truths("lin", intercept=0.5)
    starts = moved - plain
    assert np.ptp(starts, axis=1).max() < 1e-6
    uniform_on(starts[:, 0], -0.5, 0.5)
    for kind in ("rbf", "sine"):
        assert (truths(kind, intercept=0.5, count=9) == truths(kind, count=9)).all()


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


def test_curves_go_to_a_device():
    assert all(part.device.type == "meta" for part in draw(count=3, points=4).to("meta"))


def test_noise_can_be_more_or_none():
    curves = draw(noise=0.2)
    assert (curves.y - curves.truth).std().item() == pytest.approx(0.2, abs=1e-3)
    curves = draw(noise=0.0)
    assert curves.y.equal(curves.truth)


def test_streams_are_fresh_and_reproducible():
    generator = torch_rng(1, "test")
    first, second = (sample(5, 6, generator) for _ in range(2))
    again = sample(5, 6, torch_rng(1, "test"))
    assert all(a.equal(b) for a, b in zip(first, again, strict=True))
    assert not first.truth.equal(second.truth)
    assert not (first.y - first.truth).allclose(second.y - second.truth)
    assert not sample(5, 6, torch_rng(2, "test")).truth.equal(first.truth)


def test_the_global_stream_is_left_alone():
    before = torch.get_rng_state()
    draw(count=3)
    evaluation_curves(3, 7)
    assert torch.get_rng_state().equal(before)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"count": 0}, "count has to be 1 or more, got 0"),
        ({"points": 0}, "points has to be 1 or more, got 0"),
        ({"noise": -0.1}, "noise has to be 0 or more, got -0.1"),
        ({"noise": math.inf}, "noise has to be 0 or more, got inf"),
        ({"noise": math.nan}, "noise has to be 0 or more, got nan"),
        ({"intercept": -1.0}, "intercept has to be 0 or more, got -1.0"),
        ({"kind": "sin"}, "unknown class of curves 'sin'; did you mean 'sine'.* known: lin, rbf, sine"),
    ],
)
def test_what_cannot_be_sampled_is_refused(options, message):
    with pytest.raises(UsageError, match=message):
        sample(**({"count": 2, "points": 3, "generator": torch_rng(0)} | options))


# ------------------------------------------------------------------------------------------- evaluation curves


def test_evaluation_curves_are_split_evenly():
    curves = evaluation_curves(2500, 30)
    assert curves.kinds.bincount().tolist() == [834, 833, 833]
    assert curves.truth.shape == curves.y.shape == (2500, 30)
    assert curves.kinds.equal(curves.kinds.sort().values)
    with pytest.raises(UsageError, match="a curve of each class; got 2 curves"):
        evaluation_curves(2, 30)
    assert evaluation_curves(3, 30).kinds.tolist() == [0, 1, 2]


def test_evaluation_curves_are_of_their_classes_with_noise():
    curves = evaluation_curves(2500, 30)
    f = curves.truth.double().numpy()
    slopes = f[:834] / np.arange(1, 31)
    assert np.ptp(slopes, axis=1).max() < 1e-7
    np.testing.assert_allclose(f[834:1667].var(axis=0), 1, atol=0.2)
    frequencies(f[1667:])
    assert (curves.y - curves.truth).std().item() == pytest.approx(0.1, abs=1e-3)


def test_evaluation_curves_are_the_same_for_everyone():
    one = evaluation_curves(9, 8)
    evaluation_curves.cache_clear()
    torch.manual_seed(5)
    other = evaluation_curves(9, 8)
    assert one is not other
    assert all(a.equal(b) for a, b in zip(one, other, strict=True))
    assert evaluation_curves(9, 8) is other


def test_evaluation_curves_with_an_intercept_differ_in_their_lines_alone():
    plain, moved = evaluation_curves(9, 8), evaluation_curves(9, 8, intercept=1.0)
    starts = (moved.truth - plain.truth)[:3]
    assert (starts - starts[:, :1]).abs().max() < 1e-6
    assert starts[:, 0].abs().min() > 1e-3
    assert moved.truth[3:].equal(plain.truth[3:])
    assert moved.y[3:].equal(plain.y[3:])


# --------------------------------------------------------------------------------------------------- own curve


def unchecked_as_curve(*arguments):
    """As a reader calls it: the tests check types at run time, which would come before our messages."""
    return inspect.unwrap(as_curve)(*arguments)


@pytest.mark.parametrize(
    "y", [[0, 1, 4], (0.0, 1.0, 4.0), np.array([0, 1, 4]), torch.tensor([0.0, 1.0, 4.0], dtype=torch.float64)]
)
def test_an_as_curve_is_a_batch_of_one(y):
    for x in (None, [1, 2, 3], range(1, 4), np.array([1.0, 2.0, 3.0]), positions(3)):
        curve = unchecked_as_curve(y, x)
        assert curve.tolist() == [[0, 1, 4]]
        assert curve.dtype == torch.float32


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0.5], "a curve needs at least 2 observed points, got 1"),
        ([], "at least 2 observed points, got 0"),
        ([0.1, math.nan, 0.2], "value at x = 2 is nan; every value has to be a finite number"),
        ([0.1, 0.2, -math.inf], "value at x = 3 is -inf"),
        ([0.1, 1e39], "value at x = 2 is inf"),  # beyond float32
        ([0.1, -1e30], r"the largest observation is 1e\+30, and 1e\+09 is the most; divide"),
        ([1 + 2j, 3.0], "real numbers, and these are complex; give y.real"),
        (np.array([0.1, 0.2j]), "real numbers, and these are complex; give y.real"),
        (torch.tensor([0.1, 0.2j]), "real numbers, and these are complex; give y.real"),
        ("abc", r"a curve is a list of numbers, such as \[0.1, 0.2, 0.3\]; got 'abc'"),
        (["a", "b"], "a curve is a list of numbers.*got \\['a', 'b'\\]"),
        ([0.1, None], "a curve is a list of numbers.*got \\[0.1, None\\]"),
        ([[0.1, 0.2], [0.3]], "a curve is a list of numbers"),
        ([[0.1, 0.2], [0.3, 0.4]], r"a curve is a list of numbers; got an array of shape \(2, 2\)"),
        (0.5, r"got an array of shape \(\)"),
        (None, "a curve is a list of numbers.*got None"),
    ],
)
def test_what_is_no_curve_is_refused(y, message):
    with pytest.raises(UsageError, match=message):
        unchecked_as_curve(y)


@pytest.mark.parametrize(
    "x", [[0, 1, 2], [1, 2], [1, 2, 3, 4], [1, 2, 2.5], [3, 2, 1], [1, 2, math.nan], [2, 4, 6]]
)
def test_places_off_the_grid_are_refused(x):
    message = r"x has to be the whole steps from 1 to 3, .*got \[.*renumbered.*interpolate your curve"
    with pytest.raises(UsageError, match=message):
        unchecked_as_curve([0.1, 0.2, 0.3], x)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1.0, 2.0], "got list; as_curve"),
        (torch.zeros(3), r"got a tensor of shape \(3,\); as_curve"),
        (torch.zeros(1, 1), "a curve needs at least 2 observed points, got 1"),
        (torch.tensor([[1.0, math.inf]]), "observations have to be finite numbers"),
        (torch.zeros(0, 5), r"no curve in this batch; give a tensor \[B, N\]"),
        (torch.tensor([[0.0, 1j]]), "real numbers, and these are complex; give y.real"),
        (torch.tensor([[0.0, 1e30]]), r"the largest observation is 1e\+30, and 1e\+09 is the most; divide"),
        (torch.tensor([[0.0, 1.0], [-2e9, 0.0]]), r"the largest observation is 2e\+09"),
    ],
)
def test_what_is_no_batch_of_curves_is_refused(y, message):
    with pytest.raises(UsageError, match=message):
        check_curves(y)
