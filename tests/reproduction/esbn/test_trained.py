"""The trained networks that come along: the recorded runs of one seed, and what their files say that they do."""

import pytest

from mini_lib.datasets import glyphs
from mini_lib.esbn.runs import evaluate, paper_settings
from mini_lib.esbn.tasks import Problems, make_problems
from mini_lib.files import trained
from mini_lib.reproduction import Records, compare
from mini_lib.reproduction.esbn.cells import CELLS

ROWS = {"esbn": ("esbn", "ESBN + TCN"), "esbn_lstm": ("lstm", "LSTM + TCN")}


@pytest.mark.parametrize("name", ROWS)
def test_they_are_runs_on_record(name):
    model, row = ROWS[name]
    about = trained(name).about
    assert about["settings"] == paper_settings("distribution_of_three", 95, model).to_dict()
    cell = compare(CELLS, Records(), rows=[row], columns=["m=95"], tables=["esbn.table11"])[0].cell
    (record,) = [each for each in Records().of(cell.hash) if each["seed"] == about["seed"]]
    accuracy = record["metrics"]["test_accuracy"]
    assert about["metrics"]["test_accuracy"] == pytest.approx(accuracy, abs=1), (
        "other processors round otherwise"
    )


@pytest.mark.parametrize("name", ROWS)
def test_they_do_what_their_files_say(name):
    network = trained(name)
    about = network.about
    problems = make_problems("distribution_of_three", m=95, seed=about["seed"])
    some = Problems(*problems.test[:1000])
    for part, wanted, room in ((problems.train, 100, 0.1), (some, about["metrics"]["test_accuracy"], 4)):
        assert evaluate(network, glyphs(), part)["test_accuracy"] == pytest.approx(wanted, abs=room)
