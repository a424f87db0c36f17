"""Every value that a figure of one memory draws is the value that it was given."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.colors import to_hex

from mini_lib.errors import UsageError
from mini_lib.kanerva.memory import State, weights_from_eta, write_item
from mini_lib.reproduction.kanerva import figures
from mini_lib.reproduction.plotting import OKABE_ITO

BLUE, VERMILION, GREEN = (colour.lower() for colour in OKABE_ITO[:3])


@pytest.fixture(autouse=True)
def headless():
    mpl.use("agg")
    yield
    plt.close("all")


def names(of):
    legend = of.get_legend() if hasattr(of, "get_legend") else of.legends[0]
    return [text.get_text() for text in legend.get_texts()]


def of_colour(ax, colour):
    return [line for line in ax.lines if to_hex(line.get_color()) == colour]


# ------------------------------------------------------------------------------------------------ pictures


def test_pictures_stand_in_rows_in_the_order_given():
    rows = {"written": torch.rand(3, 2, 2), "read": torch.rand(3, 2, 2)}
    fig = figures.pictures(rows, titles=["a", "b", "c"], limits=(-1.0, 2.0))
    assert len(fig.axes) == 6
    flat = torch.cat(list(rows.values()))
    for ax, picture in zip(fig.axes, flat, strict=True):
        shown = ax.images[0]
        assert np.allclose(shown.get_array(), picture)
        assert shown.get_clim() == (-1.0, 2.0)
        assert shown.get_cmap().name == "gray_r"  # 1 is ink
        assert not len(ax.get_xticks()) + len(ax.get_yticks())
    assert [ax.get_ylabel() for ax in fig.axes] == ["written", "", "", "read", "", ""]
    assert [ax.get_title() for ax in fig.axes] == ["a", "b", "c", "", "", ""]


def test_pictures_that_do_not_fit_are_refused():
    with pytest.raises(UsageError, match="at least one row"):
        figures.pictures({})
    with pytest.raises(UsageError, match="same number of pictures"):
        figures.pictures({"two": torch.rand(2, 8, 8), "three": torch.rand(3, 8, 8)})
    with pytest.raises(UsageError, match="same number of pictures"):
        figures.pictures({"flat": torch.rand(2, 64)})
    with pytest.raises(UsageError, match="2 columns of pictures with 1 titles"):
        figures.pictures({"two": torch.rand(2, 8, 8)}, titles=["one"])


# ------------------------------------------------------------------------------------------------- courses


def test_courses_are_means_in_a_band_of_two_standard_errors():
    runs = torch.tensor([[1.0, 4.0], [3.0, 4.0]])
    fig = figures.courses(
        [1, 2],
        {"many": runs, "one": [0.5, 0.6]},
        xlabel="items",
        ylabel="error",
        floors={"one": [0.1, 0.2], "many": runs - 1},
        mark=1.5,
    )
    ax = fig.axes[0]
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
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("items", "error")
    assert names(ax) == ["many", "one"]


def test_courses_keep_zero_in_sight_and_cut_nothing_off():
    labels = {"xlabel": "", "ylabel": ""}
    assert figures.courses([1, 2], {"up": [5.0, 6.0]}, **labels).axes[0].get_ylim()[0] == 0
    assert figures.courses([1, 2], {"down": [-5.0, 6.0]}, **labels).axes[0].get_ylim()[0] <= -5
    logarithmic = figures.courses([1, 2], {"up": [5.0, 6.0]}, log=True, **labels).axes[0]
    assert logarithmic.get_yscale() == "log"
    assert logarithmic.get_ylim()[0] > 0


def test_many_courses_have_their_names_below():
    few, many = ({str(n): [1.0, n] for n in range(count)} for count in (4, 5))
    fig = figures.courses([1, 2], few, xlabel="", ylabel="")
    assert not fig.legends
    fig = figures.courses([1, 2], many, xlabel="", ylabel="")
    assert names(fig) == list(many)
    assert fig.axes[0].get_legend() is None


def test_courses_that_do_not_fit_are_refused():
    labels = {"xlabel": "", "ylabel": ""}
    with pytest.raises(UsageError, match="at least one line"):
        figures.courses([1, 2], {}, **labels)
    with pytest.raises(UsageError, match="no line is called 'b'"):
        figures.courses([1, 2], {"a": [1, 2]}, floors={"b": [1, 2]}, **labels)
    for wrong in ([1.0, 2.0, 3.0], torch.zeros(2, 2, 2)):
        with pytest.raises(UsageError, match="where x has 2 points"):
            figures.courses([1, 2], {"a": wrong}, **labels)


# ------------------------------------------------------------------------------------------- what is known


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
    assert [ax.get_title() for ax in fig.axes] == ["before", "after one item"]
    assert names(fig.axes[0]) == ["row 1", "row 2", "row 3"]


def test_lines_are_where_a_row_says_its_feature_and_the_arrow_is_the_address():
    before, after, w, code = two_columns(2)
    left, right = figures.geometry(before, after, w, code).axes
    for value, colour in zip(code.tolist(), (BLUE, VERMILION), strict=True):
        line = of_colour(right, colour)[-1]
        assert line.get_linestyle() == ":"
        assert line.get_xydata() @ w.numpy() == pytest.approx(value, abs=1e-9)
    assert right.texts[0].xy == pytest.approx(w.tolist())
    assert [text.get_text() for text in right.texts] == ["", "w"]
    assert not left.texts
    assert not of_colour(left, GREEN)


def test_a_memory_of_another_shape_cannot_be_drawn_in_the_plane():
    before, after, w, code = two_columns()
    wide = State(torch.zeros(1, 1, 3, 4), torch.eye(4)[None, None], torch.zeros(1, 1))
    many = State(torch.zeros(1, 1, 4, 2), torch.eye(2)[None, None], torch.zeros(1, 1))
    for wrong in ((wide, wide, w, code), (before, wide, w, code), (many, many, w, torch.zeros(4))):
        with pytest.raises(UsageError, match="one machine of 1 to 3 rows and 2 columns"):
            figures.geometry(*wrong)
    with pytest.raises(UsageError, match="1 to 3 rows"):
        figures.geometry(before, after, w, code[:2])


def test_covariances_share_one_scale_about_zero():
    panels = {"prior": torch.eye(3), "later": torch.tensor([[0.2, -1.5, 0], [-1.5, 0.1, 0], [0, 0, 0.3]])}
    first, second, bar = figures.covariances(panels).axes
    for ax, (name, V) in zip((first, second), panels.items(), strict=True):
        assert np.allclose(ax.images[0].get_array(), V)
        assert ax.images[0].get_clim() == (-1.5, 1.5)
        assert ax.get_title() == name
    assert bar.get_ylabel() == "covariance"
    with pytest.raises(UsageError, match="at least one covariance"):
        figures.covariances({})


# ------------------------------------------------------------------------------------- novelty, one item


def test_every_code_is_a_dot_of_its_group():
    panels = {
        "1 written": {"written": torch.tensor([-1.0]), "noise": torch.tensor([-8.0, -9.0])},
        "45 written": {"written": [-2.0, -3.0], "noise": [-7.0, -5.0]},
    }
    fig = figures.novelty(panels)
    for ax, (title, groups) in zip(fig.axes, panels.items(), strict=True):
        assert ax.get_title() == title
        assert [tick.get_text() for tick in ax.get_xticklabels()] == ["written", "noise"]
        for line, values, colour in zip(ax.lines, groups.values(), (BLUE, VERMILION), strict=True):
            assert line.get_ydata().tolist() == [float(value) for value in values]
            assert to_hex(line.get_color()) == colour
    assert [ax.get_ylabel() for ax in fig.axes] == ["log likelihood (nats)", ""]
    assert fig.axes[0].get_ylim() == fig.axes[1].get_ylim()
    with pytest.raises(UsageError, match="at least one panel"):
        figures.novelty({})
    with pytest.raises(UsageError, match="same groups"):
        figures.novelty({"a": {"x": [1.0]}, "b": {"y": [1.0]}})


def test_one_item_has_a_dot_now_on_either_curve():
    claimed, squares = [1.0, 0.5, 0.25], [0.4, 0.2, 0.1]
    asked, answer = torch.zeros(8, 8), torch.ones(8, 8)
    left, middle, right = figures.one_item(asked, answer, 1, 2, claimed, squares).axes
    assert np.array_equal(left.images[0].get_array(), asked)
    assert np.array_equal(middle.images[0].get_array(), answer)
    assert [ax.get_title() for ax in (left, middle)] == ["asked", "answered"]
    for colour, values in ((BLUE, claimed), (VERMILION, squares)):
        line, dot = of_colour(right, colour)
        assert line.get_xydata().tolist() == [[n, value] for n, value in enumerate(values)]
        assert dot.get_xydata().tolist() == [[1, values[1]]]
    assert right.lines[-1].get_xdata()[0] == 2
    assert names(right) == ["claimed variance", "squared error"]
    assert right.get_yscale() == "log"


def test_one_item_needs_both_curves_up_to_now():
    asked = torch.zeros(8, 8)
    for now, written, claimed, squares in (
        (3, 1, [1, 1, 1], [1, 1, 1]),
        (1, 3, [1, 1, 1], [1, 1, 1]),
        (1, 1, [1, 1, 1], [1, 1]),
        (-1, 1, [1, 1], [1, 1]),
        (1, -1, [1, 1], [1, 1]),
    ):
        with pytest.raises(UsageError, match="give both curves"):
            figures.one_item(asked, asked, now, written, claimed, squares)
