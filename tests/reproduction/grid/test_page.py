"""The comparison's page: its numbers are computed; what it says of them is tested here."""

import re

import pytest

from mini_lib.reproduction import Records
from mini_lib.reproduction.grid.contrasts import (
    BOTTLENECKS,
    SYMMETRY,
    Interval,
    by_architecture,
    by_family,
    interval,
    paired,
    questions,
    scores,
    verdict,
)
from mini_lib.reproduction.grid.page import NAMES, VERDICTS, points, within, write_page


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return write_page(tmp_path_factory.mktemp("pages"), Records()).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def found():
    return scores(Records())


def test_each_family_has_its_verdict(page, found):
    families = by_family(found)
    for family, word in families.items():
        (line,) = re.findall(rf'^<tr><th scope="row">{re.escape(NAMES[family])}<.*$', page, re.MULTILINE)
        assert f">{VERDICTS[word]}</b>" in line
        seeds = int(re.search(r"(\d+) seeds", line)[1])
        assert line.count("<circle") == (0 if family == "curves" else seeds)
    assert f"in one of four families of tasks; the study as a whole is {VERDICTS[verdict(families)]}" in page
    assert [word for word in families.values()].count("helps") == 1


def test_what_is_said_of_the_numbers_is_so(page, found):
    rules = by_architecture(found, ("d3, m=95", "rmts, m=95"), BOTTLENECKS)
    assert rules["CoRelNet"].low > rules["Abstractor"].high + 0.3
    assert rules["Abstractor"].low > 0
    maps = by_architecture(found, ("d3, m=95", "rmts, m=95"), SYMMETRY)
    assert all(each.low > 0 for each in maps.values())
    assert questions(found)["the cost"]["name"].high < 0
    few = interval(paired(found, ("d3, m=85",), BOTTLENECKS))
    assert few.low > -0.1
    assert few.high < 0.1
    assert "fifteen training objects in place of five the bottleneck no longer helps on rules" in page


def test_scores_are_points_of_a_hundred():
    assert (points(0.317), points(-0.014), points(1.0)) == ("32", "−1", "100")
    assert within(Interval(0.5, -0.25, 1.5, 0.1, 5)) == "50 (−25 to 150)"
