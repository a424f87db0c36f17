"""Random numbers as arguments: everything that a forward pass draws can be passed to it by name.

A network names its random tensors and their shapes. All are standard normal, but those whose names begin with
"gumbel", which have the standard Gumbel distribution. Names that begin with "given" are not drawn: they hold weights
of machines that the caller has chosen. Without noise every variable is at its mean.
"""

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor

from mini_lib.errors import UsageError

Noise = Mapping[str, Tensor]
Shapes = Mapping[str, tuple[int, ...]]
GUMBEL, GIVEN = "gumbel", "given"
Items = TypeVar("Items", bound=tuple)


class Normal(NamedTuple):
    """Independent normal distributions, one for each feature."""

    mean: Tensor  #: [*B, F]
    sd: Tensor  #: [*B, F]

    def draw(self, noise: Tensor | None = None) -> Tensor:
        """A sample, by standard normal numbers; without them, the mean."""
        return self.mean if noise is None else self.mean + self.sd * noise


def draw_noise(
    shapes: Shapes, generator: torch.Generator | None = None, device: torch.device | str | None = None
) -> dict[str, Tensor]:
    """Tensors of these names and shapes, drawn one after the other; names that begin with "given" are left out.

    They lie where the generator does unless a device is named. Without a generator PyTorch's own draws them.
    """
    device = generator.device if device is None and generator is not None else device
    noise = {}
    for name, shape in shapes.items():
        if name.startswith(GUMBEL):
            waiting = torch.empty(shape, device=device).exponential_(generator=generator)
            noise[name] = -waiting.clamp(min=torch.finfo(waiting.dtype).tiny).log()
        elif not name.startswith(GIVEN):
            noise[name] = torch.randn(shape, generator=generator, device=device)
    return noise


def pick(noise: Noise | None, shapes: Shapes, name: str) -> Tensor | None:
    """The tensor of that name, or None if there is no noise or none of that name is wanted."""
    if noise is None or name not in shapes:
        return None
    if name not in noise:
        raise UsageError(f"noise lacks {name!r}; it needs what noise_shapes names: {', '.join(shapes)}")
    if tuple(noise[name].shape) != tuple(shapes[name]):
        raise UsageError(f"noise {name!r} has to be {[*shapes[name]]}, got {[*noise[name].shape]}")
    return noise[name]


def by_item(noise: Tensor | None, items: int) -> list[Tensor | None]:
    """The numbers of each item, of [B, T, ...]."""
    return [None] * items if noise is None else list(noise.unbind(1))


def stack_items(each: list[Items]) -> Items:
    """T tuples of tensors [B, ...] as one such tuple of [B, T, ...]."""
    return type(each[0])(*(torch.stack(parts, dim=1) for parts in zip(*each, strict=True)))
