"""Which runs fill which entry, and what is shown of them; the reported numbers."""

import pytest

from mini_lib.errors import CorruptFileError, UsageError
from mini_lib.reproduction import Measured, Printed, Records, compare, printed
from mini_lib.reproduction.comparison import counts
from mini_lib.reproduction.judgement import NOT_RUN, REPRODUCED, UNCLEAR
from mini_lib.reproduction.tables import not_compared, table_order
from reproduction.samples import FILE, cell, record


@pytest.fixture
def store(tmp_path):
    found = Records(tmp_path)
    for seed in range(1, 4):
        found.add(record(seed, 99.25 + seed / 4), FILE)
    return found


def test_an_entry_is_filled_by_runs_of_its_settings_and_size(store):
    store.add(record(11, 50.0, scale="tutorial"), FILE)
    entries = [cell(), cell("esbn.table15", "ESBN", "m=95"), cell(variant="tutorial"), cell(m=85)]
    one, small, other, elsewhere = compare(entries, store)  # those of a place together
    assert (one.ours.values, one.verdict, one.runs) == ((99.5, 99.75, 100.0), REPRODUCED, "3/10")
    assert elsewhere.ours == one.ours
    assert small.ours.values == (50.0,)
    assert (other.ours.n, other.verdict) == (0, NOT_RUN)


def test_diverged_runs_count_have_no_part_in_the_mean_and_reproduce_nothing(store):
    store.add(record(11, diverged=True), FILE)
    (each,) = compare([cell()], store)
    assert (each.ours.n, each.ours.diverged, each.ours.values) == (4, 1, (99.5, 99.75, 100.0))
    assert each.ours.rounded() == "99.75 ± 0.14, 1 diverged"
    assert set(each.mean().runs) == {each["key"] for each in store.of(cell().hash) if not each["diverged"]}
    assert each.verdict == UNCLEAR


def test_only_a_reported_numbers_own_entry_counts_and_variants_follow_it(store):
    compared = compare([cell(column="m=85", m=85), cell(), cell(column="m=85", variant="other")], store)
    assert [each.cell.variant for each in compared] == ["", "other", ""]
    count = {"numbers": 2, "reproduced": 1, "not reproduced": 0, "unclear": 0, "not run": 1}
    assert counts(compared)["esbn.table11"] == count


def test_entries_are_narrowed_by_name(store):
    cells = [cell(), cell(column="m=85", m=85), cell(row="LSTM + TCN", model="lstm")]
    assert len(compare(cells, store, tables=["esbn.table11"], rows=["ESBN + TCN"])) == 2
    assert len(compare(cells, store, columns=["m=85"], variants=[""])) == 1


@pytest.mark.parametrize(
    ("values", "kind", "shown"),
    [
        ((77.0, 78.0, 79.0), "SD", "78.0 ± 1.0"),
        ((0.00061, 0.00061, 0.00075), "SEM", "0.000657 ± 0.000047"),
        ((98.12345,), "SEM", "98.12"),
        ((), "SEM", ""),
    ],
)
def test_a_mean_is_rounded_to_two_digits_of_the_error_that_the_paper_reports(values, kind, shown):
    assert Measured(values, 0, kind).rounded() == shown


def test_a_table_that_rests_on_something_of_ours_is_not_compared(store):
    assert not_compared("functions.table2")
    (each,) = compare([cell("functions.table2", "relational transformer", "lin")], store)
    assert (each.ours.n, each.verdict, each.mean()) == (3, NOT_RUN, None)


def test_a_record_without_the_metric_of_its_entry_is_damaged(tmp_path):
    store = Records(tmp_path)
    store.add(record() | {"metrics": {"other": 1.0}}, FILE)
    with pytest.raises(CorruptFileError, match="has no 'test_accuracy'"):
        compare([cell()], store)


def test_an_error_is_of_either_kind():
    assert Printed(50.0, 2.0, "SEM", 4, "%").sd == 4.0
    assert Printed(50.0, 2.0, "SD", 4, "%").se == 1.0
    with pytest.raises(UsageError, match=r"did you mean 'esbn\.table11'"):
        printed("esbn.tabel11")


def test_tables_come_before_figures_each_by_number():
    names = ["kanerva.fig2a", "esbn.table10", "kanerva.fig1d", "esbn.table9"]
    assert sorted(names, key=table_order) == [names[3], names[1], names[2], names[0]]
