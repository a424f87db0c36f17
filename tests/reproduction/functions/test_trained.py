"""The trained networks that come along: what their files say, and that they do what the files say."""

import pytest

from mini_lib.files import trained
from mini_lib.functions.runs import extrapolate_all, per_kind, tutorial_settings
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
    curves = evaluation_curves(750, 12 + STEPS)
    point = extrapolate_all(network, curves.y[:, :12], "sliding").point
    errors = per_kind((point - curves.truth[:, 12:]).square(), curves.kinds)
    for kind in KINDS:
        assert about["metrics"][f"mse_{kind}"] == pytest.approx(record["metrics"][f"mse_{kind}"], rel=0.3)
        assert errors[kind] == pytest.approx(about["metrics"][f"sliding_mse_{kind}"], rel=0.02)
