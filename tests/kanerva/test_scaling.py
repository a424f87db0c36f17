"""The clock counts what it should, fits are least squares, and the footnote's errors say which number is which."""

import itertools

import numpy as np
import pytest
from scipy.optimize import curve_fit, minimize_scalar
from sklearn.metrics import r2_score

from mini_lib.errors import UsageError
from mini_lib.reproduction.kanerva import scaling
from mini_lib.reproduction.kanerva.footnote import (
    AS_PRINTED,
    AS_READ,
    PRINTED,
    assignments,
    error_ratios,
    printed,
)
from mini_lib.reproduction.kanerva.scaling import (
    MACHINES,
    PAPER,
    TOTALS,
    Fit,
    Times,
    evaluate_scaling,
    explain,
    fit,
    measure,
    optimal,
)

COSTS = {"constant": 0.3, "slope": 0.05, "cubic": 4e-8}


def paper_time(k, m, constant, slope, cubic):
    return constant + slope * k + cubic * (m / k) ** 3


def table(time, machines=MACHINES, totals=TOTALS):
    return Times(machines, totals, np.array([[time(k, m) for m in totals] for k in machines], dtype=float))


def noisy(seed, noise=0.05, machines=MACHINES):
    random = np.random.default_rng(seed)
    return table(lambda k, m: paper_time(k, m, **COSTS) + noise * random.normal(), machines)


# ------------------------------------------------------------------------------------------------ the clock


class Clock:
    """Stands still but while the memory works, which takes a time that this test knows."""

    def __init__(self, seconds):
        self.now, self.seconds, self.calls = 0.0, seconds, []

    def perf_counter(self):
        return self.now

    def write_and_read(self, state, codes, queries, weights, gamma, form):
        k, m = state.R.shape[1], state.R.shape[1] * state.R.shape[3]
        assert weights.eta.shape == gamma.shape == (*codes.shape[:2], k)
        assert (gamma == 1 / k).all()
        assert queries.shape == codes.shape
        turn = sum(call[:2] == (k, m) for call in self.calls)
        self.calls.append((k, m, form, tuple(codes.shape), tuple(state.R.shape)))
        self.now += self.seconds(k, m, turn)


@pytest.fixture
def clock(monkeypatch):
    def make(seconds):
        found = Clock(seconds)
        monkeypatch.setattr(scaling, "write_and_read", found.write_and_read)
        monkeypatch.setattr(scaling, "time", found)
        return found

    return make


def test_measure_takes_medians_after_a_first_call_for_nothing(clock):
    seen = clock(lambda k, m, turn: (k + m) * (1000, 1, 1, 2, 3, 50)[turn] / 1000)
    found = measure((1, 2), (4, 6, 8), "loop", episodes=3, items=5, dim=7, repeats=5)
    assert found.machines == (1, 2)
    assert found.totals == (4, 6, 8)
    assert np.allclose(found.milliseconds, [[10, 14, 18], [12, 16, 20]])  # the median of 1, 1, 2, 3, 50
    assert len(seen.calls) == 6 * 6
    assert {call[2] for call in seen.calls} == {"loop"}
    assert {call[3] for call in seen.calls} == {(3, 5, 7)}
    assert {call[:2]: call[4] for call in seen.calls}[2, 8] == (3, 2, 7, 4)


def test_measure_goes_round_all_pairs_in_turn(clock):
    seen = clock(lambda k, m, turn: 1.0)
    measure((1, 2), (4, 6), repeats=2)
    order = [call[:2] for call in seen.calls]
    assert order == 3 * [(1, 4), (1, 6), (2, 4), (2, 6)]


@pytest.mark.parametrize("form", ["batched", "loop"])
def test_a_real_measurement_has_a_time_for_every_pair(form):
    found = measure((1, 2, 4), (4, 8), form, items=2, dim=3, repeats=2)
    assert found.milliseconds.shape == (3, 2)
    assert (found.milliseconds > 0).all()
    assert found.at(4, 8) == found.milliseconds[2, 1]
    assert found.of(8).tolist() == found.milliseconds[:, 1].tolist()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"machines": (3,)}, "cannot share"),
        ({"machines": (0,)}, "whole number"),
        ({"machines": ()}, "nothing to time"),
        ({"totals": ()}, "nothing to time"),
        ({"form": "loops"}, "did you mean 'loop'"),
        ({"repeats": 0}, "repeats has to be"),
        ({"items": 0}, "items has to be"),
        ({"episodes": 0}, "episodes has to be"),
        ({"dim": -1}, "dim has to be"),
    ],
)
def test_measure_says_what_is_wrong(wrong, words):
    with pytest.raises(UsageError, match=words):
        measure(**({"machines": (1, 2), "totals": (4,), "repeats": 1} | wrong))


def test_times_know_the_best_and_what_was_not_measured():
    found = table(lambda k, m: abs(k - 4) + m)
    assert found.best(400) == 4
    assert found.at(5, 300) == 301
    for wrong in ((3, 400), (4, 450)):
        with pytest.raises(UsageError, match="unknown"):
            found.at(*wrong)


# ------------------------------------------------------------------------------------------------ fits


@pytest.mark.parametrize("m", [400, 600])
def test_fit_finds_the_costs_that_made_the_times(m):
    found = fit(table(lambda k, m: paper_time(k, m, **COSTS)), m)
    assert tuple(found.value) == PAPER
    assert found.value == pytest.approx(COSTS, rel=1e-9)
    assert all(error < 1e-9 for error in found.error.values())
    assert found(np.array([1, 5]), 200) == pytest.approx([paper_time(k, 200, **COSTS) for k in (1, 5)])


def test_fit_agrees_with_a_second_least_squares():
    times = noisy(0)
    found = fit(times, 500)

    def model(k, constant, slope, cubic):
        return paper_time(k, 500, constant, slope, cubic * 1e-8)

    values, covariance = curve_fit(model, np.array(MACHINES, dtype=float), times.of(500), p0=(0.1, 0.1, 1.0))
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
    assert all(r2 == pytest.approx(1) for r2 in explain(found, times).values())


def test_explain_is_r_squared_of_every_m():
    times = noisy(1, 0.3)
    fitted = Fit(COSTS, COSTS)
    found = explain(fitted, times)
    assert tuple(found) == TOTALS
    for m in TOTALS:
        assert found[m] == pytest.approx(r2_score(times.of(m), [paper_time(k, m, **COSTS) for k in MACHINES]))
    assert explain(Fit(COSTS | {"constant": 9.0}, COSTS), times)[100] < 0


def test_fit_says_what_is_wrong():
    times = table(lambda k, m: paper_time(k, m, **COSTS))
    with pytest.raises(UsageError, match="unknown term 'cube'"):
        fit(times, terms=("constant", "cube"))
    with pytest.raises(UsageError, match="unknown m '450'"):
        fit(times, 450)
    few = table(lambda k, m: paper_time(k, m, **COSTS), machines=(1, 2))
    with pytest.raises(UsageError, match="2 times cannot fix 3 terms"):
        fit(few)
    exact = fit(table(lambda k, m: paper_time(k, m, **COSTS), machines=(1, 2, 4)))
    assert exact.value == pytest.approx(COSTS)
    assert np.isnan(list(exact.error.values())).all()


@pytest.mark.parametrize("m", [100, 400, 600])
def test_optimal_is_where_the_time_is_least(m):
    fitted = Fit(COSTS, COSTS)
    least = minimize_scalar(lambda k: paper_time(k, m, **COSTS), bounds=(0.5, 40), method="bounded")
    assert optimal(fitted, m) == pytest.approx(least.x, rel=1e-4)


def test_optimal_without_an_optimum():
    assert optimal(Fit(COSTS | {"slope": 0.0}, {}), 400) == np.inf
    assert optimal(Fit(COSTS | {"slope": -0.1}, {}), 400) == np.inf
    assert np.isnan(optimal(Fit(COSTS | {"cubic": -1e-9}, {}), 400))
    with pytest.raises(UsageError, match="this fit has constant, serial"):
        optimal(Fit({"constant": 1.0, "serial": 1.0}, {}), 400)


# ------------------------------------------------------------------------------------------------ footnote 1


@pytest.mark.parametrize("seed", range(3))
def test_errors_have_ratios_that_no_data_can_change(seed):
    found = fit(noisy(seed, 10.0**-seed)).error
    assert error_ratios() == pytest.approx(
        (found["constant"] / found["slope"], found["cubic"] / found["slope"])
    )


def test_error_ratios_at_the_papers_sizes():
    assert error_ratios() == pytest.approx((10.8, 2.78e-7), rel=0.01)


@pytest.mark.parametrize("machines", [MACHINES, (1, 2, 5, 10, 20), (1, 2, 4, 8, 16), tuple(range(1, 21))])
def test_footnote_is_permuted_whatever_machines_were_timed(machines):
    found = assignments(machines)
    assert found[0].roles == AS_READ
    assert sorted(tuple(each.roles.values()) for each in found) == sorted(itertools.permutations(PAPER))
    assert all(tuple(each.roles) == tuple(PRINTED) for each in found)
    assert found[0].distance < 0.4 < 3 < found[1].distance
    assert [each.distance for each in found] == sorted(each.distance for each in found)


def test_ratios_of_the_reading_and_of_a_mere_swap():
    found = {tuple(each.roles.values()): each for each in assignments()}
    assert found["cubic", "constant", "slope"].ratios == pytest.approx((10.3, 2.73e-7), rel=0.01)
    assert found["cubic", "slope", "constant"].ratios == pytest.approx((0.097, 2.6e-8), rel=0.02)
    distance = np.sqrt((np.log(10.333 / 10.7615) ** 2 + np.log(2.733 / 2.7808) ** 2) / 2)
    assert found["cubic", "constant", "slope"].distance == pytest.approx(distance, rel=0.01)


def test_printed_numbers_in_their_roles():
    read, literal = printed(), printed(AS_PRINTED)
    assert read.value == {"cubic": 3.318e-08, "constant": 0.2176, "slope": 0.03676}
    assert literal.error == {"slope": 1.035e-09, "cubic": 0.03913, "constant": 0.003787}
    assert [optimal(read, m) for m in (100, 400, 600)] == pytest.approx([1.28, 3.63, 4.92], abs=0.01)
    assert optimal(literal, 400) == pytest.approx(5957, abs=1)
    assert read(1, 500) / read(2, 500) == pytest.approx(5.4, abs=0.05)


# ------------------------------------------------------------------------------------------------ the record


@pytest.mark.parametrize("form", ["batched", "loop"])
def test_the_record_names_every_number(monkeypatch, form):
    asked = []

    def measured(**options):
        asked.append(options)
        return table(lambda k, m: paper_time(k, m, **COSTS))

    monkeypatch.setattr(scaling, "measure", measured)
    found = evaluate_scaling(form)
    assert [each["form"] for each in asked] == [form]
    assert all(type(value) is float for value in found.values())
    assert found["r2_100"] == pytest.approx(1)
    assert found["r2_400"] == pytest.approx(1)
    assert found["r2_600"] == pytest.approx(1)
    assert found["constant_us"] == pytest.approx(300)
    assert found["slope_us"] == pytest.approx(50)
    assert found["cubic_ns"] == pytest.approx(0.04)
    assert found["ms_k5_m300"] == pytest.approx(paper_time(5, 300, **COSTS))
    for m in (500, 600):
        ratio = paper_time(1, m, **COSTS) / paper_time(2, m, **COSTS)
        assert found[f"speedup_2_{m}"] == pytest.approx(ratio)
    for m in (400, 600):
        assert found[f"best_k_{m}"] == min(MACHINES, key=lambda k: paper_time(k, m, **COSTS))
    assert len(found) == 10 + 36
