"""The trained memories that come along: they are what their files say."""

import pytest

from mini_lib import trained
from mini_lib.kanerva.evaluation import evaluate
from mini_lib.kanerva.runs import Settings
from mini_lib.kanerva.tasks import evaluation
from mini_lib.reproduction.kanerva import cells

SETTINGS = {
    "digits": cells.digits_settings(3, **cells.SMALL_DIGITS),
    "binding": cells.binding_settings(2, **cells.SMALL_TRIPLETS),
    "sprites": cells.sprites_settings(4, **cells.SMALL_SPRITES),
    "mixture": cells.mixture_settings(3, **cells.SMALL_DIGITS),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_they_are_the_first_seed_of_the_small_scale(name):
    network, about = trained(f"kanerva_{name}")
    assert about["settings"] == SETTINGS[name].to_dict()
    assert about["seed"] == 1
    assert about["command"].endswith("--seed 1 --variant tutorial")
    assert not network.training


@pytest.mark.parametrize("name", [name for name in SETTINGS if name != "sprites"])  # which takes a minute
def test_they_do_what_their_files_say(name):
    network, about = trained(f"kanerva_{name}")
    s = Settings.from_dict(about["settings"])
    metrics = evaluate(network, evaluation(s.task, s.test_episodes, s.items, **s.episode_options))
    for metric in ("nll", "nll_empty", "largest"):
        assert metrics[metric] == pytest.approx(about["metrics"][metric], rel=0.02)
