"""The networks that come along for readers: what their files say, and what is told of files that are not theirs."""

import json

import pytest
import torch
from safetensors.torch import save_file

from mini_lib.errors import CorruptFileError, UsageError
from mini_lib.kanerva.evaluation import evaluate
from mini_lib.kanerva.readers import NETWORKS, WEIGHTS, reader_network
from mini_lib.kanerva.runs import Settings
from mini_lib.kanerva.tasks import evaluation
from mini_lib.reproduction import Cell, Records, cli
from mini_lib.reproduction.kanerva.cells import (
    SMALL_DIGITS,
    SMALL_SPRITES,
    SMALL_TRIPLETS,
    binding_settings,
    digits_settings,
    mixture_settings,
    sprites_settings,
)
from mini_lib.reproduction.launch import JobsFailed
from mini_lib.seeding import seeded
from mini_lib.weights import save_weights

SETTINGS = {
    "digits": digits_settings(3, **SMALL_DIGITS),
    "binding": binding_settings(2, **SMALL_TRIPLETS),
    "sprites": sprites_settings(4, **SMALL_SPRITES),
    "mixture": mixture_settings(3, **SMALL_DIGITS),
}
TINY = {
    **{"total": 6, "items": 4, "dim": 5, "source": "digits", "encoder": "mlp", "decoder": "mlp"},
    **{"batch_size": 2, "epochs": 1, "test_episodes": 3},
}
COMMITTED = [name for name in NETWORKS if (WEIGHTS / f"{name}.safetensors").is_file()]


def saved(folder, name="mixture", settings=None, **about):
    """A small network, and the file that it is saved in."""
    settings = settings or mixture_settings(3, **TINY)
    with seeded(0, "reader"):
        network = settings.network()
    told = {"settings": settings.to_dict(), "seed": 1, "metrics": {"nll": 3.0}, "command": "mini-lib"} | about
    save_weights(network, folder / f"{name}.safetensors", **told)
    return network


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_comes_back_from_its_file(name, tmp_path):
    settings = binding_settings(2, **TINY) if name == "binding" else mixture_settings(3, **TINY)
    network = saved(tmp_path, name, settings)
    found, about = reader_network(name, tmp_path)
    assert about == {
        "settings": settings.to_dict(),
        "seed": 1,
        "metrics": {"nll": 3.0},
        "command": "mini-lib",
    }
    assert not found.training
    assert type(found) is type(network)
    for key, value in network.state_dict().items():
        assert found.state_dict()[key].equal(value.half().float())
    assert (found.machines, found.columns, found.sample) == (network.machines, network.columns, "mean")


def test_a_network_that_is_not_there(tmp_path):
    with pytest.raises(UsageError, match="unknown network 'sprits'; did you mean 'sprites'"):
        reader_network("sprits", tmp_path)
    with pytest.raises(
        FileNotFoundError, match=r"no weights at .*digits.safetensors; `mini-lib weights --help`"
    ):
        reader_network("digits", tmp_path)


def test_a_damaged_file(tmp_path):
    saved(tmp_path)
    path = tmp_path / "mixture.safetensors"
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(
        CorruptFileError, match=r"mixture.safetensors are damaged .* fetch or make the file again"
    ):
        reader_network("mixture", tmp_path)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "no network of this wing"),
        ({"paper": "scan", "split": "simple"}, "no network of this wing .*unknown setting 'split'"),
        ({"task": "digits", "machines": 4}, "no network of this wing .*cannot share"),
        (mixture_settings(2, **TINY).to_dict(), "are of another network"),
        (mixture_settings(3, **TINY | {"dim": 4}).to_dict(), "are of another network"),
        (digits_settings(3, **TINY).to_dict(), "are of another network"),
    ],
)
def test_the_file_of_another_network(settings, message, tmp_path):
    saved(tmp_path, settings=None)
    network, _ = reader_network("mixture", tmp_path)
    save_weights(network, tmp_path / "mixture.safetensors", settings=settings)
    with pytest.raises(CorruptFileError, match=message):
        reader_network("mixture", tmp_path)


def test_a_file_without_a_header(tmp_path):
    save_file({"x": torch.zeros(2)}, tmp_path / "digits.safetensors")
    with pytest.raises(CorruptFileError, match="no network of this wing"):
        reader_network("digits", tmp_path)


# ------------------------------------------------------------------------------------------- how they are made


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Trains a tiny network as `mini-lib weights` does, and leaves its file in tmp_path."""
    monkeypatch.setattr("mini_lib.kanerva.runs.UPDATES", 3)
    monkeypatch.setattr(torch, "set_flush_denormal", lambda flush: None)

    def make(**changes):
        settings = digits_settings(2, **TINY | changes).to_dict()
        cell = Cell("kanerva.fig1e", "tiny", "loss", settings, 1, home="kanerva.fig1e", metric="nll")
        monkeypatch.setattr(cli, "cells", lambda *narrowed: [cell])
        cli.weights(
            "kanerva.fig1e",
            "tiny",
            "loss",
            tmp_path / "digits.safetensors",
            records=tmp_path / "records",
            checkpoints=tmp_path / "checkpoints",
        )

    return make


def test_the_command_makes_files_for_readers(made, tmp_path):
    (tmp_path / "checkpoints").mkdir()
    made()
    network, about = reader_network("digits", tmp_path)
    assert about["settings"] == digits_settings(2, **TINY).to_dict()
    assert about["command"] == "mini-lib weights kanerva.fig1e tiny loss digits.safetensors --seed 1"
    again = evaluate(network, evaluation("digits", 3, 4, source="digits"))
    assert again["nll"] == pytest.approx(about["metrics"]["nll"], rel=1e-2)
    (record,) = Records(tmp_path / "records")
    assert record["metrics"] == pytest.approx(about["metrics"], rel=1e-4, abs=1e-6)
    assert not list((tmp_path / "checkpoints").iterdir())


def test_a_run_that_diverges_is_recorded_and_leaves_no_file(made, tmp_path):
    with pytest.raises(JobsFailed, match=r"diverged after .* no weights worth keeping"):
        made(lr=1e30)
    (record,) = Records(tmp_path / "records")
    assert record["diverged"]
    assert not (tmp_path / "digits.safetensors").exists()


# ------------------------------------------------------------------------------------------- those that come along


@pytest.mark.parametrize("name", COMMITTED)
def test_they_are_the_first_seed_of_the_small_scale(name):
    _, about = reader_network(name)
    assert about["settings"] == SETTINGS[name].to_dict()
    assert about["seed"] == 1
    assert about["command"].endswith("--seed 1 --variant tutorial")
    assert (WEIGHTS / f"{name}.safetensors").stat().st_size < 4 * 2**20


@pytest.mark.parametrize("name", COMMITTED)
def test_what_is_said_of_them_is_what_their_settings_are(name):
    s = Settings.from_dict(reader_network(name)[1]["settings"])
    assert NETWORKS[name].startswith(f"a {s.model} of {s.machines} machines")


@pytest.mark.parametrize(
    "name", [name for name in COMMITTED if name != "sprites"]
)  # whose test takes a minute
def test_they_do_what_their_files_say(name):
    network, about = reader_network(name)
    s = Settings.from_dict(about["settings"])
    found = evaluate(network, evaluation(s.task, s.test_episodes, s.items, **s.episode_options))
    for metric in ("nll", "nll_empty", "largest"):
        assert found[metric] == pytest.approx(about["metrics"][metric], rel=0.02)
    assert json.dumps(about["metrics"]).count("NaN") == 0
