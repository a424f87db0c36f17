"""The comparison's page: its numbers are computed; what it says of them is tested here."""

import re

import pytest

from mini_lib.reproduction import Records
from mini_lib.reproduction.grid.contrasts import (
    BOTTLENECKS,
    Interval,
    by_architecture,
    by_family,
    scores,
    verdict,
)
from mini_lib.reproduction.grid.page import NAMES, VERDICTS, s, within, write_page


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return write_page(tmp_path_factory.mktemp("pages"), Records()).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def found():
    return scores(Records())


def test_each_family_has_its_verdict(page, found):
    families = by_family(found)
    for family, word in families.items():
        assert re.search(rf"^\| {re.escape(NAMES[family])} \|.* \| {VERDICTS[word]} \|$", page, re.MULTILINE)
    assert f"as a whole is **{VERDICTS[verdict(families)]}**" in page


def test_what_is_said_of_the_numbers_is_so(page, found):
    rules = by_architecture(found, ("d3, m=95", "rmts, m=95"), BOTTLENECKS)
    assert rules["CoRelNet"].low > rules["Abstractor"].high + 0.3
    assert rules["Abstractor"].low > 0
    fixed = found["match", "corelnet fixed"]
    tied = found["match", "corelnet tied"]
    assert all(run.learned and run.new < 0.7 for run in tied.values())  # the exception
    assert all(run.new > 0.9 for run in fixed.values())
    for row in ("differences", "pointer"):
        assert all(run.learned and run.new < 0.3 for run in found["d3, m=95", row].values())
        assert all(run.learned and run.new < 0.3 for run in found["rmts, m=95", row].values())
    starred = re.findall(r"^\| (\w+) .*\.\d\d\* \|", page, re.MULTILINE)
    assert starred == ["Kanerva", "differences", "LSTM", "Transformer"]


def test_scores_are_short():
    assert (s(0.317), s(-0.014), s(1.0), s(-4.9), s(0.001)) == (".32", "-.01", "1.00", "-4.90", ".00")
    assert within(Interval(0.5, -0.25, 1.5, 0.1, 5)) == ".50 (-.25 to 1.50)"
