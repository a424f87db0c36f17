"""The trained networks that come along: what their files say, and that they do what the files say."""

import pytest

from mini_lib.functions.evaluation import evaluate
from mini_lib.functions.models import MODELS
from mini_lib.functions.runs import tutorial_settings
from mini_lib.functions.tasks import STEPS, evaluation_curves
from mini_lib.reproduction import Records, compare
from mini_lib.reproduction.functions.cells import CELLS, ROWS
from mini_lib.weights import trained


@pytest.fixture(scope="module", params=MODELS)
def stored(request):
    """(key, network, what its file says)."""
    return request.param, *trained(request.param)


def test_they_are_the_first_seed_of_the_tutorial_scale(stored):
    key, _, about = stored
    assert about["settings"] == tutorial_settings(key).to_dict()
    assert about["seed"] == 1
    assert f"'{ROWS[key]}' all" in about["command"]
    assert about["command"].endswith("--seed 1 --variant tutorial")


def test_they_are_the_recorded_runs(stored):
    """Half precision changes the third digit; another processor may change the first."""
    key, _, about = stored
    found = compare(CELLS, Records(), tables=["functions.table1"], rows=[ROWS[key]])
    runs = [each for each in found if each.cell.variant == "tutorial"]
    first = {each.cell.metric: each.records[0] for each in runs}
    assert len(first) == 4
    for metric, record in first.items():
        assert record["seed"] == 1
        assert about["metrics"][metric] == pytest.approx(record["metrics"][metric], rel=0.02)


def test_they_do_what_their_files_say(stored):
    _, network, about = stored
    metrics = evaluate(network, evaluation_curves(750, 12 + STEPS))
    for kind in ("lin", "rbf", "sine"):
        name = f"sliding_mse_{kind}"
        assert metrics[name] == pytest.approx(about["metrics"][name], rel=0.02)
