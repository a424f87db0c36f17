"""Rows of pictures and colored sprites on small input."""

import io

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.colors import to_rgb

from mini_lib.errors import UsageError
from mini_lib.reproduction.kanerva import figures
from mini_lib.reproduction.kanerva.figures.sprites import SPRITES


@pytest.fixture(autouse=True)
def headless():
    """Draw without a screen, and leave no figure open."""
    mpl.use("agg")
    yield
    plt.close("all")


def rand(*shape):
    return torch.rand(shape, generator=torch.Generator().manual_seed(0))


def texts(fig):
    """Titles and labels of all axes, names of rows and bins, and what stands in legends."""
    found = []
    for ax in fig.axes:
        found += [ax.get_title(), ax.get_xlabel(), ax.get_ylabel(), *(text.get_text() for text in ax.texts)]
        found += [text.get_text() for text in (*ax.get_xticklabels(), *ax.get_yticklabels())]
    legends = [legend for legend in (*fig.legends, *(ax.get_legend() for ax in fig.axes)) if legend]
    return found + [text.get_text() for legend in legends for text in legend.get_texts()]


def test_pictures_are_drawn_with_their_words():
    fig = figures.pictures({"color": rand(1, 3, 4, 5), "grey": rand(2, 4, 5)}, ["a", "b"])
    fig.savefig(io.BytesIO(), format="png", dpi=30)
    assert {"color", "grey", "a", "b"} <= {*texts(fig)}


@pytest.mark.parametrize(
    "draw",
    [
        lambda: figures.pictures({}),
        lambda: figures.pictures({"two": rand(2, 8, 8)}, ["one"]),
        *(lambda shape=shape: figures.pictures({"a": rand(*shape)}) for shape in ((8, 8), (8,) * 5)),
    ],
)
def test_what_does_not_fit_is_told(draw):
    with pytest.raises(UsageError):
        draw()


def test_sprites_have_their_colors_and_pixels_of_both_are_dark():
    drawn = figures.colored(torch.tensor([[[1.0, 1, 0, 0]], [[0, 1.0, 1, 0]]]))  # S, H, W
    first, second = (np.array(to_rgb(color)) for color in SPRITES)
    assert np.allclose(drawn[:, 0].T, [first, first * second, second, [1, 1, 1]])
    many = rand(5, 2, 3, 4).round()
    assert np.array_equal(figures.colored(many)[2], figures.colored(many[2]))


def test_pictures_stand_in_order_and_short_rows_leave_places_empty():
    color, grey = 1.4 * rand(1, 3, 4, 5) - 0.2, rand(2, 4, 5)
    first, empty, *others = figures.pictures({"color": color, "grey": grey}, limits=(-1.0, 2.0)).axes
    assert np.allclose(first.images[0].get_array(), color[0].permute(1, 2, 0).clamp(0, 1))
    assert not empty.axison
    for ax, picture in zip(others, grey, strict=True):
        assert np.allclose(ax.images[0].get_array(), picture)
        assert (ax.images[0].get_clim(), ax.images[0].get_cmap().name) == ((-1.0, 2.0), "gray_r")  # 1 is ink
