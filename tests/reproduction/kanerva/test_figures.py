"""Every value that a figure draws is the value that it was given."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.colors import to_hex, to_rgb

from mini_lib.errors import UsageError
from mini_lib.kanerva.evaluation import NEW, RETRIEVED
from mini_lib.kanerva.memory import State, weights_from_eta, write_item
from mini_lib.kanerva.tasks.rgb import COLOURS
from mini_lib.reproduction import Comparison, Measured
from mini_lib.reproduction.kanerva import figures
from mini_lib.reproduction.kanerva.cells import CELLS
from mini_lib.reproduction.kanerva.figures.generation import KINDS, kind
from mini_lib.reproduction.kanerva.figures.losses import EMPTY, LOSS
from mini_lib.reproduction.kanerva.figures.parts import CHANNELS, MACHINES
from mini_lib.reproduction.kanerva.figures.sprites import SPRITES
from mini_lib.reproduction.kanerva.scaling import Fit, optimal
from mini_lib.reproduction.plotting import OKABE_ITO

BLUE, VERMILION, GREEN = OKABE_ITO[:3]


@pytest.fixture(autouse=True)
def headless():
    """Draw without a screen, and leave no figure open."""
    mpl.use("agg")
    yield
    plt.close("all")


def names(of):
    legend = of.get_legend() if hasattr(of, "get_legend") else of.legends[0]
    return [text.get_text() for text in legend.get_texts()]


def shown(fig, count=None):
    return [ax.images[0].get_array() for ax in fig.axes[:count]]


def labels(axes, what="title"):
    return [getattr(ax, f"get_{what}")() for ax in axes]


def of_colour(ax, colour):
    return [line for line in ax.lines if line.get_color() == colour]


def points(line):
    return [pytest.approx(point) for point in line.get_xydata().tolist()]


# ------------------------------------------------------------------------------------------------ pictures


def test_pictures_stand_in_rows_in_the_order_given():
    rows = {"written": torch.rand(3, 2, 2), "read": torch.rand(3, 2, 2)}
    fig = figures.pictures(rows, titles=["a", "b", "c"], limits=(-1.0, 2.0))
    for drawn, picture in zip(shown(fig), torch.cat(list(rows.values())), strict=True):
        assert np.allclose(drawn, picture)
    for ax in fig.axes:
        assert ax.images[0].get_clim() == (-1.0, 2.0)
        assert ax.images[0].get_cmap().name == "gray_r"  # 1 is ink
        assert not len(ax.get_xticks()) + len(ax.get_yticks())
    assert labels(fig.axes, "ylabel") == ["written", "", "", "read", "", ""]
    assert labels(fig.axes) == ["a", "b", "c", "", "", ""]


def test_pictures_in_colour_stand_beside_grey_ones_and_short_rows_leave_places_empty():
    colour = 1.4 * torch.rand(1, 3, 4, 5) - 0.2
    fig = figures.pictures({"colour": colour, "grey": torch.rand(2, 4, 5)})
    assert np.allclose(shown(fig, 1)[0], colour[0].permute(1, 2, 0).clamp(0, 1))
    assert [bool(ax.images) for ax in fig.axes] == [True, False, True, True]
    assert not fig.axes[1].axison


@pytest.mark.parametrize(
    ("rows", "titles", "message"),
    [
        ({}, (), "nothing to draw"),
        ({"flat": torch.rand(2, 64)}, (), r"got \{'flat': \[2, 64\]\}"),
        ({"four": torch.rand(2, 4, 8, 8)}, (), r"\[N, 3, H, W\] in colour"),
        ({"two": torch.rand(2, 8, 8)}, ["one"], "2 columns of pictures with 1 titles"),
    ],
)
def test_pictures_that_do_not_fit_are_refused(rows, titles, message):
    with pytest.raises(UsageError, match=message):
        figures.pictures(rows, titles)


def test_sprites_have_their_colours_and_pixels_of_both_are_dark():
    drawn = figures.coloured(torch.tensor([[[1.0, 1, 0, 0]], [[0, 1.0, 1, 0]]]))  # S, H, W
    first, second = (np.array(to_rgb(colour)) for colour in SPRITES)
    assert np.allclose(drawn[:, 0].T, [first, first * second, second, [1, 1, 1]])
    many = torch.rand(5, 2, 3, 4).round()
    assert np.array_equal(figures.coloured(many)[2], figures.coloured(many[2]))
    assert not set(SPRITES) & set(MACHINES)


def test_machines_stand_between_the_image_and_all_together():
    images, parts, together = torch.rand(2, 5, 5), torch.rand(2, 3, 5, 5), torch.rand(2, 5, 5)
    templates = torch.zeros(2, 2, 5, 5)
    templates[:, 0, 1:3, 1:3] = 1  # the second sprite is not in sight
    cosines = torch.tensor([[[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]]).expand(2, -1, -1)
    fig = figures.single_machines(images, parts, together, templates, cosines, names=["a", "b"])
    assert labels(fig.axes[:5]) == ["image", "machine 1", "machine 2", "machine 3", "together"]
    for row in range(2):
        line = fig.axes[5 * row : 5 * row + 5]
        for ax, given in zip(line, (images[row], *parts[row], together[row]), strict=True):
            assert np.allclose(ax.images[0].get_array(), given)
        assert labels(line, "xlabel") == ["", "0.10   0.20", "0.30   0.40", "0.50   0.60", ""]
        assert line[0].get_ylabel() == "ab"[row]
        assert [len(ax.collections) for ax in line] == [0, 1, 1, 1, 0]
        outline = line[1].collections[0]
        assert to_hex(outline.get_edgecolor()[0]) == SPRITES[0].lower()
        corners = outline.get_paths()[0].vertices
        assert (corners.min(), corners.max()) == (0.5, 2.5)  # half-way out of the sprite's pixels
    plain = figures.single_machines(images, parts, together)
    assert not any(ax.collections or ax.get_xlabel() for ax in plain.axes)


# ----------------------------------------------------------------------------------------------- heat maps


def test_signed_maps_share_one_scale_about_zero():
    later = torch.tensor([[0.2, -1.5, 0], [-1.5, 0.1, 0], [0, 0, 0.3]])
    rows = {"column": [torch.eye(3), later]}
    fig = figures.heat_maps(rows, ["prior", "later"], "covariance", colours="PuOr", xlabel="column")
    *axes, bar = fig.axes
    assert np.allclose(shown(fig, 2), [torch.eye(3), later])
    assert {ax.images[0].get_clim() for ax in axes} == {(-1.5, 1.5)}
    assert labels(axes) == ["prior", "later"]
    assert (axes[0].get_ylabel(), axes[1].get_xlabel(), bar.get_ylabel()) == (
        "column",
        "column",
        "covariance",
    )


def test_maps_have_x_from_the_left_and_y_from_the_top():
    found = torch.zeros(2, 64, 2)
    found[1, 8 * 2 + 5, 0] = 1.0  # machine 2, sprite 1, row 2, column 5
    fig = figures.maps({"net": found, "both": found.mean(dim=2, keepdim=True)})
    *axes, bar = fig.axes
    assert labels(axes[::2], "ylabel") == ["net\nsprite 1", "net\nsprite 2", "both"]
    assert labels(axes[:2]) == ["machine 1", "machine 2"]
    drawn = shown(fig, 6)
    assert (drawn[1].shape, drawn[1][2, 5], drawn[1].sum()) == ((8, 8), 1.0, 1.0)
    assert not drawn[3].any()
    assert drawn[5][2, 5] == 0.5
    assert {ax.images[0].get_clim() for ax in axes} == {(0.0, 1.0)}
    assert axes[0].get_ylim()[0] > axes[0].get_ylim()[1]
    assert bar.get_ylabel() == "mean cosine"


def test_maps_leave_out_bins_that_were_not_met():
    found = torch.full((1, 64, 1), torch.nan)
    found[0, 3], found[0, 4] = 0.2, 0.6
    assert figures.maps({"": found}).axes[0].images[0].get_clim() == pytest.approx((0.2, 0.6))


# --------------------------------------------------------------------------------------------------- lines


def test_lines_are_means_in_a_band_of_two_standard_errors():
    runs = torch.tensor([[1.0, 4.0], [3.0, 4.0]])
    given = {"many": runs, "one": [0.5, 0.6]}
    floors = {"one": [0.1, 0.2], "many": runs - 1}
    (ax,) = figures.lines([1, 2], given, xlabel="items", ylabel="error", floors=floors, mark=1.5).axes
    many, floor_of_many = of_colour(ax, BLUE)
    one, floor_of_one = of_colour(ax, VERMILION)
    assert many.get_xydata().tolist() == [[1, 2], [2, 4]]
    assert one.get_ydata().tolist() == [0.5, 0.6]
    assert floor_of_many.get_ydata().tolist() == [1, 3]
    assert floor_of_one.get_ydata().tolist() == [0.1, 0.2]
    assert {line.get_linestyle() for line in (floor_of_many, floor_of_one)} == {":"}
    (band,) = ax.collections  # a single run has none
    edges = band.get_paths()[0].vertices
    assert edges[edges[:, 0] == 1][:, 1].min() == pytest.approx(0)  # SE is sqrt(2) / sqrt(2)
    assert edges[edges[:, 0] == 1][:, 1].max() == pytest.approx(4)
    assert ax.lines[-1].get_xdata()[0] == 1.5
    assert names(ax) == ["many", "one"]
    with pytest.raises(UsageError, match="no line is called 'b'"):
        figures.lines([1, 2], {"a": [1, 2]}, floors={"b": [1, 2]}, xlabel="", ylabel="")


def test_lines_keep_zero_in_sight_and_cut_nothing_off():
    def drawn(values, **options):
        return figures.lines([1, 2], values, xlabel="", ylabel="", **options)

    assert drawn({"up": [5.0, 6.0]}).axes[0].get_ylim()[0] == 0
    assert drawn({"down": [-5.0, 6.0]}).axes[0].get_ylim()[0] <= -5
    assert drawn({"up": [5.0, 6.0]}, log=True).axes[0].get_yscale() == "log"
    many = {str(n): [1.0, n] for n in range(5)}
    assert names(drawn(many)) == list(many)  # many names stand below


def test_profiles_have_a_line_for_each_machine():
    panels = {"shape": torch.rand(2, 3), "scale": torch.rand(2, 6)}
    fig = figures.profiles(panels, {"shape": ["square", "ellipse", "heart"]})
    assert labels(fig.axes, "xlabel") == list(panels)
    for ax, values in zip(fig.axes, panels.values(), strict=True):
        for machine, line in enumerate(ax.lines):
            assert np.allclose(line.get_ydata(), values[machine])
            assert line.get_color() == MACHINES[machine]
    assert [text.get_text() for text in fig.axes[0].get_xticklabels()] == ["square", "ellipse", "heart"]
    assert names(fig) == ["machine 1", "machine 2"]
    shared = figures.profiles({"sprite 1": torch.rand(2, 8)}, xlabel="place").axes[0]
    assert (shared.get_title(), shared.get_xlabel()) == ("sprite 1", "place")


def test_gammas_of_one_episode_and_of_all():
    gamma = torch.rand(3, 4, 2).softmax(dim=2)
    fig = figures.gammas(gamma, episode=2)
    left, right = fig.axes
    for machine in range(2):
        assert np.allclose(left.lines[machine].get_ydata(), gamma[2, :, machine])
        assert np.allclose(right.lines[machine].get_ydata(), gamma[..., machine].flatten())
        assert abs(right.lines[machine].get_xdata() - machine).max() < 0.5
        (bar,) = right.collections[machine].get_segments()
        assert np.allclose(bar[:, 1], gamma[..., machine].mean())
    assert left.lines[2].get_ydata()[0] == 0.5  # an even share
    assert names(fig) == ["machine 1", "machine 2"]


def test_stems_go_up_for_the_first_machine_and_down_for_the_second():
    gamma = torch.tensor([[0.9, 0.1], [0.25, 0.75], [1.0, 0.0]])
    fig = figures.stems({"writing": gamma, "reading": gamma.flip(1)})
    assert labels(fig.axes) == ["writing", "reading"]
    for ax, given in zip(fig.axes, (gamma, gamma.flip(1)), strict=True):
        up, down = ([each.tolist() for each in drawn.get_segments()] for drawn in ax.collections)
        for t, (first, second) in enumerate(given.tolist(), start=1):
            assert up[t - 1] == [[t, 0], [t, pytest.approx(first)]]
            assert down[t - 1] == [[t, pytest.approx(-second)], [t, 0]]
    for wrong in ({}, {"writing": torch.ones(3, 3) / 3}, {"writing": gamma[0]}):
        with pytest.raises(UsageError, match=r"stems are of two machines|nothing to draw"):
            figures.stems(wrong)


def test_choices_of_one_machine_lie_in_its_corner():
    weights = torch.tensor([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0], [1 / 3, 1 / 3, 1 / 3]])
    (ax,) = figures.choices({"cold": weights}).axes
    corners, middle = ax.lines[1].get_xydata()[:3], ax.lines[1].get_xydata()[3]
    apart = [np.linalg.norm(corners[i] - corners[i - 1]) for i in range(3)]
    assert apart == pytest.approx([1.0] * 3)
    assert middle == pytest.approx(corners.mean(axis=0))
    for number, text in enumerate(ax.texts):
        place = np.array(text.get_position())
        assert np.linalg.norm(corners - place, axis=1).argmin() == number
        assert text.get_text() == str(number + 1)


# ------------------------------------------------------------------------------------------------ one memory


def test_a_moment_marks_now_and_when_the_item_is_written():
    pictures = {"item": torch.rand(3, 4, 5), "answer": torch.rand(4, 5)}
    curves = {"green": torch.tensor([9.0, 8.0, 3.0, 4.0]), "red": [1.0, 2.0, 3.0, 5.0]}
    fig = figures.moment(pictures, curves, 3, 2, "nats", (GREEN, VERMILION))
    assert labels(fig.axes) == ["item", "answer", ""]
    assert np.allclose(fig.axes[0].images[0].get_array(), pictures["item"].permute(1, 2, 0))
    *drawn, mark = fig.axes[2].lines
    assert [points(line) for line in drawn] == [
        [[0, 9], [1, 8], [2, 3], [3, 4]],
        [[3, 4]],
        [[0, 1], [1, 2], [2, 3], [3, 5]],
        [[3, 5]],
    ]
    assert [line.get_color() for line in drawn] == [GREEN, GREEN, VERMILION, VERMILION]
    assert set(mark.get_xdata()) == {2}
    assert names(fig.axes[2]) == list(curves)
    assert figures.moment(pictures, curves, 0, 0, "nats", log=True).axes[2].get_yscale() == "log"


def two_columns(rows=3):
    R = torch.tensor([[0.5, 1.0], [-1.0, 0.0], [1.0, -2.0]], dtype=torch.float64)[:rows]
    V = torch.tensor([[1.0, 0.3], [0.3, 0.5]], dtype=torch.float64)
    before = State(R[None, None], V[None, None], torch.zeros(1, 1, dtype=torch.float64))
    w = torch.tensor([1.5, 1.0], dtype=torch.float64)
    code = torch.tensor([1.0, 0.0, -0.5], dtype=torch.float64)[:rows]
    weights = weights_from_eta(torch.full((1, 1), 0.3, dtype=torch.float64))
    return before, write_item(before, code[None], w[None, None], weights)[0], w, code


def test_rows_stand_at_their_means_within_ellipses_of_their_covariance():
    before, after, w, code = two_columns()
    fig = figures.geometry(before, after, w, code)
    for ax, state in zip(fig.axes, (before, after), strict=True):
        inverse = torch.linalg.inv(state.V[0, 0]).numpy()
        for row, colour in enumerate((BLUE, VERMILION, GREEN)):
            dot, near, far = of_colour(ax, colour)[:3]
            mean = state.R[0, 0, row].numpy()
            assert dot.get_xydata()[0] == pytest.approx(mean)
            for deviations, line in ((1, near), (2, far)):
                off = line.get_xydata() - mean
                assert np.einsum("ni,ij,nj->n", off, inverse, off) == pytest.approx(deviations**2)
    assert names(fig.axes[0]) == ["row 1", "row 2", "row 3"]


def test_lines_are_where_a_row_says_its_feature_and_the_arrow_is_the_address():
    before, after, w, code = two_columns(2)
    _, right = figures.geometry(before, after, w, code).axes
    for value, colour in zip(code.tolist(), (BLUE, VERMILION), strict=True):
        line = of_colour(right, colour)[-1]
        assert line.get_linestyle() == ":"
        assert line.get_xydata() @ w.numpy() == pytest.approx(value, abs=1e-9)
    assert right.texts[0].xy == pytest.approx(w.tolist())
    with pytest.raises(UsageError, match="one machine of 1 rows and 2 columns"):
        figures.geometry(before, after, w, code[:1])


@pytest.mark.parametrize(("machines", "columns"), [(1, 6), (15, 2)])
def test_by_machine_shows_addresses_and_what_each_machine_says(machines, columns):
    random = np.random.default_rng(0)
    w = random.normal(size=(machines, columns))
    item, answer, parts = random.random((2, 2)), random.random((2, 2)), random.random((machines, 2, 2))
    fig = figures.by_machine(w, item, answer, parts)
    bars = next(ax for ax in fig.axes if ax.patches).patches
    assert [bar.get_height() for bar in bars] == pytest.approx(w.ravel().tolist())
    shades = [{to_hex(bar.get_facecolor()) for bar in bars[i * columns :][:columns]} for i in range(machines)]
    assert all(len(shade) == 1 for shade in shades)
    assert all(shades[i] != shades[i + 1] for i in range(machines - 1))
    drawn = [ax for ax in fig.axes if ax.images]
    assert labels(drawn) == ["item", "answer", *(f"machine {i + 1}" for i in range(machines))]
    for ax, picture in zip(drawn, (item, answer, *parts), strict=True):
        assert ax.images[0].get_array().tolist() == picture.tolist()


# ---------------------------------------------------------------------------------------------------- dots


def test_dots_stand_by_row_and_column():
    rows = {"own": {"one": [0.2, 0.4], "two": [0.3]}, "other": {"one": [0.1], "two": [0.05]}}
    fig = figures.dots(rows, "contrast")
    (ax,) = fig.axes
    assert [line.get_ydata().tolist() for line in ax.lines] == [[0.2, 0.4], [0.3], [0.1], [0.05]]
    places = [line.get_xdata().mean() for line in ax.lines]
    assert places[0] < 0 < places[1] < 0.5 < places[2] < 1 < places[3]
    assert ax.collections[0].get_segments()[0][:, 1] == pytest.approx(0.3)
    assert [text.get_text() for text in ax.get_xticklabels()] == ["own", "other"]
    assert names(fig) == ["one", "two"]
    for wrong in ({}, {"one": {"own": [1]}, "two": {"other": [1]}}):
        with pytest.raises(UsageError, match="same columns"):
            figures.dots(wrong, "contrast")


def test_strips_are_dots_by_group_in_panels():
    panels = {"writing": {"red": [0.5, 0.7], "green": [], "blue": [0.1]}}
    panels["reading"] = {"red": [0.4], "green": [0.0], "blue": [0.2]}
    fig = figures.strips(panels, "explained", tuple(CHANNELS.values()))
    assert tuple(CHANNELS) == COLOURS
    assert labels(fig.axes) == ["writing", "reading"]
    for ax, groups in zip(fig.axes, panels.values(), strict=True):
        assert [text.get_text() for text in ax.get_xticklabels()] == list(COLOURS)
        drawn = {line.get_color(): line.get_ydata().tolist() for line in ax.lines}
        assert drawn == {CHANNELS[name]: values for name, values in groups.items() if values}


def test_numbers_of_runs_stand_over_machines_with_a_line_through_the_means():
    runs = {"mixture": {3: [5.0], 1: [2.0, 4.0], 5: []}, "product": {1: [1.0]}}
    empty = {"mixture": {1: [6.0], 3: [7.0]}}
    fig = figures.against_machines({"losses": runs, "none": {"mixture": {1: []}}}, "nats", empty)
    ax, none = fig.axes
    dots, line, open_dots, dotted = of_colour(ax, BLUE)
    assert sorted(dots.get_xydata().tolist()) == [[0, 2], [0, 4], [1, 5]]
    assert line.get_xydata().tolist() == [[0, 3], [1, 5]]
    assert sorted(open_dots.get_xydata().tolist()) == [[0, 6], [1, 7]]
    assert (open_dots.get_fillstyle(), dotted.get_linestyle()) == ("none", ":")
    assert [text.get_text() for text in ax.get_xticklabels()] == ["1", "3", "5"]
    assert [text.get_text() for text in none.texts] == ["not run"]
    assert names(fig) == ["mixture", "mixture, nothing written", "product"]
    for wrong in ({}, {"losses": {"product": {1: [1.0]}}}):
        with pytest.raises(UsageError, match="at least one panel, and controls by names"):
            figures.against_machines(wrong, "nats", empty)


# ------------------------------------------------------------------------------------------------ records

CURVE = {"update": [1, 11, 21], "loss": [9.0, 8.0, 7.0], "score": [6.0, 5.0, 4.0]}
TABLE = [cell for cell in CELLS if cell.table == "kanerva.fig1e" and cell.variant == "tutorial"]
GIVEN = [([20.0, 24.0, 22.0], [26.0, 27.0, 28.0]), ([], []), ([30.0], [31.0])]


def cells(found, columns=(LOSS, EMPTY)):
    """The first rows of Figure 1E with these values, a list of values for each row and column."""
    rows = list(dict.fromkeys(cell.row for cell in TABLE))[: len(found)]
    return [
        Comparison(
            cell,
            None,
            Measured(tuple(found[rows.index(cell.row)][columns.index(cell.column)])),
            ({"curve": CURVE},) * len(found[rows.index(cell.row)][0]),
        )
        for cell in TABLE
        if cell.row in rows and cell.column in columns
    ]


def test_every_run_is_a_dot_in_its_row_and_the_control_stands_beside_it():
    fig = figures.losses(cells(GIVEN))
    ax = fig.axes[0]
    assert [text.get_text() for text in ax.get_xticklabels()] == ["k = 1", "k = 2", "k = 3"]
    drawn = [(x, y, line.get_marker()) for line in ax.lines for x, y in line.get_xydata().tolist()]
    for row, (losses, empty) in enumerate(GIVEN):
        for values, marker in ((losses, "o"), (empty, "D")):
            found = [(x, y) for x, y, each in drawn if each == marker and abs(x - row) < 0.5]
            assert sorted(y for _, y in found) == sorted(values)
            assert all(x < row if marker == "o" else x > row for x, _ in found)
    assert {line.get_fillstyle() for line in ax.lines if line.get_marker() == "D"} == {"none"}
    assert sorted(float(bar.get_segments()[0][0][1]) for bar in ax.collections) == [22.0, 27.0, 30.0, 31.0]
    assert [(text.get_text(), text.get_position()[0]) for text in ax.texts] == [("not run", 1)]
    assert names(fig) == [LOSS, EMPTY]
    assert ax.get_ylim() == (0, pytest.approx(1.08 * 31))


def test_a_channel_is_drawn_in_its_colour_and_its_control_open():
    binding = [cell for cell in CELLS if cell.table == "kanerva.fig2c" and cell.variant == "tutorial"]
    columns = ["loss", "green", "green, nothing written"]
    made = [
        Comparison(cell, None, Measured((1.0 + columns.index(cell.column),)))
        for cell in binding
        if cell.row == "k = 1" and cell.column in columns
    ]
    ax = figures.losses(made, columns).axes[0]
    found = {y: (line.get_color(), line.get_fillstyle()) for line in ax.lines for y in line.get_ydata()}
    assert found == {1.0: (BLUE, "full"), 2.0: (GREEN, "full"), 3.0: (GREEN, "none")}


def test_a_table_without_any_run_is_drawn_all_the_same():
    ax = figures.losses(cells([([], []), ([], [])])).axes[0]
    assert [text.get_text() for text in ax.texts] == ["not run", "not run"]
    assert len(ax.get_yticks()) == 0


def test_rows_are_told_with_their_runs():
    head, first, second, third = figures.in_rows(cells(GIVEN)).split("\n")
    assert head.split() == ["loss", "loss,", "nothing", "written", "runs"]
    assert first.split() == ["k", "=", "1", "22", "±", "1.2", "27", "±", "0.58", "3"]
    assert second.split() == ["k", "=", "2", "-", "-", "not", "run"]
    assert third.split() == ["k", "=", "3", "30", "31", "1"]
    assert len({len(line) for line in (head, first, second, third)}) == 1


def test_what_is_not_there_or_there_twice_is_said():
    for draw in (figures.losses, figures.in_rows, figures.curves_of):
        with pytest.raises(UsageError, match="there are two cells 'k = 1', 'loss'"):
            draw([*cells(GIVEN), *cells(GIVEN)])
        with pytest.raises(UsageError, match="there are no cells"):
            draw([])
    with pytest.raises(ValueError, match="did you mean 'loss'"):
        figures.losses(cells(GIVEN), ["los"])


def test_learning_draws_the_score_of_every_run():
    curves = figures.curves_of(cells(GIVEN))
    assert [len(runs) for runs in curves.values()] == [3, 0, 1]
    other = {"update": [1, 101], "score": [3.0, 2.0]}
    fig = figures.learning(curves | {"live": [other]}, {"nothing written": 5.5}, limits=(0, 9))
    ax = fig.axes[0]
    assert names(fig) == ["k = 1 (3 runs)", "k = 2 (not run)", "k = 3 (1 run)", "live (1 run)"]
    assert ax.get_ylim() == (0, 9)
    drawn = [[line.get_xydata().tolist() for line in of_colour(ax, each)] for each in OKABE_ITO[:4]]
    curve = [[1, 6], [11, 5], [21, 4]]
    assert drawn == [[curve] * 3 + [[]], [[]], [curve, []], [[[1, 3], [101, 2]], []]]
    (floor,) = (line for line in ax.lines if line.get_linestyle() == ":")
    assert set(floor.get_ydata()) == {5.5}
    none = figures.learning({"k = 1": []}, {"nothing written": 5.5}).axes[0]
    assert sorted(text.get_text() for text in none.texts) == ["not run", "nothing written"]


# --------------------------------------------------------------------------------------------- generation


def test_what_an_image_counts_as():
    assert kind(RETRIEVED) == "retrieved" == kind(1.0)
    assert kind(NEW) == "between" == kind(RETRIEVED - 0.01)
    assert kind(NEW - 0.01) == "new" == kind(0.01)
    assert kind(0.0) == "blank"
    assert len(set(KINDS.values())) == 4


def test_imagined_pictures_stand_below_what_was_stored():
    stored, pictures = torch.rand(4, 3, 3), torch.rand(10, 3, 3)
    cosines = [0.95, 0.9, 0.8, 0.7, 0.69, 0.0, 1.0, 0.5, 0.89, 0.71]
    fig = figures.imagined(stored, pictures, cosines)
    assert len(fig.axes) == 15  # 4 stored and a place to spare, then twice 5
    assert np.allclose(shown(fig, 4), stored)
    assert not fig.axes[4].axison
    for ax, picture, cosine in zip(fig.axes[5:], pictures, cosines, strict=True):
        assert np.allclose(ax.images[0].get_array(), picture)
        assert ax.get_xlabel() == f"{cosine:.2f}"
        assert to_hex(ax.spines["left"].get_edgecolor()) == to_hex(KINDS[kind(cosine)])
    assert labels(fig.axes[::5], "ylabel") == ["stored", "imagined", ""]


def test_settling_draws_means_and_shares():
    a, b = torch.rand(4, 5, 3), torch.rand(4, 5, 3)
    a[0, 0] = torch.tensor([NEW, RETRIEVED, 0.01]).double()  # a limit counts as retrieved, and not as new
    b[0, :2, 1] = 0.0  # blank, and so neither
    fig = figures.settling({"a": a, "b": b})
    left, right = fig.axes
    for place, given in enumerate((a, b)):
        line = left.lines[place]
        assert line.get_xdata().tolist() == [0, 1, 2]
        assert np.allclose(line.get_ydata(), given.mean(dim=(0, 1)))
        solid, dashed = right.lines[2 * place : 2 * place + 2]
        assert (solid.get_linestyle(), dashed.get_linestyle()) == ("-", "--")
        retrieved, new = (given.double() >= RETRIEVED), ((given.double() < NEW) & (given > 0))
        assert np.allclose(solid.get_ydata(), 100 * retrieved.double().mean(dim=(0, 1)))
        assert np.allclose(dashed.get_ydata(), 100 * new.double().mean(dim=(0, 1)))
    assert names(fig) == ["a", "b", "right: from 0.9: retrieved", "right: below 0.7: new"]


def test_trajectories_go_from_the_first_look_to_the_end():
    """In two dimensions nothing is lost, so that distances are those of the codes."""
    paths, stored = torch.randn(3, 4, 2).double(), torch.randn(2, 2).double()
    fig = figures.trajectories(paths, stored, [0.95, 0.8, 0.1])
    (ax,) = fig.axes
    assert names(fig) == ["stored", "first look", "settled", "retrieved", "between", "new"]
    drawn = np.concatenate([line.get_xydata() for line in (*ax.lines[:9:3], ax.lines[9])])
    given = np.concatenate([paths.reshape(-1, 2), stored])
    apart = [np.linalg.norm(each[:, None] - each[None], axis=2) for each in (given, drawn)]
    assert np.allclose(*apart)
    for number, colour in enumerate([*KINDS.values()][:3]):
        line, first, last = ax.lines[3 * number : 3 * number + 3]
        assert np.allclose(first.get_xydata()[0], line.get_xydata()[0])
        assert np.allclose(last.get_xydata()[0], line.get_xydata()[-1])
        assert {line.get_color(), first.get_color(), last.get_color()} == {colour}
    with pytest.raises(UsageError, match="paths \\[N, S \\+ 1, D\\]"):
        figures.trajectories(paths, torch.rand(2, 4), [1.0] * 3)


def test_trajectories_lie_where_codes_vary_most():
    """Codes of three dimensions, one of which hardly varies."""
    paths = torch.randn(5, 6, 3).double() * torch.tensor([0.001, 3.0, 1.0])
    (ax,) = figures.trajectories(paths, torch.zeros(1, 3).double(), [0.1] * 5).axes
    widest = np.ptp(np.concatenate([ax.lines[3 * n].get_xdata() for n in range(5)]))
    assert widest == pytest.approx(np.ptp(paths[..., 1].numpy()), rel=0.2)


# ------------------------------------------------------------------------------------- drawings, and time


@pytest.mark.parametrize(
    ("draw", "words", "arrows"),
    [
        (figures.architecture, {"encoder $e$", "machines\n$R_i,\\ V_i$", "decoder", "$R_i w_i$"}, 11),
        (figures.generative_model, {"history  $h$", "code  $z$", "image  $x$", "$p(r\\,|\\,h)$"}, 5),
    ],
)
def test_drawings_of_the_network_have_all_parts_in_sight(draw, words, arrows):
    (ax,) = draw().axes
    assert words <= {text.get_text() for text in ax.texts}
    assert sum(getattr(text, "arrow_patch", None) is not None for text in ax.texts) == arrows
    for text in ax.texts:
        x, y = text.get_position()
        assert ax.get_xlim()[0] < x < ax.get_xlim()[1]
        assert ax.get_ylim()[0] < y < ax.get_ylim()[1]


COSTS = Fit({"constant": 0.3, "slope": 0.05, "cubic": 4e-8}, {})


def test_theory_is_a_line_for_each_m_with_a_dot_at_the_best_k():
    (ax,) = figures.scaling_theory(COSTS, (100, 400), most=5, unit="ms").axes
    first, *_, last = ax.lines
    assert first.get_ydata() == pytest.approx(COSTS(first.get_xdata(), 100))
    best = optimal(COSTS, 400)
    assert points(last) == [[best, COSTS(best, 400)]]
    assert names(ax) == ["m = 100", "m = 400"]
    far = figures.scaling_theory(COSTS, (400,), most=2).axes[0]
    assert len(far.lines) == 1  # its dot would be out of sight


def test_times_are_dots_and_fits_are_lines():
    times = {(k, m): k + m / 100 for k in (1, 4) for m in (100, 400)}
    falling = Fit({"constant": 2.0, "slope": -1.0}, {})
    fig = figures.scaling_times({"batched": times, "loop": times}, {"batched": COSTS, "loop": falling})
    assert labels(fig.axes) == ["batched", "loop"]
    dots, line = fig.axes[0].lines[2:]
    assert dots.get_xydata().tolist() == [[1, 5], [4, 8]]
    assert line.get_ydata() == pytest.approx(COSTS(line.get_xdata(), 400))
    cut = fig.axes[1].lines[1]
    assert np.isnan(cut.get_ydata()[cut.get_xdata() > 2]).all()  # below 0 there is no line
    assert names(fig) == ["m = 100", "m = 400"]
