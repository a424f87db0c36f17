"""The rule by which a reading is chosen, against sums written out and every draw of a bootstrap gone through."""

import itertools
import math

import numpy as np
import pytest

from mini_lib.errors import UsageError
from mini_lib.functions.tasks import KINDS
from mini_lib.reproduction import Records, printed
from mini_lib.reproduction.functions import readings
from mini_lib.reproduction.functions.cells import FIRST_READING, ROWS
from mini_lib.reproduction.functions.readings import GROWING, READINGS
from reproduction.functions.samples import record

PAPER, PAPER_SE = readings.table1()
# One change each, the strict mask and then every prefix, and both.
LAST_POINT, STANDARD, BOTH = GROWING[1:]


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


# ------------------------------------------------------------------------------------------------ what is measured


def test_the_printed_errors_are_twelve_and_none_of_them_is_all():
    assert PAPER.shape == PAPER_SE.shape == (4, 3)
    for (m, row), (k, kind) in itertools.product(enumerate(ROWS.values()), enumerate(KINDS)):
        entry = printed("functions.table1")[row, kind]
        assert (PAPER[m, k], PAPER_SE[m, k]) == (entry.mean, entry.error)
    assert "all" not in KINDS


def test_a_reading_is_measured_by_its_own_runs_of_the_seeds_that_decide(tmp_path):
    records = Records(tmp_path)
    first = {"options": {"mask": "causal"}, "prefixes": False}
    for run in (
        record("one_d", seed=1, scale="tutorial", value=1.0, **first),
        record("one_d", seed=4, scale="tutorial", value=4.0, **first),  # not one of the three
        record("one_d", seed=1, value=7.0, **first),  # another scale
        record("one_d", seed=2, scale="tutorial", value=20.0, prefixes=False),
        record("one_d", seed=2, scale="tutorial", value=40.0),
        record("relational", seed=3, scale="tutorial", value=30.0, prefixes=False),
        record("relational", seed=1, scale="tutorial", diverged=True, prefixes=False),
    ):
        records.add(run, "functions.table1")
    nan = math.nan

    def of(reading, model, scale="tutorial"):
        return readings.measure(records, reading, scale)[list(ROWS).index(model)]

    # The made-up metrics are 1, 2 and 3 more than the value, and 10 more where the context slides.
    np.testing.assert_array_equal(of(FIRST_READING, "one_d"), [[2, nan, nan], [3, nan, nan], [4, nan, nan]])
    np.testing.assert_array_equal(of(FIRST_READING, "one_d", "paper")[:, 0], [8, 9, 10])
    np.testing.assert_array_equal(of(LAST_POINT, "one_d")[:, 1], [21, 22, 23])
    np.testing.assert_array_equal(of(f"{LAST_POINT}, sliding context", "one_d")[:, 1], [31, 32, 33])
    np.testing.assert_array_equal(of(BOTH, "one_d")[:, 1], [41, 42, 43])
    np.testing.assert_array_equal(of(LAST_POINT, "relational")[0], [math.inf, nan, 31])
    assert np.isnan(of(STANDARD, "one_d")).all()
    with pytest.raises(UsageError, match="unknown reading 'standard'; did you mean 'standard mask'"):
        readings.measure(records, "standard")
    with pytest.raises(UsageError, match="unknown scale 'small'"):
        readings.measure(records, LAST_POINT, "small")


# ------------------------------------------------------------------------------------------------ distance


def test_the_distance_is_a_mean_of_absolute_log_ratios_of_means():
    ours = errors(1.7, 0.3)
    assert readings.distance(ours, PAPER) == pytest.approx(math.log(1.7))
    ours = np.random.default_rng(1).uniform(0.1, 2, (4, 3, 3))
    assert readings.distance(ours, PAPER) == pytest.approx(far(ours, PAPER))
    one = readings.distance(ours[2:3, 1:2], PAPER[2:3, 1:2])
    assert one == pytest.approx(abs(math.log(ours[2, 1].mean() / 1.109)))


def test_too_large_and_too_small_do_not_cancel_and_count_alike():
    factors = np.where(np.arange(12).reshape(4, 3, 1) % 2, 2.0, 0.5)
    assert readings.distance(errors(factors), PAPER) == pytest.approx(math.log(2))
    assert readings.distance(errors(0.5), PAPER) == pytest.approx(readings.distance(errors(2.0), PAPER))


def test_distance_of_what_is_not_whole():
    ours = errors(1.5, 0.2)
    ours[1, :, 2] = math.nan  # a mean is over the runs that there are
    one = readings.distance(ours[1:2, :1], PAPER[1:2, :1])
    assert one == pytest.approx(abs(math.log(ours[1, 0, :2].mean() / 0.368)))
    assert math.isnan(readings.standard_error(ours, PAPER))
    ours[1] = math.nan
    assert math.isnan(readings.distance(ours, PAPER))
    ours[1] = math.inf
    assert readings.distance(ours, PAPER) == math.inf
    assert math.isnan(readings.standard_error(ours, PAPER))
    assert math.isnan(readings.standard_error(errors(2.0)[..., :1], PAPER))


def test_the_standard_error_is_that_of_every_joint_draw():
    """All 27 draws of one network with all 27 of the other, each draw for all classes."""
    rng = np.random.default_rng(2)
    paper = rng.uniform(0.5, 1, (2, 2))
    own = rng.uniform(0.2, 2, (2, 2, 3))
    draws = list(itertools.product(range(3), repeat=3))
    found = []
    for picks in itertools.product(draws, repeat=2):
        drawn = [[[own[m][k][i] for i in picks[m]] for k in range(2)] for m in range(2)]
        found.append(far(drawn, paper))
    variance = sum((each - sum(found) / len(found)) ** 2 for each in found) / len(found)
    assert readings.standard_error(own, paper) == pytest.approx(math.sqrt(1.5 * variance))


# ------------------------------------------------------------------------------------------------ the rule


def test_the_nearest_reading_wins_if_it_is_clearly_nearer_than_the_default():
    measured = {
        FIRST_READING: errors(3.0, 0.1, 1),
        LAST_POINT: errors(1.5, 0.1, 2),
        BOTH: errors(0.8, 0.1, 3),
    }
    assert readings.choose(measured, PAPER) == BOTH
    gain = readings.nearer_by(measured[BOTH], measured[FIRST_READING], PAPER)
    parts = [readings.standard_error(measured[reading], PAPER) for reading in (FIRST_READING, BOTH)]
    assert gain == pytest.approx((math.log(3) + math.log(0.8), math.hypot(*parts)))


def test_the_default_stays_where_nothing_is_clearly_nearer():
    """The same distances with more spread among runs: the nearest does not win."""
    for spread, chosen in ((0.05, STANDARD), (0.4, FIRST_READING)):
        measured = {FIRST_READING: errors(2.0, spread, 1), STANDARD: errors(1.7, spread, 2)}
        assert readings.choose(measured, PAPER) == chosen
    nearest = {FIRST_READING: errors(1.1, 0.1, 1), LAST_POINT: errors(1.8, 0.1, 2)}
    assert readings.choose(nearest, PAPER) == FIRST_READING


def test_a_reading_in_which_a_run_diverged_cannot_win():
    lost = errors(1.0)
    lost[3, :, 1] = math.inf
    measured = {FIRST_READING: errors(3.0, 0.1), LAST_POINT: lost, BOTH: errors(2.0, 0.1)}
    assert readings.choose(measured, PAPER) == BOTH
    assert readings.choose({FIRST_READING: lost, BOTH: errors(2.0, 0.1)}, PAPER) == BOTH


def test_only_readings_of_the_text_are_candidates():
    assert GROWING == READINGS[:4]
    assert all(("sliding" in reading) == (reading not in GROWING) for reading in READINGS)


def test_a_choice_waits_until_every_run_is_there():
    lacking = errors(1.0)
    lacking[2, :, 2] = math.nan
    with pytest.raises(
        UsageError, match=r"seeds 1, 2, 3 .* --variant 'tutorial, trained on the last point'` trains them"
    ):
        readings.choose({FIRST_READING: errors(2.0), LAST_POINT: lacking, BOTH: errors(1.0)}, PAPER)
