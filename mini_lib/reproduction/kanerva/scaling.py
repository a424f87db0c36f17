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
from tqdm.auto import tqdm

from mini_lib.errors import check_names
from mini_lib.kanerva.memory import Prior, columns_of, initial_means, weights_from_eta
from mini_lib.reproduction.kanerva.looped import FORMS, Solver, by_cholesky
from mini_lib.seeding import torch_rng

MACHINES = (1, 2, 4, 5, 10, 20)
TOTALS = (100, 200, 300, 400, 500, 600)
FITTED = 400  # the m that the paper fits; m = 100 and 600 are then explained
Times = dict[tuple[int, int], float]  # (k, m) -> milliseconds
Numbers = float | int | np.ndarray

# What a term adds to the time, for k machines and m columns in all. The paper's are the first three. "square" is
# the size of all covariances together; "serial" is k factorisations, where they are done one after the other.
TERMS: dict[str, Callable] = {
    "constant": lambda k, m: 1 + 0 * k * m,
    "slope": lambda k, m: k + 0 * m,
    "cubic": lambda k, m: (m / k) ** 3,
    "square": lambda k, m: m**2 / k,
    "serial": lambda k, m: m**3 / k**2,
}
PAPER = ("constant", "slope", "cubic")

# Footnote 1 of Marblestone, Wu and Wayne (2020): value and standard error, in a unit that is not given.
PRINTED = {"a": (3.318e-08, 1.035e-09), "b": (2.176e-01, 3.913e-02), "c": (3.676e-02, 3.787e-03)}
AS_PRINTED = {"a": "slope", "b": "cubic", "c": "constant"}  # by the formula of Section 3.1
AS_READ = {"a": "cubic", "b": "constant", "c": "slope"}  # by the errors, which `error_ratios` forces


# ------------------------------------------------------------------------------------------------ the model


class Fit(NamedTuple):
    """T(k, m) as a sum of `TERMS`."""

    value: dict[str, float]  #: of each term's coefficient.
    error: dict[str, float]  #: its standard error.

    def __call__(self, k: Numbers, m: Numbers) -> Numbers:
        """Predicted time, for numbers or for arrays that go together."""
        return sum(value * TERMS[name](k, m) for name, value in self.value.items())


def design(machines: Sequence[int], m: int, terms: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """The terms' values for every k, [k, terms], and their coefficients' standard errors where the noise is 1."""
    k = np.array(machines, dtype=float)
    columns = np.stack([TERMS[name](k, float(m)) for name in terms], axis=1)
    sizes = columns.max(axis=0)  # scaled, so that no term is lost in rounding
    scaled = columns / sizes
    return columns, np.sqrt(np.diag(np.linalg.inv(scaled.T @ scaled))) / sizes


def fit(times: Times, m: int = FITTED, terms: Sequence[str] = PAPER) -> Fit:
    """Least squares fit of the terms' coefficients to the times of one m, of more machines than terms."""
    machines = [k for k, total in times if total == m]
    columns, errors = design(machines, m, terms)
    y, sizes = np.array([times[k, m] for k in machines]), columns.max(axis=0)
    scaled, *_ = np.linalg.lstsq(columns / sizes, y, rcond=None)
    costs = scaled / sizes
    noise = math.sqrt(((y - columns @ costs) ** 2).sum() / (len(machines) - len(terms)))
    return Fit(
        dict(zip(terms, costs.tolist(), strict=True)),
        dict(zip(terms, (noise * errors).tolist(), strict=True)),
    )


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
    constant, slope, cubic = design(machines, m, PAPER)[1]
    return float(constant / slope), float(cubic / slope)


# ------------------------------------------------------------------------------------------------ the clock


def memory_work(
    part: str,
    form: str,
    machines: int,
    total: int,
    device: torch.device,
    *,
    episodes: int = 2,
    items: int = 3,
    dim: int = 50,
    solver: Solver = by_cholesky,
) -> Callable[[], object]:
    """A call that writes T items of B episodes, or asks for all of them, to be timed.

    The part is "write", "read", or "both", one after the other; the form "batched", all machines in one call, or
    "loop", one after the other. The memory has K machines and `total` = K M columns, codes D = `dim` features.
    Writing and reading find their addresses by the solver, a function such as those of `looped`.
    """
    check_names("form", [form], FORMS)
    write, read = FORMS[form]
    generator = torch_rng(0, "timing")
    means = initial_means(machines, dim, columns_of(total, machines), generator).to(device)
    state = Prior(means, torch.ones(machines, device=device)).state(episodes)
    codes = torch.randn(episodes, items, dim, generator=generator).to(device)
    weights = weights_from_eta(torch.ones(episodes, items, machines, device=device))
    works = {
        "write": lambda: write(state, codes, weights, solver),
        "read": lambda: read(state, codes, weights.gamma, solver),
        "both": lambda: read(write(state, codes, weights, solver), codes, weights.gamma, solver),
    }
    check_names("part", [part], works)
    return torch.inference_mode()(works[part])


def measure(
    form: str = "batched",
    machines: Sequence[int] = MACHINES,
    totals: Sequence[int] = TOTALS,
    *,
    rounds: int = 11,
    threads: int = 1,
    progress: bool = False,
    **sizes,
) -> Times:
    """Time one pass of the memory, which writes items and reads them, for every k and every m, on the CPU.

    The clock goes round all pairs, again and again, so that a busy moment of the machine does not fall on one pair.
    Times are medians; they hold for this machine and its load, and nothing of them can be promised. Each pair is
    timed in each of the rounds, each time after two calls that do not count. `machines` are the k, each of which
    divides each m of `totals`; for the form and for `sizes`, B, T and D, see `memory_work`.
    """
    cpu, found = torch.device("cpu"), {}
    works = {(k, m): memory_work("both", form, k, m, cpu, **sizes) for k, m in product(machines, totals)}
    timers = {
        pair: Timer("work()", globals={"work": work}, num_threads=threads) for pair, work in works.items()
    }
    for _ in tqdm(range(rounds), desc=form, unit="round", leave=False, disable=not progress):
        for pair, timer in timers.items():
            found.setdefault(pair, []).append(1000 * timer.timeit(1).median)
    return {pair: float(np.median(each)) for pair, each in found.items()}


def fastest(times: Times, m: int) -> int:
    """The k with the least time."""
    return min((k for k, total in times if total == m), key=lambda k: times[k, m])


def evaluate_scaling(form: str = "batched", **options) -> dict[str, float]:
    """Measure everything once, as plain numbers, with options of `measure`.

    Returns:
        "ms_k{K}_m{M}": milliseconds of each pair. "constant_us", "slope_us" (of a machine) and "cubic_ns" (times
        (m/k)^3): the paper's terms fitted to m = 400, in micro- and nanoseconds. "r2_100", "r2_400", "r2_600": how
        well they explain these m. "speedup_2_500", "speedup_2_600": T(1) / T(2). "best_k_400", "best_k_600": the k
        with the least time.
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
