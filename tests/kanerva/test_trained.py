"""The trained memories that come along: they are what their files say."""

import pytest

from mini_lib import trained
from mini_lib.kanerva.evaluation import evaluate
from mini_lib.kanerva.runs import tutorial_settings
from mini_lib.kanerva.tasks import evaluation

MACHINES = {"digits": 3, "binding": 2, "sprites": 4, "mixture": 3}


@pytest.mark.parametrize("name", MACHINES)
def test_they_are_the_first_seed_of_the_small_scale(name):
    network, about = trained(f"kanerva_{name}")
    assert about["settings"] == tutorial_settings(name, MACHINES[name]).to_dict()
    assert about["seed"] == 1
    assert about["command"].endswith("--seed 1 --variant tutorial")
    assert not network.training


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in MACHINES if name != "sprites"])  # which takes a minute
def test_they_do_what_their_files_say(name):
    network, about = trained(f"kanerva_{name}")
    s = tutorial_settings(name, MACHINES[name])
    metrics = evaluate(network, evaluation(s.task, s.test_episodes, s.items, **s.episode_options))
    for metric in ("nll", "nll_empty", "largest"):
        assert metrics[metric] == pytest.approx(about["metrics"][metric], rel=0.02)
