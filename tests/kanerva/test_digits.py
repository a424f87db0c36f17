"""Digits: the embedded ones and MNIST's, where a pixel turns on, the split, fresh and fixed episodes, wrong use."""

import gzip
import struct

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

from mini_lib import datasets
from mini_lib.kanerva.digits import pool
from mini_lib.kanerva.tasks import TASKS, DigitEpisodes, digits, evaluation, sample
from mini_lib.seeding import torch_rng


def draw(count=4, items=6, seed=0, **options):
    return digits.sample(count, items, torch_rng(seed, "test"), **options)


def equal(one, other):
    return all(a.equal(b) for a, b in zip(one, other, strict=True))


def places(images, among):
    """Which of `among` each image is; every one has to be there."""
    same = (images.flatten(0, -3).flatten(1)[:, None].bool() == among.flatten(1)).all(-1)
    assert same.any(1).all()
    return same


@pytest.fixture
def empty(tmp_path, monkeypatch):
    """A data folder without files, an empty cache, and a source that does not answer."""
    (tmp_path / "data" / "mnist").mkdir(parents=True)
    monkeypatch.setenv("MINI_LIB_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(datasets, "cache_folder", lambda: tmp_path / "cache")
    for name in [name for name in datasets.FILES if name.startswith("mnist/")]:
        monkeypatch.setitem(datasets.FILES, name, {"url": "http://127.0.0.1:9/none"})
    digits._gray.cache_clear()
    yield tmp_path / "data" / "mnist"
    digits._gray.cache_clear()


def write(folder, stem, images, labels):
    for kind, array in (("images-idx3", images), ("labels-idx1", labels)):
        header = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
        content = gzip.compress(header + array.astype(np.uint8).tobytes())
        (folder / f"{stem}-{kind}-ubyte.gz").write_bytes(content)


# ------------------------------------------------------------------------------------------ pixels and the split


@pytest.mark.parametrize(("split", "first", "count"), [("train", 0, 1437), ("test", 1437, 360)])
def test_small_digits_are_on_above_half_of_the_gray_levels(split, first, count):
    loaded, ours = load_digits(), pool("digits", split)
    assert len(ours.images) == len(ours.labels) == count
    for i in range(0, count, 40):
        for row in range(8):
            for column in range(8):
                grey = loaded.images[first + i, row, column]
                assert ours.images[i, row, column].item() == (grey in (9, 10, 11, 12, 13, 14, 15, 16))
    assert ours.labels.tolist() == loaded.target[first : first + count].tolist()


def nearest(threshold):
    """Percentage of train digits that the nearest of the others names rightly, for g > threshold."""
    loaded = load_digits()
    flat = torch.from_numpy(loaded.data) if threshold is None else torch.from_numpy(loaded.data > threshold)
    train = flat[:1437].float()
    apart = torch.cdist(train, train).fill_diagonal_(torch.inf)
    named = loaded.target[apart.argmin(1).numpy()]
    return 100 * (named == loaded.target[:1437]).mean()


def test_the_threshold_keeps_digits_apart_as_well_as_the_page_says():
    measured = [nearest(threshold) for threshold in (8, 6, 10, None)]
    assert measured == pytest.approx([94.3, 94.7, 93.2, 98.7], abs=0.3)


def test_mnist_is_on_above_half_of_the_gray_levels(empty):
    images = np.zeros((3, 28, 28), np.uint8)
    images[0, 0, :4] = 0, 127, 128, 255
    write(empty, "t10k", images, np.array([7, 2, 1]))
    ours = pool("mnist", "test")
    assert ours.images[0, 0, :4].tolist() == [False, False, True, True]
    assert ours.images.sum() == 2
    assert ours.labels.tolist() == [7, 2, 1]
    episodes = digits.sample(2, 5, torch_rng(0), source="mnist", split="test")
    assert episodes.images.shape == (2, 5, 1, 28, 28)
    assert set(episodes.labels.flatten().tolist()) <= {1, 2, 7}


def test_train_digits_are_not_test_digits(empty):
    ones = np.full((4, 28, 28), 255)
    write(empty, "train", ones, np.full(4, 3))
    write(empty, "t10k", 0 * ones, np.full(4, 8))
    for split, label in (("train", 3), ("test", 8)):
        episodes = digits.sample(3, 7, torch_rng(0), source="mnist", split=split)
        assert (episodes.images == (label == 3)).all()
        assert (episodes.labels == label).all()
    assert (evaluation("digits", 3, 7, source="mnist").labels == 8).all()


# --------------------------------------------------------------------------------------------------- episodes


def test_episodes_hold_digits_of_the_split_with_their_labels():
    for split in ("train", "test"):
        episodes, all_of_it = draw(5, 9, split=split), pool("digits", split)
        assert isinstance(episodes, DigitEpisodes)
        assert (episodes.images.shape, episodes.labels.shape) == ((5, 9, 1, 8, 8), (5, 9))
        assert (episodes.images.dtype, episodes.labels.dtype) == (torch.float32, torch.int64)
        same = places(episodes.images, all_of_it.images)
        for row, label in zip(same, episodes.labels.flatten(), strict=True):
            assert label in all_of_it.labels[row]


# ----------------------------------------------------------------------------------------------------- by name


@pytest.mark.parametrize("task", TASKS)
def test_streams_are_fresh_and_reproducible_and_the_global_one_is_left_alone(task):
    before = torch.get_rng_state()
    generator = torch_rng(1, "test")
    first, second = (sample(task, 3, 4, generator) for _ in range(2))
    assert equal(first, sample(task, 3, 4, torch_rng(1, "test")))
    assert not equal(first, second)
    assert not equal(first, sample(task, 3, 4, torch_rng(2, "test")))
    assert equal(evaluation(task, 10, 40), evaluation(task, 10, 40))
    assert torch.get_rng_state().equal(before)


@pytest.mark.parametrize("task", ["digits", "rgb"])
def test_evaluation_is_of_test_digits(task):
    episodes = evaluation(task, 10, 40)
    places(episodes.images, pool("digits", "test").images)
    assert episodes.labels.unique().tolist() == list(range(10))


def test_tasks_by_name_are_the_same():
    assert list(TASKS) == ["digits", "rgb", "dsprites"]
    assert equal(sample("digits", 2, 3, torch_rng(0, "test"), split="test"), draw(2, 3, split="test"))
    for task, draw_fresh in TASKS.items():
        assert equal(sample(task, 2, 3, torch_rng(0)), draw_fresh(2, 3, torch_rng(0)))
        episodes = evaluation(task, 2, 3)
        images = episodes.images
        assert images.shape[:3] == (2, 3, 3 if task == "rgb" else 1)
        assert set(images.unique().tolist()) == {0, 1}
    assert evaluation("digits", 1, 1, source="digits").images.shape[-1] == digits.SIZES["digits"]


def test_the_original_test_digits_are_read(monkeypatch):
    folder = datasets.data_folder()
    if folder is None or not (folder / "mnist").is_dir():
        pytest.skip("MINI_LIB_DATA names no folder with MNIST")
    monkeypatch.setattr(datasets, "cache_folder", lambda: None)
    ours = pool("mnist", "test")
    assert ours.images.float().mean().item() == pytest.approx(0.1342, abs=1e-4)
    assert ours.labels[:5].tolist() == [7, 2, 1, 0, 4]


# ------------------------------------------------------------------------------------------ distorted digits


def by_hand(grey, turn, shear, high, wide, down, right):
    """One image of 14 x 14, pixel by pixel: where each comes from, and the four grey levels around that place."""
    out = np.zeros((14, 14))
    for row in range(14):
        for column in range(14):
            x, y = (column - 6.5) / 12 * 8, (row - 6.5) / 12 * 8  # in pixels of 8, from the centre
            x, y = np.cos(turn) * x - np.sin(turn) * y, np.sin(turn) * x + np.cos(turn) * y
            x, y = x + shear * y + right * 8 / 12, y + down * 8 / 12
            x, y = wide * x, high * y
            x, y = x + 3.5, y + 3.5
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


@pytest.mark.parametrize("split", ["train", "test"])
def test_distorted_digits_are_the_small_ones_each_time_anew(split):
    plain = draw(30, 40, split=split)
    episodes = draw(30, 40, source="distorted", split=split)
    assert episodes.labels.equal(plain.labels)
    assert episodes.images.shape == (30, 40, 1, 14, 14)
    assert set(episodes.images.unique().tolist()) == {0.0, 1.0}
    assert len(episodes.images.flatten(0, 1).flatten(1).unique(dim=0)) > 1150
    ink = episodes.images.flatten(2).mean(2) / plain.images.flatten(2).mean(2)
    assert 0.6 < ink.mean() < 0.9  # 12 x 12 of 14 x 14 pixels are .73
    assert equal(episodes, draw(30, 40, source="distorted", split=split))
