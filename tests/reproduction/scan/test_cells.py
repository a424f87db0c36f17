"""The declared cells against the paper's tables, and what the command makes of them."""

import json
from collections import Counter
from importlib import resources

from mini_lib.reproduction.scan.cells import CELLS as ALL_CELLS, COLUMNS, STARTS, data_source
from mini_lib.scan.runs import Settings

PRINTED = json.loads((resources.files("mini_lib.reproduction") / "tables.json").read_text())
OURS = "Syntactic Attention"
CELLS = [cell for cell in ALL_CELLS if cell.table != STARTS]  # a table of our own; see test_starts.py
UNPRINTED = {
    ("scan.table2", "Nonlinear semantics", "Add turn left"),
    ("scan.table2", "Nonlinear semantics", "Add jump"),
    ("scan.table2", "Sequential semantics", "Simple"),  # in the text
}


def test_every_printed_entry_is_declared_once():
    declared = Counter((cell.table, cell.row, cell.column) for cell in CELLS if not cell.variant)
    assert set(declared.values()) == {1}
    printed = {
        (table, row, column)
        for table in ("scan.table1", "scan.table2")
        for row, entries in PRINTED[table]["rows"].items()
        for column, entry in entries.items()
        if entry
    }
    assert set(declared) == printed | UNPRINTED


def test_cells_have_as_many_runs_as_the_paper():
    for cell in CELLS:
        if not cell.variant and (cell.table, cell.row, cell.column) not in UNPRINTED:
            printed = PRINTED[cell.table]
            assert cell.runs == printed["rows"][cell.row][cell.column].get("runs", printed["runs"])


def test_cells_are_what_they_are_called():
    """A column is a split, equal settings have one file, and only the last checkpoint is another metric."""
    assert len({cell.id for cell in CELLS}) == len(CELLS)
    files = {}
    for cell in CELLS:
        assert cell.column == COLUMNS[cell.settings["split"]]
        assert files.setdefault(cell.hash, cell.file) == cell.file
        assert cell.metric == ("last_" * (cell.variant == "last checkpoint") + "test_accuracy")
        assert Settings.from_dict(cell.settings).to_dict() == cell.settings
        assert data_source(cell.settings) == ("released" if cell.variant == "released files" else "generated")
    for cell in CELLS:
        if cell.table == "scan.table2" and not cell.variant:
            option = cell.row.lower().replace("-", "_").replace(" ", "_")
            expected = {} if cell.row == OURS else {option: True}
            assert cell.settings.get("options", {}) == expected
            assert (cell.file == "scan.table1") == (cell.row == OURS)
