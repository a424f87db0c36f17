"""Dancing dSprites: measures of the released set, drawing pixel by pixel, latents, fresh and fixed episodes."""

import math

import numpy as np
import pytest
import torch
from scipy.integrate import quad

from mini_lib.kanerva.dsprites import (
    HEART_AREA,
    HEART_CENTER,
    ORIENTATIONS,
    POSITIONS,
    SCALES,
    SHAPES,
    SIZES,
    _boxes,
    draw,
)
from mini_lib.kanerva.tasks import SpriteEpisodes, dsprites
from mini_lib.seeding import torch_rng

every_size = pytest.mark.parametrize("size", SIZES)


def episodes(count=3, items=5, seed=0, **options):
    return dsprites.sample(count, items, torch_rng(seed, "test"), **options)


def sprites(count=40, seed=0):
    """Random numbers of shape, scale, orientation and position."""
    generator = torch_rng(seed, "sprites")
    ends = len(SHAPES), len(SCALES), ORIENTATIONS
    numbers = [torch.randint(end, (count,), generator=generator) for end in ends]
    return *numbers, torch.randint(POSITIONS, (count, 2), generator=generator)


# ------------------------------------------------------------------------------------- one sprite, a pixel a time


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
    unit = math.sqrt(222 / HEART_AREA)
    edges = heart_edges(point.real / unit)
    return edges is not None and edges[0] <= HEART_CENTER - point.imag / unit <= edges[1]


def picture(shape, scale, orientation, position):
    """A released picture, 64 x 64."""
    image, angle = np.zeros((64, 64)), 2 * math.pi * orientation / 39
    for row in range(64):
        for column in range(64):
            x, y = column + 0.5 - (16 + position[0]), row + 0.5 - (16 + position[1])
            image[row, column] = on(SHAPES[shape], SCALES[scale], angle, x, y)
    return image


def smaller(image, size):
    """Cut and averaged in blocks."""
    block = {64: 1, 32: 2, 28: 2, 16: 4, 14: 4}[size]
    cut = (64 - size * block) // 2
    out = np.zeros((size, size))
    for row in range(size):
        for column in range(size):
            top, left = cut + row * block, cut + column * block
            out[row, column] = image[top : top + block, left : left + block].sum() > block**2 / 2
    return out


def test_pictures_are_drawn_right_everywhere_and_at_every_size():
    shape, scale, orientation, position = sprites(27)
    position[:12] = torch.tensor([[0, 0], [0, 31], [31, 0], [31, 31]]).repeat(3, 1)
    shape[:12], scale[:12] = torch.arange(3).repeat_interleave(4), 5
    numbers = shape, scale, orientation, position
    drawn = {size: draw(*numbers, size=size) for size in SIZES}
    for i, each in enumerate(zip(*(part.tolist() for part in numbers), strict=True)):
        large = picture(*each)
        for size in SIZES:
            np.testing.assert_array_equal(drawn[size][i].numpy(), smaller(large, size))


def test_the_hearts_area_and_centre_are_those_of_its_outline():
    side = next(x for x in np.linspace(1.2, 1.1, 100_001) if heart_edges(x))

    def over(function):
        return quad(lambda x: function(*heart_edges(x)), -side, side, points=[0])[0]

    area = over(lambda low, high: high - low)
    assert area == pytest.approx(HEART_AREA, abs=1e-4)
    assert over(lambda low, high: (high**2 - low**2) / 2) / area == pytest.approx(HEART_CENTER, abs=1e-4)


# -------------------------------------------------------------------------------------------- the released measures


def test_areas_are_those_of_the_released_set():
    areas = _boxes().flatten(-2).sum(-1).double()
    squared = torch.tensor(SCALES, dtype=torch.float64).square()
    for orientation in (0, 39):
        assert areas[0, :, orientation].tolist() == [100, 144, 196, 256, 324, 400]
    for shape, area in ((0, 400), (1, 288), (2, 222)):
        mean = areas[shape].mean(-1) / (area * squared)
        assert mean.tolist() == pytest.approx([1] * 6, abs=0.03)
        assert (areas[shape, 5] / area - 1).abs().max() < 0.03
    assert areas[1, 5, 0] == 288


@pytest.mark.parametrize("size", [28, 14])
def test_every_sprite_is_seen_everywhere(size):
    """Else its cosine with a reconstruction would be 0 / 0; the smallest ones are tried."""
    grid = torch.cartesian_prod(torch.arange(POSITIONS), torch.arange(POSITIONS))
    for shape in range(3):
        for orientation in range(0, ORIENTATIONS, 3):
            numbers = torch.tensor(shape), torch.tensor(0), torch.tensor(orientation)
            assert draw(*numbers, grid, size=size).sum((1, 2)).min() >= 2


# ---------------------------------------------------------------------------------------------------------- episodes


@every_size
def test_images_are_the_templates_together(size):
    drawn = episodes(size=size)
    assert isinstance(drawn, SpriteEpisodes)
    assert drawn.images.shape == (3, 5, 1, size, size)
    assert drawn.templates.shape == (3, 5, 2, size, size)
    assert drawn.images.dtype == drawn.templates.dtype == torch.float32
    assert (
        drawn.images[:, :, 0].bool().equal(drawn.templates[:, :, 0].bool() | drawn.templates[:, :, 1].bool())
    )


def test_templates_are_the_sprites_of_the_episode_where_they_are():
    drawn = episodes(4, 6)
    assert drawn.shape.shape == drawn.scale.shape == drawn.orientation.shape == (4, 2)
    assert drawn.position.shape == (4, 6, 2, 2)
    for b in range(4):
        for t in range(6):
            for s in range(2):
                numbers = (part[b, s] for part in (drawn.shape, drawn.scale, drawn.orientation))
                assert drawn.templates[b, t, s].equal(draw(*numbers, drawn.position[b, t, s]))
