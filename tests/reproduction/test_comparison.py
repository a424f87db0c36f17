"""Verdicts: worked out by hand, and their laws. Comparisons: which runs fill which cell."""

import json
import math
import re
import statistics

import pytest
from hypothesis import given, strategies as st

from mini_lib import reproduction as results
from mini_lib.errors import CorruptFileError
from mini_lib.reproduction import Measured, Printed, Records, compare, printed, verdict
from mini_lib.reproduction.comparison import (
    PARTS,
    TOO_FEW,
    _tables,
    counts,
    counts_by_paper,
    listing,
    repeated,
    table_order,
)
from reproduction.samples import HOME, cell, record


def paper(mean, err, error="SEM", runs=10, unit="%"):
    return Printed(mean, err, error, runs, unit)


@pytest.mark.parametrize(
    ("printed", "values", "word"),
    [
        (paper(99.7, 0.1), (), "not run"),
        (None, (99.0,) * 3, "not printed"),
        (None, (99.0,) * 2, TOO_FEW),
        # No spread anywhere: the floor of half a point decides, and twice that.
        (paper(99.0, 0.0), (99.5,) * 10, "match"),
        (paper(99.0, 0.0), (99.51,) * 10, "close"),
        (paper(99.0, 0.0), (98.0,) * 10, "close"),
        (paper(99.0, 0.0), (97.99,) * 10, "differs"),
        # Decimal fractions that binary ones miss: 99.7 - 99.2 is more than 0.5 by a rounding error.
        (paper(99.2, 0.0), (99.7,) * 10, "match"),
        # SE 3 of the paper and none of ours: 6 points match, 12 are close.
        (paper(60.0, 3.0), (66.0,) * 10, "match"),
        (paper(60.0, 3.0), (66.1,) * 10, "close"),
        (paper(60.0, 3.0), (72.0,) * 10, "close"),
        (paper(60.0, 3.0), (72.1,) * 10, "differs"),
        # Ours: values 58, 60, 62 have SD 2 and SEM 1.1547; with the paper's 0.9 the SE is 1.464, twice 2.928.
        (paper(57.1, 0.9), (58.0, 60.0, 62.0), "match"),
        (paper(57.0, 0.9), (58.0, 60.0, 62.0), "close"),
        # One or two runs say nothing, wherever they lie: the paper's spread is not ours.
        (paper(50.0, 3.0, "SD", 9), (50.0,), TOO_FEW),
        (paper(50.0, 3.0, "SD", 9), (99.0,), TOO_FEW),
        (paper(50.0, 3.0, "SD", 9), (49.9, 50.1), TOO_FEW),
        # An SD of 3 over 9 runs is a standard error of 1; with ours of 1.1547 that is 1.528, twice 3.055.
        (paper(57.0, 3.0, "SD", 9), (58.0, 60.0, 62.0), "match"),
        (paper(56.9, 3.0, "SD", 9), (58.0, 60.0, 62.0), "close"),
        # Inconclusive above 8 points, even where the means agree; but four standard errors apart they differ.
        (paper(60.0, 8.0), (60.0,) * 10, "match"),
        (paper(60.0, 8.01), (60.0,) * 10, "inconclusive"),
        (paper(60.0, 12.5), (10.0,) * 10, "inconclusive"),
        (paper(60.0, 12.49), (10.0,) * 10, "differs"),
        # An MSE of 0.4: 5 % is 0.02; a quarter is 0.1.
        (paper(0.4, 0.0, unit="MSE"), (0.42,) * 3, "match"),
        (paper(0.4, 0.0, unit="MSE"), (0.421,) * 3, "close"),
        (paper(0.4, 0.0, unit="SD"), (0.441,) * 3, "differs"),
        (paper(0.4, 0.1, unit="MSE"), (0.4,) * 3, "match"),
        (paper(0.4, 0.1001, unit="MSE"), (0.4,) * 3, "inconclusive"),
        # No error printed: only ours counts.
        (paper(0.8, None, unit="SD"), (0.84,) * 3, "match"),
    ],
)
def test_verdicts_worked_out_by_hand(printed, values, word):
    assert verdict(printed, Measured(values)) == word


def test_all_runs_diverged_differs_from_any_number():
    assert verdict(paper(99.0, 8.0), Measured((), diverged=3)) == "differs"
    assert verdict(None, Measured((), diverged=3)) == "not printed"


def test_runs_that_diverged_do_not_make_up_for_those_that_are_missing():
    assert verdict(paper(99.0, 8.0), Measured((), diverged=2)) == TOO_FEW
    assert verdict(paper(99.0, 8.0), Measured((99.0, 99.0), diverged=8)) == TOO_FEW


accuracies = st.floats(0, 100)
errors = st.floats(0, 10)


@given(accuracies, errors, st.floats(0, 5), st.lists(accuracies, min_size=3, max_size=12))
def test_a_wider_error_never_makes_a_verdict_worse(mean, err, more, values):
    order = ["match", "close", "differs", "inconclusive"]
    narrow, wide = (verdict(paper(mean, e), Measured(tuple(values))) for e in (err, err + more))
    assert narrow in order
    assert wide == "inconclusive" or order.index(wide) <= order.index(narrow)


@given(st.integers(0, 100).map(float), st.integers(0, 30), st.integers(3, 10))
def test_a_verdict_does_not_depend_on_the_direction(mean, off, n):
    above, below = (Measured((mean + sign * off / 4,) * n) for sign in (1, -1))
    assert verdict(paper(mean, 1.0), above) == verdict(paper(mean, 1.0), below)


@given(accuracies, errors, st.lists(accuracies, min_size=3, max_size=12))
def test_the_verdict_is_the_rule(mean, err, values):
    se = math.hypot(err, statistics.stdev(values) / math.sqrt(len(values)))
    d, allowed = abs(statistics.fmean(values) - mean), max(2 * se, 0.5)
    near = any(math.isclose(d, edge, abs_tol=1e-6) for edge in (allowed, 2 * allowed)) or math.isclose(
        se, 8, abs_tol=1e-6
    )
    expected = (
        "differs" if d > 2 * allowed else "inconclusive" if se > 8 else "match" if d <= allowed else "close"
    )
    assert near or verdict(paper(mean, err), Measured(tuple(values))) == expected


@given(accuracies, errors, st.lists(accuracies, min_size=1, max_size=2), st.integers(0, 9))
def test_below_three_runs_there_is_no_verdict(mean, sd, values, lost):
    assert verdict(paper(mean, sd, "SD"), Measured(tuple(values), lost)) == TOO_FEW


# ----------------------------------------------------------------------------------------- comparisons


@pytest.fixture
def store(tmp_path):
    store = Records(tmp_path)
    for seed in range(1, 4):
        store.add(record(seed, 99.6), HOME)
    return store


def test_a_cell_finds_its_runs_whatever_table_it_stands_in(store):
    found = compare([cell(), cell("esbn.table17", "ESBN (conv)")], store)
    assert [(each.verdict, each.ours.n, each.partial) for each in found] == [("match", 3, True)] * 2
    assert found[0].paper == paper(99.7, 0.1)
    assert found[0].label == "match, partial"


def test_the_papers_number_of_runs_is_not_partial(store):
    for seed in range(4, 11):
        store.add(record(seed, 99.6), HOME)
    assert compare([cell()], store)[0].label == "match"


def test_as_many_runs_as_the_papers_are_not_partial_where_some_diverged(store):
    for seed in range(4, 11):
        store.add(record(seed, 99.6, diverged=seed == 10), HOME)
    assert compare([cell()], store)[0].label == "match"


def test_diverged_runs_count_and_are_shown_but_have_no_part_in_the_mean(store):
    store.add(record(4, diverged=True), HOME)
    found = compare([cell()], store)[0]
    assert (found.ours.n, found.ours.diverged, found.ours.mean) == (4, 1, pytest.approx(99.6))
    assert "1 diverged" in found.parts[2]


def test_tutorial_runs_never_fill_a_cell_of_the_paper(store):
    store.add(record(4, 50.0, scale="tutorial"), HOME)
    store.add(record(1, 60.0, scale="tutorial", width=0.25), HOME)
    main, small = compare([cell(), cell(variant="tutorial", width=0.25)], store)
    assert main.ours.values == (99.6,) * 3
    assert small.ours.values == (60.0,)
    assert compare([cell(width=0.25)], store)[0].verdict == "not run"


def test_variants_stand_beneath_their_cell_and_against_its_number(store):
    cells = [cell(), cell(column="m=85", m=85), cell(variant="released images", images="released")]
    found = compare(cells, store)
    assert [each.cell.id.split("/", 2)[2] for each in found] == ["m=95", "m=95/released images", "m=85"]
    assert found[1].paper == found[0].paper
    assert found[1].verdict == "not run"


def test_a_point_of_a_figure_has_no_printed_number(store):
    found = compare([cell("esbn.figure8", "RMTS", "m=0")], store)[0]
    assert (found.paper, found.label) == (None, "not printed")
    assert found.parts[1] == "-"


def test_a_line_has_its_five_fields(store):
    assert compare([cell()], store)[0].parts == (
        "esbn.table11/ESBN + TCN/m=95",
        "99.7 ± 0.1",
        "99.6 ± 0",
        "3",
        "match, partial",
    )


def test_json_holds_everything(store):
    found = json.loads(json.dumps(compare([cell()], store)[0].to_dict()))
    assert found["id"] == cell().id
    assert found["paper"] == {"mean": 99.7, "err": 0.1, "error": "SEM", "runs": 10, "unit": "%"}
    assert found["ours"]["values"] == [99.6] * 3
    assert (found["n"], found["diverged"], found["verdict"], found["partial"]) == (3, 0, "match", True)


@pytest.mark.parametrize("place", [(), ("scan.table1", "GRU + attn", "Add jump")])
def test_json_has_the_mean_and_its_standard_error_where_the_paper_prints_an_sd_too(tmp_path, place):
    store = Records(tmp_path)
    for seed, accuracy in enumerate((58.0, 60.0, 62.0), start=1):
        store.add(record(seed, accuracy), HOME)
    ours = compare([cell(*place)], store)[0].to_dict()["ours"]
    assert ours == {"mean": 60.0, "sem": pytest.approx(2 / math.sqrt(3)), "values": [58.0, 60.0, 62.0]}


def test_one_or_two_runs_are_shown_as_such_and_as_nothing_more(tmp_path):
    store = Records(tmp_path)
    store.add(record(1, 99.7), HOME)
    (found,) = compare([cell()], store)
    assert found.parts[1:] == ("99.7 ± 0.1", "1 run: 99.7", "1", "too few runs")
    assert found.ours.with_runs == "1 run: 99.7"
    assert not found.partial, "it is no verdict on fewer runs"
    store.add(record(2, diverged=True), HOME)
    (found,) = compare([cell()], store)
    assert (found.ours.with_runs, found.label) == ("2 runs: 99.7, 1 diverged", "too few runs")
    store.add(record(3, 99.7), HOME)
    store.add(record(4, 99.7), HOME)
    (found,) = compare([cell()], store)
    assert (found.ours.with_runs, found.label) == ("99.7 ± 0, 1 diverged (4 runs)", "match, partial")
    assert Measured(()).with_runs == "-"


def test_a_paper_is_counted_by_its_printed_numbers_those_with_runs_and_those_with_enough(tmp_path):
    """Of Table 11 one number has three runs, one has two, one none; a variant and a figure have no own."""
    store = Records(tmp_path)
    for seed in (1, 2, 3):
        store.add(record(seed, 99.6), HOME)
    for seed in (1, 2):
        store.add(record(seed, 99.6, m=85), HOME)
        store.add(record(seed, 10.0, m=8), HOME)
    cells = [cell(), *(cell(column=f"m={m}", m=m) for m in (85, 50)), cell(variant="x", m=8)]
    cells += [cell("esbn.figure8", "RMTS", "m=0", m=8), cell("kanerva.fig1e", "k = 1", "loss", m=8)]
    head, *rows = counts_by_paper(compare(cells, store))
    assert head[:4] == ("paper", "printed numbers", "with a run", "with 3 runs or more")
    assert head[4:] == ("match", "close", "differs", "inconclusive", "of these partial")
    assert rows == [
        ("esbn", 3, 2, 1, 1, 0, 0, 0, 1),
        ("kanerva", 0, 0, 0, 0, 0, 0, 0, 0),
        ("all", 3, 2, 1, 1, 0, 0, 0, 1),
    ]


def test_numbers_of_the_same_runs_are_told(store):
    """Table 17 prints a row of Table 11 again; a variant and what has no run are no second number."""
    again = cell("esbn.table17", "ESBN (conv)")
    other = [cell(column="m=85", m=85), cell("esbn.table17", "ESBN (conv)", "m=85", m=85), cell(variant="x")]
    assert repeated(compare([cell(), *other], store)) == ""
    told = repeated(compare([cell(), again, *other], store))
    assert told.endswith("counts twice, on the same runs. Of those with a run: esbn 1 of 2.")
    assert told in results.summary(compare([cell(), again, *other], store))


def test_counts_leave_variants_out(store):
    found = compare([cell(), cell(column="m=85", m=85), cell(variant="x", images="released")], store)
    count = counts(found)["esbn.table11"]
    assert {name: n for name, n in count.items() if n} == {"match": 1, "not run": 1, "partial": 1}
    assert "esbn.table11" in results.summary(found)


def test_filters_keep_what_they_name(store):
    cells = [cell(), cell(column="m=85", m=85), cell("esbn.table17", "ESBN (conv)")]
    (found,) = compare(cells, store, tables=["esbn.table11"], columns=["m=85"])
    assert found.cell.column == "m=85"
    assert len(compare(cells, store, rows=["ESBN + TCN"])) == 2
    variant = cell(variant="x", images="released")
    for wanted in ("", "x"):
        (found,) = compare([cell(), variant], store, variants=[wanted])
        assert found.cell.variant == wanted
    with pytest.raises(ValueError, match="unknown row 'ESBN\\+TCN'; did you mean 'ESBN \\+ TCN'"):
        compare(cells, store, rows=["ESBN+TCN"])


def test_a_listing_has_a_head_and_stands_in_columns(store):
    found = compare([cell(), cell("scan.table1", "GRU + attn", "Add turn left")], store)
    head, *lines = listing(found).splitlines()
    assert tuple(head.split()) == PARTS
    assert len(lines) == 2
    starts = [match.start() for match in re.finditer(r"\S+", head)]
    for line, each in zip(lines, found, strict=True):
        assert all(line[start:].startswith(part) for start, part in zip(starts, each.parts, strict=True))


# ----------------------------------------------------------------------------------------- printed tables


def test_an_unknown_table_is_answered_with_the_nearest():
    with pytest.raises(ValueError, match=r"unknown table 'esbn\.table99'; did you mean 'esbn\.table9'"):
        printed("esbn.table99")


def test_printed_numbers_are_read_as_they_stand():
    assert printed("esbn.table10")["RN + TCN", "m=95"] == paper(79.6, 2.1)
    assert ("RMTS", "m=98") not in printed("esbn.table19")
    jump = printed("scan.table1")["Syntactic Attention", "Add jump"]
    assert (jump.error, jump.runs, jump.unit) == ("SD", 25, "%")
    assert jump.se == pytest.approx(27.4 / 5)
    assert printed("functions.table2")["optimal", "rbf"].err is None


def test_tables_stand_before_figures_each_by_number_and_letter():
    ordered = ["esbn.table9", "esbn.table10", "kanerva.fig2c", "kanerva.fig2d", "kanerva.fig10"]
    assert sorted(reversed(ordered), key=table_order) == ordered
    assert sorted(["scan.starts", "scan.table1"], key=table_order) == ["scan.table1", "scan.starts"]


@pytest.mark.parametrize("table", _tables())
def test_every_printed_number_is_possible(table):
    for entry in printed(table).values():
        assert entry.runs >= 1
        assert (entry.err or 0) >= 0
        assert 0 <= entry.mean <= (100 if entry.unit == "%" else 10)


def test_our_error_is_of_the_kind_that_the_paper_prints():
    values = (10.0, 20.0, 60.0)
    assert str(Measured(values)) == "30 ± 15"
    assert str(Measured(values, error="SD")) == "30 ± 26"
    (row,) = compare([cell("scan.table1", "GRU + attn", "Add jump")], Records("nowhere"))
    assert row.ours.error == "SD"
    (row,) = compare([cell()], Records("nowhere"))
    assert row.ours.error == "SEM"


def test_a_record_without_the_metric_of_its_cell_is_damaged(tmp_path):
    store = Records(tmp_path)
    store.add(record() | {"metrics": {"other": 1.0}}, HOME)
    with pytest.raises(CorruptFileError, match=r"has no 'test_accuracy', which esbn\.table11/ESBN"):
        compare([cell()], store)
