"""What is told of a training: a bar where it can move, lines where it cannot."""

import sys

import pytest

from mini_lib.progress import counted, open_bar, thin


@pytest.fixture
def clock(monkeypatch):
    """A clock that only the test moves."""
    now = [100.0]
    monkeypatch.setattr("tqdm.std.time", lambda: now[0])
    return now


def test_in_a_file_there_are_lines_at_the_start_each_minute_and_at_the_end(clock, capsys):
    with counted("a network", 1000, True) as tell:
        for update in range(0, 1001, 10):
            clock[0] += 1.3  # 131.3 s in all
            tell(update)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 4
    assert "0/1000" in lines.pop(0)
    assert all(line.startswith("a network: ") and "\r" not in line for line in lines)
    assert "460/1000" in lines[0]
    assert "930/1000" in lines[1]
    assert "1000/1000" in lines[2]


def test_what_was_done_earlier_does_not_count_for_the_speed(clock, capsys):
    with counted("a network", 1000, True, begun=900) as tell:
        clock[0] += 10.0
        tell(950)
    _, line = capsys.readouterr().err.splitlines()
    assert "950/1000" in line
    assert " 5.00update/s" in line


def test_nor_for_that_of_a_bar(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with open_bar("a network", 1000, "update", leave=True, begun=900) as bar:
        assert (bar.n, bar.initial) == (900, 900)


def test_on_a_terminal_a_bar_moves(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with open_bar("runs", 2, "run", leave=True) as bar:
        bar.update(2)
    said = capsys.readouterr().err
    assert "\rruns:" in said
    assert "2/2" in said


def test_a_bar_that_is_not_shown_says_nothing(capsys):
    with open_bar("runs", 2, "run", leave=True, shown=False) as bar:
        bar.update(2)
    assert capsys.readouterr().err == ""


def test_thinning_keeps_the_head_and_averages_the_rest():
    curve = thin([(i, 2.0 * i, 50.0) for i in range(350)])
    assert curve["update"][:150] == list(range(150))
    assert len(curve["update"]) == 150 + 100
    assert curve["update"][150] == round(150.5)
    assert curve["loss"][150] == pytest.approx(150 + 151)
    assert thin([]) == {"update": [], "loss": [], "score": []}
