"""Lines, radial basis function curves and sinusoids, as Segert and Cohen sample them ("Experiment details").

Observations stand at x = 1, 2, 3, ...: a curve is the list of its values, and position i of a tensor's last axis is
x = i + 1.
"""

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from mini_lib.errors import UsageError, check_names, check_positive_int
from mini_lib.seeding import torch_rng

KINDS = ("lin", "rbf", "sine")  # in the order of the paper's columns
NOISE = 0.1  # standard deviation of the uniform noise
STEPS = 10  # points to extrapolate
UPDATES = 100  # in an epoch of training, which is a word of the harness: no curve is ever seen twice
SLOPE = 0.1
PERIODS, AMPLITUDES = (5.0, 12.0), (0.8, 1.2)
LENGTH_SCALE = 3.0
JITTER = 1e-6  # added to the diagonal of a covariance before it is factored
SHORTEST = 2  # observations below which there is nothing to extrapolate from
LARGEST = 1e9  # absolute observation; the networks square what they see, and float32 ends at 3e38


class Curves(NamedTuple):
    """B curves at x = 1..T."""

    truth: Float[Tensor, "B T"]  #: the function itself.
    y: Float[Tensor, "B T"]  #: what is observed of it, the truth with noise.
    kinds: Int[Tensor, "B"]  #: the class of each, an index into `KINDS`.

    def to(self, device: torch.device | str) -> "Curves":
        """The same on a device."""
        return Curves(*(part.to(device) for part in self))


def rows_by_kind(kinds: Int[Tensor, "B"]) -> dict[str, Bool[Tensor, "B"]]:
    """Which curves are of each class, for the classes that there are."""
    return {kind: kinds == number for number, kind in enumerate(KINDS) if (kinds == number).any()}


def positions(points: int) -> Float[Tensor, "T"]:
    """Places of T observations, x = 1..T, in float64."""
    return torch.arange(1, points + 1, dtype=torch.float64)


def covariance(points: int, length_scale: float = LENGTH_SCALE) -> Float[Tensor, "T T"]:
    """C_ij = exp(-(i - j)^2 / (2 l^2)), the covariance of RBF curves with length scale l, in float64."""
    x = positions(points)
    return torch.exp(-0.5 * (x[:, None] - x).square() / length_scale**2)


@cache
def _root(points: int, length_scale: float = LENGTH_SCALE) -> Tensor:
    """L with L L^T = C, on the CPU."""
    jitter = JITTER * torch.eye(points, dtype=torch.float64)
    return torch.linalg.cholesky(covariance(points, length_scale) + jitter)


def _uniform(low: float, high: float, count: int, generator: torch.Generator) -> Float[Tensor, "B 1"]:
    return low + (high - low) * torch.rand(count, 1, generator=generator, dtype=torch.float64)


def lines(
    count: int, points: int, generator: torch.Generator, intercept: float = 0.0, slower: float = 1.0
) -> Tensor:
    """f(x) = c + s x with s uniform up to 0.1 either way, and c up to `intercept` (0 in the paper). [B, T]"""
    slope = _uniform(-SLOPE, SLOPE, count, generator)
    start = _uniform(-intercept, intercept, count, generator)
    return start + slope * (positions(points) / slower)


def rbf_curves(count: int, points: int, generator: torch.Generator, slower: float = 1.0) -> Tensor:
    """Draws of a Gaussian process with mean 0 and `covariance`. [B, T]"""
    root = _root(points, LENGTH_SCALE * slower)
    return torch.randn(count, points, generator=generator, dtype=torch.float64) @ root.T


def sines(count: int, points: int, generator: torch.Generator, slower: float = 1.0) -> Tensor:
    """f(x) = A sin(2 pi x / P + phi): A in [.8, 1.2], period P in [5, 12], any phase. [B, T]"""
    period = _uniform(*PERIODS, count, generator) * slower
    amplitude = _uniform(*AMPLITUDES, count, generator)
    phase = _uniform(0.0, 2 * math.pi, count, generator)
    return amplitude * torch.sin(2 * math.pi * positions(points) / period + phase)


def sample(
    count: int,
    points: int,
    generator: torch.Generator,
    *,
    kind: str | None = None,
    noise: float = NOISE,
    intercept: float = 0.0,
    slower: float = 1.0,
) -> Curves:
    """Draw B curves of T points, with noise at all of them, from a generator on the CPU.

    `kind` is "lin", "rbf" or "sine"; without it each curve is of each class with probability 1/3. `noise` is the
    standard deviation of the noise, which is uniform on +- noise sqrt(3). Lines start up to `intercept` from 0. With
    `slower` the function is f(x / slower), 1 in the paper.

    >>> curves = sample(3, 30, torch.Generator().manual_seed(1), kind="sine")
    >>> curves.truth.shape, curves.y.shape, curves.kinds
    (torch.Size([3, 30]), torch.Size([3, 30]), tensor([2, 2, 2]))
    """
    check_positive_int(count=count, points=points)
    for name, value in (("noise", noise), ("intercept", intercept)):
        if not value >= 0 or math.isinf(value):
            raise UsageError(f"{name} has to be 0 or more, got {value!r}")
    if not 0 < slower < math.inf:
        raise UsageError(f"slower is a factor above 0, got {slower!r}")
    if kind is not None:
        check_names("class of curves", [kind], KINDS)
    makers: dict[str, Callable[[], Tensor]] = {
        "lin": lambda: lines(count, points, generator, intercept, slower),
        "rbf": lambda: rbf_curves(count, points, generator, slower),
        "sine": lambda: sines(count, points, generator, slower),
    }
    if kind is None:
        kinds = torch.randint(len(KINDS), (count,), generator=generator)
        truth = torch.stack([makers[name]() for name in KINDS])[kinds, torch.arange(count)]
    else:
        kinds = torch.full((count,), KINDS.index(kind))
        truth = makers[kind]()
    half_width = noise * math.sqrt(3)
    y = truth + half_width * (2 * torch.rand(count, points, generator=generator, dtype=torch.float64) - 1)
    return Curves(truth.float(), y.float(), kinds)


@cache
def evaluation_curves(count: int, points: int, intercept: float = 0.0, slower: float = 1.0) -> Curves:
    """The B curves of T points on which every network and every predictor is tested, evenly split among the classes.

    What three does not divide goes to the first classes. T counts observed points and those to extrapolate.
    """
    if count < len(KINDS):
        raise UsageError(f"a test needs a curve of each class; got {count} curves")
    parts = []
    for number, kind in enumerate(KINDS):
        share = count // len(KINDS) + (number < count % len(KINDS))
        generator = torch_rng(0, "test curves", kind)
        parts.append(sample(share, points, generator, kind=kind, intercept=intercept, slower=slower))
    return Curves(*(torch.cat(part) for part in zip(*parts, strict=True)))


def check_curves(y: object) -> None:
    """Refuse what is no batch of curves [B, N] as predictors take them: B from 1, N from 2, none beyond 1e9."""
    if not isinstance(y, torch.Tensor) or y.dim() != 2:
        shape = f"a tensor of shape {tuple(y.shape)}" if isinstance(y, torch.Tensor) else type(y).__name__
        raise UsageError(
            f"curves are a tensor [B, N], got {shape}; as_curve([...]) makes one of your own values"
        )
    if len(y) == 0:
        raise UsageError("there is no curve in this batch; give a tensor [B, N] with B from 1")
    if y.shape[1] < SHORTEST:
        raise UsageError(f"a curve needs at least {SHORTEST} observed points, got {y.shape[1]}")
    if y.is_complex():
        raise UsageError(
            "observations have to be real numbers, and these are complex; give y.real, or y.abs()"
        )
    if not y.isfinite().all():
        raise UsageError("observations have to be finite numbers")
    largest = y.abs().max().item()
    if largest > LARGEST:
        raise UsageError(
            f"the largest observation is {largest:.3g}, and {LARGEST:g} is the most; divide the curve first"
        )


def as_curve(y: Sequence[int | float] | Tensor) -> Float[Tensor, "1 T"]:
    """Observations of your own, at least two at x = 1, 2, 3, ..., checked, as a batch of one curve.

    The networks know whole steps only. Interpolate what was observed elsewhere onto whole steps first.

    >>> as_curve([0.1, 0.2, 0.4])
    tensor([[0.1000, 0.2000, 0.4000]])
    """
    try:
        values = torch.as_tensor(y)
    except (TypeError, ValueError, RuntimeError) as error:
        raise UsageError(f"a curve is a list of numbers, such as [0.1, 0.2, 0.3]; got {y!r}") from error
    if values.dim() != 1:
        raise UsageError(f"a curve is a list of numbers; got an array of shape {tuple(values.shape)}")
    values = values if values.is_complex() else values.float()
    if odd := (~values.isfinite()).nonzero().flatten().tolist():
        place, value = odd[0] + 1, values[odd[0]]
        raise UsageError(
            f"the curve's value at x = {place} is {value}; every value has to be a finite number"
        )
    check_curves(values[None])
    return values[None]


sample_curves = sample
