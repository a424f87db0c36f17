"""Fits are least squares, the loop says what the batched form says, and the footnote's errors say what is what."""

import itertools
import math

import numpy as np
import pytest
import torch
from scipy.optimize import curve_fit, minimize_scalar
from sklearn.metrics import r2_score

from mini_lib.errors import UsageError
from mini_lib.kanerva.memory import Prior, addresses, weights_from_eta
from mini_lib.reproduction.kanerva import scaling
from mini_lib.reproduction.kanerva.looped import FORMS, by_cholesky
from mini_lib.reproduction.kanerva.scaling import (
    AS_PRINTED,
    AS_READ,
    MACHINES,
    PAPER,
    PRINTED,
    TOTALS,
    Fit,
    error_ratios,
    evaluate_scaling,
    explained,
    fit,
    measure,
    memory_work,
    optimal,
    printed,
)
from mini_lib.seeding import torch_rng

COSTS = {"constant": 0.3, "slope": 0.05, "cubic": 4e-8}


def paper_time(k, m, constant, slope, cubic):
    return constant + slope * k + cubic * (m / k) ** 3


def table(time, machines=MACHINES, totals=TOTALS):
    return {(k, m): float(time(k, m)) for k in machines for m in totals}


def noisy(seed, noise=0.05):
    random = np.random.default_rng(seed)
    return table(lambda k, m: paper_time(k, m, **COSTS) + noise * random.normal())


EXACT = table(lambda k, m: paper_time(k, m, **COSTS))


# ------------------------------------------------------------------------------------------------ both forms


def two_forms(eta, dtype):
    """The last state of both forms, and a function that draws numbers."""

    def randn(*shape, seed):
        return torch.randn(shape, generator=torch_rng(seed, "forms"), dtype=dtype)

    prior = Prior(randn(3, 6, 5, seed=0), torch.full((3,), 9.0, dtype=dtype))
    weights = weights_from_eta(eta * randn(2, 20, 3, seed=1).exp())
    codes = randn(2, 20, 6, seed=2)
    return {form: write(prior.state(2), codes, weights) for form, (write, _) in FORMS.items()}, randn


def test_writing_and_reading_has_two_forms():
    states, randn = two_forms(1.0, torch.float64)
    queries, gamma = randn(2, 4, 6, seed=3), weights_from_eta(randn(2, 4, 3, seed=4).exp()).gamma
    answers = [read(states["loop"], queries, gamma) for _, read in FORMS.values()]
    for pair in (*zip(*states.values(), strict=True), *zip(*answers, strict=True)):
        assert torch.allclose(*pair, rtol=1e-9, atol=1e-9)


def test_both_forms_have_the_same_floor():
    """Where the noise is next to none, the floor decides; without it the two forms would part."""
    states, _ = two_forms(1e-4, torch.float32)
    assert torch.allclose(*(state.logdet_drop for state in states.values()), rtol=1e-3)
    assert torch.linalg.eigvalsh(states["loop"].V.double()).min() > 0


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("part", ["write", "read", "both"])
def test_what_is_timed_uses_its_solver_and_says_the_same_with_each(form, part):
    calls, cpu = [], torch.device("cpu")

    def counted(solver):
        def call(R, codes):
            calls.append(R.shape[-1])
            return solver(R, codes)

        return call

    usual, *others = (
        memory_work(part, form, 2, 8, cpu, items=4, dim=6, **options)()
        for options in ({}, {"solver": counted(addresses)}, {"solver": counted(by_cholesky)})
    )
    for other in others:
        for a, b in zip(usual, other, strict=True):
            assert torch.allclose(a, b, atol=1e-4)
    times = {"write": 4, "read": 1, "both": 5}[part] * {"batched": 1, "loop": 2}[form]
    assert calls == 2 * times * [4]


def test_forms_that_are_not_there_are_named():
    cpu = torch.device("cpu")
    with pytest.raises(UsageError, match="unknown form 'loops'; did you mean 'loop'"):
        memory_work("both", "loops", 1, 4, cpu)
    with pytest.raises(UsageError, match="unknown part 'writ'; did you mean 'write'"):
        memory_work("writ", "loop", 1, 4, cpu)
    with pytest.raises(UsageError, match="cannot share"):
        measure("loop", (3,), (4,))


@pytest.mark.parametrize("form", ["batched", "loop"])
def test_a_real_measurement_has_a_time_for_every_pair(form):
    before = torch.get_num_threads()
    times = measure(form, (1, 2, 4), (4, 8), rounds=2, threads=before + 1, items=2, dim=3)
    assert list(times) == list(itertools.product((1, 2, 4), (4, 8)))
    assert all(0 < milliseconds < 1000 for milliseconds in times.values())
    assert torch.get_num_threads() == before


def test_measure_takes_medians_in_milliseconds_and_goes_round_all_pairs_in_turn(monkeypatch):
    asked = []

    class Timed:
        """Counts the calls of a pair; takes 1, 2, and 60 seconds in its three rounds."""

        def __init__(self, stmt, globals, num_threads):
            self.name, self.rounds = globals["work"], iter((1.0, 2.0, 60.0))
            assert (stmt, num_threads) == ("work()", 3)

        def timeit(self, number):
            asked.append(self.name)
            self.median = next(self.rounds)
            return self

    monkeypatch.setattr(scaling, "Timer", Timed)
    monkeypatch.setattr(
        scaling, "memory_work", lambda part, form, k, m, device, **sizes: (k, m, sizes["dim"])
    )
    times = measure("loop", (1, 2), (4, 6), rounds=3, threads=3, dim=9)
    assert times == dict.fromkeys([(1, 4), (1, 6), (2, 4), (2, 6)], 2000.0)
    assert asked == 3 * [(1, 4, 9), (1, 6, 9), (2, 4, 9), (2, 6, 9)]


# ------------------------------------------------------------------------------------------------ fits


def test_fit_agrees_with_a_second_least_squares():
    times = noisy(0)
    found = fit(times, 500)

    def model(k, constant, slope, cubic):
        return paper_time(k, 500, constant, slope, cubic * 1e-8)

    y = [times[k, 500] for k in MACHINES]
    values, covariance = curve_fit(model, np.array(MACHINES, dtype=float), y, p0=(0.1, 0.1, 1.0))
    units = np.array([1, 1, 1e-8])
    assert list(found.value.values()) == pytest.approx(values * units, rel=1e-5)
    assert list(found.error.values()) == pytest.approx(np.sqrt(np.diag(covariance)) * units, rel=1e-4)


def test_every_term_can_be_fitted():
    costs = {"constant": 0.2, "square": 3e-6, "serial": 5e-9, "slope": 0.1}

    def time(k, m):
        return 0.2 + 3e-6 * m * m / k + 5e-9 * m**3 / k / k + 0.1 * k

    times = table(time)
    found = fit(times, terms=tuple(costs))
    assert found.value == pytest.approx(costs, rel=1e-6)
    assert found(5, 300) == pytest.approx(time(5, 300))
    assert all(explained(found, times, m) == pytest.approx(1) for m in TOTALS)


@pytest.mark.parametrize("m", TOTALS)
def test_explained_is_r_squared(m):
    times = noisy(1, 0.3)
    expected = r2_score([times[k, m] for k in MACHINES], [paper_time(k, m, **COSTS) for k in MACHINES])
    assert explained(Fit(COSTS, COSTS), times, m) == pytest.approx(expected)


@pytest.mark.parametrize("m", [100, 400, 600])
def test_optimal_is_where_the_time_is_least(m):
    least = minimize_scalar(lambda k: paper_time(k, m, **COSTS), bounds=(0.5, 40), method="bounded")
    assert optimal(Fit(COSTS, COSTS), m) == pytest.approx(least.x, rel=1e-4)


def test_optimal_without_an_optimum():
    assert optimal(Fit(COSTS | {"slope": 0.0}, {}), 400) == np.inf
    assert optimal(Fit(COSTS | {"slope": -0.1}, {}), 400) == np.inf
    assert np.isnan(optimal(Fit(COSTS | {"cubic": -1e-9}, {}), 400))


# ------------------------------------------------------------------------------------------------ footnote 1


@pytest.mark.parametrize("seed", range(3))
def test_errors_have_ratios_that_no_data_can_change(seed):
    found = fit(noisy(seed, 10.0**-seed)).error
    ratios = found["constant"] / found["slope"], found["cubic"] / found["slope"]
    assert error_ratios() == pytest.approx(ratios)
    assert error_ratios() == pytest.approx((10.8, 2.78e-7), rel=0.01)


@pytest.mark.parametrize("machines", [MACHINES, (1, 2, 5, 10, 20), (1, 2, 4, 8, 16), tuple(range(1, 21))])
def test_footnote_is_permuted_whatever_machines_were_timed(machines):
    """Of the six ways to say which letter is which term, one has the ratios that least squares forces."""
    distances = {}
    for order in itertools.permutations(PAPER):
        error = printed(dict(zip(PRINTED, order, strict=True))).error
        ratios = error["constant"] / error["slope"], error["cubic"] / error["slope"]
        logs = [
            math.log(ratio / forced) for ratio, forced in zip(ratios, error_ratios(machines), strict=True)
        ]
        distances[order] = math.hypot(*logs) / math.sqrt(2)
    best, second = sorted(distances, key=distances.get)[:2]
    assert best == tuple(AS_READ.values())
    assert distances[best] < 0.4 < 3 < distances[second]


def test_printed_numbers_in_their_roles():
    read, literal = printed(), printed(AS_PRINTED)
    assert read.value == {"cubic": 3.318e-08, "constant": 0.2176, "slope": 0.03676}
    assert literal.error == {"slope": 1.035e-09, "cubic": 0.03913, "constant": 0.003787}
    assert [optimal(read, m) for m in (100, 400, 600)] == pytest.approx([1.28, 3.63, 4.92], abs=0.01)
    assert optimal(literal, 400) == pytest.approx(5957, abs=1)
    assert read(1, 500) / read(2, 500) == pytest.approx(5.4, abs=0.05)


# ------------------------------------------------------------------------------------------------ the record


def test_the_record_names_every_number(monkeypatch):
    asked = []

    def measured(form, **options):
        asked.append((form, options))
        return EXACT

    monkeypatch.setattr(scaling, "measure", measured)
    found = evaluate_scaling("loop", threads=8, dim=7)
    assert asked == [("loop", {"threads": 8, "dim": 7})]
    assert all(type(value) is float for value in found.values())
    assert [found[f"r2_{m}"] for m in (100, 400, 600)] == pytest.approx([1, 1, 1])
    assert found["constant_us"] == pytest.approx(300)
    assert found["slope_us"] == pytest.approx(50)
    assert found["cubic_ns"] == pytest.approx(0.04)
    assert found["ms_k5_m300"] == pytest.approx(paper_time(5, 300, **COSTS))
    for m in (500, 600):
        assert found[f"speedup_2_{m}"] == pytest.approx(EXACT[1, m] / EXACT[2, m])
    for m in (400, 600):
        assert found[f"best_k_{m}"] == min(MACHINES, key=lambda k: paper_time(k, m, **COSTS))
    assert len(found) == 10 + 36
