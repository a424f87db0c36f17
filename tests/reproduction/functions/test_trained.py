"""The trained networks that come along: what their files say, and that they do what the files say."""

import pytest

from mini_lib.files import trained
from mini_lib.functions.runs import extrapolate_all, per_kind, tutorial_settings
from mini_lib.functions.tasks import KINDS, STEPS, evaluation_curves
from mini_lib.functions.transformer import MODELS
from mini_lib.reproduction import Records, compare
from mini_lib.reproduction.functions.cells import CELLS, ROWS

STANDARD = {"mask": "causal"}  # by which no query is blind
VARIANT = {key: "tutorial, standard mask" + ", level hidden" * key.endswith("level_hidden") for key in MODELS}


@pytest.mark.slow
@pytest.mark.parametrize("key", MODELS)
def test_they_are_trained_like_the_recorded_run_of_the_first_seed(key):
    """Half precision changes the third digit; another processor, or another kernel, may change the first."""
    about = trained(key).about
    assert (about["settings"], about["seed"]) == (tutorial_settings(key, options=STANDARD).to_dict(), 1)
    row = ROWS[key.removesuffix("_level_hidden")]
    assert row in about["command"]
    assert VARIANT[key] in about["command"]
    runs = [
        each
        for each in compare(CELLS, Records(), tables=["functions.table1"])
        if (each.cell.row, each.cell.variant) == (row, VARIANT[key])
    ]
    first = {each.cell.metric: each.records[0] for each in runs}
    assert len(first) == 4
    for metric, record in first.items():
        assert record["seed"] == 1
        assert about["metrics"][metric] == pytest.approx(record["metrics"][metric], rel=0.3)


@pytest.mark.slow
@pytest.mark.parametrize("key", MODELS)
def test_they_do_what_their_files_say(key):
    network = trained(key)
    about = network.about
    curves = evaluation_curves(750, 12 + STEPS)
    point = extrapolate_all(network, curves.y[:, :12], "sliding").point
    errors = per_kind((point - curves.truth[:, 12:]).square(), curves.kinds)
    for kind in KINDS:
        assert errors[kind] == pytest.approx(about["metrics"][f"sliding_mse_{kind}"], rel=0.02)
