"""Time of the memory against machines and columns: the paper's model, and our clock (Figures 1C and 1D).

The model is T(k, m) = c + a k + b (m/k)^3 for k machines that share m columns:
something fixed, something for each machine, and one Cholesky factorisation of m/k columns.
"""

import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
import torch
from torch.utils.benchmark import Timer

from mini_lib.errors import check_names
from mini_lib.kanerva.memory import Prior, columns_of, initial_means, weights_from_eta
from mini_lib.reproduction.kanerva.looped import FORMS
from mini_lib.seeding import torch_rng

MACHINES = (1, 2, 4, 5, 10, 20)
TOTALS = (100, 200, 300, 400, 500, 600)
FITTED = 400  # the m that the paper fits; m = 100 and 600 are then explained
Times = dict[tuple[int, int], float]  # (k, m) -> milliseconds
Numbers = float | int | np.ndarray

TERMS: dict[str, Callable] = {  # what each adds to the time, for k machines and m columns in all
    "constant": lambda k, m: 1 + 0 * k * m,
    "slope": lambda k, m: k + 0 * m,
    "cubic": lambda k, m: (m / k) ** 3,
}
PAPER = tuple(TERMS)

# Footnote 1 of Marblestone, Wu and Wayne (2020): value and standard error, in a unit that is not given.
PRINTED = {"a": (3.318e-08, 1.035e-09), "b": (2.176e-01, 3.913e-02), "c": (3.676e-02, 3.787e-03)}
AS_PRINTED = {"a": "slope", "b": "cubic", "c": "constant"}  # by the formula of Section 3.1
AS_READ = {"a": "cubic", "b": "constant", "c": "slope"}  # by the errors, which `error_ratios` forces


class Fit(NamedTuple):
    """T(k, m) as a sum of `TERMS`."""

    value: dict[str, float]  #: of each term's coefficient.
    error: dict[str, float]  #: its standard error.

    def __call__(self, k: Numbers, m: Numbers) -> Numbers:
        """Predicted time, for numbers or for arrays that go together."""
        return sum(value * TERMS[name](k, m) for name, value in self.value.items())


def design(machines: Sequence[int], m: int) -> tuple[np.ndarray, np.ndarray]:
    """The terms' values for every k, [k, terms], and their coefficients' standard errors where the noise is 1."""
    k = np.array(machines, dtype=float)
    columns = np.stack([term(k, float(m)) for term in TERMS.values()], axis=1)
    sizes = columns.max(axis=0)  # scaled, so that no term is lost in rounding
    scaled = columns / sizes
    return columns, np.sqrt(np.diag(np.linalg.inv(scaled.T @ scaled))) / sizes


def fit(times: Times, m: int = FITTED) -> Fit:
    """Least squares fit of the terms' coefficients to the times of one m, of more machines than terms."""
    machines = [k for k, total in times if total == m]
    columns, errors = design(machines, m)
    y, sizes = np.array([times[k, m] for k in machines]), columns.max(axis=0)
    costs = np.linalg.lstsq(columns / sizes, y, rcond=None)[0] / sizes
    noise = math.sqrt(((y - columns @ costs) ** 2).sum() / (len(machines) - len(TERMS)))
    return Fit(*(dict(zip(TERMS, each.tolist(), strict=True)) for each in (costs, noise * errors)))


def explained(fitted: Fit, times: Times, m: int) -> float:
    """R^2 of the fit for one m: 1 - sum of squares left / sum of squares about the mean; may be below 0."""
    k, y = np.array([(k, t) for (k, total), t in times.items() if total == m]).T
    return float(1 - ((y - fitted(k, m)) ** 2).sum() / ((y - y.mean()) ** 2).sum())


def optimal(fitted: Fit, m: int) -> float:
    """k_opt = (3 b m^3 / a)^(1/4), where a + d/dk b (m/k)^3 = 0 (Section 3.1).

    Infinite where another machine costs nothing (a <= 0); NaN where columns cost nothing (b <= 0).
    """
    a, b = fitted.value["slope"], fitted.value["cubic"]
    if b <= 0:
        return math.nan
    return (3 * b * m**3 / a) ** 0.25 if a > 0 else math.inf


def printed(roles: dict[str, str] = AS_READ) -> Fit:
    """Footnote 1 as a fit."""
    return Fit(*({role: PRINTED[letter][place] for letter, role in roles.items()} for place in (0, 1)))


def error_ratios(machines: Sequence[int] = MACHINES, m: int = FITTED) -> tuple[float, float]:
    """SE(constant) / SE(slope) and SE(cubic) / SE(slope) of any fit of the paper's terms, whatever the times.

    Standard errors are those of the design, times one number for the noise. So of the six ways to say which letter
    of footnote 1 is which term, only one can be right: `AS_READ`.
    """
    constant, slope, cubic = design(machines, m)[1]
    return float(constant / slope), float(cubic / slope)


def memory_work(
    form: str, machines: int, total: int, *, episodes: int = 2, items: int = 3, dim: int = 50
) -> Callable[[], object]:
    """A call that writes T items of B episodes and then asks for all of them, to be timed on the CPU.

    The form is "batched", all machines in one call, or "loop", one after the other. The memory has K machines and
    `total` = K M columns, codes D = `dim` features.
    """
    check_names("form", [form], FORMS)
    write, read = FORMS[form]
    generator = torch_rng(0, "timing")
    means = initial_means(machines, dim, columns_of(total, machines), generator)
    state = Prior(means, torch.ones(machines)).state(episodes)
    codes = torch.randn(episodes, items, dim, generator=generator)
    weights = weights_from_eta(torch.ones(episodes, items, machines))
    return torch.inference_mode()(lambda: read(write(state, codes, weights), codes, weights.gamma))


def measure(
    form: str = "batched",
    machines: Sequence[int] = MACHINES,
    totals: Sequence[int] = TOTALS,
    *,
    rounds: int = 11,
    threads: int = 1,
    **sizes,
) -> Times:
    """Time one pass of the memory, which writes items and reads them, for every k and every m, on the CPU.

    The clock goes round all pairs, again and again, so that a busy moment of the machine does not fall on one pair.
    Times are medians over the rounds; they hold for this machine and its load. `machines` are the k, each of which
    divides each m of `totals`; for the form and for `sizes`, B, T and D, see `memory_work`.
    """
    timers, found = {}, {}
    for k, m in product(machines, totals):
        work = memory_work(form, k, m, **sizes)
        timers[k, m] = Timer("work()", globals={"work": work}, num_threads=threads)
    for _ in range(rounds):
        for pair, timer in timers.items():
            found.setdefault(pair, []).append(1000 * timer.timeit(1).median)
    return {pair: float(np.median(each)) for pair, each in found.items()}


def fastest(times: Times, m: int) -> int:
    """The k with the least time."""
    return min((k for k, total in times if total == m), key=lambda k: times[k, m])


def evaluate_scaling(form: str = "batched", **options) -> dict[str, float]:
    """Measure everything once, as plain numbers, with options of `measure`.

    "ms_k{K}_m{M}" are milliseconds; "constant_us", "slope_us" and "cubic_ns" the paper's terms fitted to m = 400, in
    micro- and nanoseconds; "r2_{M}" how well these explain another m; "speedup_2_{M}" is T(1) / T(2), "best_k_{M}"
    the k with the least time.
    """
    times = measure(form, **options)
    fitted = fit(times)
    return (
        {f"r2_{m}": explained(fitted, times, m) for m in (100, 400, 600)}
        | {f"speedup_2_{m}": times[1, m] / times[2, m] for m in (500, 600)}
        | {f"best_k_{m}": float(fastest(times, m)) for m in (400, 600)}
        | {f"{name}_us": 1e3 * fitted.value[name] for name in ("constant", "slope")}
        | {"cubic_ns": 1e6 * fitted.value["cubic"]}
        | {f"ms_k{k}_m{m}": milliseconds for (k, m), milliseconds in times.items()}
    )
