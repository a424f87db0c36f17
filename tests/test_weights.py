from pathlib import Path

import pytest
import torch
from torch import nn

from mini_lib.seeding import seeded
from mini_lib.weights import load_weights, save_weights


def network(hidden: int = 8, seed: int = 0) -> nn.Module:
    with seeded(seed, "test"):
        model = nn.Sequential(nn.Linear(4, hidden), nn.ReLU(), nn.Linear(hidden, 2))
        model.register_buffer("fixed", torch.randn(3))
    return model


def test_a_round_trip_keeps_half_precision(tmp_path: Path):
    model, path = network(seed=1), tmp_path / "new folder" / "model.safetensors"
    save_weights(model, path)
    other = network(seed=2)
    load_weights(other, path)
    for name, value in model.state_dict().items():
        loaded = other.state_dict()[name]
        assert loaded.dtype == torch.float32
        assert torch.equal(loaded, value.half().float()), name
    assert not torch.equal(other.state_dict()["0.weight"], model.state_dict()["0.weight"])
    assert path.stat().st_size < 2 * sum(v.numel() for v in model.state_dict().values()) + 1000
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_saving_leaves_the_model_as_it_was(tmp_path: Path):
    model = network()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    save_weights(model, tmp_path / "model.safetensors")
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_the_header_says_how_the_weights_were_made(tmp_path: Path):
    about = {
        "seed": 3,
        "settings": {"m": 95, "tcn": True},
        "metrics": {"test_accuracy": 99.5},
        "command": "x",
    }
    save_weights(network(), tmp_path / "model.safetensors", **about)
    assert load_weights(network(), tmp_path / "model.safetensors") == about


def test_weights_of_another_network_are_refused_by_name(tmp_path: Path):
    save_weights(network(hidden=8), tmp_path / "model.safetensors")
    other = network(hidden=9)
    before = other[0].weight.clone()
    with pytest.raises(ValueError, match=r"of another network: 0\.bias differs, and 2 more"):
        load_weights(other, tmp_path / "model.safetensors")
    assert torch.equal(other[0].weight, before)
    fewer = nn.Sequential(network(hidden=8)[0])
    with pytest.raises(ValueError, match=r"of another network: 2\.bias differs, and 2 more"):
        load_weights(fewer, tmp_path / "model.safetensors")


@pytest.mark.parametrize("keep", [0, 5, 200])
def test_a_damaged_file_is_named(tmp_path: Path, keep: int):
    path = tmp_path / "model.safetensors"
    save_weights(network(), path, seed=1)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(ValueError, match=r"model\.safetensors are damaged .*fetch or make the file again"):
        load_weights(network(), path)


def test_a_missing_file_is_named_with_the_command_that_makes_it(tmp_path: Path):
    with pytest.raises(
        FileNotFoundError, match=r"no weights at .*model\.safetensors; `mini-lib weights --help`"
    ):
        load_weights(network(), tmp_path / "model.safetensors")


def test_nothing_is_left_behind_where_saving_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(*args, **kwargs):
        Path(args[1]).write_bytes(b"half")
        raise OSError("No space left on device")

    path = tmp_path / "model.safetensors"
    save_weights(network(seed=1), path)
    whole = path.read_bytes()
    monkeypatch.setattr("mini_lib.weights.save_file", full)
    with pytest.raises(OSError, match=r"could not write .*No space left on device.*Free some disk space"):
        save_weights(network(seed=2), path)
    assert path.read_bytes() == whole
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
