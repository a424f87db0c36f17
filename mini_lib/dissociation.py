"""Double dissociation: how much of an inner signal stays when something about the problems is exchanged."""

import torch
from jaxtyping import Float
from torch import Tensor

from mini_lib.seeding import torch_rng

DRAWS = 20  # random pairings of problems
ROUNDING = 100  # times the precision of the signal's type: what varies less may be nothing but rounding


class ConstantSignal(ValueError):
    """A signal that varies over problems by no more than rounding: there is nothing to compare a move with."""


def kept(before: Float[Tensor, "N ..."], after: Float[Tensor, "N ..."]) -> float:
    """How far a signal moves by an exchange, against how far apart it is for different problems.

    `kept = 1 - mean_n |s'_n - s_n|^2 / mean_nm |s'_m - s_n|^2`, with n and m paired at random; s is the signal
    before, s' after the exchange, for the same N problems. 1: nothing moved. 0: all that another problem would.

    >>> place = torch.arange(10.0)[:, None]  # a signal that says where a problem stands, and nothing else
    >>> kept(place, place)
    1.0
    >>> kept(place, place.flip(0)) < 0.5
    True

    A signal is taken to be computed from numbers of size 1, or of its own size if that is more. Where such numbers
    cancel, what is left of them is rounding, however small it is. A signal that varies over problems by no more is
    refused with ConstantSignal; ValueError for other signals that cannot be compared.
    """
    if before.shape != after.shape:
        raise ValueError(
            f"a signal has one shape before and after, got {[*before.shape]} and {[*after.shape]}"
        )
    if len(before) < 2:
        raise ValueError(f"different problems are compared, so there have to be 2 or more, got {len(before)}")
    precision = torch.finfo(before.dtype).eps
    before, after = (signal.detach().cpu().double().flatten(1) for signal in (before, after))
    if not (before.isfinite().all() and after.isfinite().all()):
        raise ValueError("the signal holds numbers that are not finite")
    spread = before.var(dim=0).mean().sqrt().item()
    size = max(before.square().mean().sqrt().item(), 1.0)
    if not spread > ROUNDING * precision * size:
        raise ConstantSignal(
            f"the signal does not depend on the problem: its standard deviation over problems, {spread:.1e}, is "
            f"rounding for numbers of size {size:.1e}; measure another signal"
        )
    draws = torch_rng(1, "pairs")
    pairs = [torch.randperm(len(after), generator=draws) for _ in range(DRAWS)]
    apart = torch.stack([_moved(before, after[pair]) for pair in pairs]).mean()
    return (1 - _moved(before, after) / apart).item()


def _moved(before: Float[Tensor, "N S"], after: Float[Tensor, "N S"]) -> Float[Tensor, ""]:
    """Mean squared distance of corresponding problems."""
    return (after - before).square().sum(dim=1).mean()
