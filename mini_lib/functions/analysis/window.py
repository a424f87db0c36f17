"""The learned window: how it makes attention fall with distance."""

import inspect
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from mini_lib.errors import UsageError
from mini_lib.functions.models import MODELS, FunctionTransformer, Window

LENGTH = inspect.signature(Window).parameters["length"].default
FARTHEST = 30.0  # distance up to which F is worked out: that of the first and the last place in the paper


class Fall(NamedTuple):
    """F over distance, for L windows of layers and H of heads; both are 1 where all share one.

    Attributes:
        distance: in steps of x. [G]
        factor: F(d) = (1 - sigma(d / b - a)) / (1 - sigma(-a)), by which weights are multiplied. [L, H, G]
        length: a b. [L, H]
        start: the factor that training began with. [G]
        start_length: its a b.
    """

    distance: Tensor
    factor: Tensor
    length: Tensor
    start: Tensor
    start_length: float


@torch.no_grad()
def fall(
    model: FunctionTransformer,
    length: int | float = LENGTH,
    farthest: int | float = FARTHEST,
    points: int = 121,
) -> Fall:
    """Work out F at evenly spaced distances, as the network has it now and as it was at first.

    Args:
        model: a network with a window.
        length: of its window at the start, option "length" of the network.
        farthest: the last distance.
        points: G, distance 0 included.

    Raises:
        UsageError: for a network without a window, fewer than two points, or a length that is not above 0.
    """
    window = check(model).window
    if points < 2 or not farthest > 0:
        raise UsageError(f"F needs two points and a distance above 0, got {points} points up to {farthest}")
    distance = torch.linspace(0, farthest, points)
    now, start = (_factor(each, distance) for each in (window, Window(float(length))))
    return Fall(distance, now, window.length.cpu().clone(), start[0, 0], length)


def _factor(window: Window, distance: Float[Tensor, "G"]) -> Float[Tensor, "L H G"]:
    """F at each distance."""
    return window.log_factor(distance[None].to(window.log_a.device)).exp()[:, :, 0].cpu()


def check(model: FunctionTransformer) -> FunctionTransformer:
    """The network itself, if it has a window; UsageError if not."""
    if model.window is None:
        named = [name for name, (_, windowed) in MODELS.items() if windowed]
        raise UsageError(f"this {type(model).__name__} has no window; give {' or '.join(map(repr, named))}")
    return model
