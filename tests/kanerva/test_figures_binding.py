"""What the figures of the binding task draw is what they were given."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.colors import to_hex

from mini_lib.errors import UsageError
from mini_lib.kanerva.tasks.rgb import COLOURS
from mini_lib.reproduction.kanerva import figures
from mini_lib.reproduction.kanerva.figures.binding import BLUE, GREEN, VERMILION
from mini_lib.reproduction.kanerva.figures.parts import CHANNELS

pytestmark = pytest.mark.usefixtures("headless")


@pytest.fixture
def headless():
    """Draw without a screen, and leave no figure open."""
    mpl.use("agg")
    yield
    plt.close("all")


def colours_of(lines):
    return [to_hex(line.get_color()) for line in lines]


def pictures(count=2, seed=0):
    return torch.rand(count, 3, 4, 5, generator=torch.Generator().manual_seed(seed))


def test_the_network_is_drawn_with_all_its_parts():
    ax = figures.architecture().axes[0]
    words = [text.get_text() for text in ax.texts]
    assert {"encoder $e$", "machines\n$R_i,\\ V_i$", "decoder", "weights\n$\\gamma_i$", "$R_i w_i$"} <= set(
        words
    )
    low, high = ax.get_xlim()
    assert all(low < text.get_position()[0] < high for text in ax.texts)
    assert len(ax.patches) == 9
    assert [word for word in words if word.startswith("history")]


def test_triplets_stand_row_by_row_in_colour():
    rows = {"item": pictures(), "answer": 1.4 * pictures(seed=1) - 0.2}
    fig = figures.triplets(rows, ["a", "b"])
    shown = [ax.images[0].get_array() for ax in fig.axes]
    for drawn, given in zip(shown, [*rows["item"], *rows["answer"]], strict=True):
        np.testing.assert_allclose(drawn, given.permute(1, 2, 0).clamp(0, 1), rtol=1e-6)
    assert [ax.get_ylabel() for ax in fig.axes] == ["item", "", "answer", ""]
    assert [ax.get_title() for ax in fig.axes] == ["a", "b", "", ""]


@pytest.mark.parametrize(
    ("rows", "titles", "message"),
    [
        ({}, (), "same number of pictures"),
        ({"a": pictures(2), "b": pictures(3)}, (), r"got \{'a': \[2, 3, 4, 5\], 'b': \[3"),
        ({"a": pictures()[:, :1]}, (), r"\[N, 3, H, W\]"),
        ({"a": pictures(), "b": pictures()[0]}, (), "same number of pictures"),
        ({"a": pictures()}, ["one"], "2 columns of pictures with 1 titles"),
    ],
)
def test_pictures_that_do_not_go_together_are_refused(rows, titles, message):
    with pytest.raises(UsageError, match=message):
        figures.triplets(rows, titles)


def test_answering_marks_now_and_when_the_item_is_written():
    item, query, answer = pictures(3)
    course = torch.tensor([9.0, 8.0, 3.0, 4.0])
    fig = figures.answering(item, query, answer, course, now=3, written=2)
    assert [ax.get_title() for ax in fig.axes[:3]] == ["item", "query", "answer"]
    for ax, given in zip(fig.axes, (item, query, answer), strict=False):
        np.testing.assert_allclose(ax.images[0].get_array(), given.permute(1, 2, 0), rtol=1e-6)
    line, dot, mark = fig.axes[3].lines
    assert line.get_xydata().tolist() == [[0, 9], [1, 8], [2, 3], [3, 4]]
    assert dot.get_xydata().tolist() == [[3, 4]]
    assert colours_of([line, dot]) == [GREEN.lower()] * 2
    assert set(mark.get_xdata()) == {2}
    for wrong in ({"now": 4, "written": 0}, {"now": -1, "written": 0}, {"now": 0, "written": 4}):
        with pytest.raises(UsageError, match="the course has to have values"):
            figures.answering(item, query, answer, course, **wrong)


def test_thorns_go_up_for_the_first_machine_and_down_for_the_second():
    gamma = torch.tensor([[0.9, 0.1], [0.25, 0.75], [1.0, 0.0]])
    fig = figures.thorns({"writing": gamma, "reading": gamma.flip(1)})
    assert [ax.get_title() for ax in fig.axes] == ["writing", "reading"]
    for ax, given in zip(fig.axes, (gamma, gamma.flip(1)), strict=True):
        up, down = ([each.tolist() for each in drawn.get_segments()] for drawn in ax.collections)
        for t, (first, second) in enumerate(given.tolist(), start=1):
            assert up[t - 1] == [[t, 0], [t, pytest.approx(first)]]
            assert down[t - 1] == [[t, pytest.approx(-second)], [t, 0]]
        assert [to_hex(drawn.get_colors()[0]) for drawn in ax.collections] == [
            BLUE.lower(),
            VERMILION.lower(),
        ]
    for wrong in ({}, {"writing": torch.ones(3, 3) / 3}, {"writing": gamma[0]}):
        with pytest.raises(UsageError, match="thorns are of two machines"):
            figures.thorns(wrong)


def test_selectivity_has_a_panel_for_each_green_digit_with_red_down_and_blue_across():
    red, green, blue = torch.meshgrid(*[torch.arange(10.0)] * 3, indexing="ij")
    means = (100 * green + 10 * red + blue) / 1000
    means[3, 4, 5] = float("nan")
    fig = figures.selectivity(means, (0.2, 0.8), "weight")
    for digit, ax in enumerate(fig.axes[:10]):
        drawn = ax.images[0].get_array().filled(float("nan"))
        assert ax.get_title() == f"green {digit}"
        assert drawn[7, 2] == pytest.approx((100 * digit + 72) / 1000)
        assert np.isnan(drawn).sum() == (digit == 4)
        assert ax.images[0].get_clim() == (0.2, 0.8)
        assert ax.get_ylabel() == ("red" if digit in (0, 5) else "")
        assert ax.get_xlabel() == ("blue" if digit > 4 else "")
    assert fig.axes[4].images[0].get_array().shape == (10, 10)
    assert np.isnan(fig.axes[4].images[0].get_array().filled(np.nan)[3, 5])
    assert fig.axes[10].get_ylabel() == "weight"
    with pytest.raises(UsageError, match=r"\[10, 10, 10\], got \[10, 10\]"):
        figures.selectivity(means[0])


def test_shares_are_dots_in_the_colour_of_their_channel():
    assert tuple(CHANNELS) == COLOURS
    writing = {"red": [0.5, 0.7], "green": [], "blue": [0.1]}
    reading = {"red": [0.4, 0.6], "green": [0.0], "blue": [0.2]}
    fig = figures.shares({"writing": writing, "reading": reading}, ylabel="explained")
    assert [ax.get_title() for ax in fig.axes] == ["writing", "reading"]
    assert fig.axes[0].get_ylabel() == "explained"
    for ax, found in zip(fig.axes, (writing, reading), strict=True):
        assert [text.get_text() for text in ax.get_xticklabels()] == list(COLOURS)
        assert [line.get_ydata().tolist() for line in ax.lines] == list(found.values())
        assert colours_of(ax.lines) == [CHANNELS[name].lower() for name in COLOURS]
    for wrong in ({}, {"writing": writing, "reading": {"red": []}}):
        with pytest.raises(UsageError, match="at least one run's shares"):
            figures.shares(wrong)
