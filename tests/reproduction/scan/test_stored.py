"""Stored measurements of small networks (`dax`, `toss`), and the tools that made them."""

import make_dax
import make_toss
import pytest

from mini_lib import trained
from mini_lib.reproduction.scan import dax, toss


def test_what_is_stored_is_of_every_seed():
    assert list(dax.stored()) == list(make_dax.SEEDS)
    assert list(toss.stored()) == list(make_toss.SEEDS)


def test_the_network_that_comes_with_the_library_is_one_of_those_stored(monkeypatch):
    network = trained("syntactic_attention_dax")
    assert network.about["settings"] == make_dax.SETTINGS.to_dict()
    split = make_dax.get_split("add_dax")
    monkeypatch.setattr(make_dax, "get_split", lambda name: split._replace(test=split.test[::100]))
    measured, stored = make_dax.measure(network), dax.stored()[network.about["seed"]]
    assert measured.means == stored.means
    assert (measured.test_accuracy, measured.with_walk) == pytest.approx(stored[:2], abs=5)
