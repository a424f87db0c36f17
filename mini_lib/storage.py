"""Writing that survives an interruption or a full disk, and reading that says what is wrong."""

import os
from collections.abc import Callable
from pathlib import Path

import torch

from mini_lib.errors import Damaged


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
        raise not_written(path, error) from error
    finally:
        temporary.unlink(missing_ok=True)


def not_written(path: Path, error: Exception) -> OSError:
    """The error for a file that could not be written; the caller raises it."""
    return OSError(
        f"could not write {path}: {error}. Free some disk space and run the same command again; "
        "finished runs are safe"
    )


def read_checkpoint(path: Path) -> dict:
    """Load a checkpoint; Damaged with what to do if it is damaged."""
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise Damaged(f"checkpoint {path} is damaged; delete it, and its run starts again") from error
