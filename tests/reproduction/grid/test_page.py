"""The comparison's page: its numbers are computed; what it says of them is tested here."""

import re
from statistics import fmean

import pytest

from mini_lib.reproduction import Records
from mini_lib.reproduction.grid.contrasts import (
    BOTTLENECKS,
    FAMILIES,
    RULES,
    by_architecture,
    by_family,
    decided,
    familiar,
    interval,
    paired,
    scores,
    verdict,
)
from mini_lib.reproduction.grid.page import AS_THEY_ARE, AXIS, MORE, VERDICTS, line, number, write_page

LINES = {"rules": "rules", "match": "finding", "curves": "curves", "commands": "commands"}


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
        seeds = len(paired(found, *FAMILIES[family]))
        assert line.count("<circle") == (0 if family == "curves" else seeds)
    assert sorted(families.values()) == ["helps", "none", "undecided", "undecided"]
    assert families["rules"] == "helps"
    assert f"the answer is {VERDICTS[verdict(families)]}.**" in page


def test_what_is_said_of_the_numbers_is_so(page, found):
    rules = by_architecture(found, RULES, BOTTLENECKS)
    assert (decided(rules["CoRelNet"]), decided(rules["Abstractor"])) == ("helps", "none")
    for name in ("CoRelNet", "Abstractor"):
        assert number(rules[name].mean) in row(page, name)
    as_they_are = by_architecture(found, RULES[:1], AS_THEY_ARE)
    fifteen = by_architecture(found, MORE, AS_THEY_ARE)["CoRelNet"].mean
    told = (
        f"{number(as_they_are['CoRelNet'].mean)} for CoRelNet, {number(as_they_are['Abstractor'].mean)} for"
    )
    assert told in page
    assert f"{number(fifteen)} for CoRelNet with fifteen" in page
    assert as_they_are["CoRelNet"].mean > 0.4 > 0.05 > fifteen  # predicted
    assert decided(interval(paired(found, MORE, BOTTLENECKS))) == "none"
    assert decided(interval(paired(found, ("name",), BOTTLENECKS, familiar))) == "harms"
    commands = interval(paired(found, *FAMILIES["commands"]))
    assert decided(commands) == "undecided"  # also without the rule on fewer than three pairs
    attention = [run.new for run in found["commands", "syntactic attention"].values()]
    assert min(attention) < 0.01 < 0.5 < max(attention)


def test_a_line_has_its_interval_on_the_axis_that_all_share():
    gains = [0.2, 0.3, 0.4]
    made = line("a", gains)
    assert made.ours == f"{number(fmean(gains))}<small>.05 to .55</small>"
    assert (made.word, made.verdict) == ("unclear", "unclear")
    assert made.strip.count("<circle") == 3
    for end in (*AXIS, 0):
        assert f">{end:g}</text>".replace("-", "−") in made.strip
    assert line("a", gains, "helps", "no score").strip == "no score"


def test_scores_have_two_decimals_and_no_zero_before_them():
    assert [number(score) for score in (0.317, -0.014, 1.0, 0.6)] == [".32", "−.01", "1", ".6"]
