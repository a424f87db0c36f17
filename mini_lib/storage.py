"""Writing that survives an interruption or a full disk, and reading that says what is wrong."""

import errno
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import torch

from mini_lib.errors import CorruptFileError

FULL = {None, errno.ENOSPC, errno.EDQUOT, errno.EFBIG}  # None: PyTorch and safetensors give no number


def write_atomically(path: Path, write: Callable[[Path], None]) -> None:
    """Write a file beside `path`, then move it there, so that an interruption leaves the old one whole.

    OSError says what failed (a full disk, say) and what to do; also where there is a folder or a device already.
    """
    try:
        temporary = _beside(path)
    except OSError as error:
        raise not_written(path, error) from error
    try:
        write(temporary)
        os.replace(temporary, path)
    except (OSError, RuntimeError) as error:  # torch.save reports a full disk as a RuntimeError
        raise not_written(path, error) from error
    finally:
        temporary.unlink(missing_ok=True)


def _beside(path: Path) -> Path:
    """Where to write what is then moved to `path`; its folder is made. OSError if it cannot be moved there."""
    if path.exists() and not path.is_file():
        raise OSError(errno.EEXIST, "it is there and is no file (a folder or a device)")
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.with_name(f"{path.name}.{os.getpid()}.tmp")


def not_written(path: Path, error: Exception) -> OSError:
    """The error for a file that could not be written; the caller raises it."""
    remedy = "Free some disk space" if getattr(error, "errno", None) in FULL else "Name another place"
    return OSError(
        f"could not write {path}: {error}. {remedy} and run the same command again; "
        "what was written before is as it was"
    )


def check_folder(folder: Path, what: str) -> None:
    """Raise OSError now, rather than after hours of training, if nothing can be written to a folder for `what`."""
    try:
        if folder.is_file():
            raise OSError("it is a file")
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OSError(f"cannot write {what} to {folder}: {error}; name another folder") from error


def check_target(path: Path) -> None:
    """Raise OSError now, rather than after hours of training, if `write_atomically` could not write this file."""
    try:
        temporary = _beside(path)
        temporary.touch()
        temporary.unlink()
    except OSError as error:
        raise not_written(path, error) from error


def read_checkpoint(path: Path) -> dict:
    """Load a checkpoint; CorruptFileError with what to do if it is damaged."""
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise CorruptFileError(
            f"checkpoint {path} is damaged; delete it, and its run starts again"
        ) from error
    if not isinstance(state, dict):
        raise CorruptFileError(
            f"checkpoint {path} is not one of a training; delete it, and its run starts again"
        )
    return state
