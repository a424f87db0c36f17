"""Losses are drawn and told as they were measured, and what was not run says so."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest
from matplotlib.colors import to_hex

from mini_lib.errors import UsageError
from mini_lib.reproduction import Comparison, Measured
from mini_lib.reproduction.kanerva import figures
from mini_lib.reproduction.kanerva.cells import CELLS
from mini_lib.reproduction.kanerva.figures.losses import EMPTY, LOSS
from mini_lib.reproduction.plotting import OKABE_ITO

pytestmark = pytest.mark.usefixtures("headless")


@pytest.fixture
def headless():
    """Draw without a screen, and leave no figure open."""
    mpl.use("agg")
    yield
    plt.close("all")


CURVE = {"update": [1, 11, 21], "loss": [9.0, 8.0, 7.0], "score": [6.0, 5.0, 4.0]}
TABLE = [cell for cell in CELLS if cell.table == "kanerva.fig1e" and cell.variant == "tutorial"]


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


GIVEN = [([20.0, 24.0, 22.0], [26.0, 27.0, 28.0]), ([], []), ([30.0], [31.0])]


def drawn(ax):
    """(x, y, marker) of every dot."""
    return [(x, y, line.get_marker()) for line in ax.lines for x, y in line.get_xydata().tolist()]


def test_every_run_is_a_dot_in_its_row_and_the_control_stands_beside_it():
    fig = figures.losses(cells(GIVEN), ylabel="nats")
    ax = fig.axes[0]
    names = [text.get_text() for text in ax.get_xticklabels()]
    assert names == ["k = 1", "k = 2", "k = 3"]
    for row, (losses, empty) in enumerate(GIVEN):
        for values, marker in ((losses, "o"), (empty, "D")):
            found = [(x, y) for x, y, kind in drawn(ax) if kind == marker and abs(x - row) < 0.5]
            assert sorted(y for _, y in found) == sorted(values)
            assert all(x < row if marker == "o" else x > row for x, _ in found)
    assert {line.get_fillstyle() for line in ax.lines if line.get_marker() == "D"} == {"none"}
    assert sorted(float(bar.get_segments()[0][0][1]) for bar in ax.collections) == [22.0, 27.0, 30.0, 31.0]
    assert [(text.get_text(), text.get_position()[0]) for text in ax.texts] == [("not run", 1)]
    assert [text.get_text() for text in fig.legends[0].get_texts()] == [LOSS, EMPTY]
    assert ax.get_ylabel() == "nats"
    assert ax.get_ylim() == (0, pytest.approx(1.08 * 31))
    assert len(ax.get_yticks()) > 1


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
    assert found[2.0] == (OKABE_ITO[2], "full")
    assert found[3.0] == (OKABE_ITO[2], "none")
    assert found[1.0][0] not in (OKABE_ITO[2], found[2.0][0])


def test_a_table_without_any_run_is_drawn_all_the_same():
    ax = figures.losses(cells([([], []), ([], [])])).axes[0]
    assert [text.get_text() for text in ax.texts] == ["not run", "not run"]
    assert not ax.collections
    assert len(ax.get_yticks()) == 0


def test_rows_are_told_with_their_runs():
    head, first, second, third = figures.in_rows(cells(GIVEN)).split("\n")
    assert head.split() == ["loss", "loss,", "nothing", "written", "runs"]
    assert first.split() == ["k", "=", "1", "22", "±", "1.2", "27", "±", "0.58", "3"]
    assert second.split() == ["k", "=", "2", "-", "-", "not", "run"]
    assert third.split() == ["k", "=", "3", "30", "31", "1"]
    assert len({len(line) for line in (head, first, second, third)}) == 1


def test_what_is_not_there_or_there_twice_is_said():
    both = [*cells(GIVEN), *cells(GIVEN)]
    for draw in (figures.losses, figures.in_rows, figures.curves_of):
        with pytest.raises(UsageError, match="there are two cells 'k = 1', 'loss'"):
            draw(both)
        with pytest.raises(UsageError, match="there are no cells"):
            draw([])
    with pytest.raises(ValueError, match="did you mean 'loss'"):
        figures.losses(cells(GIVEN), ["los"])
    for wrong in ([], [LOSS] * 5):
        with pytest.raises(UsageError, match="one to 4 columns"):
            figures.losses(cells(GIVEN), wrong)


def test_learning_draws_the_score_of_every_run():
    curves = figures.curves_of(cells(GIVEN))
    assert [len(runs) for runs in curves.values()] == [3, 0, 1]
    other = {"update": [1, 101], "score": [3.0, 2.0]}
    fig = figures.learning(curves | {"live": [other]}, {"nothing written": 5.5}, limits=(0, 9))
    ax = fig.axes[0]
    told = [text.get_text() for text in fig.legends[0].get_texts()]
    assert told == ["k = 1 (3 runs)", "k = 2 (not run)", "k = 3 (1 run)", "live (1 run)"]
    assert ax.get_ylim() == (0, 9)
    of = {
        to_hex(handle.get_color()): name
        for handle, name in zip(fig.legends[0].get_lines(), told, strict=True)
    }
    assert len(of) == 4
    for name, number, points in (
        ("k = 1 (3 runs)", 3, [[1, 6], [11, 5], [21, 4]]),
        ("live (1 run)", 1, [[1, 3], [101, 2]]),
        ("k = 2 (not run)", 0, None),
    ):
        found = [
            line.get_xydata().tolist()
            for line in ax.lines
            if of.get(to_hex(line.get_color())) == name and len(line.get_xdata())
        ]
        assert found == [points] * number
    (floor,) = (line for line in ax.lines if line.get_linestyle() == ":")
    assert set(floor.get_ydata()) == {5.5}
    assert [text.get_text() for text in ax.texts] == ["nothing written"]
    none = figures.learning({"k = 1": []}, {"nothing written": 5.5}).axes[0]
    assert sorted(text.get_text() for text in none.texts) == ["not run", "nothing written"]
    assert len(none.get_xticks()) == 0
    with pytest.raises(UsageError, match="at least one row"):
        figures.learning({})
