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

from mini_lib import ESBN, RelationalTransformer, SyntacticAttention
from mini_lib.errors import CorruptFileError, UsageError
from mini_lib.files import TRAINED, load, load_weights, save_weights, trained, write_atomically
from mini_lib.hashing import settings_hash
from mini_lib.kanerva.runs import Settings
from mini_lib.module import Module
from mini_lib.reproduction.cells import select
from mini_lib.seeding import seeded

# ------------------------------------------------------------------------------------ any file


def test_a_full_disk_is_reported_and_leaves_the_old_file(tmp_path):
    path = tmp_path / "run.pt"
    path.write_text("old")

    def fails(temporary):
        temporary.write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="Free some disk space and run the same command again"):
        write_atomically(path, fails)
    assert [p.name for p in tmp_path.iterdir()] == ["run.pt"]
    assert path.read_text() == "old"


def test_what_is_no_file_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "link", "folder", "../" + tmp_path.name):
        with pytest.raises(OSError, match=r"could not write .*is no file .*Name another place"):
            write_atomically(tmp_path / name, Path.touch)
    assert (tmp_path / "pipe").is_fifo()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["folder", "link", "pipe"]


# ------------------------------------------------------------------------------------ weights


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
        save_weights(there, tmp_path / "model.safetensors", {"seed": 1})
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
    save_weights(model, tmp_path / "model.safetensors", about)
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
    save_weights(network(), path, {"seed": 1})
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(ValueError, match=r"model\.safetensors are damaged, or no file"):
        load_weights(network(), path)


def test_a_missing_file_is_named_with_what_makes_one(tmp_path: Path):
    with pytest.raises(FileNotFoundError, match=r"no weights at .*safetensors; `network.save"):
        load_weights(network(), tmp_path / "model.safetensors")


def test_a_full_disk_is_named_and_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(temporary: Path, content: bytes) -> None:
        with temporary.open("wb") as file:
            file.write(content[:4])
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "model.safetensors"
    save_weights(network(seed=1), path)
    whole = path.read_bytes()
    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match=r"could not write .*No space left on device.*Free some disk space"):
        save_weights(network(seed=2), path)
    assert path.read_bytes() == whole
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_files_can_be_read_by_whoever_reads_other_new_files(tmp_path: Path):
    (tmp_path / "plain").write_text("")
    save_weights(network(), tmp_path / "weights")
    assert (tmp_path / "weights").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_integers_are_kept_as_they_are(tmp_path: Path):
    model, again = nn.BatchNorm1d(2), nn.BatchNorm1d(2)
    model.num_batches_tracked.fill_(70_001)
    save_weights(model, tmp_path / "weights")
    load_weights(again, tmp_path / "weights")
    assert again.num_batches_tracked.item() == 70_001


def test_weights_that_are_not_finite_are_refused(tmp_path: Path):
    path = tmp_path / "bad.safetensors"
    state = {name: value.half() for name, value in network().state_dict().items()}
    state["0.bias"][2] = torch.nan
    save_file(state, path)
    with pytest.raises(CorruptFileError, match=r"\(0\.bias is not finite\)"):
        load_weights(network(), path)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda path: save_weights({"w": torch.ones(2)}, path), "save_weights takes a network, got dict"),
        (lambda path: save_weights(network(), path, {"settings": {1, 2}}), "has to be JSON"),
        (lambda path: load(None), "read from a path, got None"),
    ],
)
def test_what_cannot_be_saved_or_read_is_named(tmp_path: Path, call, said):
    with pytest.raises(UsageError, match=said):
        call(tmp_path / "x")


def test_weights_that_half_precision_cannot_hold_are_not_saved(tmp_path: Path):
    model = network()
    with torch.no_grad():
        model[0].weight[0, 0] = 1e6
    with pytest.raises(CorruptFileError, match=r"0\.weight of the network is not finite in half precision"):
        save_weights(model, tmp_path / "model.safetensors")
    assert not list(tmp_path.iterdir())


# ------------------------------------------------------------------------------------ networks by name


PAPER = {"paper": "kanerva"}
TINY = {
    **{"task": "digits", "machines": 3, "total": 6, "items": 4, "dim": 5, "source": "digits"},
    **{"encoder": "mlp", "decoder": "mlp", "batch_size": 2, "epochs": 1, "test_episodes": 3},
}


def saved(folder: Path, settings: dict | None = None) -> tuple[torch.nn.Module, Path]:
    """A tiny network, and its file, which says that the network is of these settings (its own by default)."""
    own = Settings.from_dict(TINY)
    with seeded(0, "weights of a package"):
        network = own.network()
    path = folder / "tiny.safetensors"
    save_weights(network, path, {"settings": own.to_dict() if settings is None else settings, "seed": 1})
    return network, path


def test_a_network_comes_back_from_its_file(tmp_path: Path):
    network, path = saved(tmp_path)
    again = load(path)
    assert again.about == {"settings": Settings.from_dict(TINY).to_dict(), "seed": 1}
    assert not again.training
    assert type(again) is type(network)
    for name, value in network.state_dict().items():
        assert again.state_dict()[name].equal(value.half().float()), name


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, r"tiny\.safetensors does not say of which network it is .*; fetch or make the file again"),
        ({"paper": "os"}, "does not say of which network"),
        ({"paper": "scan", "splitt": "simple"}, "of which network it is .*unknown setting 'splitt'"),
        (PAPER | TINY | {"machines": "three"}, "machines has to be an integer"),
        (PAPER | TINY | {"machines": 4}, "cannot share"),
        (PAPER | TINY | {"machines": 2}, "are of another network"),
        (None, "does not say of which network"),  # a file without a header
        ([1], "does not say of which network"),
    ],
)
def test_a_file_of_another_network_is_told(tmp_path: Path, settings: dict | None, message: str):
    path = tmp_path / "tiny.safetensors"
    if settings is None:
        save_file({"x": torch.zeros(2)}, path)
    else:
        saved(tmp_path, settings)
    with pytest.raises(CorruptFileError, match=message):
        load(path)


@pytest.mark.parametrize("name", TRAINED)
def test_every_trained_network_names_the_command_that_makes_it(name):
    about = trained(name).about
    tool, *words = shlex.split(about["command"])
    assert (Path(__file__).parents[1] / tool).is_file()
    if tool == "tools/weights.py":
        entry, file, *seed = words
        (cell,) = select(entry)
        assert settings_hash(cell.settings) == settings_hash(about["settings"])
        assert file == f"{Path(TRAINED[name]).name}.safetensors"
        assert seed == ["--seed", str(about["seed"])]


@pytest.mark.parametrize("name", TRAINED)
def test_every_trained_network_says_what_it_is(name):
    network = trained(name)
    assert not network.training
    assert network.about.keys() >= {"settings", "seed", "metrics", "command"}


class Mine(Module):
    def __init__(self, size: int, parts: tuple[nn.Module, ...] = (), **more: int):
        super().__init__()
        self.w = nn.Parameter(torch.rand(size))
        self.parts = nn.ModuleList(parts)


def test_ones_own_network_is_saved_and_loaded_with_its_parts(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(Mine, "__module__", "mini_lib.own")
    monkeypatch.setitem(sys.modules, "mini_lib.own", SimpleNamespace(Mine=Mine))
    mine = copy.deepcopy(Mine(3, parts=(Mine(2), nn.Identity()), depth=4))
    mine.save(tmp_path / "mine", note=[1, 2])
    again = load(str(tmp_path / "mine"))
    assert again.about == {"note": [1, 2]}
    mine.double().save(tmp_path / "double")
    assert load(tmp_path / "double").w.equal(mine.w)
    assert isinstance(again.parts[0], Mine)
    assert isinstance(again.parts[1], nn.Identity)
    for name, value in mine.state_dict().items():
        assert again.state_dict()[name].equal(value)  # in full precision


def test_a_flag_is_true_or_false():
    for make, flag in (
        (ESBN, "confidence"),
        (RelationalTransformer, "window"),
        (SyntacticAttention, "one_hot"),
    ):
        with pytest.raises(UsageError, match=f"{flag} has to be True or False, got 'no'"):
            make(**{flag: "no"})


@pytest.mark.parametrize("part", [nn.Linear(1, 1), torch.relu])
def test_a_part_of_ones_own_is_refused_and_told_where_to_go(tmp_path: Path, monkeypatch, part):
    monkeypatch.setattr(Mine, "__module__", "mini_lib.own")
    with pytest.raises(UsageError, match=r"is not of mini_lib.*torch.save"):
        Mine(3, depth=part).save(tmp_path / "mine")
    monkeypatch.setattr(Mine, "__module__", "elsewhere")
    with pytest.raises(UsageError, match=r"Mine is not of mini_lib"):
        Mine(3).save(tmp_path / "mine")


@pytest.mark.parametrize(
    "kind", ["os.system", "mini_lib.files.load", "mini_lib.nowhere.X", "torch.nn.Linear"]
)
def test_a_file_makes_nothing_but_networks_of_mini_lib(tmp_path: Path, kind):
    save_weights(network(), tmp_path / "bad", {"network": {"class": kind, "arguments": {}}})
    with pytest.raises(CorruptFileError, match="does not say of which network"):
        load(tmp_path / "bad")
