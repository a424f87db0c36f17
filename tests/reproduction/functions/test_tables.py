"""Rows of runs beside the paper and the bounds, from records made by hand."""

import pytest

from mini_lib.errors import UsageError
from mini_lib.functions.bounds import Score
from mini_lib.functions.evaluation import WEIGHTS
from mini_lib.functions.models import MODELS
from mini_lib.functions.tasks import KINDS
from mini_lib.reproduction import Records, printed
from mini_lib.reproduction.functions import tables
from mini_lib.reproduction.functions.cells import COLUMNS, ROWS
from reproduction.functions.samples import record


@pytest.fixture
def records(tmp_path):
    kept = Records(tmp_path)
    for run in (
        record("one_d", seed=2, value=0.2),
        record("one_d", seed=1, value=0.1),
        record("one_d", seed=3, diverged=True),
        record("one_d", seed=1, scale="tutorial", value=5.0),
        record("relational", value=0.3),
        record("relational", value=0.7, prefixes=True),  # another reading, which fills no row
        record("relational", seed=9, value=0.9) | {"scale": "tutorial"},  # nor does a run of another scale
    ):
        kept.add(run, "functions.table1")
    return kept


def test_rows_hold_every_run_beside_the_paper_and_the_bounds(records):
    bounds = {"best": {"lin": Score(0.002, 0.1), "rbf": 0.702}, "zero": {"lin": 2.2, "all": 1.3}}
    found = tables.rows(records, bounds=bounds)
    assert [(row["model"], row["class"]) for row in found] == [(m, c) for m in MODELS for c in COLUMNS]
    row = found[1]
    assert row == {
        **{"model": "one_d", "class": "lin", "name": "1d transformer", "seeds": [1, 2], "diverged": 1},
        **{"runs": [1.1, 1.2], "mean": pytest.approx(1.15), "sem": None, "paper": 0.109, "error": 0.005},
        **{"verdict": "too few runs", "bounds": {"best": 0.002, "zero": 2.2}},
    }
    assert found[2]["bounds"] == {"best": 0.702}
    by_place = {(row["model"], row["class"]): row for row in found}
    assert by_place["relational", "all"]["runs"] == [0.3]
    empty = by_place["relational_window", "rbf"]
    assert (empty["runs"], empty["mean"], empty["verdict"], empty["paper"]) == ([], None, "not run", 1.063)


def test_rows_of_the_tutorial_and_of_uncertainty(records):
    small = tables.rows(records, scale="tutorial", columns=("rbf", "even"))
    assert [row["runs"] for row in small[:2]] == [[7.0], [9.0]]
    assert (small[1]["paper"], small[1]["verdict"]) == (None, "too few runs")
    spread = tables.rows(records, "spread", columns=("lin",))
    assert [row["name"] for row in spread] == [ROWS["relational"], ROWS["relational_window"]]
    assert (spread[0]["runs"], spread[0]["paper"], spread[0]["error"]) == ([6.3], 0.068, 0.015)
    assert tables.printed_optimum() == {"optimal": {"lin": 0.1, "rbf": 0.802, "sine": 0.1}}


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"measure": "msee"}, "unknown measure 'msee'; did you mean 'mse'"),
        ({"scale": "papers"}, "unknown scale 'papers'; did you mean 'paper'"),
        ({"columns": ["lin", "sin"]}, "unknown class of curves 'sin'"),
    ],
)
def test_rows_of_what_is_not_there(records, wrong, words):
    with pytest.raises(UsageError, match=words):
        tables.rows(records, **wrong)


def test_the_place_of_the_trained_network_among_the_runs(records):
    for seed, value in ((1, 0.5), (2, 0.4), (3, 0.9)):
        records.add(record("one_d_window", seed=seed, scale="tutorial", value=value), "functions.table1")
    assert tables.place_of_first(records, "one_d_window", "lin") == (2, 3)
    with pytest.raises(UsageError, match="unknown model 'one'"):
        tables.place_of_first(records, "one")


def test_the_weights_give_every_printed_all_and_equal_weights_do_not():
    even_errors = []
    for table in ("functions.table1", "functions.table2"):
        entries = printed(table)
        for name in {row for row, column in entries if column == "all"}:
            lin, rbf, sine = (entries[name, kind].mean for kind in KINDS)
            total = entries[name, "all"].mean
            weighted = WEIGHTS["lin"] * lin + WEIGHTS["rbf"] * rbf + WEIGHTS["sine"] * sine
            assert abs(weighted - total) < 1e-3  # what rounding to .001 allows
            even_errors.append(abs((lin + rbf + sine) / 3 - total))
    assert len(even_errors) == 6
    assert max(even_errors) > 0.06
    assert sum(WEIGHTS.values()) == pytest.approx(1)
