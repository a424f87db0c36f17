"""Where to compute, and how exactly."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from mini_lib.errors import UsageError, check_names


def pick_device(name: str = "auto") -> torch.device:
    """The device of that name ("auto" takes a GPU if there is one); UsageError if it is not there.

    >>> pick_device("cpu")
    device(type='cpu')
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise UsageError(f"unknown device {name!r}; use auto, cpu or cuda") from None
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise UsageError(
            f"device {name!r} is not there: PyTorch sees {torch.cuda.device_count()} GPUs; use cpu or auto"
        )
    if device.type not in ("cpu", "cuda"):
        raise UsageError(f"device {name!r} is not supported; use auto, cpu or cuda")
    return device


def check_precision(precision: str, device: torch.device) -> None:
    """Raise UsageError for a precision that is unknown, or that the device does not have."""
    check_names("precision", [precision], ("fp32", "tf32"))
    if precision == "tf32" and device.type != "cuda":
        raise UsageError("tf32 is a precision of GPUs; leave it out, or use --device cuda")


@contextmanager
def use_precision(precision: str, device: torch.device) -> Iterator[None]:
    """Compute a block in "fp32", full precision, or in "tf32", faster matrix products and convolutions on a GPU.

    PyTorch's own default on a GPU is TF32 convolutions. Its settings are put back at the end, and on a CPU they stay
    untouched. In the block its older settings (`allow_tf32`) cannot be read: PyTorch refuses to mix the two kinds.
    """
    check_precision(precision, device)
    if device.type != "cuda":
        yield
        return
    operations = torch.backends.cuda.matmul, torch.backends.cudnn.conv, torch.backends.cudnn.rnn
    before = [operation.fp32_precision for operation in operations]
    try:
        for operation in operations:
            operation.fp32_precision = "tf32" if precision == "tf32" else "ieee"
        yield
    finally:
        for operation, setting in zip(operations, before, strict=True):
            operation.fp32_precision = setting


def describe(device: torch.device) -> str:
    """The device with its model name, as records keep it."""
    if device.type == "cuda":
        return f"cuda: {torch.cuda.get_device_name(device)}"
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"cpu: {names[0] if names else 'unknown model'}"
