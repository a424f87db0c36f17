"""Footnote 1: three constants and their errors, and which of them is which."""

import math
from collections.abc import Sequence
from itertools import permutations
from typing import NamedTuple

import numpy as np

from mini_lib.reproduction.kanerva.scaling import FITTED, MACHINES, PAPER, Fit, design, spreads

# Footnote 1 of Marblestone, Wu and Wayne (2020): value and standard error, in a unit that is not given.
PRINTED = {"a": (3.318e-08, 1.035e-09), "b": (2.176e-01, 3.913e-02), "c": (3.676e-02, 3.787e-03)}
PRINTED_R2 = {400: 0.996, 600: 0.992, 100: 0.958}
AS_PRINTED = {"a": "slope", "b": "cubic", "c": "constant"}  # by the formula of Section 3.1
AS_READ = {"a": "cubic", "b": "constant", "c": "slope"}  # by the errors; see `assignments`


class Assignment(NamedTuple):
    """One way to say which printed number is which coefficient.

    Attributes:
        roles: printed letter -> term.
        fit: the coefficients and errors, so assigned.
        ratios: SE(constant) / SE(slope) and SE(cubic) / SE(slope).
        distance: of the ratios from those that least squares forces: root mean square of ln(ratio / forced).
    """

    roles: dict[str, str]
    fit: Fit
    ratios: tuple[float, float]
    distance: float


def printed(roles: dict[str, str] = AS_READ) -> Fit:
    """Footnote 1 as a fit."""
    return Fit(*({role: PRINTED[letter][place] for letter, role in roles.items()} for place in (0, 1)))


def error_ratios(machines: Sequence[int] = MACHINES, m: int = FITTED) -> tuple[float, float]:
    """SE(constant) / SE(slope) and SE(cubic) / SE(slope) of any fit of the paper's terms, whatever the times.

    Standard errors are those of the design, times one number for the noise.
    """
    columns, sizes = design(np.array(machines, dtype=float), m, PAPER)
    constant, slope, cubic = spreads(columns) / sizes
    return float(constant / slope), float(cubic / slope)


def assignments(machines: Sequence[int] = MACHINES, m: int = FITTED) -> list[Assignment]:
    """All six assignments of footnote 1's three numbers to the three roles, the likeliest first."""
    forced, found = error_ratios(machines, m), []
    for order in permutations(PAPER):
        roles = dict(zip(PRINTED, order, strict=True))
        read = printed(roles)
        ratios = tuple(read.error[name] / read.error["slope"] for name in ("constant", "cubic"))
        logs = [math.log(ratio / right) for ratio, right in zip(ratios, forced, strict=True)]
        found.append(Assignment(roles, read, ratios, math.hypot(*logs) / math.sqrt(2)))
    return sorted(found, key=lambda each: each.distance)
