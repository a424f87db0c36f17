"""Fits are least squares, the loop says what the batched form says, and the footnote's errors say what is what."""

import itertools
import math

import numpy as np
import pytest
import torch
from scipy.optimize import curve_fit, minimize_scalar
from sklearn.metrics import r2_score

from mini_lib.errors import UsageError
from mini_lib.kanerva.memory import Prior, read, weights_from_eta, write_episode
from mini_lib.reproduction.kanerva import scaling
from mini_lib.reproduction.kanerva.looped import FORMS
from mini_lib.seeding import torch_rng

COSTS = {"constant": 0.3, "slope": 0.05, "cubic": 4e-8}


def paper_time(k, m, constant, slope, cubic):
    return constant + slope * k + cubic * (m / k) ** 3


def times_of(noise=0.0, seed=0):
    random = np.random.default_rng(seed)
    pairs = itertools.product(scaling.MACHINES, scaling.TOTALS)
    return {(k, m): paper_time(k, m, **COSTS) + noise * random.normal() for k, m in pairs}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("eta", "dtype", "near"), [(1.0, torch.float64, 1e-9), (1e-4, torch.float32, 1e-3)])
def test_both_forms_write_and_read_as_the_memory_does(form, eta, dtype, near):
    """Where the noise is next to none, the floor of the noise decides; without it the two forms would part."""

    def randn(*shape, seed):
        return torch.randn(shape, generator=torch_rng(seed, "forms"), dtype=dtype)

    write, look_up = FORMS[form]
    start = Prior(randn(3, 6, 5, seed=0), torch.full((3,), 9.0, dtype=dtype)).state(2)
    codes, weights = randn(2, 20, 6, seed=2), weights_from_eta(eta * randn(2, 20, 3, seed=1).exp())
    state, expected = write(start, codes, weights), write_episode(start, codes, weights).state
    torch.testing.assert_close(state.logdet_drop, expected.logdet_drop, rtol=near, atol=near)
    assert torch.linalg.eigvalsh(state.V.double()).min() > 0
    if dtype == torch.float64:
        queries, gamma = randn(2, 4, 6, seed=3), weights_from_eta(randn(2, 4, 3, seed=4).exp()).gamma
        torch.testing.assert_close(state, expected, rtol=near, atol=near)
        found, wanted = (each(state, queries, gamma) for each in (look_up, read))
        torch.testing.assert_close(found, wanted, rtol=near, atol=near)


@pytest.mark.parametrize("form", FORMS)
def test_a_real_measurement_has_a_time_for_every_pair(form):
    before = torch.get_num_threads()
    times = scaling.measure(form, (1, 2), (4, 8), rounds=1, items=2, dim=3)
    assert list(times) == list(itertools.product((1, 2), (4, 8)))
    assert min(times.values()) > 0
    assert torch.get_num_threads() == before
    with pytest.raises(UsageError, match="did you mean 'loop'"):
        scaling.measure("loops", (1,), (4,))


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
    monkeypatch.setattr(scaling, "memory_work", lambda form, k, m, **sizes: (k, m, sizes["dim"]))
    times = scaling.measure("loop", (1, 2), (4, 6), rounds=3, threads=3, dim=9)
    assert times == dict.fromkeys([(1, 4), (1, 6), (2, 4), (2, 6)], 2000.0)
    assert asked == 3 * [(1, 4, 9), (1, 6, 9), (2, 4, 9), (2, 6, 9)]


def test_fit_agrees_with_a_second_least_squares():
    times, units = times_of(noise=0.05), np.array([1, 1, 1e-8])
    found = scaling.fit(times, 500)

    def model(k, *costs):
        return paper_time(k, 500, *(costs * units))

    y = [times[k, 500] for k in scaling.MACHINES]
    values, covariance = curve_fit(model, np.array(scaling.MACHINES, dtype=float), y, p0=(0.1, 0.1, 1.0))
    assert list(found.value.values()) == pytest.approx(values * units, rel=1e-5)
    assert list(found.error.values()) == pytest.approx(np.sqrt(np.diag(covariance)) * units, rel=1e-4)
    assert found(5, 300) == pytest.approx(paper_time(5, 300, **found.value))
    predicted = [paper_time(k, 500, **found.value) for k in scaling.MACHINES]
    assert scaling.explained(found, times, 500) == pytest.approx(r2_score(y, predicted))


@pytest.mark.parametrize("m", [100, 400, 600])
def test_optimal_is_where_the_time_is_least(m):
    least = minimize_scalar(lambda k: paper_time(k, m, **COSTS), bounds=(0.5, 40), method="bounded")
    assert scaling.optimal(scaling.Fit(COSTS, COSTS), m) == pytest.approx(least.x, rel=1e-4)
    assert scaling.optimal(scaling.Fit(COSTS | {"slope": 0.0}, {}), m) == np.inf
    assert np.isnan(scaling.optimal(scaling.Fit(COSTS | {"cubic": -1e-9}, {}), m))


@pytest.mark.parametrize("machines", [scaling.MACHINES, (1, 2, 5, 10, 20)])
def test_footnote_is_permuted_whatever_machines_were_timed(machines):
    """Of the six ways to say which letter is which term, one has the ratios that least squares forces."""
    distances = {}
    for order in itertools.permutations(scaling.PAPER):
        error = scaling.printed(dict(zip(scaling.PRINTED, order, strict=True))).error
        ratios = error["constant"] / error["slope"], error["cubic"] / error["slope"]
        logs = [
            math.log(one / forced) for one, forced in zip(ratios, scaling.error_ratios(machines), strict=True)
        ]
        distances[order] = math.hypot(*logs) / math.sqrt(2)
    best, second = sorted(distances, key=distances.get)[:2]
    assert best == tuple(scaling.AS_READ.values())
    assert distances[best] < 0.4 < 3 < distances[second]


def test_errors_have_ratios_that_no_data_can_change():
    found = scaling.fit(times_of(0.1, seed=1)).error
    ratios = found["constant"] / found["slope"], found["cubic"] / found["slope"]
    assert scaling.error_ratios() == pytest.approx(ratios)
    assert ratios == pytest.approx((10.8, 2.78e-7), rel=0.01)


def test_printed_numbers_in_their_roles():
    read, literal = scaling.printed(), scaling.printed(scaling.AS_PRINTED)
    assert [scaling.optimal(read, m) for m in (100, 400, 600)] == pytest.approx([1.28, 3.63, 4.92], abs=0.01)
    assert read(1, 500) / read(2, 500) == pytest.approx(5.4, abs=0.05)
    assert scaling.optimal(literal, 400) == pytest.approx(5957, abs=1)


def test_the_record_names_every_number(monkeypatch):
    exact = times_of()
    monkeypatch.setattr(scaling, "measure", lambda form, **options: exact if options == {"dim": 7} else {})
    found = scaling.evaluate_scaling("loop", dim=7)
    expected = {"constant_us": 300, "slope_us": 50, "cubic_ns": 0.04}
    expected |= {f"r2_{m}": 1 for m in (100, 400, 600)}
    expected |= {f"speedup_2_{m}": exact[1, m] / exact[2, m] for m in (500, 600)}
    expected |= {f"best_k_{m}": min(scaling.MACHINES, key=lambda k, m=m: exact[k, m]) for m in (400, 600)}
    expected |= {f"ms_k{k}_m{m}": time for (k, m), time in exact.items()}
    assert found == pytest.approx(expected)
    assert all(type(value) is float for value in found.values())
