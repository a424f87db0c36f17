"""The words next to a verdict, and the dots of a line."""

import pytest

from mini_lib.reproduction import Records, compare
from mini_lib.reproduction.cells import PAPERS, cells_of
from mini_lib.reproduction.glance import at_chance, beside, strip


@pytest.fixture(scope="module")
def found():
    return {each.cell.id: each for paper in PAPERS for each in compare(cells_of(paper), Records())}


def test_the_size_of_a_difference_is_next_to_its_word(found):
    told = {
        "esbn.table9/ESBN + TCN/m=98": "equal",
        "esbn.table10/NTM + TCN/m=95": "11.1 points lower, give or take 10.9",
        "esbn.table16/ESBN (MLP)/m=95": "0.8 points lower, give or take 0.6",
        "functions.table1/1d transformer/rbf": "42 % lower, give or take 40 %",
    }
    assert {entry: beside(found[entry]) for entry in told} == told


def test_unclear_says_what_the_runs_cannot_tell(found):
    far = found["functions.table1/1d transformer/all"]
    near = found["scan.table1/Syntactic Attention/Add jump"]
    assert far.verdict == near.verdict == "unclear"
    assert beside(far) == "35 % lower, give or take 46 %"
    assert beside(near) == "1 point lower, give or take 29"


def test_two_scores_at_chance_are_marked(found):
    each = found["esbn.table12/LSTM/m=95"]
    assert each.verdict == "not reproduced"
    assert beside(each, 25.0) == "both at chance, 0.6 points apart"
    assert beside(found["esbn.table12/LSTM + TCN/m=95"], 25.0) == "1.3 points lower"
    assert at_chance(each, 25.0)
    assert not at_chance(each, None)
    assert beside(found["scan.table1/GRU + attn/Length"]) == ""


def test_a_dot_lies_where_its_run_is():
    drawn = strip(100.0, [[0.0, 100.0], [50.0]], (50.0, 10.0), {25.0: "chance"})
    assert drawn.count("<circle") == 3
    assert [f'cx="{x:.1f}"' in drawn for x in (5, 155, 80)] == [True] * 3
    assert 'M65.0 7H95.0"' in drawn
    assert "M42.5 1V29" in drawn
    assert drawn.count("ring") == 1
