"""What ten small networks make of *dax*: the stored results, and the network of the library among them."""

import pytest

from mini_lib import trained
from mini_lib.reproduction.scan import dax
from mini_lib.scan import analysis
from mini_lib.scan.tasks import EOS, SOS

FOUND = dax.stored()


def test_results_are_of_ten_seeds():
    assert list(FOUND) == list(dax.SEEDS)
    for each in FOUND.values():
        assert 0 <= min(each.test_accuracy, each.with_walk) <= max(each.test_accuracy, each.with_walk) <= 100
        assert list(each.means) == ["dax", SOS, EOS]


def test_the_first_is_the_network_of_the_library():
    network = trained("syntactic_attention_dax")
    assert network.about["settings"] == dax.SETTINGS.to_dict()
    first = FOUND[network.about["seed"]]
    assert first.test_accuracy == pytest.approx(network.about["metrics"]["test_accuracy"], abs=0.01)
    best = analysis.dictionary(network).best()
    assert first.means == {word: best[word] for word in ("dax", SOS, EOS)}


def test_the_rate_falls_to_zero():
    run = dax.falling(dax.SETTINGS, seed=1)
    assert [run.schedule(update) for update in (0, run.updates / 2, run.updates)] == [1, 0.5, 0]


@pytest.mark.parametrize("name", ["gru_attention", "syntactic_attention_dax"])
def test_weights_name_the_command_that_makes_them(name):
    assert trained(name).about["command"].startswith(f"tools/make_dax.py {name} ")
