"""The claims in claims.json, on the papers' own numbers; at which sizes they are judged; controls."""

import math
from dataclasses import replace

import pytest

from mini_lib.errors import UsageError
from mini_lib.reproduction import Cell, Claim, Measured, judge, load_claims
from mini_lib.reproduction.cells import PAPERS, TUTORIAL, cells_of
from mini_lib.reproduction.claims import by_claim, claim_counts, judge_all, level_mean, updates_to
from mini_lib.reproduction.comparison import Comparison
from mini_lib.reproduction.judgement import (
    NOT_REPRODUCED,
    NOT_RUN,
    REPRODUCED,
    UNCLEAR,
    Mean,
    judge_rule,
    mean_of,
)
from mini_lib.reproduction.tables import _tables, printed

IN_THE_TEXT = {"scan.table2/Sequential semantics/Simple": 99.3}  # printed beside the table, without an error
# By the paper's own errors, too close to tell; the t-tests that find nothing are unclear by the rule.
CLOSE = {f"functions.C{name}" for name in ("1a", "1b", "1c", "1d", "2a", "2b", "3", "8", "9")}
CLOSE |= {f"functions.C{name}" for name in ("5a", "5b", "6a", "6b")}
CLOSE |= {f"functions.C{name}" for name in ("10", "11", "13b", "14", "15")}
CLOSE |= {"esbn.C1", "esbn.C11", "esbn.C12", "esbn.C14", "scan.C2", "scan.C4", "scan.C7"}


def papers_own(cell):
    """What a paper reports for an entry, as a mean over its runs; None where it reports nothing."""
    table, rest = cell.split("/", 1)
    row, column = rest.rsplit("/", 1)
    if cell in IN_THE_TEXT:
        return Mean(IN_THE_TEXT[cell])
    entry = printed(table).get((row, column)) if table in _tables() else None
    return entry and Mean(entry.mean, entry.se, entry.runs - 1 if entry.se else math.inf)


ON_NUMBERS = [each for each in load_claims() if "metric" not in each.rule and each.paper != "kanerva"]


@pytest.mark.parametrize("each", ON_NUMBERS, ids=lambda each: each.id)
def test_every_claim_on_numbers_is_true_of_the_papers_own(each):
    if each.rule["kind"] == "skewed":
        table, row, column = each.cells()[0].split("/")
        assert _tables()[table]["rows"][row][column]["median"] > printed(table)[row, column].mean
    else:
        word, detail = judge_rule(each.rule, {cell: papers_own(cell) for cell in each.cells()})
        assert word == (UNCLEAR if each.id in CLOSE else REPRODUCED), detail


@pytest.mark.parametrize("paper", PAPERS)
def test_claims_name_entries_that_are_declared_and_have_ids_of_their_own(paper):
    declared = {cell.id for cell in cells_of(paper)}
    claims = [each for each in load_claims() if each.paper == paper]
    assert len({each.id for each in claims}) == len(claims) > 0
    for each in claims:
        assert set(each.cells()) <= declared, each.id
    assert all(each.ours for each in claims if each.control)


A, B = "esbn.table13/Identity rules/m=0", "esbn.table13/Identity rules/m=50"


def made_up(cell_id, *values, variant="", diverged=0, metric="test_accuracy"):
    table, row, column = cell_id.split("/")
    cell = Cell(table, row, column, {"cell": cell_id, "variant": variant}, 10, "f", metric, variant)
    keys = [f"{cell.hash}-s{n}" for n in range(len(values) + diverged)]
    records = tuple({"key": key, "diverged": n >= len(values)} for n, key in enumerate(keys))
    return Comparison(cell, None, Measured(values, diverged), records)


def claim(name="C1", cells=(A,), **more):
    rule = {"kind": "threshold", "cells": list(cells), "at_least": 95}
    return Claim(f"esbn.{name}", "A statement.", "a source", rule, **more)


def words(judgements):
    return {(each.claim.id.removeprefix("esbn."), each.scale): each.verdict for each in judgements}


def test_a_claim_is_judged_where_all_its_entries_are_declared():
    high, low = (99.0,) * 3, (50.0,) * 3
    both = [made_up(A, *high), made_up(B, *high), made_up(A, *low, variant=TUTORIAL)]
    assert words(judge(both, [claim(cells=(A, B))])) == {("C1", "paper"): REPRODUCED}
    both.append(made_up(B, *high, variant=TUTORIAL))
    assert words(judge(both, [claim(cells=(A, B))]))["C1", TUTORIAL] == NOT_REPRODUCED
    mask = [*both, *(made_up(cell, *high, variant=f"{TUTORIAL}, no mask") for cell in (A, B))]
    found = judge(mask, [claim(cells=(A, B))], [f"{TUTORIAL}, no mask"])
    assert words(found)["C1", f"{TUTORIAL}, no mask"] == REPRODUCED
    with pytest.raises(UsageError, match="unknown interpretation"):
        judge(both, [claim()], ["no mask"])


def test_every_claim_is_judged_at_some_size_and_only_where_all_its_entries_are_declared():
    compared = [Comparison(cell, None, Measured(())) for paper in PAPERS for cell in cells_of(paper)]
    declared = {each.cell.id for each in compared}
    judged = judge(compared)
    for each in judged:
        suffix = "" if each.scale == "paper" else f"/{each.scale}"
        assert {f"{cell}{suffix}" for cell in each.claim.cells()} <= declared
    assert [*by_claim(judged)] == [*load_claims()]
    counts = claim_counts(judged)
    assert sum(count["claims"] for count in counts.values()) == len(judged)
    assert all(count["claims"] == count[NOT_RUN] for count in counts.values())


def test_a_claim_that_a_control_on_the_same_table_contradicts_is_not_reproduced():
    compared = [made_up(A, 99.0, 99.0, 99.0), made_up(B, 50.0, 50.0, 50.0)]
    control = claim("C2", [B], ours=True, control=True)
    found = judge(compared, [claim(), control])
    assert words(found) == {("C1", "paper"): NOT_REPRODUCED, ("C2", "paper"): NOT_REPRODUCED}
    assert found[0].detail.endswith("our control on the same table is not reproduced: C2")
    for harmless in (
        replace(control, control=False),
        claim("C2", ["scan.table1/CNN/Simple"], ours=True, control=True),
    ):
        others = [*compared, made_up("scan.table1/CNN/Simple", 50.0, 50.0, 50.0)]
        assert words(judge(others, [claim(), harmless]))["C1", "paper"] == REPRODUCED


def test_a_claim_is_unclear_where_what_it_presumes_is_not_reproduced():
    tells = claim("C2", [B], presumes="esbn.C1", otherwise="nothing can be lost")
    for values, word in (((99.0,) * 3, REPRODUCED), ((50.0,) * 3, UNCLEAR)):
        found = judge([made_up(A, *values), made_up(B, 99.0, 99.0, 99.0)], [claim(), tells])
        assert words(found)["C2", "paper"] == word
        assert found[1].untestable == (word == UNCLEAR)


def test_a_claim_is_not_judged_where_it_is_so_by_construction():
    runs = [made_up(A, *([99.0] * 3), variant=f"{TUTORIAL}, {name}") for name in ("even", "odd")]
    assert [each.scale for each in judge_all(runs, [claim(given=["even"])])] == []  # of a paper with numbers
    found = judge(runs, [claim(given=["even"])], [f"{TUTORIAL}, even", f"{TUTORIAL}, odd"])
    assert [each.scale for each in found] == [f"{TUTORIAL}, odd"]


@pytest.mark.parametrize(
    ("values", "word"), [((99.0,) * 3, UNCLEAR), ((50.0,) * 3, NOT_REPRODUCED), ((99.0,), NOT_RUN)]
)
def test_a_claim_is_not_reproduced_by_runs_of_which_some_diverged(values, word):
    (found,) = judge([made_up(A, *values, diverged=2)], [claim()])
    assert found.verdict == word
    assert found.detail.endswith(f"; 2 of {len(values) + 2} runs diverged")


def test_a_table_that_rests_on_something_of_ours_decides_no_claim():
    on_it = [each for each in load_claims() if "functions.table2" in each.tables()]
    cells = {cell.id: cell for cell in cells_of("functions")}
    compared = [
        Comparison(cells[name], None, Measured((1.0,) * 3)) for each in on_it for name in each.cells()
    ]
    found = judge(compared, on_it)
    assert len(found) > 8
    assert {each.verdict for each in found} == {NOT_RUN}
    assert all("first query" in each.detail for each in found)


def curve(scores):
    return {"update": [10 * i + 1 for i in range(len(scores))], "score": scores, "loss": scores}


def test_updates_to_a_level_average_five_batches_but_not_thinned_points():
    assert updates_to({"curve": curve([50, 90, 100, 100, 100, 100])}) == 51
    assert updates_to({"curve": curve([100, 100])}) is None
    late = {"update": [1, 11, 21, 31, 41, 81, 121], "score": [50, 50, 50, 50, 50, 94, 96]}
    assert updates_to({"curve": late}) == 121


def test_runs_that_never_reach_a_level_count_as_never():
    fast, never = curve([100.0] * 20), curve([50.0] * 20)

    def mean(*curves):
        records = tuple({"key": str(n), "diverged": False, "curve": each} for n, each in enumerate(curves))
        return level_mean(replace(made_up(A, *[90.0] * len(curves)), records=records), "updates_to_95")

    assert mean(fast, fast, fast).value == 41
    assert mean(never, never, never).value == math.inf
    assert math.isnan(mean(fast, fast, never).value)
    assert mean(fast, never) is None
    assert mean_of({"a": 1.0, "b": 2.0}) is None
