"""The declared cells against the paper's tables, the released code's schedule, and real runs by the harness."""

import json
from collections import Counter
from importlib import resources

import pytest

from mini_lib.errors import UsageError
from mini_lib.reproduction import settings_hash
from mini_lib.reproduction.comparison import TUTORIAL
from mini_lib.reproduction.scan.cells import CELLS, COLUMNS
from mini_lib.scan.models import SyntacticAttention, build_network
from mini_lib.scan.runs import Settings, build, paper_settings, tutorial_settings
from scan.runs import SMALL, small

PRINTED = json.loads((resources.files("mini_lib.reproduction") / "tables.json").read_text())


# --------------------------------------------------------------------------------------------- settings


def test_settings_keep_only_what_is_not_default():
    plain = paper_settings("length").to_dict()
    assert plain == {
        **{"paper": "scan", "split": "length", "model": "syntactic_attention"},
        **{"lr": 1e-3, "epochs": 15, "batch_size": 1, "checks": [5, 10]},
    }
    changes = {"validation": "random", "source": "released", "clip": 5.0, "options": {"ends": "zero"}}
    changed = paper_settings("length", **changes)
    assert changed.to_dict() == plain | changes
    assert Settings.from_dict(json.loads(json.dumps(changed.to_dict()))) == changed
    assert Settings.from_dict(plain) == paper_settings("length")


def test_order_of_keys_does_not_change_the_name_of_a_run():
    settings = tutorial_settings().to_dict()
    turned = dict(reversed(settings.items())) | {"options": dict(reversed(settings["options"].items()))}
    assert list(turned) != list(settings)
    assert settings_hash(Settings.from_dict(turned).to_dict()) == settings_hash(settings)
    assert build(small().to_dict(), 1).key != build(small().to_dict(), 2).key


def test_settings_describe_what_is_not_the_papers():
    assert paper_settings("add_jump").describe() == "syntactic_attention, add_jump"
    changed = paper_settings("length", validation="random", clip=5.0)
    assert changed.describe() == "syntactic_attention, length, clip 5.0, validation random"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"split": "addjump"}, "unknown split 'addjump'; did you mean 'add_jump'"),
        ({"split": "few_shot_3_1"}, "few-shot splits have"),
        ({"model": "syntactic_atention"}, "unknown model 'syntactic_atention'; did you mean 'syntactic_att"),
        ({"validation": "tails"}, "unknown validation 'tails'; did you mean 'tail'"),
        ({"source": "relesed"}, "unknown source of commands 'relesed'; did you mean 'released'"),
        ({"split": "size_1", "source": "released"}, "unknown split with released files 'size_1'"),
        ({"epochs": 0}, "epochs has to be a whole number from 1, got 0"),
        ({"batch_size": -1}, "batch_size has to be a whole number from 1, got -1"),
        ({"lr": 0.0}, "lr has to be above 0"),
        ({"epoch": 3}, "unknown setting 'epoch'; did you mean 'epochs'"),
        ({"options": {"ends": "zeros"}}, "unknown ends 'zeros'; did you mean 'zero'"),
    ],
)
def test_settings_that_make_no_run_are_refused(changes, message):
    settings = small(validation="none").to_dict() | changes
    with pytest.raises(UsageError, match=message):
        build(settings, 1)


def test_a_wrong_split_is_refused_where_settings_are_made():
    with pytest.raises(UsageError, match="did you mean 'add_jump'"):
        paper_settings("ad_jump")


# ------------------------------------------------------------------------------------------------- cells


def by_table(table, variant=""):
    return [cell for cell in CELLS if cell.table == table and cell.variant == variant]


OURS = "Syntactic Attention"


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
        if cell.variant or (cell.table, cell.row, cell.column) in UNPRINTED:
            continue
        printed = PRINTED[cell.table]
        assert cell.runs == printed["rows"][cell.row][cell.column].get("runs", printed["runs"])


def test_columns_are_the_splits_they_name():
    assert set(COLUMNS.values()) == set(PRINTED["scan.table1"]["columns"])
    assert all(cell.column == COLUMNS[cell.settings["split"]] for cell in CELLS)


def test_cells_of_equal_settings_share_a_home_and_ids_are_unique():
    assert len({cell.id for cell in CELLS}) == len(CELLS)
    homes = {}
    for cell in CELLS:
        assert homes.setdefault(cell.hash, cell.home) == cell.home
    assert {cell.home for cell in by_table("scan.table2") if cell.row == OURS} == {"scan.table1"}


def test_every_cell_can_be_built_from_its_settings():
    for cell in CELLS:
        settings = Settings.from_dict(cell.settings)
        assert settings.to_dict() == cell.settings
    options = {cell.row: cell.settings.get("options", {}) for cell in by_table("scan.table2")}
    assert options == {
        "Sequential semantics": {"sequential_semantics": True},
        "Syntax-action": {"syntax_action": True},
        "Nonlinear semantics": {"nonlinear_semantics": True},
        OURS: {},
    }
    assert not any(cell.settings.get("options") for cell in by_table("scan.table1") if cell.row == OURS)
    for options in {json.dumps(c.settings.get("options", {})) for c in CELLS if c.row == OURS}:
        SyntacticAttention(**(json.loads(options) | SMALL))


def test_only_the_last_checkpoints_are_read_by_another_metric():
    for cell in CELLS:
        if cell.variant == "last checkpoint":
            assert cell.metric == "last_test_accuracy"
        else:
            assert cell.metric == "test_accuracy"


def test_variants_say_what_is_different():
    variants = {
        cell.variant: cell.settings for cell in CELLS if cell.row == OURS and cell.column == "Add jump"
    }
    assert variants["released files"]["source"] == "released"
    assert variants["gradients clipped"]["clip"] == 5.0
    assert variants["neighbours at the top"]["options"] == {"surrounding": "top"}
    assert variants["ends are zero"]["options"] == {"ends": "zero"}
    assert variants["one-hot syntax"]["options"] == {"one_hot": True}
    assert variants[TUTORIAL] == tutorial_settings().to_dict()
    (length,) = by_table("scan.table1", "random validation set")
    assert (length.column, length.settings["validation"]) == ("Length", "random")


def test_tutorial_settings_are_small_and_can_be_changed():
    settings = tutorial_settings()
    assert (settings.split, settings.batch_size, settings.lr) == ("add_jump", 16, 4e-3)
    model = SyntacticAttention(**settings.options)
    assert sum(p.numel() for p in model.parameters()) == 233_624  # facts, section 8
    assert tutorial_settings(epochs=1, options={"syntax": 8}).options == {"syntax": 8, "semantics": 38}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"clip": -1.0}, "clip has to be above 0"),
        ({"checks": (0,)}, "checks are epochs from 1 to 3, got 0"),
        ({"checks": (4,)}, "checks are epochs from 1 to 3, got 4"),
    ],
)
def test_settings_that_no_run_can_follow(changes, message):
    with pytest.raises(UsageError, match=message):
        small(**changes)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sintax": 64}, "unknown option of syntactic_attention 'sintax'; did you mean 'syntax'"),
        ({"dropout": 1.0}, "a dropout rate is at least 0 and below 1, got 1.0"),
        ({"syntax": 7}, "syntax is halved between two directions"),
        ({"semantics": 5}, "semantics is halved between two directions"),
    ],
)
def test_options_that_make_no_network(options, message):
    with pytest.raises(UsageError, match=message):
        build_network("syntactic_attention", **options)


@pytest.mark.parametrize(
    ("model", "options"),
    [("li", {"strength": 50.0}), ("li", {"sigma": 0.5}), ("syntactic_attention", {"dropout": 0.0})],
)
def test_networks_with_other_options_are_not_stacked(model, options):
    settings = paper_settings("size_1", model, epochs=1, checks=(), batch_size=4)
    other = paper_settings("size_1", model, epochs=1, checks=(), batch_size=4, options=options)
    one, two, three = (build(s.to_dict(), seed) for s, seed in ((settings, 1), (settings, 2), (other, 1)))
    assert one.stack_key() == two.stack_key()
    assert one.stack_key() != three.stack_key()


def test_a_run_has_one_name_however_its_settings_are_written():
    settings = small()
    written = settings.to_dict() | {"source": "generated", "clip": None}
    written["options"] = written["options"] | {"dropout": 0.5, "ends": "learned"}
    del written["paper"]
    assert build(written, 1).key == build(settings.to_dict(), 1).key
