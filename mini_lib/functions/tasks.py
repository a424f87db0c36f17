"""Lines, radial basis function curves and sinusoids, as Segert and Cohen sample them ("Experiment details").

Observations are at x = 1, 2, 3, ...: position i of a tensor's last axis is x = i + 1.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from mini_lib.errors import UsageError, check_names, check_positive, check_positive_int
from mini_lib.seeding import torch_rng

KINDS = ("lin", "rbf", "sine")  # in the order of the paper's columns
NOISE = 0.1  # standard deviation of the uniform noise
OBSERVED, STEPS = 20, 10  # points that are observed, and points to extrapolate
UPDATES = 100  # updates per "epoch"; curves are always fresh
SLOPE = 0.1
PERIODS, AMPLITUDES = (5.0, 12.0), (0.8, 1.2)
LENGTH_SCALE = 3.0
JITTER = 1e-6  # added to the diagonal of a covariance before it is factored
SHORTEST = 2  # observations
LARGEST = 1e9  # absolute observation; the networks square what they see, and float32 ends at 3e38
ROUNDING = 0.01  # error of rounding that a curve may have, relative to its extent or to 1


class Curves(NamedTuple):
    """B curves at x = 1..T."""

    truth: Float[Tensor, "B T"]  #: the function itself.
    y: Float[Tensor, "B T"]  #: the observations, truth and noise.
    kinds: Int[Tensor, "B"]  #: the class of each curve, an index into `KINDS`.


def rows_by_kind(kinds: Int[Tensor, "B"]) -> dict[str, Bool[Tensor, "B"]]:
    """Which curves are of each class, for the classes that occur."""
    return {kind: kinds == number for number, kind in enumerate(KINDS) if (kinds == number).any()}


def positions(points: int) -> Float[Tensor, "T"]:
    """Places of T observations, x = 1..T, in float64."""
    return torch.arange(1, points + 1, dtype=torch.float64)


def covariance(points: int, length_scale: float = LENGTH_SCALE) -> Float[Tensor, "T T"]:
    """C_ij = exp(-(i - j)^2 / (2 l^2)), the covariance of RBF curves with length scale l, in float64."""
    x = positions(points)
    return torch.exp(-0.5 * (x[:, None] - x).square() / length_scale**2)


def _uniform(low: float, high: float, count: int, generator: torch.Generator) -> Float[Tensor, "B 1"]:
    return low + (high - low) * torch.rand(count, 1, generator=generator, dtype=torch.float64)


def lines(count: int, points: int, generator: torch.Generator, time_scale: float = 1.0) -> Tensor:
    """f(x) = s x with s uniform in [-.1, .1]. [B, T]"""
    slope = _uniform(-SLOPE, SLOPE, count, generator)
    _uniform(0.0, 0.0, count, generator)  # once an intercept; keeps the random stream of the records
    return slope * (positions(points) / time_scale)


def rbf_curves(count: int, points: int, generator: torch.Generator, time_scale: float = 1.0) -> Tensor:
    """Draws of a Gaussian process with mean 0 and `covariance`. [B, T]"""
    jitter = JITTER * torch.eye(points, dtype=torch.float64)
    root = torch.linalg.cholesky(covariance(points, LENGTH_SCALE * time_scale) + jitter)
    return torch.randn(count, points, generator=generator, dtype=torch.float64) @ root.T


def sines(count: int, points: int, generator: torch.Generator, time_scale: float = 1.0) -> Tensor:
    """f(x) = A sin(2 pi x / P + phi): A in [.8, 1.2], period P in [5, 12], any phase. [B, T]"""
    period = _uniform(*PERIODS, count, generator) * time_scale
    amplitude = _uniform(*AMPLITUDES, count, generator)
    phase = _uniform(0.0, 2 * math.pi, count, generator)
    return amplitude * torch.sin(2 * math.pi * positions(points) / period + phase)


CLASSES = dict(zip(KINDS, (lines, rbf_curves, sines), strict=True))


def sample_curves(
    count: int,
    points: int,
    generator: torch.Generator,
    *,
    kind: str | None = None,
    noise: float = NOISE,
    time_scale: float = 1.0,
) -> Curves:
    """Draw B curves of T points, with noise at all of them, from a generator on the CPU.

    `kind` is "lin", "rbf" or "sine"; without it each curve is of each class with probability 1/3. `noise` is the
    standard deviation of the noise, uniform on +- noise sqrt(3). With `time_scale` t the function is f(x / t).

    >>> curves = sample_curves(3, 30, torch.Generator().manual_seed(1), kind="sine")
    >>> curves.truth.shape, curves.y.shape, curves.kinds
    (torch.Size([3, 30]), torch.Size([3, 30]), tensor([2, 2, 2]))
    """
    check_positive_int(count=count, points=points)
    if not isinstance(generator, torch.Generator) or generator.device.type != "cpu":
        raise UsageError(f"generator has to be a torch.Generator on the CPU, got {generator!r}")
    check_positive(time_scale=time_scale, **({"noise": noise} if noise != 0 else {}))
    if kind is not None:
        check_names("class of curves", [kind], KINDS)
        kinds = torch.full((count,), KINDS.index(kind))
        truth = CLASSES[kind](count, points, generator, time_scale)
    else:
        kinds = torch.randint(len(KINDS), (count,), generator=generator)
        of_each = [CLASSES[name](count, points, generator, time_scale) for name in KINDS]
        truth = torch.stack(of_each)[kinds, torch.arange(count)]
    half_width = noise * math.sqrt(3)
    y = truth + half_width * (2 * torch.rand(count, points, generator=generator, dtype=torch.float64) - 1)
    return Curves(truth.float(), y.float(), kinds)


def evaluation_curves(count: int, points: int, time_scale: float = 1.0) -> Curves:
    """Draw the B curves of T points on which every network and every predictor is tested, always the same.

    They are evenly split among the classes; the remainder of B / 3 goes to the first ones.
    """
    if count < len(KINDS):
        raise UsageError(f"a test needs a curve of each class; got {count} curves")
    parts = []
    for number, kind in enumerate(KINDS):
        share = count // len(KINDS) + (number < count % len(KINDS))
        generator = torch_rng(0, "test curves", kind)
        parts.append(sample_curves(share, points, generator, kind=kind, time_scale=time_scale))
    return Curves(*(torch.cat(part) for part in zip(*parts, strict=True)))


def check_curves(y: object) -> None:
    """Raise UsageError unless y is a batch of curves [B, N] with B from 1, N from 2, finite and up to 1e9.

    Nor may its number type round away the differences between values that are far from 0.
    """
    shape = list(y.shape) if isinstance(y, Tensor) else type(y).__name__
    if not isinstance(y, Tensor) or y.dim() != 2 or len(y) == 0 or y.shape[1] < SHORTEST:
        raise UsageError(f"curves are a tensor [B, N] with B from 1 and N from {SHORTEST}, got {shape}")
    if y.is_complex() or y.dtype == torch.bool:
        raise UsageError(f"observations have to be real numbers, got {y.dtype}")
    if (wrong := ~y.isfinite() | (y.abs() > LARGEST)).any():
        row, place = wrong.nonzero()[0].tolist()
        value = y[row, place].item()
        raise UsageError(
            f"the value at x = {place + 1} is {value:.3g}; it has to be finite, {LARGEST:g} at most"
        )
    if y.is_floating_point():
        rounding = torch.finfo(y.dtype).eps * y.abs().amax(dim=1)
        if (rounding > ROUNDING * (y.amax(dim=1) - y.amin(dim=1)).clamp(min=1)).any():
            raise UsageError(
                f"{y.dtype} rounds values of {y.abs().max():.3g} by {rounding.max():.2g}, which hides how the curve "
                "changes; give it as torch.float64, or subtract its first value and add it to the predictions"
            )


def as_curve(y: Sequence[int | float] | Tensor) -> Float[Tensor, "1 T"]:
    """Make a batch of one curve from a list, array or Series of observations at x = 1, 2, 3, ...

    It is in float32, or in float64 where float32 would round away how the curve changes, as far from 0.

    The networks know whole steps only: interpolate what was observed elsewhere first. They were trained on values
    about 1 with a noise of 0.1; divide a curve of another scale by that scale, and multiply the predictions by it.

    >>> as_curve([0.1, 0.2, 0.4])
    tensor([[0.1000, 0.2000, 0.4000]])
    """
    try:
        values = y if isinstance(y, Tensor) else torch.tensor(np.asarray(y))
    except (TypeError, ValueError, RuntimeError) as error:
        raise UsageError(f"a curve is a list of numbers, such as [0.1, 0.2, 0.3]; got {y!r}") from error
    if values.dim() != 1:
        raise UsageError(f"a curve is a list of numbers; got an array of shape {tuple(values.shape)}")
    curve = (values if values.is_complex() else values.double())[None]
    check_curves(curve)
    single = curve.float()
    return curve if (single - curve).abs().max() > 1e-4 * (curve.max() - curve.min()) else single
