"""The words next to a verdict, and the dots of a line, on made-up runs."""

import math
import re

import pytest

from mini_lib.reproduction import Claim, Measured
from mini_lib.reproduction.claims import Judgement
from mini_lib.reproduction.comparison import Comparison
from mini_lib.reproduction.glance import (
    AXIS,
    SEEN,
    Entry,
    Group,
    Stated,
    _ends,
    at_chance,
    beside,
    chance,
    claimed,
    lines,
    strip,
)
from mini_lib.reproduction.judgement import NOT_REPRODUCED, REPRODUCED, UNCLEAR, WORDS
from mini_lib.reproduction.tables import Printed
from reproduction.samples import cell


def number(reported, *ours, error=0.0, unit="%", **more):
    """A reported number and our runs of it."""
    records = tuple({"key": f"s{seed}", "diverged": False} for seed in range(len(ours)))
    return Comparison(cell(**more), Printed(reported, error, "SEM", 10, unit), Measured(ours), records)


@pytest.mark.parametrize(
    ("each", "verdict", "words"),
    [
        (number(100, 100.0, 100.0, 100.0), REPRODUCED, "equal"),
        (number(95, 94.0, 95.0, 94.5), REPRODUCED, "0.5 points lower"),
        (number(80, 69.0, 69.1, 68.9), NOT_REPRODUCED, "11 points lower; luck explains 0.2"),
        (number(80, 60.0, 80.0, 97.0), UNCLEAR, "1 point lower; luck explains 46"),
        (number(1.0, 0.4, 0.5, 0.6, unit="MSE"), NOT_REPRODUCED, "50 % lower; luck explains 25 %"),
        (number(1.0, 0.4, 0.5, 1.5, unit="MSE"), UNCLEAR, "20 % lower; luck explains far more"),
        (number(80), "not run", ""),
    ],
)
def test_the_size_of_a_difference_is_next_to_its_word(each, verdict, words):
    assert (each.verdict, beside(each)) == (verdict, words)


def test_two_scores_at_chance_are_marked():
    each = number(24.8, 25.39, 25.4, 25.41)
    assert each.verdict == NOT_REPRODUCED
    assert at_chance(each)
    assert beside(each) == "both at chance, 0.6 points apart"
    assert not at_chance(number(24.8, 27.0, 27.1, 26.9))
    assert not at_chance(number(24.8))


def test_chance_is_that_of_the_task():
    assert [chance(number(9, task=task)) for task in ("rmts", "identity_rules", "")] == [50, 25, None]


def test_a_dot_lies_where_its_run_is():
    drawn = strip(100.0, [[0.0, 100.0], [50.0]], (50.0, 10.0), {25.0: "chance"}, ticks=(50.0,))
    assert drawn.count("<circle") == 3
    assert [f'cx="{x:.1f}"' in drawn for x in (14, 166, 90)] == [True] * 3
    assert 'M74.8 7H105.2"' in drawn
    assert "M52.0 1V30" in drawn
    assert drawn.count("ring") == 1
    assert [f">{value}</text>" in drawn for value in (0, 50, 100)] == [True] * 3
    assert "<title>100</title>" in drawn


def test_dots_that_coincide_are_stacked_and_stay_between_axis_and_mean():
    for runs in (3, 10):
        drawn = strip(100.0, [[50.0] * runs], (50.0, 1.0))
        heights = [float(y) for y in re.findall(r'cy="([0-9.]+)"', drawn)]
        assert len(set(heights)) == runs
        assert 3 + 3 < min(heights) <= max(heights) < AXIS
    assert len(set(re.findall(r'cy="([0-9.]+)"', strip(100.0, [[0.0, 50.0, 100.0]])))) == 1


def test_an_interval_that_is_longer_than_its_axis_goes_past_the_end_where_it_may():
    assert 'H166.0"' in strip(100.0, [[]], (90.0, 40.0))
    assert 'H178.0"' in strip(100.0, [[]], (90.0, 40.0), beyond=True)


def test_numbers_of_a_group_are_on_one_axis():
    at = {
        "a": number(1.5, 1.0, 1.1, 1.2, unit="MSE", task=""),
        "b": number(0.1, 0.2, 0.3, 0.1, unit="MSE", task=""),
    }
    group = Group("Errors", "esbn/1_tasks", (Entry("A", "a"), Entry("B", "b")))
    found = lines(group, at, {}, dict(zip(WORDS, WORDS, strict=True)))
    assert [each.label for each in found] == ["A", "B"]
    assert [re.findall(r">([^<]+)</text>", each.strip) for each in found] == [["0", "1.5"]] * 2
    assert found[0].ours == "1.10<small>3 runs</small>"


@pytest.mark.parametrize(
    ("one", "two", "ends"),
    [
        ((41.8, 42, 43.4), (40.9, 41, 41.7), (40.5, 43.5)),
        ((0.244, 0.245, 0.245), (0.238, 0.24, 0.241), (0.236, 0.246)),
        ((2.6, 2.6, 2.6), (13.4, 13.5, 13.6), (0, 14)),
        ((20, 20, 20), (20, 20, 20), (20, 25)),
        ((-1, -1, -2), (0, 0, 1), ("−2", 1)),
    ],
)
def test_an_axis_is_cut_where_two_networks_differ_little(one, two, ends):
    at = {name: number(0, *own, variant="tutorial") for name, own in (("one", one), ("two", two))}
    group = Group(
        "Losses", "kanerva/5_sprites", (Stated("A.", "kanerva.a", (("one", "one"), ("two", "two"))),)
    )
    judgement = Judgement(Claim("kanerva.a", "A.", "s", {}), "tutorial", UNCLEAR, "")
    (line,) = lines(group, at, {("kanerva.a", "tutorial"): judgement}, {})
    assert [f">{end}</text>" in line.strip for end in ends] == [True] * 2


@pytest.mark.parametrize(
    ("rule", "others", "told", "said"),
    [
        ({"at_least": 0.95}, (), "{:.3g} (needed: 0.95)", "1 of 3 reach it"),
        ({}, (0.3, 0.3, 0.3), "● one 0.3, ○ two {:.3g}", "1 of 3 are lower"),
    ],
)
def test_what_is_undecided_says_how_many_runs_are_for_it(rule, others, told, said):
    at = {"two": number(0, 0.2, 0.9, 0.96, variant="tutorial")}
    shown = (("{}", "two"),)
    if others:
        at["one"] = number(0, *others, variant="tutorial")
        shown = (("one", "one"), ("two", "two"))
    judgement = Judgement(Claim("kanerva.a", "A.", "s", rule), "tutorial", UNCLEAR, "")
    group = Group("Shares", "kanerva/3_binding", (Stated("A.", "kanerva.a", shown),))
    (line,) = lines(group, at, {("kanerva.a", "tutorial"): judgement}, {})
    assert line.ours.partition("<")[0] == told.format(sum((0.2, 0.9, 0.96)) / 3)
    assert (line.word, line.said) == ("undecided", said)


def test_a_claim_has_the_word_of_its_size_and_what_stands_in_its_way():
    claim = Claim("kanerva.a", "A.", "s", {}, presumes="kanerva.b", otherwise="none to lose")
    assert claimed(Judgement(claim, "paper", REPRODUCED, "1 against 2")) == ("holds", "")
    assert claimed(Judgement(claim, "tutorial", REPRODUCED, "1 against 2")) == ("seen", "")
    lacking = Judgement(claim, "tutorial", UNCLEAR, "1 against 2; but none to lose")
    assert claimed(lacking) == ("cannot be tested", "none to lose")
    failed = Judgement(claim, "tutorial", NOT_REPRODUCED, "1; but our control on the same table ...")
    assert claimed(failed) == (SEEN[NOT_REPRODUCED], "a control fails")


def test_a_run_that_never_reaches_a_level_is_at_the_end_of_the_axis():
    low, top = _ends([20, 30, 45, math.inf])
    assert (low, top) == (0, 50)
    assert 'cx="' in (drawn := strip(top, [[30.0, math.inf]], low=low))
    assert "<title>inf</title>" in drawn
