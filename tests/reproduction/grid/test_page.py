"""The comparison's page: its numbers are computed; what it says of them is tested here."""

import re
from statistics import fmean

import pytest

from mini_lib.reproduction import Records
from mini_lib.reproduction.grid.contrasts import (
    BOTTLENECKS,
    FAMILIES,
    MATTERS,
    RULES,
    SYMMETRY,
    by_architecture,
    by_family,
    decided,
    familiar,
    interval,
    paired,
    scores,
    verdict,
)
from mini_lib.reproduction.grid.page import AXIS, VERDICTS, line, points, write_page

LINES = {"rules": "trained on five objects", "match": "finding", "curves": "curves", "commands": "commands"}


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return write_page(tmp_path_factory.mktemp("pages"), Records()).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def found():
    return scores(Records())


def row(page, name):
    (found,) = re.findall(rf'^<tr><th scope="row">(?:<em>)?{re.escape(name)}.*$', page, re.MULTILINE)
    return found


def test_each_family_has_its_verdict(page, found):
    families = by_family(found)
    for family, word in families.items():
        line = row(page, LINES[family])
        assert f">{VERDICTS[word]}</b>" in line
        seeds = int(re.search(r"(\d+) seeds", line)[1])
        assert line.count("<circle") == (0 if family == "curves" else seeds)
    assert sorted(families.values()) == ["helps", "none", "undecided", "undecided"]
    assert families["rules"] == "helps"
    assert f"So the study as a whole is {VERDICTS[verdict(families)]}." in page


def test_what_is_said_of_the_numbers_is_so(page, found):
    rules = by_architecture(found, RULES, BOTTLENECKS)
    assert (decided(rules["CoRelNet"]), decided(rules["Abstractor"])) == ("helps", "none")
    assert "and there in one of two networks" in page
    assert points(rules["CoRelNet"].mean) in row(page, "of these, CoRelNet")
    maps = by_architecture(found, RULES, SYMMETRY)
    assert all(each.low > 0 for each in maps.values())
    assert decided(interval(paired(found, ("d3, m=85",), BOTTLENECKS))) == "none"
    assert decided(interval(paired(found, ("name",), BOTTLENECKS, familiar))) == "harms"
    commands = interval(paired(found, *FAMILIES["commands"]))
    assert decided(commands) == "undecided"
    assert commands.low < MATTERS
    assert "the interval of all five reaches below 10" in page


def test_a_line_has_its_interval_on_the_axis_that_all_share():
    gains = [0.2, 0.3, 0.4]
    made = line("a", gains)
    assert made.ours == f"{points(fmean(gains))}<small>5 to 55</small><small>3 seeds</small>"
    assert (made.word, made.verdict) == ("unclear", "unclear")
    for end in (*AXIS, 0):
        assert f">{end:g}</text>".replace("-", "−") in made.strip
    assert line("a", gains, "helps", "no score").strip == "no score"


def test_scores_are_points_of_a_hundred():
    assert (points(0.317), points(-0.014), points(1.0)) == ("32", "−1", "100")
