"""The words next to a verdict, and the dots of a line, on made-up runs."""

import math
import re

import pytest

from mini_lib.reproduction import Claim, Measured, glance
from mini_lib.reproduction.claims import Judgement
from mini_lib.reproduction.comparison import Comparison
from mini_lib.reproduction.glance import AXIS, EDGE, WIDTH, Group, Item, strip
from mini_lib.reproduction.judgement import NOT_REPRODUCED, NOT_RUN, REPRODUCED, UNCLEAR, WORDS
from mini_lib.reproduction.tables import Printed
from reproduction.samples import cell


def number(reported, *ours, unit="%", se=0.0, **more):
    """A reported number and our runs of it."""
    records = tuple({"key": f"s{seed}", "diverged": False} for seed in range(len(ours)))
    return Comparison(cell(**more), Printed(reported, se, "SEM", 10, unit), Measured(ours), records)


def stated(one, two, rule=()):
    """The line of an undecided statement on the runs of one or two networks."""
    at = {"two": number(0, *two, variant="tutorial"), "one": number(0, *one, variant="tutorial")}
    shown = (("one", "one"), ("two", "two")) if one else (("{}", "two"),)
    judgement = Judgement(Claim("kanerva.a", "A.", "s", dict(rule)), "tutorial", UNCLEAR, "")
    group = Group("Losses", "kanerva/5_sprites", [Item("A.", claim="kanerva.a", shown=shown)])
    (line,) = glance.lines(group, at, {("kanerva.a", "tutorial"): judgement}, {})
    return line


def ends(svg):
    return [float(end.replace("−", "-")) for end in re.findall(r">([^<]+)</text>", svg)]


def places(svg, axis="cx"):
    return [float(place) for place in re.findall(rf'{axis}="([0-9.]+)"', svg)]


@pytest.mark.parametrize(
    ("each", "verdict", "words"),
    [
        (number(100, 100.0, 100.0, 100.0), REPRODUCED, "equal"),
        (number(95, 94.6, 94.7, 94.8), REPRODUCED, "0.3 points lower"),
        (number(60, 69.9, 70.0, 70.1), NOT_REPRODUCED, "10 ± 0.2 points higher"),
        (number(80, 77.0, 78.0, 77.2), NOT_REPRODUCED, "2.6 ± 1.3 points lower"),
        (number(80, 60.0, 80.0, 97.0), UNCLEAR, "1 ± 46 points lower"),
        (number(1.0, 0.4, 0.5, 0.6, unit="MSE"), NOT_REPRODUCED, "50 ± 25 % lower"),
        (number(1.0, 0.4, 0.5, 1.5, unit="MSE"), UNCLEAR, "20 % ± more than 100 % lower"),
        (number(24.8, 25.39, 25.4, 25.41), NOT_REPRODUCED, "both at chance, 0.6 points apart"),
        (number(24.8, 27.0, 27.1, 26.9), NOT_REPRODUCED, "2.2 ± 0.2 points higher"),
        (number(51, 50.0, 50.1, 49.9, task="rmts"), NOT_REPRODUCED, "both at chance, 1 point apart"),
        (number(51, 50.0, 50.1, 49.9), NOT_REPRODUCED, "1 ± 0.2 points lower"),
        (number(80), NOT_RUN, ""),
    ],
)
def test_a_verdict_has_next_to_it_how_far_apart_the_numbers_are(each, verdict, words):
    assert (each.verdict, glance.how_far(each)) == (verdict, words)


def test_a_dot_is_where_its_run_is_and_the_reported_interval_about_its_mean():
    drawn = strip(100.0, [[0.0, 100.0], [50.0]], (50.0, 10.0), {25.0: "chance"}, ticks=(50.0,))
    assert places(drawn) == [EDGE, WIDTH - EDGE, WIDTH / 2]
    assert places(strip(60.0, [[50.0]], low=40.0)) == [WIDTH / 2]
    assert places(strip(50.0, [[25.0, math.inf]])) == [WIDTH / 2, WIDTH - EDGE]  # one never gets there
    assert drawn.count("ring") == 1  # the second set
    assert 'M74.8 7H105.2"' in drawn
    assert "M52.0 1V30" in drawn
    assert ends(drawn) == [0, 50, 100]
    assert 'H166.0"' in strip(100.0, [[]], (90.0, 40.0))


@pytest.mark.parametrize("runs", [3, 10])
def test_dots_that_coincide_are_stacked_between_axis_and_mean(runs):
    heights = places(strip(100.0, [[50.0] * runs], (50.0, 1.0)), "cy")
    assert len(set(heights)) == runs
    assert 3 + 3 < min(heights) <= max(heights) < AXIS
    assert len(set(places(strip(100.0, [[0.0, 50.0, 100.0]]), "cy"))) == 1


def test_numbers_of_a_group_are_on_one_axis_which_holds_the_reported_intervals():
    values = {"a": (1.5, 1.0, 1.1, 1.2), "b": (0.1, 0.2, 0.3, 0.1)}
    at = {name: number(*own, unit="MSE", se=0.3, task="") for name, own in values.items()}
    group = Group("Errors", "esbn/1_tasks", [Item("A", "a"), Item("B", "b")])
    found = glance.lines(group, at, {}, dict(zip(WORDS, WORDS, strict=True)))
    assert [(each.label, ends(each.strip)) for each in found] == [("A", [0, 2.5]), ("B", [0, 2.5])]
    assert glance.reported_interval(number(99.5, se=1.0)) == (pytest.approx(97.24, abs=0.01), 100)
    assert (found[0].paper, found[0].ours) == ("1.500<small>10 runs</small>", "1.100<small>3 runs</small>")


@pytest.mark.parametrize(("unit", "limits"), [("%", ("half a point", "8 points")), ("MSE", ("5 %", "25 %"))])
def test_the_verdicts_of_a_page_are_explained_in_its_unit(unit, limits):
    apart, unsure = number(80, 50, 51, 52, unit=unit), number(80, 60, 80, 97, unit=unit)
    found = glance.meanings([unsure, apart], dict(zip(WORDS, WORDS, strict=True)))
    assert [word for word, _ in found] == [NOT_REPRODUCED, UNCLEAR]
    assert all(limit in meaning for limit, (_, meaning) in zip(limits, found, strict=True))


@pytest.mark.parametrize(
    ("values", "axis"),
    [
        ((41.8, 43.4, 40.9), (40.5, 43.5)),
        ((2.6, 13.4, 13.6), (0, 14)),
        ((20, 20), (20, 25)),
        ((20, 30, 45, math.inf), (0, 50)),
    ],
)
def test_an_axis_has_round_ends_and_is_cut_where_networks_differ_little(values, axis):
    assert glance._ends(values) == axis


@pytest.mark.parametrize(
    ("rule", "others", "ours", "detail"),
    [
        ({"at_least": 0.95}, (), "{:.3g} (needed: 0.95)", "1 of 3 reach it"),
        ({}, (0.3, 0.3, 0.3), "● one 0.3, ○ two {:.3g}", "1 of 3 are lower"),
    ],
)
def test_what_is_undecided_says_how_many_runs_are_for_it(rule, others, ours, detail):
    line = stated(others, runs := (0.2, 0.9, 0.96), rule)
    assert line.ours.partition("<")[0] == ours.format(sum(runs) / 3)
    assert (line.word, line.detail) == ("undecided", detail)


@pytest.mark.parametrize(
    ("scale", "verdict", "detail", "word"),
    [
        ("paper", REPRODUCED, "1 against 2", ("holds", "")),
        ("tutorial", REPRODUCED, "1 against 2", ("seen", "")),
        ("tutorial", UNCLEAR, "1 against 2; but none to lose", ("cannot be tested", "none to lose")),
        ("tutorial", NOT_REPRODUCED, "1; but our control on ...", ("not seen", "a control fails")),
    ],
)
def test_a_claim_has_the_word_of_its_size_and_what_stands_in_its_way(scale, verdict, detail, word):
    claim = Claim("kanerva.a", "A.", "s", {}, presumes="kanerva.b", otherwise="none to lose")
    assert glance.claimed(Judgement(claim, scale, verdict, detail)) == word
