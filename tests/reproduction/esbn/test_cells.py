"""The declared cells against the paper's tables, and what the command builds from a cell."""

import json
from collections import Counter
from importlib import resources

import pytest
from scipy import stats

from mini_lib.esbn import runs
from mini_lib.esbn.runs import paper_settings
from mini_lib.reproduction import Records, compare
from mini_lib.reproduction.esbn.cells import CELLS, build, condition_means, data_source

PRINTED = json.loads((resources.files("mini_lib.reproduction") / "tables.json").read_text())


def by_table(table, variant=""):
    return [cell for cell in CELLS if cell.table == table and cell.variant == variant]


@pytest.mark.parametrize("number", range(9, 21))
def test_every_printed_cell_is_declared_once(number):
    table = f"esbn.table{number}"
    printed = PRINTED[table]
    declared = Counter((cell.row, cell.column) for cell in by_table(table))
    expected = {
        (row, column)
        for row, entries in printed["rows"].items()
        for column, entry in entries.items()
        if entry
    }
    assert set(declared) == expected
    assert set(declared.values()) == {1}
    assert {cell.runs for cell in by_table(table)} == {printed["runs"]}


def test_cells_of_equal_settings_share_a_home_and_ids_are_unique():
    assert len({cell.id for cell in CELLS}) == len(CELLS)
    homes = {}
    for cell in CELLS:
        assert homes.setdefault(cell.hash, cell.file) == cell.file
    shared = {cell.file for cell in by_table("esbn.table17") if "(conv)" in cell.row}
    assert shared == {"esbn.table11"}


def test_the_command_builds_a_cells_run_from_its_dict():
    settings = paper_settings("rmts", 95, "lstm", options={"hidden": 32})
    run, same = build(settings.to_dict(), seed=2), runs.build(settings, seed=2)
    assert (run.key, run.stack_key()) == (same.key, same.stack_key())
    assert data_source(settings.to_dict()) == "rendered"
    assert data_source(paper_settings("rmts", 95, "lstm", images="released").to_dict()) == "released"


PAIRED = {  # recomputed from the printed Tables 15-18: t, and p as the paper rounds it
    ("ESBN", "MLP"): (-1.74, 0.1),
    ("ESBN", "rand"): (1.61, 0.13),
    ("Transformer", "rand"): (-4.00, 0.001),
    ("Transformer", "MLP"): (-1.55, 0.14),
}


@pytest.mark.parametrize(("model", "encoder"), PAIRED)
def test_the_papers_t_tests_follow_from_its_printed_tables(model: str, encoder: str, tmp_path):
    tables = [f"esbn.table{number}" for number in range(15, 19)]
    comparisons = compare(CELLS, Records(tmp_path), tables=tables)
    conv, other = (condition_means(comparisons, f"{model} ({each})") for each in ("conv", encoder))
    assert list(conv) == list(other)
    t, p = stats.ttest_rel(list(other.values()), list(conv.values()))
    expected, printed_p = PAIRED[model, encoder]
    assert round(t, 2) == expected
    assert p == pytest.approx(printed_p, rel=0.06)
    assert len(conv) == 17
