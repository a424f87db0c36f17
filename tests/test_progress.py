"""What is told of a training: a bar where it can move, lines where it cannot."""

import sys

import pytest
from hypothesis import given, strategies as st

from mini_lib.progress import CURVE_HEAD, CURVE_TAIL, counted, open_bar, thin


@pytest.fixture
def clock(monkeypatch):
    """A clock that only the test moves."""
    now = [100.0]
    monkeypatch.setattr("tqdm.std.time", lambda: now[0])
    return now


def test_in_a_file_there_are_lines_at_the_start_each_minute_and_at_the_end(clock, capsys):
    with counted("a network", 1000, True, begun=200) as tell:
        for update in range(200, 1001, 10):
            clock[0] += 1.3  # 105.3 s in all
            tell(update)
    lines = capsys.readouterr().err.splitlines()
    assert all(line.startswith("a network: ") and "\r" not in line for line in lines)
    for line, done in zip(lines, (200, 660, 1000), strict=True):
        assert f"{done}/1000" in line
    assert " 7.60update/s" in lines[-1]  # what had been done earlier does not count for the speed


@pytest.mark.parametrize("shown", [True, False])
def test_on_a_terminal_a_bar_moves_unless_it_is_not_shown(shown, monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with open_bar("runs", 3, "run", leave=True, shown=shown, begun=1) as bar:
        bar.update(2)
    said = capsys.readouterr().err
    assert ("\rruns:" in said and "3/3" in said) if shown else said == ""


@given(st.integers(0, 1500))
def test_a_curve_keeps_its_head_and_averages_the_rest_in_equal_blocks(length):
    curve = thin([(10 * i + 1, 2.0 * i, 50.0) for i in range(length)])
    head = list(range(min(length, CURVE_HEAD)))
    assert curve["update"][:CURVE_HEAD] == [10 * i + 1 for i in head]
    assert curve["loss"][:CURVE_HEAD] == [2.0 * i for i in head]
    assert len(curve["update"]) <= CURVE_HEAD + CURVE_TAIL
    rest = list(range(CURVE_HEAD, length))
    block = -(-len(rest) // CURVE_TAIL) or 1
    blocks = [rest[i : i + block] for i in range(0, len(rest), block)]
    assert curve["loss"][CURVE_HEAD:] == pytest.approx([2 * sum(b) / len(b) for b in blocks], rel=1e-4)
    assert curve["score"] == [50.0] * len(curve["update"])
