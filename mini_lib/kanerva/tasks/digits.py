"""Episodes of handwritten digits in black and white (Marblestone, Wu and Wayne 2020, sections 3.2 and A.5).

A pixel is on where it is darker than half of the full grey, for MNIST as for scikit-learn's small digits. A grey
level g of these, 0 to 16, counts the inked ones of 16 pixels of the scan, so that g > 8 is the same rule: ink on
more than half of the place. It is also the level that keeps digits apart best: the nearest of the train digits names
92.2 % of the test digits rightly, against 90.6 % for g > 6, 90.3 % for g > 10 and 95.6 % with all grey levels.
"""

from functools import cache, lru_cache
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from mini_lib import datasets
from mini_lib.errors import unknown
from mini_lib.kanerva.tasks.episodes import check_numbers
from mini_lib.seeding import torch_rng

SIZES = {"digits": 8, "mnist": 28}  # pixels a side, by source
SPLITS = ("train", "test")
CHANNELS = 1
HELD_OUT = 360  # test digits of the 1,797 small ones: the last, since they are in the order of their writers
FULL = {"digits": 16, "mnist": 255}  # the darkest grey level


class Pool(NamedTuple):
    """All digits of a split.

    Attributes:
        images: whether a pixel is on. [N, H, W]
        labels: 0 to 9. [N]
    """

    images: Bool[Tensor, "N H W"]
    labels: Int[Tensor, " N"]


class Digits(NamedTuple):
    """B episodes of T digits each.

    Attributes:
        images: 0 or 1. [B, T, 1, H, W]
        labels: 0 to 9. [B, T]
    """

    images: Float[Tensor, "B T 1 H W"]
    labels: Int[Tensor, "B T"]


@cache
def pool(source: str = "digits", split: str = "train") -> Pool:
    """The digits that episodes are drawn from; shared, so to be left as they are.

    Args:
        source: "digits", scikit-learn's embedded ones of 8 x 8 pixels (1,437 to train and 360 to test), or "mnist",
            28 x 28 pixels, from `mini_lib.datasets.mnist` (its train split may be a beginning of the published one).
        split: "train" or "test".

    Raises:
        WrongUse: for an unknown source or split.
        FileNotFoundError: for "mnist" where its files are not at hand and cannot be downloaded.
    """
    if source not in SIZES:
        raise unknown("source of digits", source, SIZES)
    if split not in SPLITS:
        raise unknown("split", split, SPLITS)
    images, labels = _small(split) if source == "digits" else _mnist(split)
    return Pool(2 * images.int() > FULL[source], labels.long())


def _small(split: str) -> tuple[Tensor, Tensor]:
    """Grey levels 0 to 16 and labels."""
    from sklearn.datasets import load_digits  # slow to import, and MNIST needs none of it

    loaded = load_digits()
    part = slice(-HELD_OUT) if split == "train" else slice(-HELD_OUT, None)
    return torch.from_numpy(loaded.images[part]), torch.from_numpy(loaded.target[part])


def _mnist(split: str) -> tuple[Tensor, Tensor]:
    """Grey levels 0 to 255 and labels."""
    try:
        return datasets.mnist(split)
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{error}; or use source='digits', which needs no data") from error


def sample(
    count: int, items: int, generator: torch.Generator, *, source: str = "digits", split: str = "train"
) -> Digits:
    """Draw episodes; every item is any digit of the split, whatever came before.

    Args:
        count: B.
        items: T, 45 in the paper.
        generator: of random numbers, on the CPU.
        source: see `pool`.
        split: see `pool`.

    Raises:
        WrongUse: for no episode or no item, or as `pool` does.
    """
    check_numbers(count, items)
    digits = pool(source, split)
    chosen = torch.randint(len(digits.labels), (count, items), generator=generator)
    return Digits(digits.images[chosen].float().unsqueeze(2), digits.labels[chosen])


@lru_cache(maxsize=4)
def evaluation(count: int, items: int, *, source: str = "digits") -> Digits:
    """The episodes of test digits that every network is tested on; shared, so to be left as they are."""
    generator = torch_rng(0, "test episodes", "digits", source)
    return sample(count, items, generator, source=source, split="test")
