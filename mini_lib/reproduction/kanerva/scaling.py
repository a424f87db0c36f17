"""Time of the memory against machines and columns: the paper's model, and our clock (Figures 1C and 1D).

The model is T(k, m) = c + a k + b (m/k)^3 for k machines that share m columns:
something fixed, something for each machine, and one Cholesky factorisation of m/k columns.
"""

import math
import time
from collections.abc import Callable, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from tqdm.auto import tqdm

from mini_lib.errors import UsageError, unknown_name_error
from mini_lib.kanerva.memory import (
    Prior,
    columns_of,
    initial_means,
    read,
    weights_from_eta,
    write_episode,
)
from mini_lib.kanerva.memory.state import whole
from mini_lib.reproduction.kanerva.looped import FORMS, write_and_read
from mini_lib.seeding import torch_rng

Numbers = Sequence | np.ndarray | float | int

MACHINES = (1, 2, 4, 5, 10, 20)
TOTALS = (100, 200, 300, 400, 500, 600)
FITTED = 400  # the m that the paper fits; m = 100 and 600 are then explained

# What a term adds to the time, for k machines and m columns in all. The paper's are the first three. "square" is
# the size of all covariances together; "serial" is k factorisations, where they are done one after the other.
TERMS: dict[str, Callable] = {
    "constant": lambda k, m: np.ones(np.broadcast(k, m).shape),
    "slope": lambda k, m: k + 0 * m,
    "cubic": lambda k, m: (m / k) ** 3,
    "square": lambda k, m: m**2 / k,
    "serial": lambda k, m: m**3 / k**2,
}
PAPER = ("constant", "slope", "cubic")


class Times(NamedTuple):
    """Medians of what was measured.

    Attributes:
        machines: the k, in order.
        totals: the m, in order.
        milliseconds: one row a k, one column an m.
    """

    machines: tuple[int, ...]
    totals: tuple[int, ...]
    milliseconds: Float[np.ndarray, "k m"]

    def at(self, k: int, m: int) -> float:
        """Milliseconds of k machines with m columns in all."""
        for kind, number, known in (("number of machines", k, self.machines), ("m", m, self.totals)):
            if number not in known:
                raise unknown_name_error(kind, number, map(str, known))
        return float(self.milliseconds[self.machines.index(k), self.totals.index(m)])

    def of(self, m: int) -> Float[np.ndarray, " k"]:
        """Milliseconds of every k, for one m."""
        return np.array([self.at(k, m) for k in self.machines])

    def best(self, m: int) -> int:
        """The k with the least time."""
        return self.machines[int(self.of(m).argmin())]


class Fit(NamedTuple):
    """T(k, m) as a sum of `TERMS`.

    Attributes:
        value: of each term's coefficient.
        error: its standard error; NaN if there are no more times than terms.
    """

    value: dict[str, float]
    error: dict[str, float]

    def __call__(self, k: Numbers, m: Numbers) -> np.ndarray:
        """Predicted time, for numbers or for arrays that go together."""
        k, m = np.asarray(k, dtype=float), np.asarray(m, dtype=float)
        return np.asarray(sum(each * TERMS[name](k, m) for name, each in self.value.items()))


def measure(
    machines: Sequence[int] = MACHINES,
    totals: Sequence[int] = TOTALS,
    form: str = "batched",
    *,
    episodes: int = 2,
    items: int = 3,
    dim: int = 50,
    repeats: int = 31,
    progress: bool = False,
) -> Times:
    """Time one pass of the memory, which writes items and reads them, for every k and every m.

    The clock goes round all pairs, again and again, so that a busy moment of the machine does not fall on one pair.
    Times hold for this machine, its load, and as many threads as torch has; nothing of them can be promised.

    Args:
        machines: the k; each divides each m.
        totals: the m, columns of all machines together.
        form: "batched", all machines in one call, or "loop", one after the other.
        episodes: B.
        items: T.
        dim: D.
        repeats: how often each pair is timed, after once for nothing.
        progress: show a bar.

    Raises:
        UsageError: for numbers below 1, an unknown form, or a k that does not divide an m.
    """
    whole(episodes=episodes, items=items, dim=dim, repeats=repeats)
    if form not in FORMS:
        raise unknown_name_error("form", form, FORMS)
    if not machines or not totals:
        raise UsageError("there is nothing to time: give at least one k and one m")
    device, sizes = torch.device("cpu"), {"episodes": episodes, "items": items, "dim": dim}
    tasks = {(k, m): memory_work("both", form, k, m, device, **sizes) for k, m in product(machines, totals)}
    found = {pair: [] for pair in tasks}
    for turn in tqdm(range(repeats + 1), desc=form, unit="round", leave=False, disable=not progress):
        for pair, task in tasks.items():
            start = time.perf_counter()
            task()
            if turn:
                found[pair].append(1000 * (time.perf_counter() - start))
    medians = [[float(np.median(found[k, m])) for m in totals] for k in machines]
    return Times(tuple(machines), tuple(totals), np.array(medians))


def memory_work(
    part: str,
    form: str,
    machines: int,
    total: int,
    device: torch.device,
    *,
    episodes: int,
    items: int,
    dim: int,
) -> Callable[[], object]:
    """A call that writes all items of B episodes, or asks for all of them, to be timed.

    Args:
        part: "write", "read", or "both", one after the other.
        form: of `memory.FORMS`; parts apart are timed batched.
        machines: K.
        total: K M.
        device: where.
        episodes: B.
        items: T.
        dim: D.

    Raises:
        UsageError: for another part or form, or a K that does not divide `total`.
    """
    generator = torch_rng(0, "timing")
    means = initial_means(machines, dim, columns_of(total, machines), generator).to(device)
    state = Prior(means, torch.ones(machines, device=device)).state(episodes)
    codes = torch.randn(episodes, items, dim, generator=generator).to(device)
    weights = weights_from_eta(torch.ones(episodes, items, machines, device=device))
    works = {
        "write": lambda: write_episode(state, codes, weights),
        "read": lambda: read(state, codes, weights.gamma),
        "both": lambda: write_and_read(state, codes, codes, weights, weights.gamma, form),
    }
    if part not in works:
        raise unknown_name_error("part", part, works)
    return torch.inference_mode()(works[part])


def fit(times: Times, m: int = FITTED, terms: Sequence[str] = PAPER) -> Fit:
    """Least squares fit of the terms' coefficients to the times of one m.

    Raises:
        UsageError: for an unknown term, an m that was not measured, or fewer times than terms.
    """
    for name in terms:
        if name not in TERMS:
            raise unknown_name_error("term", name, TERMS)
    y, k = times.of(m), np.array(times.machines, dtype=float)
    if len(k) < len(terms):
        raise UsageError(f"{len(k)} times cannot fix {len(terms)} terms; measure more numbers of machines")
    columns, sizes = design(k, m, terms)
    scaled, *_ = np.linalg.lstsq(columns, y, rcond=None)
    freedom = len(k) - len(terms)
    noise = math.sqrt(((y - columns @ scaled) ** 2).sum() / freedom) if freedom else math.nan
    errors = noise * spreads(columns) / sizes
    return Fit(
        dict(zip(terms, (scaled / sizes).tolist(), strict=True)),
        dict(zip(terms, errors.tolist(), strict=True)),
    )


def design(k: np.ndarray, m: int | float, terms: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """The terms' values, each divided by its largest so that none is lost in rounding; and these largest values."""
    columns = np.stack([TERMS[name](k, float(m)) for name in terms], axis=1)
    sizes = np.abs(columns).max(axis=0)
    return columns / sizes, sizes


def spreads(columns: np.ndarray) -> np.ndarray:
    """Standard errors of the coefficients where the noise is 1."""
    return np.sqrt(np.diag(np.linalg.inv(columns.T @ columns)))


def explain(fitted: Fit, times: Times) -> dict[int, float]:
    """R^2 of the fit for every m: 1 - sum of squares left / sum of squares about that m's mean; may be below 0."""
    k, found = np.array(times.machines), {}
    for m in times.totals:
        y = times.of(m)
        left = ((y - fitted(k, m)) ** 2).sum()
        found[m] = float(1 - left / ((y - y.mean()) ** 2).sum())
    return found


def optimal(fitted: Fit, m: int | float) -> float:
    """k_opt = (3 b m^3 / a)^(1/4), where a + d/dk b (m/k)^3 = 0 (Section 3.1).

    Infinite where another machine costs nothing (a <= 0); NaN where columns cost nothing (b <= 0).

    Raises:
        UsageError: for a fit with other terms than the paper's.
    """
    if set(fitted.value) != set(PAPER):
        raise UsageError(
            f"k_opt is that of the terms {', '.join(PAPER)}; this fit has {', '.join(fitted.value)}"
        )
    a, b = fitted.value["slope"], fitted.value["cubic"]
    if b <= 0:
        return math.nan
    return (3 * b * m**3 / a) ** 0.25 if a > 0 else math.inf


# ------------------------------------------------------------------------------------------------ the record


def evaluate_scaling(form: str = "batched", progress: bool = False, **sizes) -> dict[str, float]:
    """Measure everything once, as plain numbers.

    Args:
        form: see `measure`.
        progress: show a bar.
        sizes: `measure`'s episodes, items and dim.

    Returns:
        "ms_k{K}_m{M}": milliseconds of each pair. "constant_us", "slope_us" (of a machine) and "cubic_ns" (times
        (m/k)^3): the paper's terms fitted to m = 400, in micro- and nanoseconds. "r2_100", "r2_400", "r2_600": how
        well they explain these m. "speedup_2_500", "speedup_2_600": T(1) / T(2). "best_k_400", "best_k_600": the k
        with the least time.
    """
    times = measure(form=form, progress=progress, **sizes)
    fitted = fit(times)
    r2 = explain(fitted, times)
    micro = {f"{name}_us": 1e3 * fitted.value[name] for name in ("constant", "slope")}
    return (
        {f"r2_{m}": r2[m] for m in (100, 400, 600)}
        | {f"speedup_2_{m}": times.at(1, m) / times.at(2, m) for m in (500, 600)}
        | {f"best_k_{m}": float(times.best(m)) for m in (400, 600)}
        | micro
        | {"cubic_ns": 1e6 * fitted.value["cubic"]}
        | {f"ms_k{k}_m{m}": times.at(k, m) for k, m in product(times.machines, times.totals)}
    )
