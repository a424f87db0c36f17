"""Episodes: digits and sprites pixel by pixel, their labels and latents, splits, and streams by name."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from scipy.integrate import quad
from sklearn.datasets import load_digits

from kanerva.cases import few
from mini_lib import datasets
from mini_lib.kanerva import dsprites
from mini_lib.kanerva.digits import COLORS, pool, routes
from mini_lib.kanerva.tasks import TASKS, digits, evaluation, sample
from mini_lib.seeding import torch_rng


def equal(one, other):
    return all(a.equal(b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("task", TASKS)
def test_episodes_depend_on_the_generator_alone_and_those_of_the_test_on_nothing(task):
    """The names of the test's streams are those with which all runs on record were tested."""
    before = torch.get_rng_state()
    generator = torch_rng(1, "test")
    first, second = (sample(task, 3, 4, generator) for _ in range(2))
    assert torch.get_rng_state().equal(before)
    assert equal(first, sample(task, 3, 4, torch_rng(1, "test")))
    assert not equal(first, second)
    assert first.images.shape[:3] == (3, 4, 3 if task == "rgb" else 1)
    assert set(first.images.unique().tolist()) == {0, 1}
    stream, options = ("test episodes", task), {}
    if task != "dsprites":
        stream, options = (*stream, "distorted"), {"source": "distorted"}
    split = {"split": "test"} if options else {}
    drawn = sample(task, 3, 4, torch_rng(0, *stream), **options, **split)
    assert equal(evaluation(task, 3, 4, **options), drawn)


@pytest.mark.parametrize(("split", "first", "count"), [("train", 0, 1437), ("test", 1437, 360)])
def test_small_digits_are_on_above_half_of_the_gray_levels(split, first, count):
    loaded, ours = load_digits(), pool("digits", split)
    assert ours.labels.tolist() == loaded.target[first : first + count].tolist()
    assert np.array_equal(ours.images, np.isin(loaded.images[first : first + count], range(9, 17)))


@pytest.mark.parametrize("task", ["digits", "rgb"])
@pytest.mark.parametrize("split", ["train", "test"])
def test_episodes_hold_digits_of_the_split_with_their_labels(task, split):
    episodes, known = sample(task, 8, 12, torch_rng(0, "test"), split=split), pool("digits", split)
    assert (episodes.images.dtype, episodes.labels.dtype) == (torch.float32, torch.int64)
    images, labels = episodes.images.flatten(0, 2).bool().flatten(1), episodes.labels.flatten()
    assert len(images) == len(labels) == 96 * (3 if task == "rgb" else 1)
    same = (images[:, None] == known.images.flatten(1)).all(-1)
    for row, label in zip(same, labels, strict=True):
        assert label in known.labels[row]
    assert labels.unique().tolist() == list(range(10))


def test_queries_lack_the_green_channel_alone():
    episodes = digits.sample_rgb(4, 6, torch_rng(0, "test"))
    assert COLORS[1] == "green"
    assert episodes.queries[:, :, [0, 2]].equal(episodes.images[:, :, [0, 2]])
    assert not episodes.queries[:, :, 1].any()
    assert episodes.images[:, :, 1].flatten(2).any(dim=-1).all()  # as the images' own is not


def test_a_route_follows_the_red_digit_alone():
    labels = torch.stack([torch.arange(10), torch.arange(10).flip(0), torch.full((10,), 3)], dim=1)
    chosen, expected = routes(labels, 3), torch.tensor([0, 0, 0, 0, 1, 1, 1, 2, 2, 2])
    assert chosen.keys() == {"given", "given_read"}
    for each in chosen.values():
        assert each.equal(torch.nn.functional.one_hot(expected, 3).float())


def test_mnist_is_on_above_half_of_the_gray_levels_and_has_its_own_test_digits(monkeypatch):
    images = torch.zeros(3, 28, 28, dtype=torch.uint8)
    images[0, 0, :4] = torch.tensor([0, 127, 128, 255])
    files = {"test": (images, torch.tensor([7, 2, 1])), "train": (255 - 0 * images, torch.tensor([3, 3, 3]))}
    monkeypatch.setattr(datasets, "mnist", files.get)
    digits._gray.cache_clear()
    ours, train = pool("mnist", "test"), digits.sample(3, 7, torch_rng(0), source="mnist")
    tested = evaluation("digits", 3, 7, source="mnist").labels.unique().tolist()
    digits._gray.cache_clear()
    assert ours.images.nonzero().tolist() == [[0, 0, 2], [0, 0, 3]]
    assert ours.labels.tolist() == [7, 2, 1]
    assert train.images.equal(torch.ones(3, 7, 1, 28, 28))
    assert train.labels.eq(3).all()
    assert tested == [1, 2, 7]


def by_hand(grey, turn, shear, high, wide, down, right):
    """One image of 14 x 14, pixel by pixel: where each comes from, and the four grey levels around that place."""
    out = np.zeros((14, 14))
    for row, column in np.ndindex(14, 14):
        x, y = (column - 6.5) / 12 * 8, (row - 6.5) / 12 * 8  # in pixels of 8, from the centre
        x, y = np.cos(turn) * x - np.sin(turn) * y, np.sin(turn) * x + np.cos(turn) * y
        x, y = wide * (x + shear * y + right * 8 / 12) + 3.5, high * (y + down * 8 / 12) + 3.5
        for i in (int(np.floor(y)), int(np.floor(y)) + 1):
            for j in (int(np.floor(x)), int(np.floor(x)) + 1):
                if 0 <= i < 8 and 0 <= j < 8:
                    out[row, column] += grey[i, j] * (1 - abs(y - i)) * (1 - abs(x - j))
    return out


def test_a_distortion_is_a_turn_a_shear_a_stretch_and_a_move():
    grey = load_digits().images[:20] / 16
    numbers = torch.rand(6, 20, generator=torch_rng(5, "test")).double().numpy() * 2 - 1
    found = digits.distort(torch.tensor(grey).float(), torch_rng(5, "test"))
    for image, one, (turn, shear, high, wide, down, right) in zip(found, grey, numbers.T, strict=True):
        level = by_hand(one, turn * np.pi / 12, shear * 0.2, 1.15**high, 1.15**wide, down, right)
        clear = abs(level - 0.5) > 1e-3
        assert clear.mean() > 0.95
        assert (image.numpy()[clear] == (level > 0.5)[clear]).all()


@pytest.mark.parametrize(("split", "part"), [("train", slice(1437)), ("test", slice(1437, None))])
def test_distorted_digits_are_the_small_ones_each_time_anew(split, part):
    found, generator = (
        digits.sample(3, 4, torch_rng(0, "test"), source="distorted", split=split),
        torch_rng(0, "test"),
    )
    loaded = load_digits()
    chosen = torch.randint(len(loaded.target[part]), (3, 4), generator=generator)
    gray = torch.tensor(loaded.images[part][chosen.flatten()] / 16).float()
    assert found.images.equal(digits.distort(gray, generator).reshape(3, 4, 1, 14, 14))
    assert found.labels.tolist() == loaded.target[part][chosen].tolist()


def heart_edges(x):
    """The outline's lower and upper y: (x^2 + y^2 - 1)^3 = x^2 y^3 solved for y, or None beyond its sides."""
    cusp, under = abs(x) ** (2 / 3), abs(x) ** (4 / 3) + 4 - 4 * x**2
    return None if under < 0 else ((cusp - math.sqrt(under)) / 2, (cusp + math.sqrt(under)) / 2)


def on(shape, scale, angle, x, y):
    """Whether a point right of and below a sprite's centre is on it."""
    point = complex(x, y) * complex(math.cos(angle), -math.sin(angle)) / scale
    if shape == "square":
        return -10 <= point.real <= 10 and -10 <= point.imag <= 10
    if shape == "ellipse":
        focus = math.sqrt(13**2 - 7**2)
        return abs(point - focus) + abs(point + focus) <= 2 * 13
    unit = math.sqrt(222 / dsprites.HEART_AREA)
    edges = heart_edges(point.real / unit)
    return edges is not None and edges[0] <= dsprites.HEART_CENTER - point.imag / unit <= edges[1]


def picture(shape, scale, orientation, position):
    """A released picture, 64 x 64."""
    image, angle = np.zeros((64, 64)), 2 * math.pi * orientation / 39
    for row, column in np.ndindex(64, 64):
        x, y = column + 0.5 - (16 + position[0]), row + 0.5 - (16 + position[1])
        image[row, column] = on(dsprites.SHAPES[shape], dsprites.SCALES[scale], angle, x, y)
    return image


def smaller(image, size):
    """Cut and averaged in blocks."""
    block = {64: 1, 28: 2, 14: 4}[size]
    cut = (64 - size * block) // 2
    blocks = image[cut : cut + size * block, cut : cut + size * block].reshape(size, block, size, block)
    return blocks.sum((1, 3)) > block**2 / 2


def below(end):
    return st.integers(0, end - 1) | st.sampled_from([0, end - 1])


PLACE = st.tuples(below(dsprites.POSITIONS), below(dsprites.POSITIONS))


@few
@given(*map(below, (len(dsprites.SHAPES), len(dsprites.SCALES), dsprites.ORIENTATIONS)), PLACE)
def test_sprites_are_drawn_right_everywhere_and_at_every_size(shape, scale, orientation, position):
    large = picture(shape, scale, orientation, position)
    for size in dsprites.SIZES:
        drawn = dsprites.draw(*map(torch.tensor, (shape, scale, orientation, position)), size)
        np.testing.assert_array_equal(drawn.numpy(), smaller(large, size))


def test_the_hearts_area_and_centre_are_those_of_its_outline():
    side = next(x for x in np.linspace(1.2, 1.1, 10_001) if heart_edges(x))

    def over(function):
        return quad(lambda x: function(*heart_edges(x)), -side, side, points=[0])[0]

    area = over(lambda low, high: high - low)
    assert area == pytest.approx(dsprites.HEART_AREA, abs=1e-4)
    center = over(lambda low, high: (high**2 - low**2) / 2) / area
    assert center == pytest.approx(dsprites.HEART_CENTER, abs=1e-4)


@pytest.mark.parametrize("size", dsprites.SIZES)
def test_images_are_the_episodes_two_sprites_where_they_are(size):
    drawn = sample("dsprites", 3, 4, torch_rng(0, "test"), size=size)
    assert drawn.images.shape == (3, 4, 1, size, size)
    assert drawn.images[:, :, 0].equal(drawn.templates.sum(2).clamp(max=1))
    assert drawn.position.shape == (3, 4, 2, 2)
    for b, t, s in np.ndindex(3, 4, 2):
        numbers = (part[b, s] for part in (drawn.shape, drawn.scale, drawn.orientation))
        assert drawn.templates[b, t, s].equal(dsprites.draw(*numbers, drawn.position[b, t, s], size))
