"""Dancing dSprites: an episode has the same two sprites, at another position in every image (section 3.4).

Sprites are drawn in the measures of the released set (Matthey et al. 2017), whose images have 64 x 64 pixels: a
pixel is on if its center is within the outline. Position i of 0 to 31 puts the center i pixels further than 16 from
the edge, x from the left and y from the top. At scale s the square has sides of 20 s, the ellipse half axes of 13 s
and 7 s, the heart an area of 222 s^2. Its outline is (x^2 + y^2 - 1)^3 = x^2 y^3 about its center of mass; sprites
turn clockwise. Smaller images are averaged in blocks, and a pixel is on where the average is above a half.
"""

import math
from functools import cache
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from mini_lib.errors import UsageError

SHAPES = ("square", "ellipse", "heart")  # in the order of the released set, as all that follows
SCALES = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
ORIENTATIONS = 40  # angles 2 pi i / 39: the last is the first again
POSITIONS = 32  # along each axis
ENDS = len(SHAPES), len(SCALES), ORIENTATIONS, POSITIONS
OBJECTS = 2  # sprites in an image
SIZES = {64: (0, 1), 28: (4, 2), 14: (4, 4)}  # pixels cut from each side, and a side of the averaged blocks
BOX = 32  # pixels that hold any sprite; the box of a sprite at position (0, 0) has its corner at (0, 0)
Index = Int[Tensor, "*#batch"]
HEART_AREA, HEART_CENTER = 3.6620, 0.2935  # of the outline as written above; the center's y, upwards


class SpriteEpisodes(NamedTuple):
    """B episodes of T images each; S = 2 sprites."""

    images: Float[Tensor, "B T 1 H W"]  #: 0 or 1, the greater of the templates at each pixel.
    templates: Float[Tensor, "B T S H W"]  #: each sprite alone, where it is in the image.
    shape: Int[Tensor, "B S"]  #: an index into `SHAPES`.
    scale: Int[Tensor, "B S"]  #: an index into `SCALES`.
    orientation: Int[Tensor, "B S"]  #: 0 to 39, of 2 pi / 39 radians each.
    position: Int[Tensor, "B T S 2"]  #: x from the left and y from the top, 0 to 31.


def _inside(shape: str, x: Tensor, y: Tensor) -> Tensor:
    """Whether points lie within a shape of scale 1, x to the right and y downwards from its center."""
    if shape == "square":
        return torch.maximum(x.abs(), y.abs()) <= 10
    if shape == "ellipse":
        return (x / 13).square() + (y / 7).square() <= 1
    unit = math.sqrt(222 / HEART_AREA)
    x, up = x / unit, HEART_CENTER - y / unit
    return (x.square() + up.square() - 1) ** 3 <= x.square() * up**3


@cache
def _boxes() -> Bool[Tensor, "3 6 40 32 32"]:
    """Every sprite, by shape, scale and orientation, in the middle of a box of 32 x 32 pixels."""
    centers = torch.arange(BOX, dtype=torch.float64) + 0.5 - BOX / 2
    y, x = torch.meshgrid(centers, centers, indexing="ij")
    scales = torch.tensor(SCALES, dtype=torch.float64)[:, None, None, None]
    angles = torch.linspace(0, 2 * math.pi, ORIENTATIONS, dtype=torch.float64)[:, None, None]
    along, across = x * angles.cos() + y * angles.sin(), y * angles.cos() - x * angles.sin()
    return torch.stack([_inside(shape, along / scales, across / scales) for shape in SHAPES])


@cache
def _windows(size: int) -> Bool[Tensor, "3 6 40 block block n n size size"]:
    """Pictures of every sprite, by the corner of its box: axes 4 and 5 are the pixel of a block, row and column.

    Axes 6 and 7: how many blocks the corner is above and to the left of the lowest and rightmost place.
    """
    margin, block = SIZES[size]
    first, last = -margin // block, (POSITIONS - 1 - margin) // block  # blocks from the edge to the corner
    flat = _boxes().flatten(0, 2)[:, None].float()
    pooled = [
        F.avg_pool2d(F.pad(flat, (left, block - left, top, block - top)), block) > 0.5
        for top in range(block)
        for left in range(block)
    ]
    stamps = torch.cat(pooled, dim=1)
    after = size - first - stamps.shape[-1]
    room = F.pad(stamps, (last, after, last, after)).unfold(-2, size, 1).unfold(-2, size, 1)
    return room.unflatten(1, (block, block)).unflatten(0, _boxes().shape[:3])


def draw(
    shape: Index, scale: Index, orientation: Index, position: Int[Tensor, "*#batch 2"], size: int = 28
) -> Float[Tensor, "*batch size size"]:
    """Pictures of sprites, 0 or 1, of 28, 64 (as released) or 14 pixels each way; numbers are broadcast."""
    if size not in SIZES:
        raise UsageError(f"sprites are drawn with {[*SIZES]} pixels a side, got size={size!r}")
    numbers = {"shape": shape, "scale": scale, "orientation": orientation, "position": position}
    for (name, values), end in zip(numbers.items(), ENDS, strict=True):
        if values.numel() and not 0 <= values.min() <= values.max() < end:
            raise UsageError(f"{name} is a number from 0 to {end - 1}, got {values.tolist()}")
    margin, block = SIZES[size]
    corner = position - margin
    phase, step = corner.remainder(block), corner.div(block, rounding_mode="floor")
    above = (POSITIONS - 1 - margin) // block - step
    (left, top), (column, row) = phase.unbind(-1), above.unbind(-1)
    return _windows(size)[shape, scale, orientation, top, left, row, column].float()


def sample(count: int, items: int, generator: torch.Generator, *, size: int = 28) -> SpriteEpisodes:
    """Draw B = `count` episodes of T items, 15 in the paper, with `size` pixels each way (see `draw`).

    Positions are drawn anew for each image, everything evenly and independently; sprites may overlap.
    """
    shape, scale, orientation = (
        torch.randint(end, (count, OBJECTS), generator=generator) for end in ENDS[:3]
    )
    position = torch.randint(POSITIONS, (count, items, OBJECTS, 2), generator=generator)
    templates = draw(shape[:, None], scale[:, None], orientation[:, None], position, size)
    return SpriteEpisodes(templates.amax(2, keepdim=True), templates, shape, scale, orientation, position)
