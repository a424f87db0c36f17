"""The declared cells against the paper's tables, and what they make."""

import json
from importlib import resources

import pytest

from mini_lib.functions import runs
from mini_lib.functions.runs import WEIGHTS
from mini_lib.functions.tasks import KINDS
from mini_lib.functions.transformer import MODELS
from mini_lib.reproduction import printed
from mini_lib.reproduction.comparison import TUTORIAL
from mini_lib.reproduction.functions.cells import (
    CELLS,
    COLUMNS,
    FIRST_READING,
    ROWS,
    TABLE1,
    build,
    data_source,
)
from mini_lib.reproduction.functions.readings import READINGS
from mini_lib.training import train

PRINTED = json.loads((resources.files("mini_lib.reproduction") / "tables.json").read_text())


def test_every_printed_number_of_a_network_has_a_cell():
    for table in ("functions.table1", "functions.table2"):
        printed = {
            (row, column)
            for row, entries in PRINTED[table]["rows"].items()
            for column, entry in entries.items()
            if entry is not None and row != "optimal"  # in closed form: mini_lib.functions.bounds
        }
        filled = {(cell.row, cell.column) for cell in CELLS if cell.table == table and not cell.variant}
        assert filled == printed


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


def test_ids_are_unique_and_a_tutorial_cell_stands_for_every_cell():
    ids = [cell.id for cell in CELLS]
    assert len(ids) == len(set(ids))
    plain = {cell.id for cell in CELLS if not cell.variant}
    assert {cell.id.removesuffix("/tutorial") for cell in CELLS if cell.variant == TUTORIAL} == plain


def test_both_tables_share_their_runs():
    hashes = {
        (cell.table, cell.hash) for cell in CELLS if cell.row == ROWS["relational"] and not cell.variant
    }
    assert len(hashes) == 2
    assert len({hash for _, hash in hashes}) == 1
    assert {cell.file for cell in CELLS if not cell.variant} == {"functions.table1"}


def test_hashes_stay_what_records_are_kept_by():
    """A field or an option that changes its name or its default would leave the records of such runs behind."""
    for row, variant, digest in (
        ("one_d", "", "09dc7e356d5a"),
        ("one_d", "tutorial", "fcea5950586e"),
        ("relational_window", "tutorial", "ab84994bc7fc"),
        ("relational_window", "tutorial, window starts at 3", "c9ef83621434"),
        ("one_d", FIRST_READING, "e4e340ff14c2"),
        ("one_d", f"tutorial, {FIRST_READING}", "454174d2465e"),
        ("one_d", "trained on the last point", "13ee7219a638"),
        ("one_d", "tutorial, trained on the last point", "bc47bba59204"),
        ("one_d", "tutorial, no mask", "829221327c51"),
        ("one_d", "tutorial, standard mask", "9257457ef8c5"),
        ("relational_window", "standard mask", "0af309e7f98e"),
        ("relational_window", f"tutorial, {FIRST_READING}, window starts at 3", "fa5f6b32ea33"),
        ("relational_window", f"tutorial, {FIRST_READING}, window learns 10 times faster", "79cf229ba288"),
    ):
        here = [
            cell for cell in CELLS if (cell.table, cell.row, cell.variant) == (TABLE1, ROWS[row], variant)
        ]
        assert [(cell.column, cell.hash) for cell in here] == [(column, digest) for column in COLUMNS]


@pytest.mark.parametrize("scale", ["", TUTORIAL])
def test_mask_training_and_context_make_eight_readings_of_every_network(scale):
    """Two masks and two trainings are four sets of runs, each with a growing and a sliding test."""
    for model, row in ROWS.items():
        cells = {
            (cell.variant, cell.column): cell for cell in CELLS if (cell.table, cell.row) == (TABLE1, row)
        }
        kinds = set()
        for reading in READINGS:
            cell = cells[", ".join(part for part in (scale, reading) if part), "rbf"]
            options = cell.settings.get("options", {})
            mask, prefixes = options.get("mask", "causal"), cell.settings.get("prefixes", False)
            assert (mask == "causal", prefixes) == ("standard mask" in reading, "last point" not in reading)
            assert (cell.metric == "sliding_mse_rbf") == ("sliding" in reading)
            default = cells[scale, "rbf"].settings
            same = {"options": options | {"mask": "strict"}, "prefixes": True}
            assert cell.settings | same == default
            kinds.add((mask, prefixes, cell.metric, cell.hash))
        assert len(kinds) == len(READINGS) == 8
        assert len({digest for *_, digest in kinds}) == 4, model


def test_metrics_of_all_cells_are_measured(monkeypatch):
    monkeypatch.setattr(runs, "UPDATES", 2)
    sizes = {"observed": 4, "epochs": 1, "batch_size": 5, "test_curves": 6}
    for model in MODELS:
        options = {"dim": 8, "layers": 1, "heads": 2}
        metrics = train([runs.build(runs.Settings(model, options=options, **sizes), 1)])[0].metrics
        row = ROWS[model.removesuffix("_level_hidden")]
        wanted = {cell.metric for cell in CELLS if cell.row == row}
        assert wanted <= metrics.keys()
        assert set(COLUMNS) | {"even"} <= {name.removeprefix("mse_") for name in metrics}


@pytest.mark.parametrize("variant", sorted({cell.variant for cell in CELLS} - {""}))
def test_every_variant_builds(variant):
    for settings in {cell.hash: cell.settings for cell in CELLS if cell.variant == variant}.values():
        options = settings.get("options", {}) | {"dim": 8, "layers": 1, "heads": 2}
        training_run = build(settings | {"options": options, "test_curves": 3, "batch_size": 2}, 1)
        loss, _ = training_run.loss(training_run.model, {"y": training_run.epoch(0)["y"][:2]})
        assert loss.isfinite()


def test_curves_are_drawn():
    assert {data_source(cell.settings) for cell in CELLS} == {"drawn"}
