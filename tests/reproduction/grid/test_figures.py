"""Every figure of the study is drawn from made-up runs, and says what is not there."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

from mini_lib.errors import UsageError
from mini_lib.reproduction.grid import figures
from mini_lib.reproduction.grid.contrasts import Inside, Interval, Scored, rank_correlation


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
    fig = figures.transfer_map(found, ["rules", "recall"], ["wall", "open"])
    assert words(fig) == ["0.80", "0.55 to 1.05", "not run", "0.25"]
    styles = {text.get_text(): text.get_style() for text in fig.axes[0].texts}
    assert (styles["0.80"], styles["0.25"]) == ("normal", "italic")
    with pytest.raises(UsageError, match="task"):
        figures.transfer_map(found, [], ["wall"])


def test_a_contrast_has_its_mean_and_its_ends_and_one_without_runs_says_so():
    found = {"rules": Interval(0.3, 0.1, 0.5, 0.01, 5), "recall": None}
    fig = figures.contrast_plot({"the wall": found}, "difference of S")
    bar, dot = fig.axes[0].lines[1:3]
    assert list(bar.get_xdata()) == [0.1, 0.5]
    assert list(dot.get_xdata()) == [0.3]
    assert words(fig) == ["not run"]


def some(trained, new, mechanism="lstm", seed=1):
    return Inside("rules", "d3, m=95", mechanism, seed, 0.0, trained, new)


def test_the_scatter_has_a_dot_for_every_run():
    points = [some(0.1, 0.2), some(0.3, 0.4, seed=2), some(0.5, 0.6, "esbn")._replace(family="recall")]
    fig = figures.inside_scatter(points)
    assert [len(line.get_xdata()) for line in fig.axes[1].lines] == [2, 1]
    assert list(fig.axes[1].lines[0].get_xdata()) == [0.1, 0.3]
    assert list(fig.axes[0].lines[0].get_xdata()) == [0.0, 0.0]


def test_a_correlation_is_of_ranks_within_tasks_and_not_between_them():
    """One task is hard for all, and one easy; within each the signal says who is better, or the contrary."""
    for sign in (1, -1):
        points = [
            some(level + sign * x, level + x, name, seed)._replace(task=task)
            for task, level in (("hard", 0.0), ("easy", 0.5))
            for name, x in {"a": 0.1, "b": 0.2, "c": 0.3, "d": 0.4}.items()
            for seed in (1, 2)
        ]
        found = rank_correlation(points, draws=50)
        assert found.mean == pytest.approx(sign)
        assert found.runs == 4
    assert rank_correlation([point for point in points if point.mechanism in "ab"]) is None
