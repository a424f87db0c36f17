"""What the figures of the mixture draw is what they were given."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.colors import to_hex

from mini_lib.errors import UsageError
from mini_lib.reproduction.kanerva import figures
from mini_lib.reproduction.kanerva.figures.mixture import CORNERS

pytestmark = pytest.mark.usefixtures("headless")


@pytest.fixture
def headless():
    """Draw without a screen, and leave no figure open."""
    mpl.use("agg")
    yield
    plt.close("all")


def told(of):
    return [text.get_text() for text in of.get_legend().get_texts()]


def test_one_machine_alone_is_a_corner_and_even_weights_the_middle():
    third = 1 / 3
    weights = torch.tensor([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [third, third, third], [0.5, 0.5, 0]])
    fig = figures.choices({"cold": weights, "warm": weights[3:]})
    cold, warm = fig.axes
    assert (cold.get_title(), warm.get_title()) == ("cold", "warm")
    dots = next(line for line in cold.lines if line.get_marker() == "o").get_xydata()
    middle = CORNERS.mean(0)
    np.testing.assert_allclose(dots, [*CORNERS, middle, (CORNERS[0] + CORNERS[1]) / 2], atol=1e-6)
    sides = np.linalg.norm(CORNERS - np.roll(CORNERS, 1, axis=0), axis=1)
    np.testing.assert_allclose(sides, 1)
    for text, corner in zip(cold.texts, CORNERS, strict=True):
        away = np.array(text.get_position())
        assert np.linalg.norm(away - middle) > np.linalg.norm(corner - middle)
        assert np.linalg.norm(away - corner) < 0.2
    assert [text.get_text() for text in cold.texts] == ["1", "2", "3"]
    for wrong in ({}, {"two": weights[:, :2]}, {"one": weights[0]}):
        with pytest.raises(UsageError, match="three machines"):
            figures.choices(wrong)


def test_usage_is_a_line_for_each_machine_over_the_classes():
    means = torch.arange(30.0).reshape(10, 3)
    means[4, 1] = float("nan")
    fig = figures.usage({"k = 3": means, "k = 2": means[:, :2]}, ylabel="said")
    left, right = fig.axes
    assert (left.get_title(), right.get_title(), left.get_ylabel()) == ("k = 3", "k = 2", "said")
    for ax, number in ((left, 3), (right, 2)):
        assert len(ax.lines) == number
        for machine, line in enumerate(ax.lines):
            np.testing.assert_array_equal(line.get_xdata(), range(10))
            np.testing.assert_array_equal(line.get_ydata(), means[:, machine])
    assert told(right) == ["machine 1", "machine 2"]
    assert len({line.get_color() for line in left.lines}) == 3
    assert left.get_ylim()[0] == 0
    for wrong in ({}, {"k": means[:9]}, {"k": means[:, 0]}):
        with pytest.raises(UsageError, match=r"\[10, K\]"):
            figures.usage(wrong)


def test_losses_against_k_have_a_dot_for_each_run_and_lines_through_means():
    lines = {"mixture": {3: [9.0, 11.0], 1: [5.0], 2: []}, "product": {1: [4.0], 15: [6.0]}}
    fig = figures.against_k(lines, {"mixture": {1: [7.0], 3: [8.0, 14.0]}}, ylabel="nats")
    ax = fig.axes[0]
    drawn = [(line.get_linestyle(), line.get_marker(), line.get_xydata().tolist()) for line in ax.lines]
    through = [points for look, _, points in drawn if look in ("-", ":")]
    assert through == [[[1, 5], [3, 10]], [[1, 7], [3, 11]], [[1, 4], [15, 6]]]
    assert [look for look, _, _ in drawn if look != "None"] == ["-", ":", "-"]
    dots = [(x, y, mark) for look, mark, points in drawn if look == "None" for x, y in points]
    assert sorted(dots) == [
        *[(1, 4, "o"), (1, 5, "o"), (1, 7, "D")],
        *[(3, 8, "D"), (3, 9, "o"), (3, 11, "o"), (3, 14, "D"), (15, 6, "o")],
    ]
    assert {line.get_fillstyle() for line in ax.lines if line.get_marker() == "D"} == {"none"}
    names = [text.get_text() for text in fig.legends[0].get_texts()]
    assert names == ["mixture", "mixture, nothing written", "product"]
    colours = [to_hex(line.get_color()) for line in ax.lines if line.get_linestyle() in ("-", ":")]
    assert colours[0] == colours[1] != colours[2]
    assert ax.get_xticks().tolist() == [1, 2, 3, 15]
    assert (ax.get_ylim()[0], ax.get_ylabel()) == (0, "nats")


def test_a_control_belongs_to_a_line_and_something_has_to_be_there():
    with pytest.raises(UsageError, match="no line is called 'mixtur'"):
        figures.against_k({"mixture": {1: [1.0]}}, {"mixtur": {1: [1.0]}})
    with pytest.raises(UsageError, match="nothing to draw"):
        figures.against_k({})


def test_lines_without_any_run_say_so():
    ax = figures.against_k({"mixture": {1: [], 3: []}}, {"mixture": {1: []}}).axes[0]
    assert [text.get_text() for text in ax.texts] == ["not run"]
    assert ax.get_xticks().tolist() == [1, 3]
    assert len(ax.get_yticks()) == 0
    assert not figures.against_k({"mixture": {1: [2.0]}}).axes[0].texts
