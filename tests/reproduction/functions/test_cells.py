"""The declared cells against the paper's tables, what they make, and what their figures are drawn with."""

import pytest

from mini_lib.functions.runs import WEIGHTS
from mini_lib.functions.tasks import KINDS
from mini_lib.reproduction import printed
from mini_lib.reproduction.functions import figures
from mini_lib.reproduction.functions.cells import CELLS, COLUMNS, FIRST_READING, ROWS, TABLE1, TABLE2, build


def test_every_printed_number_of_a_network_has_a_cell():
    for table in (TABLE1, TABLE2):
        reported = {place for place in printed(table) if place[0] != "optimal"}  # that is in `bounds`
        filled = {(cell.row, cell.column) for cell in CELLS if cell.table == table and not cell.variant}
        assert filled == reported


def test_the_weights_give_every_printed_all_and_equal_weights_do_not():
    even_errors = []
    for entries in (printed(TABLE1), printed(TABLE2)):
        for name in {row for row, column in entries if column == "all"}:
            means = {kind: entries[name, kind].mean for kind in (*KINDS, "all")}
            weighted = sum(WEIGHTS[kind] * means[kind] for kind in KINDS)
            assert abs(weighted - means["all"]) < 1e-3  # what rounding to .001 allows
            even_errors.append(abs(sum(means[kind] for kind in KINDS) / 3 - means["all"]))
    assert len(even_errors) == 6
    assert max(even_errors) > 0.06
    assert sum(WEIGHTS.values()) == pytest.approx(1)


def test_hashes_stay_what_records_are_kept_by():
    """A field or an option that changes its name or its default would leave the records of such runs behind."""
    for row, variant, digest in (
        ("one_d", "", "09dc7e356d5a"),
        ("relational_window", "tutorial", "ab84994bc7fc"),
        ("one_d", "tutorial, no mask", "829221327c51"),
        ("one_d", "trained on the last point", "13ee7219a638"),
        ("one_d", FIRST_READING, "e4e340ff14c2"),
        ("relational_window", f"tutorial, {FIRST_READING}, window starts at 3", "fa5f6b32ea33"),
        ("relational_window", f"tutorial, {FIRST_READING}, window learns 10 times faster", "79cf229ba288"),
    ):
        place = TABLE1, ROWS[row], variant
        here = {cell.column: cell.hash for cell in CELLS if (cell.table, cell.row, cell.variant) == place}
        assert here == dict.fromkeys(COLUMNS, digest)


def test_every_cell_builds_a_run_with_a_loss_and_with_its_metric():
    sizes, tiny = {"observed": 4, "test_curves": 6, "batch_size": 2}, {"dim": 8, "layers": 1, "heads": 2}
    measured = {}
    for settings in {cell.hash: cell.settings for cell in CELLS}.values():
        run = build(settings | sizes | {"options": settings.get("options", {}) | tiny}, 1)
        assert run.loss(run.model, {"y": run.epoch(0)["y"][:2]})[0].isfinite()
        if settings["model"] not in measured:
            measured[settings["model"]] = run.evaluate(run.model)
    assert all(cell.metric in measured[cell.settings["model"]] for cell in CELLS)


def test_a_smooth_curve_goes_through_its_points():
    x, y = figures.smooth([1.0, 3.0, 2.0, 2.5])
    assert (x[0], x[-1]) == (1, 4)
    assert y[:: figures.BETWEEN] == pytest.approx([1.0, 3.0, 2.0, 2.5])
