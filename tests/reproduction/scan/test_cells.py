"""The declared cells against the paper's tables, and what the command makes of them."""

import json
from collections import Counter
from importlib import resources

import pytest

from mini_lib.errors import UsageError
from mini_lib.reproduction.comparison import TUTORIAL
from mini_lib.reproduction.scan.cells import CELLS as ALL_CELLS, COLUMNS, STARTS, build, data_source
from mini_lib.scan import runs
from mini_lib.scan.runs import Settings, paper_settings, tutorial_settings

PRINTED = json.loads((resources.files("mini_lib.reproduction") / "tables.json").read_text())
OURS = "Syntactic Attention"
CELLS = [cell for cell in ALL_CELLS if cell.table != STARTS]  # a table of our own; see test_starts.py
UNPRINTED = {
    ("scan.table2", "Nonlinear semantics", "Add turn left"),
    ("scan.table2", "Nonlinear semantics", "Add jump"),
    ("scan.table2", "Sequential semantics", "Simple"),  # in the text
}


def by_table(table, variant=""):
    return [cell for cell in CELLS if cell.table == table and cell.variant == variant]


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
    """A column is a split, equal settings have one home, and only the last checkpoint is another metric."""
    assert set(COLUMNS.values()) == set(PRINTED["scan.table1"]["columns"])
    assert len({cell.id for cell in CELLS}) == len(CELLS)
    homes = {}
    for cell in CELLS:
        assert cell.column == COLUMNS[cell.settings["split"]]
        assert homes.setdefault(cell.hash, cell.file) == cell.file
        assert cell.metric == ("last_" * (cell.variant == "last checkpoint") + "test_accuracy")
        assert Settings.from_dict(cell.settings).to_dict() == cell.settings
    assert {cell.file for cell in by_table("scan.table2") if cell.row == OURS} == {"scan.table1"}
    options = {cell.row: cell.settings.get("options", {}) for cell in by_table("scan.table2")}
    assert options == {
        "Sequential semantics": {"sequential_semantics": True},
        "Syntax-action": {"syntax_action": True},
        "Nonlinear semantics": {"nonlinear_semantics": True},
        OURS: {},
    }
    assert not any(cell.settings.get("options") for cell in by_table("scan.table1") if cell.row == OURS)


def test_variants_say_what_is_different():
    found = {cell.variant: cell.settings for cell in CELLS if (cell.row, cell.column) == (OURS, "Add jump")}
    changes = {
        "released files": {"source": "released"},
        "gradients clipped": {"clip": 5.0},
        "neighbours at the top": {"options": {"surrounding": "top"}},
        "ends are zero": {"options": {"ends": "zero"}},
        "ends hear their neighbour": {"options": {"ends": "neighbour"}},
        "one-hot syntax": {"options": {"one_hot": True}},
    }
    for variant, change in changes.items():
        assert found[variant] == found[""] | change
    small = tutorial_settings(options={"ends": "neighbour"})
    assert found[f"{TUTORIAL}, ends hear their neighbour"] == small.to_dict()
    assert found[TUTORIAL] == tutorial_settings().to_dict()
    (length,) = by_table("scan.table1", "random validation set")
    assert (length.column, length.settings["validation"]) == ("Length", "random")


def test_the_command_builds_runs_of_cells_and_says_where_their_commands_are_from():
    settings = tutorial_settings(split="length")
    assert build(settings.to_dict(), 1).key == runs.build(settings, 1).key
    assert data_source(settings.to_dict()) == "generated"
    assert data_source(paper_settings("length", source="released").to_dict()) == "released"
    with pytest.raises(UsageError, match="did you mean 'split'"):
        build({"splt": "length"}, 1)
