"""Weights files and a wing's settings: a network comes back from its file, and files of another network are told."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from mini_lib.errors import CorruptFileError
from mini_lib.kanerva.runs import Settings
from mini_lib.seeding import seeded
from mini_lib.weights import read_network, save_weights

TINY = {
    **{"task": "digits", "machines": 3, "total": 6, "items": 4, "dim": 5, "source": "digits"},
    **{"encoder": "mlp", "decoder": "mlp", "batch_size": 2, "epochs": 1, "test_episodes": 3},
}


def saved(folder: Path, settings: dict | None = None) -> tuple[torch.nn.Module, Path]:
    """A tiny network, and its file, which says that the network is of these settings (its own by default)."""
    own = Settings.from_dict(TINY)
    with seeded(0, "weights of wings"):
        network = own.network()
    path = folder / "tiny.safetensors"
    save_weights(network, path, settings=own.to_dict() if settings is None else settings, seed=1)
    return network, path


def test_a_network_comes_back_from_its_file(tmp_path: Path):
    network, path = saved(tmp_path)
    again, about = read_network(Settings, path)
    assert about == {"settings": Settings.from_dict(TINY).to_dict(), "seed": 1}
    assert not again.training
    assert type(again) is type(network)
    for name, value in network.state_dict().items():
        assert again.state_dict()[name].equal(value.half().float()), name


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, r"tiny\.safetensors are of no network of this wing .*missing .*; fetch or make the file again"),
        ({"paper": "scan", "split": "simple"}, "no network of this wing .*unknown setting 'split'"),
        (TINY | {"machines": "three"}, "no network of this wing .*machines has to be a whole number"),
        (TINY | {"machines": 4}, "no network of this wing .*cannot share"),
        (TINY | {"machines": 2}, "are of another network"),
        (TINY | {"dim": 4}, "are of another network"),
    ],
)
def test_a_file_of_another_network_is_told(tmp_path: Path, settings: dict, message: str):
    _, path = saved(tmp_path, settings)
    with pytest.raises(CorruptFileError, match=message):
        read_network(Settings, path)


def test_a_file_without_a_header_is_told(tmp_path: Path):
    path = tmp_path / "bare.safetensors"
    save_file({"x": torch.zeros(2)}, path)
    with pytest.raises(CorruptFileError, match=r"bare\.safetensors are of no network of this wing"):
        read_network(Settings, path)
