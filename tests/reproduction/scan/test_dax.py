"""What ten small networks make of *dax*: the stored results, and the network of the library among them."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from mini_lib import trained
from mini_lib.files import TRAINED
from mini_lib.reproduction.scan import dax
from mini_lib.scan import analysis
from mini_lib.scan.tasks import EOS, SOS

FOUND = dax.stored()
TOOL = Path(__file__).parents[3] / "tools/make_dax.py"


@pytest.fixture(scope="module")
def tool():
    spec = spec_from_file_location("make_dax", TOOL)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
def test_weights_name_the_command_that_makes_them(tool, name):
    about, file = trained(name).about, f"{TRAINED[name].split('/')[1]}.safetensors"
    assert about["command"] == f"tools/{TOOL.name} {name} {file}"
    assert about["settings"] == tool.WEIGHTS[name].to_dict()


def test_what_is_stored_is_read_back(tool, tmp_path, monkeypatch):
    text = dax.STORED.read_text()
    monkeypatch.setattr(dax, "STORED", tmp_path / "dax.json")
    tool.store(FOUND)
    assert dax.STORED.read_text() == text
