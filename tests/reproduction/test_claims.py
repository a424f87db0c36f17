"""The claims in claims.json, on the papers' own numbers; at which sizes they are judged; controls."""

import math
from dataclasses import replace

import pytest

from mini_lib.errors import UsageError
from mini_lib.reproduction import Cell, Claim, Measured, claims, judge, load_claims
from mini_lib.reproduction.cells import PAPERS, TUTORIAL, cells_of
from mini_lib.reproduction.claims import level_mean, updates_to
from mini_lib.reproduction.comparison import Comparison
from mini_lib.reproduction.judgement import NOT_REPRODUCED, NOT_RUN, REPRODUCED, UNCLEAR, Mean, judge_rule
from mini_lib.reproduction.tables import _tables, printed

IN_THE_TEXT = {"scan.table2/Sequential semantics/Simple": 99.3}  # printed beside the table, without an error
# By the paper's own errors, too close to tell; the t-tests that find nothing are unclear by the rule.
CLOSE = "esbn.C1 esbn.C11 esbn.C12 esbn.C14 scan.C2 scan.C4 scan.C7".split()
FUNCTIONS = "1a 1b 1c 1d 2a 2b 3 5a 5b 6a 6b 8 9 10 11 13b 14 15"
CLOSE += [f"functions.C{name}" for name in FUNCTIONS.split()]


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


def test_most_claims_on_functions_are_too_close_to_tell():
    own = [each.id in CLOSE for each in ON_NUMBERS if each.paper == "functions" and not each.ours]
    assert (sum(own), len(own)) == (9, 12)  # as its page says


def test_claims_have_ids_of_their_own_and_name_entries_that_there_are(monkeypatch):
    stored = load_claims()
    assert len({each.id for each in stored}) == len(stored)
    assert all(each.ours for each in stored if each.control)
    wrong = replace(stored[0], id="scan.C99", rule={"cells": ["scan.table1/CNN/Ad jump"]})
    monkeypatch.setattr(claims, "load_json", lambda *_: [vars(wrong)])
    with pytest.raises(UsageError, match=r"entry of scan\.C99 .* did you mean 'scan\.table1/CNN/Add jump'"):
        load_claims.__wrapped__()


A, B = "esbn.table13/Identity rules/m=0", "esbn.table13/Identity rules/m=50"
ELSEWHERE = "scan.table1/CNN/Simple"
HIGH, LOW = (99.0,) * 3, (50.0,) * 3


def made_up(cell_id, values, variant="", diverged=0):
    table, row, column = cell_id.split("/")
    settings = {"cell": cell_id, "variant": variant}
    cell = Cell(table, row, column, settings, 10, "f", "test_accuracy", variant)
    runs = range(len(values) + diverged)
    records = tuple({"key": f"{cell.hash}-s{n}", "diverged": n >= len(values)} for n in runs)
    return Comparison(cell, None, Measured(values, diverged), records)


def claim(name="C1", cells=(A,), **more):
    rule = {"kind": "threshold", "cells": list(cells), "at_least": 95}
    return Claim(f"esbn.{name}", "A statement.", "a source", rule, **more)


def words(judgements):
    return {(each.claim.id.removeprefix("esbn."), each.scale): each.verdict for each in judgements}


def test_a_claim_is_judged_where_all_its_entries_are_declared_and_not_where_it_is_so_by_construction():
    both = [made_up(A, HIGH), made_up(B, HIGH), made_up(A, LOW, TUTORIAL)]
    on_both = claim(cells=(A, B))
    assert words(judge(both, [on_both])) == {("C1", "paper"): REPRODUCED}
    both.append(made_up(B, HIGH, TUTORIAL))
    assert words(judge(both, [on_both]))["C1", TUTORIAL] == NOT_REPRODUCED
    mask = f"{TUTORIAL}, no mask"
    both += [made_up(cell, HIGH, mask) for cell in (A, B)]
    both += [replace(each, cell=replace(each.cell, variant="again")) for each in both[:2]]  # the same runs
    both += [made_up(cell, HIGH[:1], "few runs") for cell in (A, B)]
    assert set(words(judge(both, [on_both]))) == {("C1", "paper"), ("C1", TUTORIAL)}
    elsewhere = replace(on_both, id="kanerva.C1")  # this paper reports no numbers
    assert [each.scale for each in judge(both, [elsewhere])] == ["paper", TUTORIAL, mask]
    by_construction = replace(elsewhere, given=["no mask"])
    assert [each.scale for each in judge(both, [by_construction])] == ["paper", TUTORIAL]


def test_every_claim_is_judged_somewhere():
    compared = [Comparison(cell, None, Measured(())) for paper in PAPERS for cell in cells_of(paper)]
    judged = judge(compared)
    assert list(dict.fromkeys(each.claim for each in judged)) == [*load_claims()]
    assert {each.verdict for each in judged} == {NOT_RUN}


@pytest.mark.parametrize(
    ("other", "word"),
    [
        (claim("C2", [B], ours=True, control=True), NOT_REPRODUCED),
        (claim("C2", [B], ours=True), REPRODUCED),
        (claim("C2", [ELSEWHERE], ours=True, control=True), REPRODUCED),
    ],
)
def test_a_claim_that_a_control_on_the_same_table_contradicts_is_not_reproduced(other, word):
    compared = [made_up(A, HIGH), made_up(B, LOW), made_up(ELSEWHERE, LOW)]
    first, second = judge(compared, [claim(), other])
    assert (first.verdict, second.verdict) == (word, NOT_REPRODUCED)
    assert ("our control on the same table is not reproduced: C2" in first.detail) == (word == NOT_REPRODUCED)
    first, *_ = judge([made_up(A, HIGH), made_up(B, LOW, TUTORIAL)], [claim(), other])
    assert first.verdict == REPRODUCED  # the control failed at another size


@pytest.mark.parametrize(("given", "word"), [((), NOT_REPRODUCED), (["no mask"], REPRODUCED)])
def test_a_control_counts_under_an_interpretation_unless_it_holds_there_by_construction(given, word):
    small = [made_up(A, HIGH, TUTORIAL), made_up(B, LOW, TUTORIAL), made_up(A, HIGH, f"{TUTORIAL}, no mask")]
    both = (claim(), claim("C2", [B], ours=True, control=True, given=given))
    found = judge(small, [replace(each, id=f"kanerva.{each.id}") for each in both])
    assert [each.verdict for each in found if each.claim.id == "kanerva.esbn.C1"] == [NOT_REPRODUCED, word]


@pytest.mark.parametrize(("values", "word"), [(HIGH, REPRODUCED), (LOW, UNCLEAR)])
def test_a_claim_is_unclear_where_what_it_presumes_is_not_reproduced(values, word):
    tells = claim("C2", [B], presumes="esbn.C1", otherwise="nothing can be lost")
    _, found = judge([made_up(A, values), made_up(B, HIGH)], [claim(), tells])
    assert (found.verdict, found.untestable) == (word, word == UNCLEAR)


@pytest.mark.parametrize(("values", "word"), [(HIGH, UNCLEAR), (LOW, NOT_REPRODUCED), ((99.0,), NOT_RUN)])
def test_a_claim_is_not_reproduced_by_runs_of_which_some_diverged(values, word):
    (found,) = judge([made_up(A, values, diverged=2)], [claim()])
    assert found.verdict == word
    assert found.detail.endswith(f"; 2 of {len(values) + 2} runs diverged")


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
        return level_mean(replace(made_up(A, [90.0] * len(curves)), records=records), "updates_to_95")

    assert mean(fast, fast, fast).value == 41
    assert mean(never, never, never).value == math.inf
    assert math.isnan(mean(fast, fast, never).value)
    assert mean(fast, never) is None
