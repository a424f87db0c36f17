"""The rule by which a reading is chosen, against sums written out and every draw of a bootstrap gone through."""

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest

from mini_lib.reproduction import Records
from mini_lib.reproduction.functions import readings
from mini_lib.reproduction.functions.cells import FIRST_READING
from mini_lib.reproduction.functions.readings import DEFAULT, GROWING, READINGS

PAPER = readings.table1()
# One change each, the strict mask and then every prefix.
LAST_POINT, STANDARD = GROWING[1:3]


def errors(factor, spread=0.0, seed=0):
    """Runs of all networks whose mean is so many times the printed error, apart by a relative spread."""
    noise = np.exp(spread * np.random.default_rng(seed).normal(size=(4, 3, 3)))
    return PAPER[..., None] * factor * noise / noise.mean(axis=-1, keepdims=True)


def far(own, paper):
    """The distance, term by term."""
    terms = [
        abs(math.log(sum(own[m][k]) / len(own[m][k]) / paper[m][k]))
        for m in range(len(own))
        for k in range(len(own[m]))
    ]
    return sum(terms) / len(terms)


# ------------------------------------------------------------------------------------------------ distance


def test_the_distance_is_a_mean_of_absolute_log_ratios_of_means():
    """Too large and too small do not cancel and count alike."""
    ours = np.random.default_rng(1).uniform(0.1, 2, (4, 3, 3))
    assert readings.distance(ours, PAPER) == pytest.approx(far(ours, PAPER))
    factors = np.where(np.arange(12).reshape(4, 3, 1) % 2, 2.0, 0.5)
    assert readings.distance(errors(factors, 0.3), PAPER) == pytest.approx(math.log(2))
    for unknown in (math.nan, math.inf):
        ours[1, :, 2] = unknown
        assert readings.distance(ours, PAPER) == pytest.approx(unknown, nan_ok=True)
        assert math.isnan(readings.standard_error(ours, PAPER))


def test_the_standard_error_is_that_of_every_joint_draw():
    """All 27 draws of one network with all 27 of the other, each draw for all classes."""
    rng = np.random.default_rng(2)
    paper, own = rng.uniform(0.5, 1, (2, 2)), rng.uniform(0.2, 2, (2, 2, 3))
    found = []
    for picks in itertools.product(itertools.product(range(3), repeat=3), repeat=2):
        drawn = [[[own[m][k][i] for i in picks[m]] for k in range(2)] for m in range(2)]
        found.append(far(drawn, paper))
    assert readings.standard_error(own, paper) == pytest.approx(math.sqrt(1.5 * np.var(found)))


# ------------------------------------------------------------------------------------------------ the rule


def test_the_nearest_reading_wins_if_it_is_nearer_than_the_first_by_two_standard_errors():
    first, other = errors(2.0, 0.2, 1), errors(2.0, 0.2, 2)
    error = math.hypot(*(readings.standard_error(each, PAPER) for each in (first, other)))
    for factor, chosen in ((1.9, FIRST_READING), (2.1, STANDARD)):
        measured = {
            FIRST_READING: first,
            LAST_POINT: errors(3.0),
            STANDARD: other * math.exp(-factor * error),
        }
        assert readings.choose(measured, PAPER) == chosen


def test_a_reading_in_which_a_run_diverged_cannot_win():
    lost = errors(1.0)
    lost[3, :, 1] = math.inf
    measured = {FIRST_READING: errors(3.0, 0.1), LAST_POINT: lost, STANDARD: errors(2.0, 0.1)}
    assert readings.choose(measured, PAPER) == STANDARD


def test_runs_that_diverged_are_infinite_and_runs_that_are_not_there_nan(tmp_path, monkeypatch):
    def compare(cells, records, columns):
        """Runs with seeds 2, which diverged, and 4, which is not one of the three."""
        found = [{"seed": seed, "diverged": seed == 2, "metrics": {"mse_lin": 1.0}} for seed in (2, 4)]
        return [SimpleNamespace(cell=cell, records=found) for cell in cells if cell.column == "lin"]

    nan, records = math.nan, Records(tmp_path)
    assert np.isnan(readings.measure(records)).all()
    monkeypatch.setattr(readings, "compare", compare)
    expected = [[nan, math.inf, nan], [nan, nan, nan], [nan, nan, nan]]
    np.testing.assert_array_equal(readings.measure(records), 4 * [expected])


def test_the_runs_on_record_choose_the_default():
    """The distances are those that the ledger states; more runs change nothing, since the seeds are named."""
    records = Records()
    measured = {reading: readings.measure(records, reading) for reading in READINGS}
    assert readings.choose({reading: measured[reading] for reading in GROWING}, PAPER) == DEFAULT
    growing, sliding = [0.86, 0.55, 0.65, 0.47], [0.37, 0.41, 0.41, 0.52]
    distances = [readings.distance(each, PAPER) for each in measured.values()]
    assert distances == pytest.approx(growing + sliding, abs=0.005)
