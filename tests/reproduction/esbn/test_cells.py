"""The declared cells against the paper's tables, and what the command builds from a cell."""

import json
from collections import Counter
from importlib import resources

import pytest

from mini_lib.esbn import runs
from mini_lib.esbn.runs import paper_settings
from mini_lib.reproduction.esbn.cells import CELLS, build, data_source

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
        assert homes.setdefault(cell.hash, cell.home) == cell.home
    shared = {cell.home for cell in by_table("esbn.table17") if "(conv)" in cell.row}
    assert shared == {"esbn.table11"}


def test_the_command_builds_a_cells_run_from_its_dict():
    settings = paper_settings("rmts", 95, "lstm", width=0.125, images="released")
    run, same = build(settings.to_dict(), seed=2), runs.build(settings, seed=2)
    assert (run.key, run.stack_key()) == (same.key, same.stack_key())
    assert data_source(settings.to_dict()) == "released"
    assert data_source(paper_settings("rmts", 95, "lstm").to_dict()) == "rendered"
