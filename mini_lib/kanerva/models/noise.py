"""Random numbers that come from outside: what is drawn in a forward pass is an argument of it.

A network names the tensors that it wants and their shapes. All are standard normal, but those whose names begin with
"gumbel", which have the standard Gumbel distribution, and "given", which are no noise but weights of machines that
somebody has chosen. Where there is no noise at all, variables are at their mean.
"""

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from mini_lib.errors import UsageError

Noise = Mapping[str, Tensor]
Shapes = Mapping[str, tuple[int, ...]]
GUMBEL, GIVEN = "gumbel", "given"


class Normal(NamedTuple):
    """Independent normal distributions, one for each feature.

    Attributes:
        mean: [*B, F]
        sd: [*B, F]
    """

    mean: Tensor
    sd: Tensor

    def draw(self, noise: Tensor | None = None) -> Tensor:
        """What standard normal numbers make of it; without them, the mean."""
        return self.mean if noise is None else self.mean + self.sd * noise


def draw_noise(shapes: Shapes, generator: torch.Generator) -> dict[str, Tensor]:
    """Tensors of these names and shapes, drawn one after the other from a generator on the CPU."""
    return {name: _draw(name, shape, generator) for name, shape in shapes.items()}


def _draw(name: str, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    if name.startswith(GIVEN):
        return torch.full(shape, 1 / shape[-1])  # nobody has chosen yet
    if not name.startswith(GUMBEL):
        return torch.randn(shape, generator=generator)
    waiting = torch.empty(shape).exponential_(generator=generator)
    return -waiting.clamp(min=torch.finfo(waiting.dtype).tiny).log()


def pick(noise: Noise | None, shapes: Shapes, name: str) -> Tensor | None:
    """The tensor of that name, or None if there is no noise or none of that name is wanted.

    Raises:
        UsageError: if it is wanted and not there, or has another shape.
    """
    if noise is None or name not in shapes:
        return None
    if name not in noise:
        raise UsageError(f"noise lacks {name!r}; it needs what noise_shapes names: {', '.join(shapes)}")
    if tuple(noise[name].shape) != tuple(shapes[name]):
        raise UsageError(f"noise {name!r} has to be {[*shapes[name]]}, got {[*noise[name].shape]}")
    return noise[name]


def at(noise: Tensor | None, item: int) -> Tensor | None:
    """The numbers of one item, of [B, T, ...]."""
    return None if noise is None else noise[:, item]
