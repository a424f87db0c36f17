"""Every figure of the study is drawn from made-up runs, and says what is not there."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

from mini_lib.datasets import glyphs
from mini_lib.errors import UsageError
from mini_lib.grid.networks import MODELS
from mini_lib.grid.tasks import items
from mini_lib.reproduction.grid import figures
from mini_lib.reproduction.grid.contrasts import Interval, Scored


@pytest.fixture(autouse=True)
def headless():
    """Draw without a screen, and leave no figure open."""
    mpl.use("agg")
    yield
    plt.close("all")


def words(fig):
    return [text.get_text() for ax in fig.axes for text in ax.texts]


def test_the_map_has_means_intervals_and_what_was_not_learned_or_not_run():
    found = {
        ("rules", "wall"): {seed: Scored(1.0, new, True) for seed, new in enumerate((0.9, 0.8, 0.7))},
        ("rules", "open"): {1: Scored(0.5, 0.25, False)},
        ("recall", "wall"): {},
    }
    tasks = {"rules": "two rules", "recall": "recall"}
    fig = figures.transfer_map(found, tasks, ["wall", "open"])
    new, familiar, _ = fig.axes
    assert [text.get_text() for text in familiar.texts] == ["1.00", "± 0.00", "not run", "0.50", "1 run"]
    half = 4.303 * 0.1 / 3**0.5  # Student's t for two degrees of freedom
    assert [text.get_text() for text in new.texts] == ["0.80", f"± {half:.2f}", "not run", "0.25", "1 run"]
    styles = {text.get_text(): text.get_style() for text in new.texts}
    assert (styles["0.80"], styles["0.25"]) == ("normal", "italic")
    assert [text.get_text() for text in new.get_xticklabels()] == ["two rules", "recall"]
    with pytest.raises(UsageError, match="task"):
        figures.transfer_map(found, {}, ["wall"])


def test_a_task_without_new_content_is_crossed_out_there():
    found = {("name", "wall"): {1: Scored(0.5, float("nan"), True)}}
    new, familiar, _ = figures.transfer_map(found, {"name": "name"}, ["wall"]).axes
    assert [text.get_text() for text in familiar.texts] == ["0.50", "1 run"]
    assert not new.texts
    assert list(new.lines[0].get_ydata()) == [0, 0]


@pytest.mark.parametrize("name", MODELS)
def test_every_network_of_the_study_has_a_title_without_a_word_of_the_code(name):
    assert "tied" not in figures.title(name)
    assert "learned" not in figures.title(name)


def test_a_problem_of_match_has_eight_items_and_a_frame_around_the_right_one():
    problems = items(3, torch.arange(15), np.random.default_rng(0))
    images = glyphs()
    axes = figures.matching(images, problems, 2).axes
    answer = int(problems.answers[2])
    order = [axes[row * 5 + column] for row in range(2) for column in range(4)]
    framed = [place for place, ax in enumerate(order) if ax.spines["top"].get_linewidth() == 3]
    assert framed == [answer]
    right, asked = (np.asarray(ax.images[0].get_array()) for ax in (order[answer], axes[4]))
    np.testing.assert_array_equal(right[:, :64], asked[:, :64])
    np.testing.assert_array_equal(right, torch.cat([images[i] for i in problems.ids[2, answer]], dim=1))


def test_a_contrast_has_its_mean_and_its_ends_and_one_without_runs_says_so():
    found = {"rules": Interval(0.3, 0.1, 0.5, 0.01, 5), "recall": None}
    fig = figures.contrast_plot({"the wall": found}, {}, "difference of S")
    bar, dot = fig.axes[0].lines[1:3]
    assert list(bar.get_xdata()) == [0.1, 0.5]
    assert list(dot.get_xdata()) == [0.3]
    assert words(fig) == ["not run"]
    two = {"the wall": found, "learning": {"rules": found["rules"]}}
    assert words(figures.contrast_plot(two, {}, "difference of S")) == ["not run"]  # learning, not of recall


def test_contrasts_of_pairs_that_learned_stand_beneath_hollow():
    found = {"rules": Interval(0.3, 0.1, 0.5, 0.01, 5), "match": Interval(0.1, 0.0, 0.2, 0.01, 5)}
    learned = {"the wall": {"rules": Interval(0.2, 0.15, 0.25, 0.01, 5), "match": None}}
    fig = figures.contrast_plot({"the wall": found}, learned, "difference of S")
    hollow = [line for line in fig.axes[0].lines if line.get_fillstyle() == "none" and len(line.get_xdata())]
    assert [list(line.get_xdata()) for line in hollow] == [[0.2]]
    assert 0 < hollow[0].get_ydata()[0] < 0.5


def test_twins_stand_side_by_side_in_the_colours_of_the_key():
    _, ax = plt.subplots()
    figures.twin_dots(ax, 2, [1.0, 2.0, 6.0], [4.0], middle=np.median)
    figures.wall_key(ax)
    closed, opened, *key = ax.lines
    assert list(closed.get_ydata()) == [1.0, 2.0, 6.0]
    assert max(closed.get_xdata()) < 2 < min(opened.get_xdata())
    assert [line.get_color() for line in key] == [closed.get_color(), opened.get_color()]
    bars = [each.get_segments()[0] for each in ax.collections if np.ptp(each.get_segments()[0][:, 0])]
    assert [bar[0, 1] for bar in bars] == [2.0, 4.0]
