"""Episodes of handwritten digits, black and white or in colors (Marblestone, Wu and Wayne 2020, 3.2, 3.3 and A.5).

A pixel is on where it is darker than half of full gray. Of scikit-learn's small digits there are only 1,437 to train
on, so they also come distorted: turned, sheared, stretched and moved a little, in 14 x 14 pixels, anew every time.
"""

import math
from functools import cache
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from mini_lib import datasets
from mini_lib.errors import check_names
from mini_lib.kanerva.assignment import GIVEN

SIZES = {"digits": 8, "distorted": 14, "mnist": 28}  # pixels a side, by source
SPLITS = ("train", "test")
CLASSES = 10
COLORS = ("red", "green", "blue")  # of three digits, each in a channel of its own
HIDDEN = COLORS.index("green")  # the channel that a query lacks
HELD_OUT = 360  # test digits of the 1,797 small ones: the last, since they are in the order of their writers
FULL = {"digits": 16, "mnist": 255}  # the darkest gray level
FRAME = 12  # pixels of 14 that an unstretched digit of 8 x 8 takes up
TURN, SHEAR, STRETCH, MOVE = math.radians(15), 0.2, 0.15, 1.0  # the most; MOVE in pixels of 14


class Pool(NamedTuple):
    """All digits of a split."""

    images: Bool[Tensor, "N H W"]  #: whether a pixel is on.
    labels: Int[Tensor, " N"]  #: 0 to 9.


class DigitEpisodes(NamedTuple):
    """B episodes of T digits each."""

    images: Float[Tensor, "B T 1 H W"]  #: 0 or 1.
    labels: Int[Tensor, "B T"]  #: 0 to 9.


class RGBEpisodes(NamedTuple):
    """B episodes of T triplets of digits each."""

    images: Float[Tensor, "B T 3 H W"]  #: 0 or 1.
    labels: Int[Tensor, "B T 3"]  #: 0 to 9, of the red, the green and the blue digit.

    @property
    def queries(self) -> Float[Tensor, "B T 3 H W"]:
        """The images with an empty green channel."""
        return hide(self.images)


def pool(source: str = "digits", split: str = "train") -> Pool:
    """The digits of a split, "train" or "test", that episodes are drawn from; a copy.

    The source is "digits", scikit-learn's of 8 x 8 pixels (1,437 to train and 360 to test), or "mnist", 28 x 28
    pixels; FileNotFoundError where these cannot be downloaded.
    """
    check_names("source of whole pools", [source], FULL)
    return Pool(_gray(source, split)[0] > FULL[source] // 2, labels_of(source, split))


def labels_of(source: str, split: str) -> Int[Tensor, " N"]:
    """The labels of the digits that episodes are drawn from; those of distorted digits are those of "digits"."""
    return _gray(source, split)[1].long().clone()


def pictures(
    chosen: Int[Tensor, "*B"], source: str, split: str, generator: torch.Generator
) -> Float[Tensor, "*B H W"]:
    """The digits of these numbers, 0 or 1; those of the source "distorted" are distorted anew by the generator."""
    gray = _gray(source, split)[0][chosen]
    if source in FULL:
        return (gray > FULL[source] // 2).float()
    images = distort(gray.float().flatten(0, -3) / FULL["digits"], generator)
    return images.reshape(*chosen.shape, *images.shape[1:])


def distort(gray: Float[Tensor, "N h w"], generator: torch.Generator) -> Float[Tensor, "N H W"]:
    """Turn, shear, stretch and move each image, sample it at 14 x 14 places between its pixels, and round.

    Amounts are evenly distributed up to `TURN`, `SHEAR`, `STRETCH` (a logarithm) and `MOVE`. Gray is from 0 to 1.
    """
    turn, shear, high, wide, down, right = (2 * torch.rand(6, len(gray), generator=generator) - 1).unbind()
    size, angle = SIZES["distorted"], TURN * turn
    cos, sin = angle.cos(), angle.sin()
    high, wide = (size / FRAME * (1 + STRETCH) ** each for each in (high, wide))
    bend, pixel = SHEAR * shear, 2 * MOVE / size
    # Where in the image, from -1 to 1, to look for each place of the result.
    across = wide * torch.stack([cos + bend * sin, bend * cos - sin, pixel * right])
    along = high * torch.stack([sin, cos, pixel * down])
    theta = torch.stack([across, along]).permute(2, 0, 1)
    grid = F.affine_grid(theta, [len(gray), 1, size, size], align_corners=False)
    return (F.grid_sample(gray[:, None], grid, align_corners=False)[:, 0] > 0.5).float()


@cache
def _gray(source: str, split: str) -> tuple[Tensor, Tensor]:
    """Gray levels from 0, and labels."""
    check_names("source of digits", [source], SIZES)
    check_names("split", [split], SPLITS)
    if source == "mnist":
        return datasets.mnist(split)
    from sklearn.datasets import load_digits  # slow to import, and MNIST needs none of it

    loaded = load_digits()
    part = slice(-HELD_OUT) if split == "train" else slice(-HELD_OUT, None)
    return torch.from_numpy(loaded.images[part]), torch.from_numpy(loaded.target[part])


def sample(
    count: int, items: int, generator: torch.Generator, *, source: str = "digits", split: str = "train"
) -> DigitEpisodes:
    """Draw B = `count` episodes of T items, 45 in the paper; every item is any digit, whatever came before.

    For sources see `pictures`, for splits `pool`.
    """
    labels = labels_of(source, split)
    chosen = torch.randint(len(labels), (count, items), generator=generator)
    return DigitEpisodes(pictures(chosen, source, split, generator).unsqueeze(2), labels[chosen])


def sample_rgb(
    count: int, items: int, generator: torch.Generator, *, source: str = "digits", split: str = "train"
) -> RGBEpisodes:
    """Draw B = `count` episodes of T items, 45 in the paper; every channel is any digit, whatever the others are.

    For sources see `pictures`, for splits `pool`.
    """
    labels = labels_of(source, split)
    chosen = torch.randint(len(labels), (count, items, len(COLORS)), generator=generator)
    return RGBEpisodes(pictures(chosen, source, split, generator), labels[chosen])


def hide(images: Float[Tensor, "*batch 3 H W"]) -> Float[Tensor, "*batch 3 H W"]:
    """The queries: the same images with zeros in the green channel."""
    red, green, blue = images.unbind(-3)
    return torch.stack([red, torch.zeros_like(green), blue], dim=-3)


def routes(labels: Int[Tensor, "*B 3"], machines: int) -> dict[str, Float[Tensor, "*B K"]]:
    """Noise that chooses machines by the class of the red digit: each has as many classes as others, or one more."""
    chosen = F.one_hot(labels[..., COLORS.index("red")] * machines // CLASSES, machines).float()
    return {GIVEN: chosen, f"{GIVEN}_read": chosen}
