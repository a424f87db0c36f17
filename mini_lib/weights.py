"""Trained weights for readers: small safetensors files that say in their header how they were made."""

import json
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import nn

from mini_lib.errors import Damaged, WrongUse
from mini_lib.settings import RunSettings
from mini_lib.storage import write_atomically


def save_weights(model: nn.Module, path: Path, **about) -> None:
    """Save a model's state in half precision, with `about` (settings, seed, metrics, command) in the header."""
    state = {name: value.half().contiguous() for name, value in model.state_dict().items()}
    told = {name: json.dumps(value) for name, value in about.items()}
    write_atomically(Path(path), lambda temporary: save_file(state, temporary, metadata=told))


def header(path: Path) -> dict:
    """What such a file says of itself: settings, seed, metrics, command.

    Raises:
        FileNotFoundError: if there is no such file.
        Damaged: if the file is damaged.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(
            f"no weights at {path}; `mini-lib weights --help` says how such files are made"
        )
    try:
        with safe_open(path, framework="pt") as file:
            return {name: json.loads(value) for name, value in (file.metadata() or {}).items()}
    except (SafetensorError, ValueError) as error:
        raise Damaged(f"weights {path} are damaged ({error}); fetch or make the file again") from error


def load_weights(model: nn.Module, path: Path) -> dict:
    """Load such a file into a model of the same shape; returns what the header says.

    Raises:
        FileNotFoundError: if there is no such file.
        Damaged: if the file is damaged, or of another network.
    """
    about, state = header(path), load_file(path)
    own = {name: tuple(value.shape) for name, value in model.state_dict().items()}
    other = {name: tuple(value.shape) for name, value in state.items()}
    if own != other:
        odd = sorted(name for name in own.keys() | other.keys() if own.get(name) != other.get(name))
        raise Damaged(f"weights {path} are of another network: {odd[0]} differs, and {len(odd) - 1} more")
    model.load_state_dict({name: value.float() for name, value in state.items()})
    return about


def read_network(wing: type[RunSettings], path: Path) -> tuple[nn.Module, dict]:
    """The network of such a file, ready to be asked, and what the header says.

    Args:
        wing: the class of the settings in the header.
        path: the file.

    Raises:
        FileNotFoundError: if there is no such file.
        Damaged: if the file is damaged, or of another network.
    """
    settings = header(path).get("settings", {})
    try:
        network = wing.from_dict(settings).network()
    except (TypeError, WrongUse) as error:
        raise Damaged(
            f"weights {path} are of no network of this wing ({error}); fetch or make the file again"
        ) from error
    return network.eval(), load_weights(network, path)
