"""Weights files: a network comes back from its own, and files that are damaged or of another one are told."""

import json
from pathlib import Path

import pytest
import torch
from other_device import OTHER, OtherDevice
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import nn

import mini_lib
from mini_lib.errors import CorruptFileError
from mini_lib.kanerva.runs import Settings
from mini_lib.seeding import seeded
from mini_lib.weights import checksum, load_weights, read_network, save_weights


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


def test_a_network_on_another_device_is_saved_as_one_here_is(tmp_path: Path):
    here, read = network(seed=1), network(seed=2)
    with OtherDevice():
        there = network(seed=1).to(OTHER)
        save_weights(there, tmp_path / "model.safetensors", seed=1)
        assert all(value.device == OTHER for value in there.state_dict().values())
    assert load_weights(read, tmp_path / "model.safetensors") == {"seed": 1}
    for name, value in here.state_dict().items():
        assert read.state_dict()[name].equal(value.half().float()), name


def test_saving_leaves_the_model_as_it_was_and_says_how_it_was_made(tmp_path: Path):
    model, about = (
        network(),
        {"seed": 3, "settings": {"m": 95, "tcn": True}, "metrics": {"test_accuracy": 99.5}},
    )
    before = {name: value.clone() for name, value in model.state_dict().items()}
    save_weights(model, tmp_path / "model.safetensors", **about)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
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
    with pytest.raises(FileNotFoundError, match=r"no weights at .*safetensors; `mini-lib weights --help`"):
        load_weights(network(), tmp_path / "model.safetensors")


@pytest.mark.parametrize("error", [OSError, SafetensorError])
def test_a_full_disk_is_named_and_nothing_is_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
):
    def full(*args, **kwargs):
        Path(args[1]).write_bytes(b"half")
        raise error("No space left on device")

    path = tmp_path / "model.safetensors"
    save_weights(network(seed=1), path)
    whole = path.read_bytes()
    monkeypatch.setattr("mini_lib.weights.save_file", full)
    with pytest.raises(OSError, match=r"could not write .*No space left on device.*Free some disk space"):
        save_weights(network(seed=2), path)
    assert path.read_bytes() == whole
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("value", [b"\x00\x00\x00\x00", b"\x12\x34"])
def test_weights_with_other_bytes_than_were_saved_are_refused(tmp_path: Path, value: bytes):
    path = tmp_path / "model.safetensors"
    save_weights(network(), path, seed=1)
    whole = bytearray(path.read_bytes())
    whole[-40 : -40 + len(value)] = value  # at the file's end, where the tensors lie
    path.write_bytes(whole)
    model = network(seed=5)
    before = model[0].weight.clone()
    with pytest.raises(CorruptFileError, match=r"\(its checksum is not that of its weights\); fetch or make"):
        load_weights(model, path)
    assert torch.equal(model[0].weight, before)


def test_an_older_file_without_a_checksum_is_read_if_its_weights_are_finite(tmp_path: Path):
    path, model = tmp_path / "old.safetensors", network()
    state = {name: value.half() for name, value in model.state_dict().items()}
    save_file(state, path, metadata={"seed": "3"})
    assert load_weights(network(seed=2), path) == {"seed": 3}
    state["0.bias"][2] = torch.nan
    save_file(state, path)
    with pytest.raises(CorruptFileError, match=r"are damaged \(0\.bias is not finite\)"):
        load_weights(network(), path)


def test_weights_that_half_precision_cannot_hold_are_not_saved(tmp_path: Path):
    model = network()
    with torch.no_grad():
        model[0].weight[0, 0] = 1e6
    with pytest.raises(CorruptFileError, match=r"0\.weight of the network is not finite in half precision"):
        save_weights(model, tmp_path / "model.safetensors")
    assert not list(tmp_path.iterdir())


SHIPPED = sorted(Path(mini_lib.__file__).parent.rglob("*.safetensors"))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_the_files_that_come_along_have_their_checksum(path: Path):
    with safe_open(path, framework="pt") as file:
        state = {name: file.get_tensor(name) for name in file.keys()}
        assert json.loads(file.metadata()["sha256"]) == checksum(state)


# ------------------------------------------------------------------------ files and a wing's settings

TINY = {
    **{"task": "digits", "machines": 3, "total": 6, "items": 4, "dim": 5, "source": "digits"},
    **{"encoder": "mlp", "decoder": "mlp", "batch_size": 2, "epochs": 1, "test_episodes": 3},
}


def saved(folder: Path, settings: dict | None = None) -> tuple[torch.nn.Module, Path]:
    """A tiny network, and its file, which says that the network is of these settings (its own by default)."""
    own = Settings.from_dict(TINY)
    with seeded(0, "weights of a wing"):
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
        (None, "are of no network of this wing"),  # a file without a header
    ],
)
def test_a_file_of_another_network_is_told(tmp_path: Path, settings: dict | None, message: str):
    path = tmp_path / "tiny.safetensors"
    if settings is None:
        save_file({"x": torch.zeros(2)}, path)
    else:
        saved(tmp_path, settings)
    with pytest.raises(CorruptFileError, match=message):
        read_network(Settings, path)
