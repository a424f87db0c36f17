"""What the figures of chapter 2 draw is what they were given."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex

from mini_lib.errors import UsageError
from mini_lib.reproduction.kanerva import footnote, scaling
from mini_lib.reproduction.kanerva.figures import coupling
from mini_lib.reproduction.kanerva.figures import scaling as drawn

pytestmark = pytest.mark.usefixtures("headless")


@pytest.fixture
def headless():
    """Draw without a screen, and leave no figure open."""
    mpl.use("agg")
    yield
    plt.close("all")


READ = footnote.printed()


def dots(line):
    return line.get_xydata().tolist()


def labels(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def times():
    return scaling.Times((1, 2, 4), (8, 16), np.array([[3.0, 9.0], [2.0, 5.0], [2.5, 3.0]]))


# ------------------------------------------------------------------------------------------------ times


def test_scaling_theory_draws_the_model_and_marks_the_best():
    ax = drawn.scaling_theory(READ, (50, 400, 600), most=4).axes[0]
    curves = [line for line in ax.lines if line.get_marker() == "None"]
    marks = [line for line in ax.lines if line.get_marker() == "o"]
    for m, line in zip((50, 400, 600), curves, strict=True):
        x, y = line.get_data()
        assert (x[0], x[-1]) == (1, 4)
        assert np.allclose(y, READ(x, m))
        assert min(y) == pytest.approx(READ(np.clip(scaling.optimal(READ, m), 1, 4), m), rel=1e-3)
    # k_opt of 50 columns is below 1, that of 600 above 4
    assert dots(marks[0]) == [[pytest.approx(3.628, abs=1e-3), pytest.approx(float(READ(3.6283, 400)))]]
    assert len(marks) == 1
    assert labels(ax) == ["m = 50", "m = 400", "m = 600"]
    assert ax.get_yscale() == "log"
    assert len({line.get_color() for line in curves}) == 3


def test_scaling_theory_says_what_is_wrong():
    for wrong in ({"totals": ()}, {"most": 1}):
        with pytest.raises(UsageError):
            drawn.scaling_theory(READ, **wrong)
    with pytest.raises(UsageError, match="k_opt"):
        drawn.scaling_theory(scaling.fit(times(), 8, ("constant", "slope")))


def test_scaling_times_draws_every_time_and_the_fit():
    fitted = scaling.Fit({"constant": 1.0, "slope": -0.3}, {})  # below 0 from k = 3.33
    fig = drawn.scaling_times({"batched": times(), "loop": times()}, {"loop": fitted})
    left, right = fig.axes
    assert [ax.get_title() for ax in fig.axes] == ["batched", "loop"]
    assert [dots(line) for line in left.lines] == [[[1, 3], [2, 2], [4, 2.5]], [[1, 9], [2, 5], [4, 3]]]
    points = [line for line in right.lines if line.get_marker() == "o"]
    lines = [line for line in right.lines if line.get_marker() == "None"]
    assert [dots(line) for line in points] == [dots(line) for line in left.lines]
    assert [a.get_color() == b.get_color() for a, b in zip(points, lines, strict=True)] == [True, True]
    for line in lines:
        x, y = line.get_data()
        assert (x[0], x[-1]) == (pytest.approx(1), pytest.approx(4))
        below = x > 10 / 3
        assert np.isnan(y[below]).all()
        assert np.allclose(y[~below], 1 - 0.3 * x[~below])
    assert [text.get_text() for text in right.get_xticklabels()] == ["1", "2", "4"]
    assert [text.get_text() for text in fig.legends[0].get_texts()] == ["m = 8", "m = 16"]


def test_scaling_times_says_what_is_wrong():
    with pytest.raises(UsageError, match="nothing to draw"):
        drawn.scaling_times({}, {})
    with pytest.raises(UsageError, match="no times for the fits of loop"):
        drawn.scaling_times({"batched": times()}, {"loop": READ})


def test_footnote_draws_all_readings_and_colours_the_likeliest():
    found = footnote.assignments()
    forced = {"a": footnote.error_ratios(), "b": (5.0, 1e-7)}
    ax = drawn.footnote(found, forced).axes[0]
    *rings, crosses = ax.lines
    assert [dots(line)[0] for line in rings] == [list(each.ratios) for each in found]
    assert dots(crosses) == [list(forced["a"]), list(forced["b"])]
    assert [to_hex(line.get_color()) == drawn.MARK.lower() for line in rings] == [True] + 5 * [False]
    assert ax.texts[0].get_text() == "a: cubic, b: constant, c: slope"
    assert [text.xy for text in ax.texts] == [each.ratios for each in found]
    with pytest.raises(UsageError):
        drawn.footnote([], forced)


# ------------------------------------------------------------------------------------------------ coupling

ERRORS = {"shared error": {1: [0.1, 0.3], 6: [0.5, 0.7]}, "something": {6: [0.9], 1: [0.2]}}


def test_read_errors_draws_every_seed_and_the_means():
    fig = coupling.read_errors({"as read": ERRORS, "rescaled": {"shared error": {6: [0.4]}}})
    left, right = fig.axes
    assert dots(left.lines[0]) == [[0, 0.1], [0, 0.3], [1, 0.5], [1, 0.7]]
    assert dots(left.lines[1]) == [[0, pytest.approx(0.2)], [1, pytest.approx(0.6)]]
    assert dots(left.lines[2]) == [[1, 0.9], [0, 0.2]]
    assert dots(left.lines[3]) == [[0, 0.2], [1, 0.9]]
    assert dots(right.lines[1]) == [[0, 0.4]]
    assert [line.get_color() for line in left.lines[::2]] == [coupling.BLUE, coupling.PINK]
    assert [text.get_text() for text in left.get_xticklabels()] == ["1", "6"]
    assert [ax.get_title() for ax in fig.axes] == ["as read", "rescaled"]
    assert [text.get_text() for text in fig.legends[0].get_texts()] == ["shared error", "something"]
    for wrong in ({}, {"empty": {}}, {"as read": ERRORS, "empty": {"shared error": {}}}):
        with pytest.raises(UsageError):
            coupling.read_errors(wrong)


def test_colours_of_the_named_memories_are_their_own():
    assert len(set(coupling.COLOURS.values())) == len(coupling.COLOURS)
    assert not set(coupling.COLOURS.values()) & set(coupling.OTHERS)
    many = coupling._colours([str(i) for i in range(9)])
    assert list(many.values())[: len(coupling.OTHERS)] == list(coupling.OTHERS)


@pytest.mark.parametrize(("machines", "columns"), [(1, 6), (3, 2), (15, 2)])
def test_by_machine_shows_addresses_and_what_each_machine_says(machines, columns):
    random = np.random.default_rng(0)
    w = random.normal(size=(machines, columns))
    item, answer, parts = random.random((2, 2)), random.random((2, 2)), random.random((machines, 2, 2))
    fig = coupling.by_machine(w, item, answer, parts)
    bars = next(ax for ax in fig.axes if ax.patches)
    assert [bar.get_height() for bar in bars.patches] == pytest.approx(w.ravel().tolist())
    colours = [to_hex(bar.get_facecolor()) for bar in bars.patches]
    for i in range(machines):
        assert len(set(colours[i * columns : (i + 1) * columns])) == 1
    assert all(colours[i * columns] != colours[(i + 1) * columns] for i in range(machines - 1))
    shown = [ax for ax in fig.axes if ax.images]
    assert [ax.get_title() for ax in shown] == [
        "item",
        "answer",
        *(f"machine {i + 1}" for i in range(machines)),
    ]
    for ax, picture in zip(shown, (item, answer, *parts), strict=True):
        assert ax.images[0].get_array().tolist() == picture.tolist()


def test_by_machine_says_what_is_wrong():
    picture = np.zeros((2, 2))
    with pytest.raises(UsageError, match="parts of 2"):
        coupling.by_machine(np.zeros((3, 2)), picture, picture, np.zeros((2, 2, 2)))
    with pytest.raises(UsageError, match="room for 15"):
        coupling.by_machine(np.zeros((16, 2)), picture, picture, np.zeros((16, 2, 2)))
