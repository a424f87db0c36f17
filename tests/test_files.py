"""Files of networks: one comes back from its own, and files that are damaged or of another one are told."""

import copy
import errno
import os
import shlex
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from other_device import OTHER, OtherDevice
from safetensors.torch import save_file
from torch import nn

from mini_lib.errors import CorruptFileError, UsageError
from mini_lib.files import TRAINED, load, load_weights, save_weights, trained, write_atomically
from mini_lib.hashing import settings_hash
from mini_lib.kanerva.runs import Settings
from mini_lib.module import Module
from mini_lib.reproduction.cells import select
from mini_lib.reproduction.doctor import TINY
from mini_lib.seeding import seeded


def test_a_full_disk_is_reported_and_leaves_the_old_file(tmp_path):
    def fails(temporary):
        temporary.write_text("half")
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "run.pt"
    write_atomically(path, lambda temporary: temporary.write_text("old"))
    with pytest.raises(OSError, match="Free some disk space and run the same command again"):
        write_atomically(path, fails)
    assert [p.name for p in tmp_path.iterdir()] == ["run.pt"]
    with path.open() as reader:  # who reads meanwhile has the old file, whole
        write_atomically(path, lambda temporary: temporary.write_text("new"))
        assert (reader.read(), path.read_text()) == ("old", "new")


def test_what_is_no_file_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    for name in ("pipe", "link", "folder", "../" + tmp_path.name, "file/below"):
        with pytest.raises(OSError, match=r"could not write .*Name another place"):
            write_atomically(tmp_path / name, Path.touch)
    assert (tmp_path / "pipe").is_fifo()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["file", "folder", "link", "pipe"]


def network(hidden: int = 8, seed: int = 0) -> nn.Module:
    with seeded(seed, "test"):
        model = nn.Sequential(nn.Linear(4, hidden), nn.BatchNorm1d(hidden), nn.Linear(hidden, 2))
        model.register_buffer("fixed", torch.randn(3))
    model[1].num_batches_tracked.fill_(70_001)  # which half precision cannot hold
    return model


def in_half_precision(value: torch.Tensor) -> torch.Tensor:
    return value.half().float() if value.is_floating_point() else value


@pytest.mark.parametrize("there", [False, True], ids=["on the CPU", "on another device"])
def test_weights_come_back_in_half_precision_with_what_was_said_of_them(tmp_path: Path, there):
    path, about = tmp_path / "new folder" / "weights", {"seed": 3, "metrics": {"accuracy": 99.5}}
    model, other = network(seed=1), network(seed=2)
    with OtherDevice():
        model = model.to(OTHER) if there else model
        save_weights(model, path, about)
        assert all((value.device == OTHER) == there for value in model.state_dict().values())
    assert load_weights(other, path) == about
    for name, value in network(seed=1).state_dict().items():
        assert other.state_dict()[name].dtype == value.dtype
        assert other.state_dict()[name].equal(in_half_precision(value)), name
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    (tmp_path / "plain").touch()
    assert path.stat().st_mode == (tmp_path / "plain").stat().st_mode  # others may read it


def test_weights_of_another_network_are_refused_by_name_and_change_nothing(tmp_path: Path):
    save_weights(network(hidden=8), tmp_path / "weights")
    other = network(hidden=9)
    before = other[0].weight.clone()
    with pytest.raises(CorruptFileError, match=r"of another network: 0\.bias differs, and 6 more"):
        load_weights(other, tmp_path / "weights")
    assert other[0].weight.equal(before)
    with pytest.raises(CorruptFileError, match=r"of another network: 1\.bias differs"):
        load_weights(nn.Sequential(network()[0]), tmp_path / "weights")


def test_weights_that_are_not_finite_are_neither_saved_nor_read(tmp_path: Path):
    model = network()
    model[0].weight.data[0, 0] = 1e6
    with pytest.raises(CorruptFileError, match=r"0\.weight of the network is not finite in half precision"):
        save_weights(model, tmp_path / "model")
    assert not list(tmp_path.iterdir())
    save_file({"w": torch.tensor([1.0, torch.nan])}, tmp_path / "w")
    with pytest.raises(CorruptFileError, match=r"\(w is not finite\)"):
        load_weights(network(), tmp_path / "w")


def test_a_network_is_made_again_from_its_settings_unless_these_are_of_another(tmp_path: Path):
    made, path = Settings.from_dict(TINY["kanerva product"]), tmp_path / "tiny"
    tiny = made.network()
    save_weights(tiny, path, {"settings": made.to_dict(), "seed": 1})
    again = load(path)
    assert again.about == {"settings": made.to_dict(), "seed": 1}
    assert (type(again), again.training) == (type(tiny), False)
    for name, value in tiny.state_dict().items():
        assert again.state_dict()[name].equal(in_half_precision(value)), name
    for wrong, said in (
        ({"paper": "os"}, "does not say of which network it is .*; fetch or make the file again"),
        (made.to_dict() | {"machines": 3}, "cannot share"),
        (made.to_dict() | {"machines": 4}, "are of another network"),
    ):
        save_weights(tiny, path, {"settings": wrong})
        with pytest.raises(CorruptFileError, match=said):
            load(path)
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(CorruptFileError, match="tiny are damaged, or no file"):
        load(path)


@pytest.mark.parametrize("name", TRAINED)
def test_every_trained_network_says_what_it_is_and_names_the_command_that_makes_it(name):
    network = trained(name)
    about = network.about
    assert not network.training
    assert about.keys() >= {"settings", "seed", "metrics", "command"}
    tool, *words = shlex.split(about["command"])
    assert (Path(__file__).parents[1] / tool).is_file()
    if tool == "tools/weights.py":
        entry, file, *seed = words
        (cell,) = select(entry)
        assert cell.hash == settings_hash(about["settings"])
        assert file == f"{Path(TRAINED[name]).name}.safetensors"
        assert seed == ["--seed", str(about["seed"])]


class Mine(Module):
    def __init__(self, size: int, parts: tuple[nn.Module, ...] = (), big: bool = False, **more: int):
        super().__init__()
        self.w = nn.Parameter(torch.rand(size))
        self.parts = nn.ModuleList(parts)


@pytest.fixture
def ours(monkeypatch):
    """`Mine` as a network of mini_lib."""
    monkeypatch.setattr(Mine, "__module__", "mini_lib.own")
    monkeypatch.setitem(sys.modules, "mini_lib.own", SimpleNamespace(Mine=Mine, load=load))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_ones_own_network_is_saved_and_loaded_with_its_parts_in_its_precision(tmp_path: Path, ours, dtype):
    mine = copy.deepcopy(Mine(3, parts=(Mine(2), nn.Identity()), depth=4)).to(dtype)
    mine.save(tmp_path / "mine", note=[1, 2])
    again = load(str(tmp_path / "mine"))
    assert again.about == {"note": [1, 2]}
    assert [type(part) for part in again.parts] == [Mine, nn.Identity]
    torch.testing.assert_close(again.state_dict(), mine.state_dict(), rtol=0, atol=0)
    with pytest.raises(UsageError, match=r"is not of mini_lib.*torch.save"):
        Mine(3, depth=nn.Linear(1, 1)).save(tmp_path / "mine")
    with pytest.raises(UsageError, match="big has to be True or False, got 'no'"):
        Mine(3, big="no")


OTHERS = {"os.system": {"command": "true"}, "mini_lib.nowhere.X": {}, "mini_lib.own.load": {"path": "x"}}
OTHERS |= {"torch.nn.Linear": {"in_features": 4, "out_features": 2}}


@pytest.mark.parametrize("kind", OTHERS)
def test_a_file_makes_nothing_but_networks_of_mini_lib(tmp_path: Path, ours, kind):
    save_weights(network(), tmp_path / "bad", {"network": {"class": kind, "arguments": OTHERS[kind]}})
    with pytest.raises(CorruptFileError, match="does not say of which network"):
        load(tmp_path / "bad")
