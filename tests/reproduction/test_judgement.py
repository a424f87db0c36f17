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

A, B, C = (f"esbn.table13/Identity rules/m={m}" for m in (0, 50, 85))
INF, NAN = math.inf, math.nan
SCORES = st.lists(st.floats(0, 100), min_size=3, max_size=9)


def runs(*values, of="x"):
    return mean_of({f"{of}-s{seed}": value for seed, value in enumerate(values, 1)})


def judged(kind, means, **rule):
    return judge_rule({"kind": kind} | rule, means)[0]


@given(SCORES, SCORES)
def test_a_difference_has_the_interval_of_welch(first, second):
    difference = combine((1, runs(*first)), (-1, runs(*second, of="y")))
    if min(statistics.stdev(first), statistics.stdev(second)) < 0.01:
        return  # SciPy warns of what has no spread
    test = stats.ttest_ind(first, second, equal_var=False)
    ends = difference.value - difference.half_width, difference.value + difference.half_width
    assert difference.df == pytest.approx(test.df)
    assert ends == pytest.approx(tuple(test.confidence_interval()), abs=1e-6)


def test_numbers_of_the_same_runs_are_compared_run_by_run():
    one, two = runs(10.0, 20.0, 30.0), runs(9.0, 18.5, 28.7)
    assert sign(combine((1, one), (-1, two))) == REPRODUCED  # differences 1, 1.5, 1.3
    assert sign(combine((1, one), (-1, runs(9.0, 18.5, 28.7, of="y")))) == UNCLEAR


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
    assert judge_number(Mean(mean, se, 9 if se else INF), runs(*ours), unit) == word


def test_fewer_than_three_runs_decide_nothing():
    assert runs(1.0, 1.0) is None
    assert judge_number(Mean(50.0), None, "%") == NOT_RUN
    assert judged("threshold", {A: None}, cells=[A], at_least=95) == NOT_RUN


LEVEL = {"at_least": 95}
BOTH = {"at_least": 49, "at_most": 51}
EXACT, NEAR = (96.0, 96.0, 96.0), (96.0, 97.0, 95.5)  # NEAR: mean 96.17, half of the interval 1.9
PAIR = {"pairs": [[A, B]]}


@pytest.mark.parametrize(
    ("kind", "rule", "a", "b", "word"),
    [
        ("threshold", LEVEL, (95.0,) * 3, None, REPRODUCED),  # exactly at it
        ("threshold", LEVEL, NEAR, None, UNCLEAR),
        ("threshold", LEVEL, (90.0, 91.0, 90.5), None, NOT_REPRODUCED),
        ("threshold", BOTH, (50.1, 50.0, 50.2), None, REPRODUCED),
        ("threshold", BOTH, (49.1, 49.0, 49.2), None, UNCLEAR),
        ("threshold", BOTH, EXACT, None, NOT_REPRODUCED),
        ("more", PAIR, (60.0, 61.0, 62.0), (50.0, 51.0, 50.0), REPRODUCED),
        ("more", PAIR, (50.0, 51.0, 50.0), (60.0, 61.0, 62.0), NOT_REPRODUCED),
        ("more", PAIR, (60.0, 40.0, 62.0), (50.0, 51.0, 50.0), UNCLEAR),
        ("more", PAIR, (50.0,) * 3, (50.0,) * 3, UNCLEAR),
        ("more", PAIR | {"or_equal": True}, (50.0,) * 3, (50.0,) * 3, REPRODUCED),
        ("more", PAIR | {"by": 10}, (60.0,) * 3, (49.0,) * 3, REPRODUCED),
        ("more", PAIR | {"by": 12}, (60.0,) * 3, (49.0,) * 3, NOT_REPRODUCED),
        ("more", PAIR | {"times": 3}, (31.0,) * 3, (10.0,) * 3, REPRODUCED),
        ("more", PAIR | {"times": 3}, (29.0,) * 3, (10.0,) * 3, NOT_REPRODUCED),
        ("more", PAIR | {"times": 3}, (-0.1,) * 3, (-9.0,) * 3, NOT_REPRODUCED),  # amounts below 0 count as 0
        ("alike", PAIR, (10.0, 10.1, 10.2), (10.3, 10.2, 10.1), REPRODUCED),
        ("alike", PAIR, (10.0,) * 3, (12.9,) * 3, NOT_REPRODUCED),
        ("alike", PAIR, (0.0,) * 3, (0.0,) * 3, REPRODUCED),
        ("alike", PAIR | {"within": 0.05}, (10.0, 10.3, 9.7), (10.2, 9.9, 10.5), UNCLEAR),
        ("skewed", {}, (10.0, 90.0, 91.0, 92.0, 93.0) * 5, None, REPRODUCED),
        ("skewed", {}, (1.0, 2.0, 3.0), None, UNCLEAR),
        ("skewed", {}, (10.0, 11.0, 12.0, 13.0, 93.0) * 5, None, NOT_REPRODUCED),
        # Runs that never reach a level of training have no mean; if some do, it says nothing.
        ("threshold", LEVEL, (INF,) * 3, None, REPRODUCED),
        ("threshold", LEVEL, (INF, 96.0, 96.0), None, UNCLEAR),
        ("more", PAIR, (50.0,) * 3, (INF,) * 3, NOT_REPRODUCED),
        ("more", PAIR, (INF,) * 3, (INF,) * 3, UNCLEAR),
        # All diverged.
        ("threshold", LEVEL, (NAN,) * 3, None, UNCLEAR),
        ("more", PAIR, (NAN,) * 3, (50.0,) * 3, UNCLEAR),
        ("alike", PAIR, (NAN,) * 3, (50.0,) * 3, UNCLEAR),
    ],
)
def test_kinds_of_claims(kind, rule, a, b, word):
    means = {A: runs(*a)} | ({B: runs(*b, of="y")} if b else {})
    assert judged(kind, means, **rule) == word


def test_the_worst_entry_decides_and_is_named():
    means = {A: runs(*EXACT), B: runs(90.0, 90.0, 90.0), C: runs(*EXACT)}
    word, detail = judge_rule({"kind": "threshold", "cells": [*means], **LEVEL}, means)
    assert (word, detail) == (NOT_REPRODUCED, f"{B} 90, at least 95")
    assert judged("threshold", means | {C: None}, cells=[*means], **LEVEL) == NOT_REPRODUCED
    means = {A: runs(*EXACT), B: runs(*NEAR), C: None}
    assert judged("threshold", means, cells=[*means], **LEVEL) == NOT_RUN


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
    means = {}
    for m, noise in {"m=0": 0.1, "m=50": -0.1, "m=85": 0.0}.items():
        means |= {f"{first}/{m}": Mean(90 + shift + noise), f"{second}/{m}": Mean(90)}
    assert judged("t_test", means, differs=differs, pairs=[[f"{first}/*", f"{second}/*"]]) == word
