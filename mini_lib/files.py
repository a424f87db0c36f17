"""Files that survive an interruption or a full disk: checkpoints, and trained networks.

A network's file is one of safetensors; its header says how the network was made: a trained one's settings, seed,
metrics and command, or the class and the arguments of one's own.
"""

import errno
import importlib
import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from mini_lib.errors import CorruptFileError, UsageError, check_names
from mini_lib.module import Module

FULL = {None, errno.ENOSPC, errno.EDQUOT, errno.EFBIG}  # None: PyTorch gives no number
TRAINED = {
    "esbn": "esbn/distribution_of_three_m95",
    "esbn_second": "esbn/distribution_of_three_m95_second",  # another seed, with other objects withheld
    "esbn_lstm": "esbn/distribution_of_three_m95_lstm",  # the baseline, on the same problems
    "esbn_lstm_second": "esbn/distribution_of_three_m95_lstm_second",
    "gru_attention": "scan/gru_attention_add_jump",  # the baseline, on the same commands
    "syntactic_attention": "scan/syntactic_attention_add_jump",
    # Of the same small networks, two that fail, each in a way of its own:
    "syntactic_attention_wrong_meaning": "scan/add_jump_wrong_meaning",
    "syntactic_attention_wrong_looks": "scan/add_jump_wrong_looks",
    "syntactic_attention_dax": "scan/add_dax",  # a fifth verb, which it knows from one command alone
    "one_d": "functions/one_d",
    "one_d_window": "functions/one_d_window",
    "relational": "functions/relational",
    "relational_window": "functions/relational_window",
    "one_d_level_hidden": "functions/one_d_level_hidden",  # a control: it sees curves less their first value
    "kanerva_digits": "kanerva/digits",
    "kanerva_binding": "kanerva/binding",
    "kanerva_binding_balanced": "kanerva/binding_balanced",  # balanced at first: an addition of ours
    # The small binding task, two machines, no balance term; five runs, seeds 1 to 5:
    **{f"kanerva_small_{seed}": f"kanerva/binding_small_{seed}" for seed in range(1, 6)},
    # The same as the first, on episodes in which every second picture has a line at its left edge:
    "kanerva_small_marked": "kanerva/binding_small_marked",
    "kanerva_sprites": "kanerva/sprites",
    "kanerva_sprites_even": "kanerva/sprites_even",  # all machines count alike: an addition of ours
    "kanerva_mixture": "kanerva/mixture",
}


# ------------------------------------------------------------------------------------------------ any file


def write_atomically(path: Path, write: Callable[[Path], None]) -> None:
    """Write a file next to `path`, then move it there, so that an interruption leaves the old one whole.

    OSError says what failed (a full disk, say) and what to do; also where there is a folder or a device already.
    """
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        if path.exists() and not path.is_file():
            raise OSError(errno.EEXIST, "it is there and is no file (a folder or a device)")
        path.parent.mkdir(parents=True, exist_ok=True)
        write(temporary)
        os.replace(temporary, path)
    except (OSError, RuntimeError) as error:  # torch.save reports a full disk as a RuntimeError
        raise not_written(path, error) from error
    finally:
        with suppress(OSError):  # it was moved, or was never there
            temporary.unlink()


def not_written(path: Path, error: Exception) -> OSError:
    """The error for a file that could not be written; the caller raises it."""
    remedy = "Free some disk space" if getattr(error, "errno", None) in FULL else "Name another place"
    return OSError(
        f"could not write {path}: {error}. {remedy} and run the same command again; "
        "what was written before is as it was"
    )


def read_checkpoint(path: Path) -> dict:
    """Load a checkpoint; CorruptFileError with what to do if it is damaged."""
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        if not isinstance(state, dict):
            raise TypeError("not the checkpoint of a training")
    except Exception as error:
        raise CorruptFileError(
            f"checkpoint {path} is damaged; delete it, and its run starts again"
        ) from error
    return state


# ------------------------------------------------------------------------------------------------ networks


def save_weights(
    model: nn.Module, path: Path | str, about: Mapping[str, Any] | None = None, *, half: bool = True
) -> None:
    """Save a model's state, with `about` (settings, seed, metrics, command) in the file's header as JSON.

    With `half` its floats are saved in half precision; integers stay as they are. The model may be on any device,
    and stays there. CorruptFileError if a weight is not finite as it would be saved.
    """
    state = {
        name: (value.half() if half and value.is_floating_point() else value).cpu().contiguous()
        for name, value in model.state_dict().items()
    }
    for name, value in state.items():
        if not value.isfinite().all():
            where = " in half precision" * half
            raise CorruptFileError(f"{name} of the network is not finite{where}; it was not saved")
    try:
        header = {name: json.dumps(value) for name, value in (about or {}).items()}
    except TypeError as error:
        raise UsageError(f"what is kept with weights has to be JSON: {error}") from error
    content = save(state, metadata=header)
    write_atomically(Path(path), lambda temporary: temporary.write_bytes(content))


def load_weights(model: nn.Module, path: Path | str) -> dict:
    """Load such a file into a model of the same shape; returns what the header says.

    CorruptFileError if the file is of another network, or damaged.
    """
    about, state = _read(path)
    shapes = {name: value.shape for name, value in model.state_dict().items()}
    others = {name: value.shape for name, value in state.items()}
    wrong = [name for name in shapes.keys() | others.keys() if shapes.get(name) != others.get(name)]
    if wrong:
        raise CorruptFileError(
            f"weights {path} are of another network: {min(wrong)} differs, and {len(wrong) - 1} more"
        )
    model.load_state_dict(state)
    return about


def load(path: Path | str) -> nn.Module:
    """A network that was saved by `network.save(path)`, or by `tools/weights.py`; in evaluation mode, on the CPU.

    >>> import tempfile
    >>> from mini_lib import ESBN, load
    >>> network = ESBN(features=8, classes=2, hidden=16, key_size=4)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     network.save(f"{folder}/mine.safetensors", trained_on="my problems")
    ...     again = load(f"{folder}/mine.safetensors")
    >>> again.key.weight.equal(network.key.weight), again.about
    (True, {'trained_on': 'my problems'})
    """
    about, state = _read(path)
    try:
        if "network" in about:
            network = _build(about["network"])
            for dtype in {value.dtype for value in state.values() if value.is_floating_point()}:
                network.to(dtype)
        else:
            settings = about["settings"]
            check_names("paper", [settings["paper"]], {file.split("/")[0] for file in TRAINED.values()})
            runs = importlib.import_module(f"mini_lib.{settings['paper']}.runs")
            network = runs.Settings.from_dict(settings).network()
    except (TypeError, LookupError, AttributeError, ImportError, UsageError) as error:
        raise CorruptFileError(
            f"{path} does not say of which network it is ({error}); fetch or make the file again"
        ) from error
    network.about = load_weights(network, path)
    network.about.pop("network", None)
    return network.eval()


def trained(name: str) -> nn.Module:
    """A trained network of `TRAINED`, on the CPU and in evaluation mode.

    `network.about` is a dict of its settings, seed, metrics and the command that made it.

    >>> import torch
    >>> network = trained("esbn")
    >>> network.about["settings"]["task"], network.about["seed"]
    ('distribution_of_three', 1)
    >>> images = torch.rand(100, 32, 32)  # the pool of pictures
    >>> network(images, torch.randint(100, (2, 9))).shape  # two problems of nine pictures
    torch.Size([2, 4])
    """
    check_names("trained network", [name], TRAINED)
    paper, file = TRAINED[name].split("/")
    return load(Path(__file__).parent / paper / "weights" / f"{file}.safetensors")


def describe_network(part: object) -> Any:
    """A constructor's argument as JSON: networks by class and arguments."""
    if isinstance(part, nn.Module | Callable):
        name = f"{type(part).__module__}.{type(part).__qualname__}"
        ours = isinstance(part, Module) and name.startswith("mini_lib.")
        if not ours and type(part) is not nn.Identity:
            raise UsageError(
                f"{name} is not of mini_lib, so no file can say what it is; torch.save its state_dict()"
            )
        arguments = getattr(part, "_arguments", {})
        return {"class": name, "arguments": {k: describe_network(value) for k, value in arguments.items()}}
    part = part.item() if isinstance(part, np.generic) else part
    return list(map(describe_network, part)) if isinstance(part, tuple | list) else part


def _build(part: Any) -> Any:
    """The inverse of `describe_network`; makes nothing but networks of mini_lib and `nn.Identity`."""
    if isinstance(part, list):
        return tuple(map(_build, part))
    if not isinstance(part, dict) or part.keys() != {"class", "arguments"}:
        return part
    module, _, name = part["class"].rpartition(".")
    known = module.startswith(("mini_lib.", "torch.nn"))
    kind = getattr(importlib.import_module(module), name) if known else None
    if kind is not nn.Identity and not (isinstance(kind, type) and issubclass(kind, Module)):
        raise UsageError(f"{part['class']} is no network of mini_lib")
    return kind(**{name: _build(value) for name, value in part["arguments"].items()})


def _read(path: Path | str) -> tuple[dict, dict[str, Tensor]]:
    """A file's header and its tensors."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"no weights at {path}; `network.save(path)` writes such a file")
    try:
        with safe_open(path, framework="pt") as file:
            about = {name: json.loads(value) for name, value in (file.metadata() or {}).items()}
            about.pop("sha256", None)  # which older files have
            state = {name: file.get_tensor(name) for name in file.keys()}
        for name, value in state.items():
            if not value.isfinite().all():
                raise ValueError(f"{name} is not finite")
    except (SafetensorError, ValueError, RecursionError) as error:
        raise CorruptFileError(
            f"weights {path} are damaged, or no file of `network.save` ({error}); fetch or make the file again"
        ) from error
    return about, state
