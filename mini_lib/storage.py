"""Writing that survives an interruption or a full disk, and reading that says what is wrong."""

import os
from collections.abc import Callable
from pathlib import Path

import torch


def write_atomically(path: Path, write: Callable[[Path], None]) -> None:
    """Write a file beside `path`, then move it there, so that an interruption leaves the old one whole.

    Raises:
        OSError: with the path, what failed (a full disk, say) and what is safe.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        write(temporary)
        os.replace(temporary, path)
    except (OSError, RuntimeError) as error:  # torch.save reports a full disk as a RuntimeError
        temporary.unlink(missing_ok=True)
        raise OSError(
            f"could not write {path}: {error}. Free some disk space and run the same command again; "
            "finished runs are safe"
        ) from error


def read_checkpoint(path: Path) -> dict:
    """Load a checkpoint; ValueError with what to do if it is damaged."""
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise ValueError(f"checkpoint {path} is damaged; delete it, and its run starts again") from error
