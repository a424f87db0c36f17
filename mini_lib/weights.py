"""Trained weights for readers: small safetensors files that say in their header how they were made."""

import hashlib
import importlib
import json
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from mini_lib.errors import CorruptFileError, UsageError, check_names
from mini_lib.settings import RunSettings
from mini_lib.storage import write_atomically
from mini_lib.training_run import tensor_bytes

CHECKSUM = "sha256"  # the header's entry for `checksum`; files made before there was one lack it


def save_weights(model: nn.Module, path: Path, **about) -> None:
    """Save a model's state in half precision, with `about` (settings, seed, metrics, command) in the header.

    The model may be on any device, and stays there. CorruptFileError if a weight is not finite in half precision.
    """
    state = {name: value.half().cpu().contiguous() for name, value in model.state_dict().items()}
    if (odd := _not_finite(state)) is not None:
        raise CorruptFileError(
            f"{odd} of the network is not finite in half precision; such weights are not worth keeping"
        )
    entries = {name: json.dumps(value) for name, value in about.items()}
    entries[CHECKSUM] = json.dumps(checksum(state))

    def write(temporary: Path) -> None:
        try:
            save_file(state, temporary, metadata=entries)
        except SafetensorError as error:  # its word for a full disk
            raise OSError(str(error)) from error

    write_atomically(Path(path), write)


def checksum(state: dict[str, Tensor]) -> str:
    """SHA-256, in hexadecimal digits, of tensors: their names in order, each with type, shape and bytes."""
    digest = hashlib.sha256()
    for name, value in sorted(state.items()):
        digest.update(json.dumps([name, str(value.dtype), list(value.shape)]).encode())
        digest.update(tensor_bytes(value))
    return digest.hexdigest()


def _not_finite(state: dict[str, Tensor]) -> str | None:
    """The name of the first tensor that holds a value that is not finite, or None."""
    return next((name for name, value in state.items() if not value.isfinite().all()), None)


def header(path: Path) -> dict:
    """What such a file says of itself: settings, seed, metrics, command."""
    about, _ = _read(path, tensors=False)
    about.pop(CHECKSUM, None)
    return about


def _read(path: Path, tensors: bool = True) -> tuple[dict, dict[str, Tensor]]:
    """A file's whole header and its tensors (none, if not asked for)."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(
            f"no weights at {path}; `mini-lib weights --help` says how such files are made"
        )
    try:
        with safe_open(path, framework="pt") as file:
            about = {name: json.loads(value) for name, value in (file.metadata() or {}).items()}
            return about, {name: file.get_tensor(name) for name in file.keys() if tensors}
    except (SafetensorError, ValueError, RecursionError) as error:
        raise _damaged(path, str(error)) from error


def _damaged(path: Path, how: str) -> CorruptFileError:
    """The error for a file whose bytes are not what was saved; the caller raises it."""
    return CorruptFileError(f"weights {path} are damaged ({how}); fetch or make the file again")


def load_weights(model: nn.Module, path: Path) -> dict:
    """Load such a file into a model of the same shape; returns what the header says.

    CorruptFileError if the file is of another network, or damaged: its checksum, if any, is not that of its tensors,
    or a weight is not finite.
    """
    about, state = _read(path)
    if CHECKSUM in about and about.pop(CHECKSUM) != checksum(state):
        raise _damaged(path, "its checksum is not that of its weights")
    if (odd := _not_finite(state)) is not None:
        raise _damaged(path, f"{odd} is not finite")
    own = {name: tuple(value.shape) for name, value in model.state_dict().items()}
    other = {name: tuple(value.shape) for name, value in state.items()}
    if own != other:
        odd = sorted(name for name in own.keys() | other.keys() if own.get(name) != other.get(name))
        raise CorruptFileError(
            f"weights {path} are of another network: {odd[0]} differs, and {len(odd) - 1} more"
        )
    model.load_state_dict({name: value.float() for name, value in state.items()})
    return about


def read_network(wing: type[RunSettings], path: Path) -> tuple[nn.Module, dict]:
    """The network of such a file, in evaluation mode, and what the header says; its settings are of class `wing`."""
    settings = header(path).get("settings", {})
    try:
        network = wing.from_dict(settings).network()
    except (TypeError, UsageError) as error:
        raise CorruptFileError(
            f"weights {path} are of no network of this wing ({error}); fetch or make the file again"
        ) from error
    return network.eval(), load_weights(network, path)


TRAINED = {
    "esbn": ("esbn", "distribution_of_three_m95"),
    "esbn_lstm": ("esbn", "distribution_of_three_m95_lstm"),  # the baseline, on the same problems
    "syntactic_attention": ("scan", "syntactic_attention_add_jump"),
    # Of the same small networks, two that fail, each in a way of its own:
    "syntactic_attention_wrong_meaning": ("scan", "add_jump_wrong_meaning"),
    "syntactic_attention_wrong_looks": ("scan", "add_jump_wrong_looks"),
    "one_d": ("functions", "one_d"),
    "one_d_window": ("functions", "one_d_window"),
    "relational": ("functions", "relational"),
    "relational_window": ("functions", "relational_window"),
    "kanerva_digits": ("kanerva", "digits"),
    "kanerva_binding": ("kanerva", "binding"),
    "kanerva_binding_balanced": ("kanerva", "binding_balanced"),  # balanced at first: an addition of ours
    "kanerva_sprites": ("kanerva", "sprites"),
    "kanerva_sprites_even": ("kanerva", "sprites_even"),  # all machines count alike: an addition of ours
    "kanerva_mixture": ("kanerva", "mixture"),
}


def trained(name: str) -> tuple[nn.Module, dict]:
    """A trained network of `TRAINED`, on the CPU and in evaluation mode, and what its file says of it.

    That is a dict of its settings, seed, metrics and the command that made it.

    >>> import torch
    >>> network, about = trained("esbn")
    >>> about["settings"]["task"], about["seed"]
    ('distribution_of_three', 1)
    >>> images = torch.rand(100, 32, 32)  # the pool of pictures
    >>> network(images, torch.randint(100, (2, 9))).shape  # two problems of nine pictures
    torch.Size([2, 4])
    """
    check_names("trained network", [name], TRAINED)
    wing, file = TRAINED[name]
    settings = importlib.import_module(f"mini_lib.{wing}.runs").Settings
    return read_network(settings, Path(__file__).parent / wing / "weights" / f"{file}.safetensors")
