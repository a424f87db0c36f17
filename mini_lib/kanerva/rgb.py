"""The binding task: a digit in each color channel; the query lacks the green one (section 3.3)."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from mini_lib.kanerva.assignment import GIVEN
from mini_lib.kanerva.digits import CLASSES, labels_of, pictures

COLORS = ("red", "green", "blue")
CHANNELS = len(COLORS)
HIDDEN = COLORS.index("green")  # the channel that a query lacks


class RGBEpisodes(NamedTuple):
    """B episodes of T triplets of digits each."""

    images: Float[Tensor, "B T 3 H W"]  #: 0 or 1.
    labels: Int[Tensor, "B T 3"]  #: 0 to 9, of the red, the green and the blue digit.

    @property
    def queries(self) -> Float[Tensor, "B T 3 H W"]:
        """The images with an empty green channel."""
        return hide(self.images)


def hide(images: Float[Tensor, "*batch 3 H W"]) -> Float[Tensor, "*batch 3 H W"]:
    """The queries: the same images with zeros in the green channel."""
    red, green, blue = images.unbind(-3)
    return torch.stack([red, torch.zeros_like(green), blue], dim=-3)


def routes(labels: Int[Tensor, "*B 3"], machines: int) -> dict[str, Float[Tensor, "*B K"]]:
    """Noise that chooses machines by the class of the red digit: each has as many classes as others, or one more."""
    chosen = F.one_hot(labels[..., COLORS.index("red")] * machines // CLASSES, machines).float()
    return {GIVEN: chosen, f"{GIVEN}_read": chosen}


def sample(
    count: int, items: int, generator: torch.Generator, *, source: str = "digits", split: str = "train"
) -> RGBEpisodes:
    """Draw B = `count` episodes of T items, 45 in the paper; every channel is any digit, whatever the others are.

    For sources see `digits.pictures`, for splits `digits.pool`.
    """
    labels = labels_of(source, split)
    chosen = torch.randint(len(labels), (count, items, CHANNELS), generator=generator)
    return RGBEpisodes(pictures(chosen, source, split, generator), labels[chosen])
