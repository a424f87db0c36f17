"""Where to compute, and how exactly."""

from pathlib import Path

import torch

from mini_lib.errors import WrongUse, unknown


def pick_device(name: str = "auto") -> torch.device:
    """The device of that name ("auto" takes a GPU if there is one); WrongUse if it is not there."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise WrongUse(f"unknown device {name!r}; use auto, cpu or cuda") from None
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise WrongUse(
            f"device {name!r} is not there: PyTorch sees {torch.cuda.device_count()} GPUs; use cpu or auto"
        )
    if device.type not in ("cpu", "cuda"):
        raise WrongUse(f"device {name!r} is not supported; use auto, cpu or cuda")
    return device


def set_precision(precision: str, device: torch.device) -> None:
    """Choose "fp32", full precision everywhere, or "tf32", faster matrix products and convolutions on a GPU.

    PyTorch's own default on a GPU is TF32 convolutions. WrongUse for tf32 elsewhere than on a GPU.
    """
    if precision not in ("fp32", "tf32"):
        raise unknown("precision", precision, ("fp32", "tf32"))
    if precision == "tf32" and device.type != "cuda":
        raise WrongUse("tf32 is a precision of GPUs; leave it out, or use --device cuda")
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.allow_tf32 = precision == "tf32"


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
