"""Stored measurements of small networks (`dax`, `toss`), and the tools that made them."""

import importlib.util
from pathlib import Path

import pytest

from mini_lib import trained
from mini_lib.reproduction.scan import dax, toss

TOOLS = Path(__file__).parents[3] / "tools"


def load(name):
    spec = importlib.util.spec_from_file_location(name, TOOLS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_what_is_stored_is_of_every_seed():
    assert list(dax.stored()) == list(load("make_dax").SEEDS)
    assert list(toss.stored()) == list(load("make_toss").SEEDS)


def test_the_network_that_comes_with_the_library_is_one_of_those_stored(monkeypatch):
    tool, network = load("make_dax"), trained("syntactic_attention_dax")
    assert network.about["settings"] == tool.SETTINGS.to_dict()
    split = tool.get_split("add_dax")
    monkeypatch.setattr(tool, "get_split", lambda name: split._replace(test=split.test[::100]))
    measured, stored = tool.measure(network), dax.stored()[network.about["seed"]]
    assert measured.means == stored.means
    assert (measured.test_accuracy, measured.with_walk) == pytest.approx(stored[:2], abs=5)
