"""The base class of the networks: it remembers how a network was made, so that it can be saved and loaded."""

import inspect
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn

from mini_lib.errors import UsageError

Noise = dict[str, Tensor]  # dropout masks, Gaussian noise and the like, by name


class Module(nn.Module):
    """An `nn.Module` that keeps the arguments of its constructor.

    Attributes:
        about: of a trained network its settings, seed, metrics and the command that made it; else empty.
    """

    about: dict[str, Any]
    _arguments: dict[str, Any]

    def __new__(cls, *args: object, **kwargs: object) -> Self:
        """Keep the arguments by name before the constructor sees them; UsageError for a flag that is no bool."""
        self, signature = super().__new__(cls), inspect.signature(cls)
        # Copies and pickles are made without arguments, and get theirs with the rest.
        try:
            bound = signature.bind(*args, **kwargs).arguments if args or kwargs else {}
        except TypeError:  # the constructor says it better
            bound = {}
        for name, parameter in signature.parameters.items():
            value = bound.get(name, False)
            if isinstance(parameter.default, bool) and not isinstance(value, bool | np.bool_):
                raise UsageError(f"{name} has to be True or False, got {value!r}")
            if parameter.kind is parameter.VAR_KEYWORD:
                bound |= bound.pop(name, {})
        self.__dict__ |= {"_arguments": bound, "about": {}}
        return self

    def save(self, path: Path | str, /, **about: object) -> None:
        """Save the network to a file from which `mini_lib.load` makes it again; `about` is kept with it.

        UsageError if a part of it, such as an encoder of your own, is no network of mini_lib.
        """
        from mini_lib.files import describe_network, save_weights

        save_weights(self, path, about | {"network": describe_network(self)}, half=False)


def noise_or_draw(network: nn.Module, noise: Noise | None, device: torch.device, *sizes: int) -> Noise:
    """The noise that was passed; without any, a fresh draw in training and none in evaluation mode.

    A fresh draw is the network's `draw_noise(*sizes, generator)` with PyTorch's own generator on the device; on a
    CPU that is None, since `torch.compile` cannot trace a generator.
    """
    if noise is not None or not network.training:
        return noise or {}
    generator = torch.cuda.default_generators[device.index or 0] if device.type == "cuda" else None
    return {name: each.to(device) for name, each in network.draw_noise(*sizes, generator).items()}


def check_floats(x: object, network: nn.Module, what: str) -> None:
    """UsageError unless x is a tensor of the floats that the network computes in; `what` names it in the message."""
    if not isinstance(x, Tensor) or not x.is_floating_point():
        kind = f"a tensor of {x.dtype}" if isinstance(x, Tensor) else type(x).__name__
        raise UsageError(f"{what} has to be a tensor of floats, got {kind}")
    own = next((p.dtype for p in network.parameters() if p.is_floating_point()), x.dtype)
    if x.dtype != own and (x.dtype == torch.float64 or not torch.is_autocast_enabled(x.device.type)):
        name = str(own).removeprefix("torch.")
        raise UsageError(f"{what} is {x.dtype}, the network computes in {name}; use .to(torch.{name})")


def holds(condition: Tensor) -> bool:
    """Whether a condition holds everywhere; True where `torch.vmap`, compilation or tracing hides the values."""
    if torch.compiler.is_compiling() or torch.jit.is_tracing():
        return True
    try:
        return bool(condition.all())
    except RuntimeError:  # under vmap no value can be read
        return True
