"""The declared cells against the paper's tables, the trained networks that come along, and drawn problems."""

import json
from collections import Counter
from importlib import resources

import matplotlib as mpl
import numpy as np
import pytest
from scipy import stats

from mini_lib.datasets import glyphs
from mini_lib.esbn import runs
from mini_lib.esbn.runs import evaluate, paper_settings
from mini_lib.esbn.tasks import TASKS, Problems, make_problems
from mini_lib.files import trained
from mini_lib.reproduction import Records
from mini_lib.reproduction.esbn import figures
from mini_lib.reproduction.esbn.cells import CELLS, build, data_source

PRINTED = json.loads((resources.files("mini_lib.reproduction") / "tables.json").read_text())


def by_table(table):
    return [cell for cell in CELLS if cell.table == table and not cell.variant]


@pytest.mark.parametrize("number", range(9, 21))
def test_every_printed_cell_is_declared_once(number):
    table = f"esbn.table{number}"
    printed = PRINTED[table]
    declared = Counter((cell.row, cell.column) for cell in by_table(table))
    rows = printed["rows"].items()
    assert {*declared} == {(row, column) for row, cells in rows for column, each in cells.items() if each}
    assert {*declared.values()} == {1}
    assert {cell.runs for cell in by_table(table)} == {printed["runs"]}


def test_cells_of_equal_settings_share_a_file_and_ids_are_unique():
    assert len({cell.id for cell in CELLS}) == len(CELLS)
    files = {}
    for cell in CELLS:
        assert files.setdefault(cell.hash, cell.file) == cell.file
    assert {cell.file for cell in by_table("esbn.table17") if "(conv)" in cell.row} == {"esbn.table11"}
    assert {cell.settings.get("train_size") for cell in by_table("esbn.table13")} == {100_000}


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
def test_the_papers_t_tests_follow_from_its_printed_tables(model: str, encoder: str):
    conv, other = (
        [
            each["mean"]
            for number in range(15, 19)
            for each in PRINTED[f"esbn.table{number}"]["rows"][f"{model} ({kind})"].values()
        ]
        for kind in ("conv", encoder)
    )
    t, p = stats.ttest_rel(other, conv)
    expected, printed_p = PAIRED[model, encoder]
    assert round(t, 2) == expected
    assert p == pytest.approx(printed_p, rel=0.06)
    assert len(conv) == 17


@pytest.mark.parametrize("name", ["esbn", "esbn_second", "esbn_lstm", "esbn_lstm_second"])
def test_trained_networks_are_runs_on_record_and_do_what_their_files_say(name):
    network, model = trained(name), "lstm" if "lstm" in name else "esbn"
    about = network.about
    assert about["settings"] == paper_settings("distribution_of_three", 95, model).to_dict()
    (cell,) = [c for c in by_table("esbn.table11") if (c.row, c.column) == (f"{model.upper()} + TCN", "m=95")]
    (record,) = [each for each in Records().of(cell.hash) if each["seed"] == about["seed"]]
    recorded, accuracy = (each["metrics"]["test_accuracy"] for each in (record, about))
    assert accuracy == pytest.approx(recorded, abs=1), "other processors round otherwise"
    problems = make_problems("distribution_of_three", m=95, seed=about["seed"])
    some = Problems(*problems.test[:500])
    for part, wanted, room in ((problems.train, 100, 0.1), (some, accuracy, 5)):
        assert evaluate(network, glyphs(), part)["test_accuracy"] == pytest.approx(wanted, abs=room)


@pytest.mark.parametrize("task", TASKS)
def test_a_drawn_problem_shows_its_images_in_order_and_frames_the_right_answer(task):
    mpl.use("agg")
    images, made = glyphs(), make_problems(task, 50, seed=1, train_size=30, test_size=1).train
    (ax,) = figures.problem(task, images, made, 3).axes
    for shown, image in zip(ax.images, images[made.ids[3]], strict=True):
        assert np.array_equal(shown.get_array(), image)
    green = [p for p in ax.patches if mpl.colors.to_hex(p.get_edgecolor()) == figures.RIGHT.lower()]
    assert len(green) == (task != "same_different")
    if green:
        first = {"rmts": 2 + 2 * made.answers[3]}.get(task, 5 + made.answers[3])
        assert green[0].get_x() == pytest.approx(ax.images[first].get_extent()[0], abs=0.05)
    else:
        assert [each.get_text() for each in ax.texts] == [("same", "different")[made.answers[3]]]
    mpl.pyplot.close("all")
