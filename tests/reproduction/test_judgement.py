"""The rule that judges numbers and claims, on margins worked out by hand, and its laws."""

import math
import statistics

import pytest
from hypothesis import given, strategies as st
from scipy import stats

from mini_lib.reproduction.judgement import (
    NOT_REPRODUCED,
    NOT_RUN,
    REPRODUCED,
    UNCLEAR,
    Mean,
    combine,
    judge_number,
    judge_rule,
    mean_of,
    sign,
)

A, B, C = (
    "esbn.table13/Identity rules/m=0",
    "esbn.table13/Identity rules/m=50",
    "esbn.table13/Identity rules/m=85",
)
INF, NAN = math.inf, math.nan


def runs(*values):
    return mean_of({f"x-s{seed}": value for seed, value in enumerate(values, 1)})


def others(*values):
    return mean_of({f"y-s{seed}": value for seed, value in enumerate(values, 1)})


def judged(kind, means, **rule):
    return judge_rule({"kind": kind} | rule, means)[0]


@given(
    st.lists(st.floats(0, 100), min_size=3, max_size=9), st.lists(st.floats(0, 100), min_size=3, max_size=9)
)
def test_a_difference_has_the_interval_of_welch(first, second):
    difference = combine((1, runs(*first)), (-1, others(*second)))
    if min(statistics.stdev(first), statistics.stdev(second)) < 0.01:
        return  # SciPy warns of what has no spread
    test = stats.ttest_ind(first, second, equal_var=False)
    low, high = test.confidence_interval()
    assert difference.df == pytest.approx(test.df)
    assert (
        difference.value - difference.half_width,
        difference.value + difference.half_width,
    ) == pytest.approx((low, high), abs=1e-6)


def test_numbers_of_the_same_runs_are_compared_run_by_run():
    one, two = runs(10.0, 20.0, 30.0), runs(9.0, 18.5, 28.7)
    assert sign(combine((1, one), (-1, two))) == REPRODUCED  # differences 1, 1.5, 1.3
    assert sign(combine((1, one), (-1, others(9.0, 18.5, 28.7)))) == UNCLEAR


@pytest.mark.parametrize(
    ("mean", "se", "unit", "ours", "word"),
    [
        (99.2, 0.0, "%", (99.7,) * 10, REPRODUCED),  # half a point, which binary fractions make a little more
        (99.0, 0.0, "%", (99.51,) * 10, NOT_REPRODUCED),
        (60.0, 3.0, "%", (66.0,) * 10, REPRODUCED),  # t of 9 degrees of freedom: 2.262 errors, 6.8 points
        (60.0, 3.0, "%", (66.9,) * 10, NOT_REPRODUCED),
        (60.0, 3.6, "%", (60.0,) * 10, UNCLEAR),  # 8.1 points
        (0.4, 0.0, "MSE", (0.42,) * 3, REPRODUCED),  # 5 %
        (0.4, 0.0, "MSE", (0.421,) * 3, NOT_REPRODUCED),
        (0.4, 0.05, "SD", (0.4,) * 3, UNCLEAR),  # half of the interval is .11, above 25 %
    ],
)
def test_a_reported_number(mean, se, unit, ours, word):
    paper = Mean(mean, se, 9 if se else INF)
    assert judge_number(paper, runs(*ours), unit) == word


def test_fewer_than_three_runs_decide_nothing():
    assert runs(1.0, 1.0) is None
    assert judge_number(Mean(50.0), None, "%") == NOT_RUN
    assert judged("threshold", {A: None}, cells=[A], at_least=95) == NOT_RUN


@given(st.floats(0, 100), st.floats(0, 7), st.lists(st.floats(0, 100), min_size=3, max_size=12))
def test_what_is_called_not_reproduced_differs_by_welchs_t(mean, se, values):
    paper = Mean(mean, se, 9 if se else INF)
    ours = runs(*values)
    if judge_number(paper, ours, "%") == NOT_REPRODUCED:
        sem = statistics.stdev(values) / math.sqrt(len(values))
        assert abs(ours.value - mean) > 1.95 * math.hypot(se, sem)
        assert abs(ours.value - mean) > 0.5


LEVEL = {"at_least": 95}
EXACT, NEAR = (96.0, 96.0, 96.0), (96.0, 97.0, 95.5)  # NEAR: mean 96.17, half of the interval 1.9
PAIR = {"pairs": [[A, B]]}


@pytest.mark.parametrize(
    ("kind", "rule", "a", "b", "word"),
    [
        ("threshold", LEVEL, (95.0,) * 3, None, REPRODUCED),  # exactly at it
        ("threshold", LEVEL, NEAR, None, UNCLEAR),
        ("threshold", LEVEL, (90.0, 91.0, 90.5), None, NOT_REPRODUCED),
        ("threshold", {"at_most": 95}, EXACT, None, NOT_REPRODUCED),
        ("threshold", {"at_least": 49, "at_most": 51}, (50.1, 50.0, 50.2), None, REPRODUCED),
        ("threshold", {"at_least": 49, "at_most": 51}, (49.1, 49.0, 49.2), None, UNCLEAR),
        ("more", PAIR, (60.0, 61.0, 62.0), (50.0, 51.0, 50.0), REPRODUCED),
        ("more", PAIR, (50.0, 51.0, 50.0), (60.0, 61.0, 62.0), NOT_REPRODUCED),
        ("more", PAIR, (60.0, 40.0, 62.0), (50.0, 51.0, 50.0), UNCLEAR),
        ("more", PAIR | {"by": 10}, (60.0,) * 3, (49.0,) * 3, REPRODUCED),
        ("more", PAIR | {"by": 12}, (60.0,) * 3, (49.0,) * 3, NOT_REPRODUCED),
        ("more", PAIR | {"or_equal": True}, (50.0,) * 3, (50.0,) * 3, REPRODUCED),
        ("more", PAIR | {"or_equal": True}, (40.0, 50.0, 60.0), (50.0, 60.0, 40.0), UNCLEAR),
        ("more", PAIR, (50.0,) * 3, (50.0,) * 3, UNCLEAR),
        ("more", PAIR | {"times": 3}, (31.0,) * 3, (10.0,) * 3, REPRODUCED),
        ("more", PAIR | {"times": 3}, (0.1,) * 3, (-9.0,) * 3, REPRODUCED),  # an amount below 0 counts as 0
        ("more", PAIR | {"times": 3}, (-0.1,) * 3, (-9.0,) * 3, NOT_REPRODUCED),
        ("alike", PAIR, (10.0, 10.1, 10.2), (10.3, 10.2, 10.1), REPRODUCED),
        ("alike", PAIR, (10.0,) * 3, (12.9,) * 3, NOT_REPRODUCED),
        ("alike", PAIR, (0.0,) * 3, (0.0,) * 3, REPRODUCED),
        ("alike", PAIR, (10.0, 20.0, 30.0), (19.0, 9.0, 31.0), UNCLEAR),
        ("alike", PAIR | {"within": 0.05}, (10.0, 10.3, 9.7), (10.2, 9.9, 10.5), UNCLEAR),
        ("skewed", {}, (10.0, 90.0, 91.0, 92.0, 93.0) * 5, None, REPRODUCED),
        ("skewed", {}, (1.0, 2.0, 3.0), None, UNCLEAR),
        ("skewed", {}, (10.0, 11.0, 12.0, 13.0, 93.0) * 5, None, NOT_REPRODUCED),
        # Runs that never reach a level of training have no mean; if some do, it says nothing.
        ("threshold", LEVEL, (INF,) * 3, None, REPRODUCED),
        ("threshold", LEVEL, (INF, 96.0, 96.0), None, UNCLEAR),
        ("more", PAIR, (INF,) * 3, (50.0,) * 3, REPRODUCED),
        ("more", PAIR, (50.0,) * 3, (INF,) * 3, NOT_REPRODUCED),
        ("more", PAIR, (INF,) * 3, (INF,) * 3, UNCLEAR),
    ],
)
def test_kinds_of_claims(kind, rule, a, b, word):
    means = {A: runs(*a)} | ({B: others(*b)} if b else {})
    assert judged(kind, means, **rule) == word


@pytest.mark.parametrize("kind", ["threshold", "more", "alike", "skewed"])
def test_an_entry_whose_runs_all_diverged_is_unclear_of_any_kind(kind):
    alone = {"threshold", "skewed"}
    means = {A: Mean(NAN)} | ({} if kind in alone else {B: others(1.0, 2.0, 3.0)})
    assert judged(kind, means, cells=[A], pairs=[[A, B]], at_least=95) == UNCLEAR


def test_the_worst_entry_decides_and_is_named():
    means = {A: runs(*EXACT), B: runs(90.0, 90.0, 90.0), C: runs(*EXACT)}
    word, detail = judge_rule({"kind": "threshold", "cells": [*means], **LEVEL}, means)
    assert (word, detail) == (NOT_REPRODUCED, f"{B} 90, at least 95")
    assert judged("threshold", means | {C: None}, cells=[*means], **LEVEL) == NOT_REPRODUCED
    assert judged("threshold", means | {B: None}, cells=[*means], **LEVEL) == NOT_RUN


@pytest.mark.parametrize(
    ("shift", "differs", "word"),
    [
        (0, False, UNCLEAR),
        (0, True, UNCLEAR),
        (-9, True, REPRODUCED),
        (-9, False, NOT_REPRODUCED),
        (9, True, NOT_REPRODUCED),
        (9, False, UNCLEAR),
    ],
)
def test_a_t_test_over_entries_that_finds_nothing_shows_nothing(shift, differs, word):
    first, second = ("esbn.table13/Identity rules", "esbn.table13/Distribution-of-three")
    noise = {"m=0": 0.1, "m=50": -0.1, "m=85": 0.0}
    means = {
        f"{row}/{m}": Mean(90 + (shift + off) * (row == first))
        for row in (first, second)
        for m, off in noise.items()
    }
    assert judged("t_test", means, differs=differs, pairs=[[f"{first}/*", f"{second}/*"]]) == word
