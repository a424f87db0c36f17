"""Every figure on small input, and the numbers that are worked out inside one."""

import io

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.colors import to_rgb

from mini_lib.errors import UsageError
from mini_lib.kanerva.digits import COLORS
from mini_lib.kanerva.evaluation import NEW, RETRIEVED
from mini_lib.reproduction import Comparison, Measured
from mini_lib.reproduction.kanerva import figures
from mini_lib.reproduction.kanerva.cells import CELLS
from mini_lib.reproduction.kanerva.figures.generation import KINDS, kind
from mini_lib.reproduction.kanerva.figures.parts import CHANNELS, MACHINES
from mini_lib.reproduction.kanerva.figures.sprites import SPRITES
from mini_lib.reproduction.plotting import OKABE_ITO

BLUE, VERMILION, GREEN = OKABE_ITO[:3]


@pytest.fixture(autouse=True)
def headless():
    """Draw without a screen, and leave no figure open."""
    mpl.use("agg")
    yield
    plt.close("all")


def cells():
    """The losses of Figure 1E's first rows, without runs."""
    table = [cell for cell in CELLS if (cell.table, cell.variant) == ("kanerva.fig1e", "tutorial")]
    return [Comparison(cell, None, Measured(())) for cell in table if cell.column == "loss"][:3]


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


SINGLE = rand(2, 5, 5), rand(2, 3, 5, 5), rand(2, 5, 5)
# How each figure is drawn, and some of the words that stand in it, between commas.
FIGURES = [
    (figures.choices, ({"cold": rand(5, 3)},), "cold,1,2,3"),
    (
        figures.heat_maps,
        ({"row": rand(2, 3, 3)}, ["prior", "later"], "covariance"),
        "row,prior,later,covariance",
    ),
    (
        figures.imagined,
        (rand(4, 3, 3), rand(5, 3, 3), [0.95, 0.8, 0.1, 0.0, 1.0]),
        "stored,imagined,0.95,0.00",
    ),
    (
        figures.maps,
        ({"net": rand(2, 64, 2), "both": rand(2, 64, 1)},),
        "net\nsprite 2,both,machine 2,mean cosine",
    ),
    (figures.pictures, ({"colour": rand(1, 3, 4, 5), "grey": rand(2, 4, 5)}, ["a", "b"]), "colour,grey,a,b"),
    (
        figures.single_machines,
        (*SINGLE, rand(2, 2, 5, 5).round(), rand(2, 3, 2), ["a", "b"]),
        "image,machine 3,together,b",
    ),
    (figures.single_machines, SINGLE, "image,together"),
]


@pytest.mark.parametrize(("draw", "given", "words"), FIGURES)
def test_every_figure_is_drawn_with_its_words(draw, given, words):
    fig = draw(*given)
    fig.savefig(io.BytesIO(), format="png", dpi=30)
    assert {*words.split(",")} <= {*texts(fig)}


def test_no_figure_is_left_out():
    no_figures = {"by_row", "coloured"}
    assert {draw.__name__ for draw, _, _ in FIGURES} == set(figures.__all__) - no_figures


@pytest.mark.parametrize(
    "draw",
    [
        lambda: figures.pictures({}),
        lambda: figures.pictures({"two": rand(2, 8, 8)}, ["one"]),
        *(lambda shape=shape: figures.pictures({"a": rand(*shape)}) for shape in ((8, 8), (8,) * 5)),
        lambda: figures.by_row(cells() + cells()),
    ],
)
def test_what_does_not_fit_is_told(draw):
    with pytest.raises(UsageError):
        draw()


# ------------------------------------------------------------------------------------- pictures and maps


def test_sprites_have_their_colours_and_pixels_of_both_are_dark():
    drawn = figures.coloured(torch.tensor([[[1.0, 1, 0, 0]], [[0, 1.0, 1, 0]]]))  # S, H, W
    first, second = (np.array(to_rgb(colour)) for colour in SPRITES)
    assert np.allclose(drawn[:, 0].T, [first, first * second, second, [1, 1, 1]])
    many = rand(5, 2, 3, 4).round()
    assert np.array_equal(figures.coloured(many)[2], figures.coloured(many[2]))
    assert not set(SPRITES) & set(MACHINES)
    assert tuple(CHANNELS) == COLORS


def test_pictures_stand_in_order_and_short_rows_leave_places_empty():
    colour, grey = 1.4 * rand(1, 3, 4, 5) - 0.2, rand(2, 4, 5)
    first, empty, *others = figures.pictures({"colour": colour, "grey": grey}, limits=(-1.0, 2.0)).axes
    assert np.allclose(first.images[0].get_array(), colour[0].permute(1, 2, 0).clamp(0, 1))
    assert not empty.axison
    for ax, picture in zip(others, grey, strict=True):
        assert np.allclose(ax.images[0].get_array(), picture)
        assert (ax.images[0].get_clim(), ax.images[0].get_cmap().name) == ((-1.0, 2.0), "gray_r")  # 1 is ink


def test_signed_maps_share_one_scale_about_zero():
    later = torch.tensor([[0.2, -1.5, 0], [-1.5, 0.1, 0], [0, 0, 0.3]])
    *axes, _ = figures.heat_maps({"": [torch.eye(3), later]}, ["prior", "later"], "", colours="PuOr").axes
    assert {ax.images[0].get_clim() for ax in axes} == {(-1.5, 1.5)}


def test_maps_have_x_from_the_left_and_y_from_the_top_and_leave_out_bins_that_were_not_met():
    found = torch.full((2, 64, 2), torch.nan, dtype=torch.float64)
    found[:, 3], found[1, 8 * 2 + 5, 0] = 0.2, 1.0  # machine 2, sprite 1, row 2, column 5
    *axes, _ = figures.maps({"net": found}).axes
    assert axes[1].images[0].get_array()[2, 5] == 1.0
    assert {ax.images[0].get_clim() for ax in axes} == {(0.2, 1.0)}
    assert axes[0].get_ylim()[0] > axes[0].get_ylim()[1]


def test_choices_of_one_machine_lie_in_its_corner():
    weights = torch.tensor([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0], [1 / 3, 1 / 3, 1 / 3]])
    (ax,) = figures.choices({"cold": weights}).axes
    corners, middle = ax.lines[1].get_xydata()[:3], ax.lines[1].get_xydata()[3]
    assert [np.linalg.norm(corners[i] - corners[i - 1]) for i in range(3)] == pytest.approx([1.0] * 3)
    assert middle == pytest.approx(corners.mean(axis=0))
    nearest = [np.linalg.norm(corners - np.array(text.get_position()), axis=1).argmin() for text in ax.texts]
    assert [text.get_text() for text in ax.texts] == ["1", "2", "3"]
    assert nearest == [0, 1, 2]


def test_cells_are_found_by_row_and_column():
    one, two, three = cells()
    assert figures.by_row(cells()) == {
        "k = 1": {"loss": one},
        "k = 2": {"loss": two},
        "k = 3": {"loss": three},
    }


# ------------------------------------------------------------------------------------------- generation


def test_what_an_image_counts_as():
    assert kind(RETRIEVED) == "retrieved" == kind(1.0)
    assert kind(NEW) == "between" == kind(RETRIEVED - 0.01)
    assert kind(NEW - 0.01) == "new" == kind(0.01)
    assert kind(0.0) == "blank"
    assert len(set(KINDS.values())) == 4
