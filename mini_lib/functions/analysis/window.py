"""The learned window: how it makes attention fall with distance."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from mini_lib.errors import UsageError
from mini_lib.functions.models import MODELS, FunctionTransformer, Window
from mini_lib.functions.models.window import LENGTH

FARTHEST = 30.0  # distance up to which F is worked out: that of the first and the last place in the paper


class WindowProfile(NamedTuple):
    """F over distance, for L windows of layers and H of heads; both are 1 where all share one."""

    distance: Tensor  #: in steps of x. [G]
    #: F(d) = (1 - sigma(d / b - a)) / (1 - sigma(-a)), by which weights are multiplied. [L, H, G]
    factor: Tensor
    length: Tensor  #: a b. [L, H]
    start: Tensor  #: the factor that training began with. [G]
    start_length: float  #: its a b.


@torch.no_grad()
def window_profile(
    model: FunctionTransformer, length: int | float = LENGTH, points: int = 121
) -> WindowProfile:
    """Work out F at evenly spaced distances up to 30, as the network has it now and as it was at first.

    Args:
        model: a network with a window.
        length: of its window at the start, option "length" of the network.
        points: G, distance 0 included.
    """
    if model.window is None:
        windowed = [name for name, (_, has_window) in MODELS.items() if has_window]
        raise UsageError(
            f"this {type(model).__name__} has no window; give {' or '.join(map(repr, windowed))}"
        )
    distance = torch.linspace(0, FARTHEST, points)
    now, start = (_factor(window, distance) for window in (model.window, Window(float(length))))
    return WindowProfile(distance, now, model.window.length.cpu().clone(), start[0, 0], length)


def _factor(window: Window, distance: Float[Tensor, "G"]) -> Float[Tensor, "L H G"]:
    """F at each distance."""
    return window.log_factor(distance[None].to(window.log_a.device)).exp()[:, :, 0].cpu()
