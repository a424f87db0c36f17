"""One rule for numbers and claims: a margin and its 95 % interval, which lies above 0, below 0, or neither.

A claim says that some margins are above 0: "A is better than B" is the margin A - B. It is judged by its worst. Each
margin is a sum of means over runs. A reported number is reproduced unless the interval of the difference leaves 0
out and the difference matters (`FLOOR`); an interval that is too wide to tell decides nothing (`WIDE`).

Four words say what came of it: "reproduced", "not reproduced", "unclear" (the runs differ too much to tell, or some
diverged), and "not run" (fewer than `MIN_RUNS` runs of what decides it).
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from statistics import fmean, median, stdev
from typing import NamedTuple

from mini_lib.errors import unknown_name_error
from mini_lib.reproduction.tables import printed

MIN_RUNS = 3  # finished runs, from which there is a spread of our own
REPRODUCED, NOT_REPRODUCED, UNCLEAR, NOT_RUN = "reproduced", "not reproduced", "unclear", "not run"
WORDS = (REPRODUCED, NOT_REPRODUCED, UNCLEAR, NOT_RUN)
WORST_FIRST = (NOT_REPRODUCED, NOT_RUN, UNCLEAR, REPRODUCED)
ROUNDING = 1e-9  # of sums of numbers that are given in decimals
FLOOR = {"%": 0.5}  # points of accuracy that do not matter; of every other unit 5 % of the reported number
WIDE = {"%": 8.0}  # half of an interval that decides nothing; of every other unit 25 %
UNLIKE = 0.25  # the share of a mean that a difference may not reach
SKEW_SE = math.sqrt(math.pi / 2 - 1)  # standard errors of a mean in that of median - mean, for normal values


@dataclass(frozen=True)
class Mean:
    """A mean over runs, or a sum of such."""

    value: float
    se: float = 0.0  #: standard error; 0 of a number without an error.
    df: float = math.inf  #: degrees of freedom of the error.
    runs: Mapping[str, float] = field(default_factory=dict)  #: the values by the runs' keys, of such a mean.

    @property
    def half_width(self) -> float:
        """Half of the 95 % interval by Student's t."""
        return self.se * _quantile(self.df) if self.se else 0.0

    def __str__(self) -> str:
        """Such as "99.6 ± 0.2", with half of the interval."""
        if not math.isfinite(self.value):
            return "never" if self.value > 0 else "no mean"
        return rounded(self.value, self.half_width)


def rounded(mean: float, error: float | None) -> str:
    """A mean and its error, to two digits of the error; to four digits of the mean without one.

    >>> rounded(77.42, 34.1), rounded(99.618, 0.1234), rounded(98.12345, None)
    ('77 ± 34', '99.62 ± 0.12', '98.12')
    """
    if not error or error < ROUNDING * abs(mean):
        return f"{mean:.4g}"
    decimals = max(0, 1 - math.floor(math.log10(error)))
    return f"{mean:.{decimals}f} ± {error:.{decimals}f}"


@cache
def _quantile(df: float) -> float:
    """How many standard errors a mean is off in 95 of 100 cases; 4.3 with 2 degrees of freedom."""
    from scipy.special import stdtrit  # here, since it takes a third of a second to load

    return float(stdtrit(df, 0.975)) if math.isfinite(df) else 1.96


def mean_of(runs: Mapping[str, float]) -> Mean | None:
    """The mean of runs by their keys; None of fewer than `MIN_RUNS`.

    Where a value is infinite (a level that no update reaches), the mean is too: without an error if all are, and
    NaN if only some are, since then the mean says nothing.
    """
    values = list(runs.values())
    if len(values) < MIN_RUNS:
        return None
    if not all(map(math.isfinite, values)):
        return Mean(values[0] if len(set(values)) == 1 else math.nan)
    return Mean(fmean(values), stdev(values) / math.sqrt(len(values)), len(values) - 1, runs)


def combine(*terms: tuple[float, Mean]) -> Mean:
    """The sum of factor * mean; run by run where all are of the same runs, else by Welch and Satterthwaite."""
    keys = terms[0][1].runs.keys()
    if len(keys) >= MIN_RUNS and all(mean.runs.keys() == keys for _, mean in terms):
        return mean_of({key: sum(factor * mean.runs[key] for factor, mean in terms) for key in keys})
    value = sum(factor * mean.value for factor, mean in terms)
    parts = [((factor * mean.se) ** 2, mean.df) for factor, mean in terms if mean.se]
    variance = sum(part for part, _ in parts)
    inverse = sum(part / variance * part / variance / df for part, df in parts) if variance else 0.0
    return Mean(value, math.sqrt(variance), 1 / inverse if inverse else math.inf)


def sign(margin: Mean, at_zero: bool = False) -> str:
    """Whether a margin is above 0, below, or neither; `at_zero`, exactly 0 is enough where there is no error."""
    exactly = at_zero and not margin.se and margin.value > -ROUNDING
    if exactly or margin.value - margin.half_width > ROUNDING:
        return REPRODUCED
    return NOT_REPRODUCED if margin.value + margin.half_width < -ROUNDING else UNCLEAR


def judge_number(paper: Mean, ours: Mean | None, unit: str) -> str:
    """Whether our mean reproduces a reported one; it is unclear where either error is too wide to tell."""
    if ours is None:
        return NOT_RUN
    difference = combine((1, ours), (-1, paper))
    allowed = FLOOR.get(unit, 0.05 * abs(paper.value)) + 1e-9  # so that 99.7 against 99.2 is half a point
    if not abs(difference.value) <= max(difference.half_width, allowed):
        return NOT_REPRODUCED
    return UNCLEAR if difference.half_width > WIDE.get(unit, 0.25 * abs(paper.value)) else REPRODUCED


# ----------------------------------------------------------------------------------------- kinds of claims


class Margin(NamedTuple):
    """What a claim says is above 0, or `at_zero` not below; no value where an entry has too few runs."""

    words: str
    value: Mean | None
    at_zero: bool = False


Means = Mapping[str, Mean | None]  # by the id of the entry; None of too few runs


def judge_rule(rule: Mapping, means: Means) -> tuple[str, str]:
    """The word for a claim's rule on the means of the entries that it names, and the margin that decides it."""
    margins = list(KINDS[rule["kind"]](rule, means))
    words = [NOT_RUN if margin.value is None else sign(margin.value, margin.at_zero) for margin in margins]
    word = min(words, key=WORST_FIRST.index)
    if word == NOT_RUN:
        few = sum(mean is None for mean in means.values())
        return word, f"entries with fewer than {MIN_RUNS} runs: {few} of {len(means)}"
    decisive = [margin for margin, each in zip(margins, words, strict=True) if each == word]
    return word, min(decisive, key=lambda margin: margin.value.value).words


def threshold(rule: Mapping, means: Means) -> Iterator[Margin]:
    """Each entry is `at_least` a level, `at_most` one, or both; exactly at it counts where there is no error."""
    for entry, mean in means.items():
        for name, factor in (("at_least", 1), ("at_most", -1)):
            if name in rule:
                value = mean and combine((factor, mean), (-factor, Mean(rule[name])))
                yield Margin(f"{entry} {mean}, {name.replace('_', ' ')} {rule[name]:g}", value, at_zero=True)


def more(rule: Mapping, means: Means) -> Iterator[Margin]:
    """In each pair the first side exceeds the second, by more than `by` (0); with `or_equal` it is not below.

    The second side counts `times` as much; then both are amounts, and one that is estimated below 0 counts as 0.
    """
    times = rule.get("times", 1)
    for a, b, words in _pairs(rule, means, "" if times == 1 else f"{times} times "):
        value = a and b and combine((1, a), (-times, b))
        if value:
            second = b.value if times == 1 else times * max(b.value, 0.0)
            value = replace(value, value=a.value - second - rule.get("by", 0.0))
        yield Margin(words, value, rule.get("or_equal", False))


def alike(rule: Mapping, means: Means) -> Iterator[Margin]:
    """In each pair the sides differ by less than 25 % of their mean, or the share `within`."""
    for a, b, words in _pairs(rule, means):
        value = a and b and combine((1, a), (-1, b))
        if value:
            allowed = rule.get("within", UNLIKE) * (abs(a.value) + abs(b.value)) / 2
            value = replace(value, value=allowed - abs(value.value))
        yield Margin(words, value, at_zero=True)


def t_test(rule: Mapping, means: Means) -> Iterator[Margin]:
    """Over all pairs together the first sides are, if the rule `differs`, below the second, by a paired t-test.

    Else they are not. That a test finds nothing is no evidence that there is nothing: then it is unclear.
    """
    first, second = (expand([pair[side] for pair in rule["pairs"]]) for side in (0, 1))
    value, words = None, ""
    if None not in means.values():
        pairs = zip(first, second, strict=True)
        value = mean_of({str(i): means[b].value - means[a].value for i, (a, b) in enumerate(pairs)})
        words = f"mean difference over {len(first)} entries {value}"
        if value and not rule["differs"]:
            value = Mean(-1.0 if sign(value) == REPRODUCED else math.nan)
    yield Margin(words, value)


def skewed(rule: Mapping, means: Means) -> Iterator[Margin]:
    """In each entry the median over runs exceeds the mean, by more than it would were the runs normal."""
    for entry, mean in means.items():
        middle = median(mean.runs.values()) if mean and mean.runs else math.nan
        value = mean and Mean(middle - mean.value, SKEW_SE * mean.se, mean.df)
        yield Margin(f"{entry}: median {middle:.4g}, mean {mean}", value)


KINDS: dict[str, Callable] = {each.__name__: each for each in (threshold, more, alike, t_test, skewed)}


def _pairs(rule: Mapping, means: Means, times: str = "") -> Iterator[tuple[Mean | None, Mean | None, str]]:
    """Both sides of each pair, the mean over the entries of each, and both in words."""
    for pair in rule["pairs"]:
        sides = [[means[entry] for entry in expand(side)] for side in pair]
        a, b = (None if None in side else combine(*((1 / len(side), x) for x in side)) for side in sides)
        yield a, b, f"{_rows(pair[0])} {a} against {times}{_rows(pair[1])} {b}"


def _rows(side: str | list[str]) -> str:
    """A side of a pair in words: its rows, with the columns that it names."""
    if isinstance(side, str):
        return side.removesuffix("/*")
    rows: dict[str, list[str]] = {}
    for row, column in (pattern.rsplit("/", 1) for pattern in side):
        rows.setdefault(row, []).extend([column] if column != "*" else [])
    return " and ".join(f"{row} ({', '.join(columns)})" if columns else row for row, columns in rows.items())


def expand(patterns: str | Iterable) -> list[str]:
    """The ids that "table/row/column" stands for, or several such patterns in lists of lists.

    The column "*" is every column reported for that row.
    """
    if not isinstance(patterns, str):
        return [entry for pattern in patterns for entry in expand(pattern)]
    table, rest = patterns.split("/", 1)
    row, column = rest.rsplit("/", 1)
    if column != "*":
        return [patterns]
    columns = [c for r, c in printed(table) if r == row]
    if not columns:
        raise unknown_name_error("row", row, dict.fromkeys(r for r, _ in printed(table)))
    return [f"{table}/{row}/{c}" for c in columns]
