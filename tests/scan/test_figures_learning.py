"""Figures of many runs: what they draw, and that nothing is left out."""

import pytest

from mini_lib.errors import UsageError
from mini_lib.reproduction import Cell, Comparison, Measured, Printed
from mini_lib.reproduction.scan import figures
from scan.drawn import texts

pytestmark = pytest.mark.usefixtures("headless")


def comparison(values=(90.0, 70.0, 50.0, 40.0), paper=78.4, diverged=0):
    cell = Cell("scan.table1", "row", "Add jump", {"model": "syntactic_attention"}, 25, "scan.table1")
    printed = None if paper is None else Printed(paper, 27.4, "SD", 25, "%")
    return Comparison(cell, printed, Measured(tuple(values), diverged))


def record(scores=(30.0, 60.0, 50.0), best=10, diverged=False):
    checks = [{"epoch": 5 * (i + 1), "test_accuracy": score} for i, score in enumerate(scores)]
    metrics = {"test_accuracy": scores[1], "last_test_accuracy": scores[-1], "best_epoch": best}
    curve = {"update": [1, 11, 21, 31], "loss": [4.0, 2.0, 1.0, 0.0], "score": [0.0, 100.0, 50.0, 70.0]}
    return {"metrics": metrics, "checks": checks, "diverged": diverged, "curve": curve}


def test_seeds_stand_beside_what_the_paper_prints():
    groups = {"Add jump": comparison(), "Length": comparison((), None)}
    fig = figures.accuracies(groups, {"Add jump": 91.0})
    ax = fig.axes[0]
    dots = [line for line in ax.lines if line.get_marker() == "o"]
    assert dots[0].get_ydata().tolist() == [90, 70, 50, 40]
    heights = [segment[0][1] for part in ax.collections for segment in part.get_segments()]
    assert heights[:2] == [62.5, 60]  # mean, median
    assert [segment.tolist() for segment in ax.collections[2].get_segments()] == [
        [[0.42, pytest.approx(51)], [0.42, pytest.approx(105.8)]]
    ]
    marks = {line.get_marker(): line.get_ydata()[0] for line in ax.lines if line.get_marker() in "D^"}
    assert marks == {"D": 78.4, "^": 91.0}
    assert texts(ax) == ["n=4", "not run"]
    assert len(fig.legends[0].get_texts()) == 4


def test_accuracies_without_medians_runs_or_sense():
    assert len(figures.accuracies({"a": comparison(diverged=2)}).legends[0].get_texts()) == 3
    assert texts(figures.accuracies({"a": comparison(diverged=2)}).axes[0]) == ["n=4, 2 diverged"]
    assert texts(figures.accuracies({"a": comparison(())}).axes[0]) == ["not run"]
    with pytest.raises(UsageError, match="at least one comparison"):
        figures.accuracies({})
    with pytest.raises(UsageError, match="no group is called 'b'"):
        figures.accuracies({"a": comparison()}, {"b": 91.0})


def test_checkpoints_are_drawn_seed_by_seed_and_the_chosen_one_ringed():
    lone = {"metrics": {"test_accuracy": 1.0}, "diverged": False}
    ax = figures.checkpoints([record(), record((10.0, 20.0, 90.0), best=15), lone]).axes[0]
    first, ring, second, other = ax.lines
    assert first.get_xydata().tolist() == [[5, 30], [10, 60], [15, 50]]
    assert ring.get_xydata().tolist() == [[10, 60]]
    assert (second.get_ydata().tolist(), other.get_xydata().tolist()) == ([10, 20, 90], [[15, 90]])
    assert ax.get_legend().get_texts()[0].get_text() == "one seed (2 runs)"
    assert ax.get_xticks().tolist() == [5, 10, 15]
    with pytest.raises(UsageError, match="no record here has checkpoints"):
        figures.checkpoints([lone])


def test_best_against_last_leaves_out_what_diverged():
    ax = figures.best_and_last([record(), record(diverged=True), record((1.0, 2.0, 3.0))]).axes[0]
    assert ax.lines[1].get_xydata().tolist() == [[50, 60], [3, 2]]
    with pytest.raises(UsageError, match="no run here has a best and a last"):
        figures.best_and_last([record(diverged=True)])


def test_learning_curves_are_means_over_runs_in_blocks():
    runs = [record(), record(), record(diverged=True)]
    line = figures.learning_curves({"net": runs}).axes[0].lines[0]
    assert line.get_ydata().tolist() == [0, 100, 50, 70]
    fig = figures.learning_curves({"net": runs}, of="loss", window=2)
    assert fig.axes[0].lines[0].get_xydata().tolist() == [[6, 3], [26, 0.5]]
    assert fig.axes[0].get_ylabel() == "loss"
    assert fig.axes[0].get_legend().get_texts()[0].get_text() == "net (n=2)"
    with pytest.raises(UsageError, match="no finished run of 'net'"):
        figures.learning_curves({"net": [record(diverged=True)]})
