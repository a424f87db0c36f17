"""The trained networks that come along: what their files say, and that they do what the files say."""

import pytest

from mini_lib.files import trained
from mini_lib.functions.runs import extrapolate_all, tutorial_settings
from mini_lib.functions.tasks import KINDS, STEPS, evaluation_curves
from mini_lib.functions.transformer import MODELS
from mini_lib.reproduction import Records
from mini_lib.reproduction.functions.cells import ROWS

STANDARD = {"mask": "causal"}  # by which no query is blind


@pytest.fixture(scope="module")
def records():
    return Records()


@pytest.mark.slow
@pytest.mark.parametrize("key", MODELS)
def test_they_do_what_their_files_and_the_recorded_run_of_the_first_seed_say(key, records):
    """Half precision changes the third digit; another processor, or another kernel, may change the first."""
    network = trained(key)
    about, settings = network.about, tutorial_settings(key, options=STANDARD).to_dict()
    assert (about["settings"], about["seed"]) == (settings, 1)
    assert ROWS[key.removesuffix("_level_hidden")] in about["command"]
    assert "tutorial, standard mask" + ", level hidden" * key.endswith("level_hidden") in about["command"]
    (record,) = records.finished(settings, (1,))
    for kind in KINDS:
        assert about["metrics"][f"mse_{kind}"] == pytest.approx(record["metrics"][f"mse_{kind}"], rel=0.3)
    curves = evaluation_curves(750, 12 + STEPS)  # of which a third is sines
    sines = curves.kinds == KINDS.index("sine")
    point = extrapolate_all(network, curves.y[sines, :12], "sliding").point
    error = (point - curves.truth[sines, 12:]).square().mean().item()
    assert error == pytest.approx(about["metrics"]["sliding_mse_sine"], rel=0.02)
