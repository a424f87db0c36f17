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
from mini_lib.kanerva.memory import State, weights_from_eta, write_item
from mini_lib.reproduction import Comparison, Measured
from mini_lib.reproduction.kanerva import figures
from mini_lib.reproduction.kanerva.cells import CELLS
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


def two_columns(rows=3):
    """A memory of two columns before and after an item, the address and the item."""
    R = torch.tensor([[0.5, 1.0], [-1.0, 0.0], [1.0, -2.0]], dtype=torch.float64)[:rows]
    V = torch.tensor([[1.0, 0.3], [0.3, 0.5]], dtype=torch.float64)
    before = State(R[None, None], V[None, None], torch.zeros(1, 1, dtype=torch.float64))
    w = torch.tensor([1.5, 1.0], dtype=torch.float64)
    code = torch.tensor([1.0, 0.0, -0.5], dtype=torch.float64)[:rows]
    weights = weights_from_eta(torch.full((1, 1), 0.3, dtype=torch.float64))
    return before, write_item(before, code[None], w[None, None], weights)[0], w, code


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


MACHINE_RUNS = {"losses": {"mixture": {3: [5.0], 1: [2.0, 4.0], 5: []}}, "none": {"mixture": {1: []}}}
PICTURES = {"item": rand(3, 4, 5), "answer": rand(4, 5)}
MANY = {str(n): [1.0, n] for n in range(5)}
# How each figure is drawn, and some of the words that stand in it, between commas.
FIGURES = [
    (figures.against_machines, (MACHINE_RUNS, "nats"), "losses,nats,machines k,mixture,not run,1,5"),
    (figures.geometry, two_columns(), "before,after one item,in column 1,in column 2,row 1,row 3,w"),
    (
        figures.heat_maps,
        ({"row": rand(2, 3, 3)}, ["prior", "later"], "covariance"),
        "row,prior,later,covariance",
    ),
    (figures.lines, ([1, 2], MANY), "items,error,0,4"),
    (figures.moment, (PICTURES, {"red": [1.0, 2.0]}, 1, 1, "nats"), "item,answer,items written,nats"),
    (figures.moment, (PICTURES, {"a": [1.0, 2.0], "b": [3.0, 1.0]}, 1, 1, "nats", OKABE_ITO, True), "a,b"),
    (figures.pictures, ({"colour": rand(1, 3, 4, 5), "grey": rand(2, 4, 5)}, ["a", "b"]), "colour,grey,a,b"),
    (figures.stems, ({"writing": rand(3, 2), "reading": rand(3, 2)},), "writing,reading,item"),
    (
        figures.at_work,
        (
            {
                "left": (rand(6, 2), {"both": rand(2, 3, 8, 8)}),
                "right": (rand(6, 2), {"both": rand(2, 3, 8, 8)}),
            },
        ),
        "left,right,both",
    ),
    (
        figures.strips,
        ({"writing": {"red": [0.5, 0.7], "green": []}}, "explained"),
        "writing,red,green,explained",
    ),
]


@pytest.mark.parametrize(("draw", "given", "words"), FIGURES)
def test_every_figure_is_drawn_with_its_words(draw, given, words):
    options = {"xlabel": "items", "ylabel": "error"} if draw is figures.lines else {}
    fig = draw(*given, **options)
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
        lambda: figures.lines([1, 2], {"a": [1, 2]}, xlabel="", ylabel="", floors={"b": [0, 1]}),
        lambda: figures.geometry(*two_columns()[:3], two_columns()[3][:1]),
        lambda: figures.stems({"writing": rand(3, 3)}),
        lambda: figures.at_work({"left": (rand(6, 2), {})}),
        lambda: figures.at_work({"left": (rand(6, 3), {"both": rand(2, 3, 8, 8)})}),
        lambda: figures.against_machines({"a": {}}, "nats"),
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


# ---------------------------------------------------------------------------------------- lines and dots


def test_lines_are_means_in_a_band_of_two_standard_errors():
    runs = torch.tensor([[1.0, 4.0], [3.0, 4.0]])
    floors = {"one": [0.1, 0.2], "many": runs - 1}
    (ax,) = figures.lines([1, 2], {"many": runs, "one": [0.5, 0.6]}, xlabel="", ylabel="", floors=floors).axes
    drawn = {(line.get_color(), line.get_linestyle()): line.get_ydata().tolist() for line in ax.lines}
    assert drawn == {
        (BLUE, "-"): [2, 4],
        (VERMILION, "-"): [0.5, 0.6],
        (BLUE, ":"): [1, 3],
        (VERMILION, ":"): [0.1, 0.2],
    }
    (band,) = ax.collections  # a single run has none
    edges = band.get_paths()[0].vertices
    assert edges[edges[:, 0] == 1][:, 1].min() == pytest.approx(0)  # SE is sqrt(2) / sqrt(2)
    assert edges[edges[:, 0] == 1][:, 1].max() == pytest.approx(4)


@pytest.mark.parametrize(("values", "least"), [([5.0, 6.0], 0), ([-5.0, 6.0], -5)])
def test_lines_keep_zero_in_sight_and_cut_nothing_off(values, least):
    bottom = figures.lines([1, 2], {"a": values}, xlabel="", ylabel="").axes[0].get_ylim()[0]
    assert (bottom == 0) if least == 0 else (bottom <= least)


def test_networks_at_work_stand_side_by_side_with_their_own_weights_and_pictures():
    gamma, black, white = np.array([[1.0, 0.0], [0.0, 1.0]]), np.ones((1, 3, 8, 8)), np.zeros((1, 3, 8, 8))
    fig = figures.at_work({"left": (gamma, {"both": black}), "right": (gamma[::-1], {"both": white})})
    stems, pictures = [ax for ax in fig.axes if ax.collections], [ax for ax in fig.axes if ax.images]
    tops = [ax.collections[0].get_segments()[0][1, 1] for ax in stems]
    assert tops == [1.0, 0.0]
    assert [ax.images[0].get_array().mean() for ax in pictures] == [1.0, 0.0]


def test_stems_go_up_and_down():
    gamma = rand(4, 2)
    up, down = figures.stems({"": gamma}).axes[0].collections
    assert np.allclose([stem[1, 1] for stem in up.get_segments()], gamma[:, 0])
    assert np.allclose([stem[0, 1] for stem in down.get_segments()], -gamma[:, 1])


def test_cells_are_found_by_row_and_column():
    one, two, three = cells()
    assert figures.by_row(cells()) == {
        "k = 1": {"loss": one},
        "k = 2": {"loss": two},
        "k = 3": {"loss": three},
    }


def test_lines_over_machines_go_through_the_means():
    ax = figures.against_machines(MACHINE_RUNS, "nats").axes[0]
    dots, line, *_ = (line for line in ax.lines if line.get_color() == BLUE)
    assert sorted(dots.get_xydata().tolist()) == [[0, 2], [0, 4], [1, 5]]
    assert line.get_xydata().tolist() == [[0, 3], [1, 5]]


# ------------------------------------------------------------------------------------------- one memory


def test_rows_stand_at_their_means_within_ellipses_of_their_covariance():
    before, after, w, code = two_columns()
    fig = figures.geometry(before, after, w, code)
    for ax, state in zip(fig.axes, (before, after), strict=True):
        inverse = torch.linalg.inv(state.V[0, 0]).numpy()
        for row, colour in enumerate((BLUE, VERMILION, GREEN)):
            dot, *ellipses = [line for line in ax.lines if line.get_color() == colour][:3]
            mean = state.R[0, 0, row].numpy()
            assert dot.get_xydata()[0] == pytest.approx(mean)
            for deviations, line in zip((1, 2), ellipses, strict=True):
                off = line.get_xydata() - mean
                assert np.einsum("ni,ij,nj->n", off, inverse, off) == pytest.approx(deviations**2)
    for value, line in zip(
        code.tolist(), fig.axes[1].lines[-3:], strict=True
    ):  # where a row says its feature
        assert line.get_xydata() @ w.numpy() == pytest.approx(value, abs=1e-9)
    assert fig.axes[1].texts[0].xy == pytest.approx(w.tolist())
