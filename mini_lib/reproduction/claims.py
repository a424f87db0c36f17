"""The papers' headline claims, and ours beside them: rules over cells in claims.json, judged on our runs.

From a rule to its verdict: `judge` takes the runs of every cell that the claim names (`measured`), and hands their
means and standard errors to the function of the rule's kind (`KINDS`), which returns the verdict: a claim "holds" or
"fails", or is a "tie" where chance can explain the difference, or where some runs of a cell never reach a level that
others reach: their mean is infinite and has no error, and to say nothing then is the careful way. It is "open" where
it would hold, had none of its runs diverged.
There is no verdict where a cell that decides has fewer than three finished runs ("too few runs"), where some of its
cells have none ("incomplete"), or all ("not run").
"""

import json
import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from textwrap import fill
from types import MappingProxyType
from typing import NamedTuple

from mini_lib.errors import check_names, unknown_name_error
from mini_lib.reproduction.cells import Cell
from mini_lib.reproduction.comparison import (
    ENOUGH,
    TOO_FEW,
    TUTORIAL,
    VERDICTS,
    Comparison,
    Measured,
    counts,
    counts_by_paper,
    in_columns,
    printed,
    prints_numbers,
    reading_of,
    repeated,
    scale_of_variant,
)
from mini_lib.training import LOG_EVERY

CLAIMS = Path(__file__).with_name("claims.json")
SCALES = ("paper", TUTORIAL)
LACKING = ("incomplete", "not run")  # some of a claim's cells have no runs, or all
JUDGED = ("holds", "tie", "fails", "open", TOO_FEW, *LACKING)  # what can be said of a claim
WORST_FIRST = ("fails", TOO_FEW, "tie", "holds")
WINDOW = 5  # logged batches that a training accuracy is averaged over before it is compared with a level
ALIKE, UNLIKE = 0.05, 0.25  # shares of a mean: a difference that is none, and one that would matter
SKEW_SE = math.sqrt(math.pi / 2 - 1)  # standard errors of a mean in that of median - mean, for normal values


class Value(NamedTuple):
    """What the runs of a cell give."""

    mean: float  #: over runs.
    #: standard error of the mean; infinite where runs are too few to have one, NaN where the mean tells nothing.
    se: float
    #: the value of each run, by key, where it is one number a run.
    runs: Mapping[str, float] = MappingProxyType({})
    median: float = math.nan  #: over runs.
    why_no_mean: str = ""  #: why the mean tells nothing, where it does not.
    df: float | None = None  #: degrees of freedom of the error, where Student's t decides; else 2 errors do.

    @property
    def error(self) -> float:
        """The standard error, or one so wide that 2 of it are Student's quantile for 95 of 100 cases."""
        return _widened(self.se, self.df)

    def __str__(self) -> str:
        """The mean, or why it tells nothing."""
        return self.why_no_mean or _number(self.mean)


Values = Mapping[str, Value]  # by the id of the cell
Lookup = Callable[[str, str], Value | None]  # of a cell's id and a metric; None where there are no runs
Verdict = tuple[str, str]  # a word of JUDGED, and the figure that decided it


@dataclass(frozen=True, eq=False)
class Claim:
    """A claim of a paper, or one of ours beside it: a control, or what the text does not say of its tables."""

    id: str  #: such as "esbn.C1".
    statement: str  #: in a sentence.
    source: str  #: where the paper says so; of one of ours, what it belongs to.
    #: its `kind` (a key of `KINDS`), the cells it names ("table/row/column", or "*" for every column that the
    #: paper prints) and its numbers; `metric` where it is not the cells' own.
    rule: dict
    ours: bool = False  #: whether it is ours: the paper does not say so.

    @property
    def paper(self) -> str:
        """The paper's short name."""
        return self.id.split(".")[0]

    def cells(self) -> list[str]:
        """Ids of all cells that the rule names."""
        return list(dict.fromkeys(expand([self.rule.get("cells", ()), self.rule.get("pairs", ())])))

    def tables(self) -> set[str]:
        """The tables of these cells."""
        return {cell.split("/")[0] for cell in self.cells()}

    def judge(self, lookup: Lookup) -> Verdict:
        """The verdict, a word of `JUDGED`, and the figure that decided it."""
        values = {cell: lookup(cell, self.rule.get("metric", "")) for cell in self.cells()}
        missing = [cell for cell, value in values.items() if value is None]
        if missing:
            some = f"without a run: {len(missing)} of {len(values)} cells"
            return ("not run", "no runs") if len(missing) == len(values) else ("incomplete", some)
        return KINDS[self.rule["kind"]](self.rule, values)


class Judgement(NamedTuple):
    """What became of a claim at one scale, or under one reading."""

    claim: Claim  #: what was judged.
    scale: str  #: "paper", the name of a smaller one, or a reading's, such as "tutorial, balanced at first".
    verdict: str  #: such as "holds" or "fails".
    detail: str  #: the numbers behind it.
    settings: str = ""  #: those that differ from the paper's; of a reading, from those of its scale.
    #: whether it holds or fails, and Student's t leaves it undecided; the detail says so.
    narrow: bool = False

    def __str__(self) -> str:
        """Such as "holds @tutorial (weakest: ...)"; the settings stand on the page."""
        return f"{self.verdict} @{self.scale} ({self.detail})"

    def to_dict(self) -> dict:
        """For JSON."""
        return self._asdict() | {"claim": self.claim.id, "statement": self.claim.statement}


@cache
def load_claims() -> tuple[Claim, ...]:
    """All claims; ValueError for a rule of unknown kind."""
    claims = tuple(Claim(**entry) for entry in json.loads(CLAIMS.read_text()))
    for claim in claims:
        if claim.rule["kind"] not in KINDS:
            raise unknown_name_error("kind of claim", claim.rule["kind"], KINDS)
    return claims


def claims_by_id() -> dict[str, Claim]:
    """All claims by their ids."""
    return {claim.id: claim for claim in load_claims()}


def judge(
    comparisons: Iterable[Comparison],
    claims: Iterable[Claim] | None = None,
    readings: Iterable[str] = (),
) -> list[Judgement]:
    """Judge every claim at every scale; those that name cells which are not given are left out.

    They are judged under `readings` too, variants such as "tutorial, balanced at first", wherever one of these has
    all cells of a claim, and not just the numbers and runs that it was judged on before. UsageError for a reading of
    which no cell is given.
    """
    compared = {comparison.cell.id: comparison for comparison in comparisons}
    readings = list(readings)
    check_names("reading", readings, readings_among(each.cell for each in compared.values()))
    judgements = []
    for claim in load_claims() if claims is None else claims:
        full = {cell: compared.get(cell) for cell in claim.cells()}
        if None in full.values():
            continue
        small = {cell: compared.get(f"{cell}/{TUTORIAL}") for cell in full}
        judgements.append(_judge(claim, "paper", full))
        if any(small.values()):  # else nobody has declared this claim at the smaller scale
            judgements.append(_judge(claim, TUTORIAL, small)._replace(settings=_changed(full, small)))
        before = [_numbers(full), _numbers(small)]
        for reading in readings:
            own = {cell: compared.get(f"{cell}/{reading}") for cell in full}
            if all(own.values()) and _numbers(own) not in before:
                before.append(_numbers(own))
                scale = small if scale_of_variant(reading) == TUTORIAL else full
                bases = {cell: scale[cell] or full[cell] for cell in own}
                judgements.append(_judge(claim, reading, own)._replace(settings=_changed(bases, own)))
    return judgements


def judge_all(comparisons: Iterable[Comparison], claims: Iterable[Claim] | None = None) -> list[Judgement]:
    """As `judge`; of a paper that prints no numbers also under every reading that decides something.

    Where numbers are printed, a reading's own cells stand beside them. Where none are, nothing but the claims tells
    what a reading achieves.
    """
    compared = list(comparisons)
    return [
        each
        for each in judge(compared, claims, readings_among(each.cell for each in compared))
        if each.scale in SCALES or (each.verdict not in LACKING and not prints_numbers(each.claim.paper))
    ]


def readings_among(cells: Iterable[Cell]) -> list[str]:
    """The variants among these that are no scale, such as "no mask" or "tutorial, no mask", in order."""
    by_variant = {cell.variant: cell for cell in cells}
    return [variant for variant, cell in by_variant.items() if reading_of(cell)[1] not in ("", TUTORIAL)]


def _numbers(compared: Mapping[str, Comparison | None]) -> list[tuple[str, str] | None]:
    """Which numbers of which runs decide a claim."""
    return [each and each.number for each in compared.values()]


def _judge(claim: Claim, scale: str, compared: Mapping[str, Comparison | None]) -> Judgement:
    """Judge a claim on the comparisons of its cells at one scale.

    A claim cannot hold where runs diverged, since what the others did says nothing of these. One that holds or fails
    is judged again by Student's t, which asks for more than two standard errors of so few runs.
    """
    verdict, decisive = claim.judge(lambda cell, metric: measured(compared[cell], metric))
    detail = decisive
    if verdict not in LACKING:
        runs = {record["key"]: record["diverged"] for each in compared.values() for record in each.records}
        if lost := sum(runs.values()):
            verdict = "open" if verdict == "holds" else verdict
            detail += f"; {lost} of {len(runs)} runs diverged"
    narrow = False
    if verdict in ("holds", "fails"):
        by_student, undecided = claim.judge(lambda cell, metric: _by_student(compared[cell], metric))
        narrow = by_student != verdict
        if narrow:  # and where another cell is, which one
            detail += "; undecided by Student's t" + (f" ({undecided})" if undecided != decisive else "")
    return Judgement(claim, scale, verdict, detail, narrow=narrow)


def _by_student(comparison: Comparison | None, metric: str) -> Value | None:
    """What `measured` says, to be judged by Student's t."""
    value = measured(comparison, metric)
    enough = value is not None and len(comparison.ours.values) >= ENOUGH
    return value._replace(df=len(comparison.ours.values) - 1) if enough else value


def _widened(se: float, df: float | None) -> float:
    """A standard error, so wide that 2 of it are Student's quantile where there are degrees of freedom."""
    return se if df is None else se * student_quantile(df) / 2


@cache
def student_quantile(df: float) -> float:
    """How many standard errors a mean may be off in 95 of 100 cases; 4.3 with 2 degrees of freedom."""
    # Here, as it takes a third of a second to load; scipy.stats takes a whole one.
    from scipy.special import stdtrit

    return float(stdtrit(df, 0.975))


def _joint_df(errors: Iterable[tuple[float, float | None]]) -> float | None:
    """Degrees of freedom of a sum of independent errors, each with its own, by Welch and Satterthwaite."""
    errors = [(se, df) for se, df in errors if se != 0]
    if not errors or any(df is None or not math.isfinite(se) for se, df in errors):
        return None
    return sum(se**2 for se, _ in errors) ** 2 / sum(se**4 / df for se, df in errors)


def _changed(bases: Mapping[str, Comparison], others: Mapping[str, Comparison | None]) -> str:
    """The settings of other cells that differ from those of the cells that they are beside."""
    changes = {}
    for cell, comparison in others.items():
        if comparison is not None:
            base = bases[cell].cell.settings
            own = comparison.cell.settings
            changes |= {f"{name}={value}": None for name, value in own.items() if base.get(name) != value}
    return ", ".join(changes)


def measured(comparison: Comparison | None, metric: str = "") -> Value | None:
    """Mean, standard error and median of a cell's runs; None without any.

    With fewer than 3 finished runs the standard error is infinite. `metric` is the cell's own if empty;
    "updates_to_95" is the update at which training accuracy reaches 95 %, as `updates_to` says. It is infinite, and
    that for certain, where no run ever does. Where some do and others do not, the mean is infinite too, but tells
    nothing: its standard error is NaN.
    """
    if comparison is None or not comparison.ours.n:
        return None
    values, why_no_mean = list(comparison.ours.values), ""
    finished = [record for record in comparison.records if not record["diverged"]]
    if metric:
        level = float(metric.removeprefix("updates_to_"))
        values = [updates_to(record, level) or math.inf for record in finished]
        if 0 < (never := values.count(math.inf)) < len(values):
            why_no_mean = f"{never} of {len(values)} runs never reach {level:g} %"
    enough = (len(values) or comparison.ours.n) >= ENOUGH
    if not values or math.inf in values:
        certain = math.nan if why_no_mean else 0.0
        why_no_mean = why_no_mean or ("" if values else "all runs diverged")
        return Value(
            math.inf if values else math.nan, certain if enough else math.inf, why_no_mean=why_no_mean
        )
    sd = statistics.stdev(values) if enough else math.inf
    keys = [record["key"] for record in finished]
    runs = dict(zip(keys, values, strict=True)) if keys and not metric else {}
    return Value(statistics.fmean(values), sd / math.sqrt(len(values)), runs, statistics.median(values))


def updates_to(record: dict, level: float = 95.0, window: int = WINDOW) -> int | None:
    """The update at which the training score, averaged over `window` logged batches, reaches `level`.

    Late points of a curve are means of several logged batches already; each stands for itself.
    """
    updates, scores = record["curve"]["update"], record["curve"]["score"]
    for end in range(window, len(scores) + 1):
        thinned = updates[end - 1] - updates[end - 2] > LOG_EVERY
        if statistics.fmean(scores[end - (1 if thinned else window) : end]) >= level:
            return updates[end - 1]
    return None


# ----------------------------------------------------------------------------------------- in words


def format_claims(judgements: Iterable[Judgement], claims: Iterable[str] = (), width: int = 84) -> str:
    """Each claim in words, and beneath it its verdict at each scale with the figure that decided it.

    `claims` are ids, or how they begin where there is no such id, such as "kanerva.fig2"; all without any.
    """
    found, claims = by_claim(judgements), tuple(claims)
    ids = [claim.id for claim in found]
    chosen = {known for wanted in claims for known in _matching(wanted, ids)} if claims else set(ids)
    lines = []
    for claim, judged in found.items():
        if claim.id in chosen:
            lines.append(fill(f"{claim.id}: {claim.statement}", width))
            for each in judged:
                detail = each.detail.replace(f"{claim.paper}.", "")
                text = f"@{each.scale}: {each.verdict} ({detail})"
                lines.append(fill(text, width, initial_indent="    ", subsequent_indent="      "))
    return "\n".join(lines)


def by_claim(judgements: Iterable[Judgement]) -> dict[Claim, list[Judgement]]:
    """The judgements of each claim, in their order."""
    found: dict[Claim, list[Judgement]] = {}
    for each in judgements:
        found.setdefault(each.claim, []).append(each)
    return found


def _matching(wanted: str, ids: list[str]) -> list[str]:
    """The id itself if there is one, else those that begin so; ValueError if none does."""
    matching = [wanted] if wanted in ids else [known for known in ids if known.startswith(wanted)]
    if not matching:
        raise unknown_name_error("claim", wanted, ids)
    return matching


def claims_by_paper(judgements: Iterable[Judgement]) -> list[tuple]:
    """A table, its head first: how often each word of `JUDGED` was said of a paper's claims at a scale.

    Ours are counted in rows of their own, below all papers: "kanerva, ours".
    """
    judged = sorted(judgements, key=lambda each: each.claim.ours)
    names = [each.claim.paper + ", ours" * each.claim.ours for each in judged]
    count = Counter((name, each.scale, each.verdict) for name, each in zip(names, judged, strict=True))
    rows = dict.fromkeys(key[:2] for key in count)
    return [
        ("paper", "scale", *JUDGED),
        *((*row, *(count[*row, word] for word in JUDGED)) for row in rows),
    ]


def summary(comparisons: list[Comparison]) -> str:
    """How many printed numbers have runs and which verdicts they got, by paper and by table; and the claims."""
    judgements = judge_all(comparisons)
    names = (*VERDICTS, "partial")
    tables = [("table", *names)]
    tables += [(table, *map(count.get, names)) for table, count in counts(comparisons).items()]
    parts = [in_columns(counts_by_paper(comparisons)), repeated(comparisons)]
    parts += [in_columns(claims_by_paper(judgements)) if judgements else "", in_columns(tables)]
    lines = ["\n\n".join(filter(None, parts))]
    lines += ["", claims_in_words(judgements)] if judgements else []
    return "\n".join(lines)


def claims_in_words(judgements: Iterable[Judgement]) -> str:
    """Each claim with its statement, and its verdicts on a second line."""
    return "\n".join(
        f"{claim.id:9} {claim.statement}\n          {'; '.join(map(str, judged))}"
        for claim, judged in by_claim(judgements).items()
    )


# ----------------------------------------------------------------------------------------- cells


def expand(patterns: str | Iterable) -> list[str]:
    """The ids that "table/row/column" stands for, or several such patterns in lists of lists.

    The column "*" is every column printed for that row.
    """
    if not isinstance(patterns, str):
        return [cell for pattern in patterns for cell in expand(pattern)]
    table, rest = patterns.split("/", 1)
    row, column = rest.rsplit("/", 1)
    if column != "*":
        return [patterns]
    columns = [c for r, c in printed(table) if r == row]
    if not columns:
        raise unknown_name_error("row", row, dict.fromkeys(r for r, _ in printed(table)))
    return [f"{table}/{row}/{c}" for c in columns]


def _rows(side: str | list[str]) -> str:
    """A side of a pair in words: its rows, with the columns that it names."""
    if isinstance(side, str):
        return side.removesuffix("/*")
    rows: dict[str, list[str]] = {}
    for row, column in (pattern.rsplit("/", 1) for pattern in side):
        rows.setdefault(row, []).extend([column] if column != "*" else [])
    return " and ".join(f"{row} ({', '.join(columns)})" if columns else row for row, columns in rows.items())


def _mean(patterns: str | list[str], values: Values) -> Value:
    """The mean over all cells that the patterns name, and its standard error.

    Where all of them are measured in the same runs, it is the error of these runs' means; else they are independent.
    """
    parts = [values[cell] for cell in expand(patterns)]
    if len(parts) == 1:
        return parts[0]
    mean = statistics.fmean(v.mean for v in parts)
    why_no_mean = ", ".join(v.why_no_mean for v in parts if v.why_no_mean)
    keys = parts[0].runs.keys()
    if len(keys) >= ENOUGH and all(part.runs.keys() == keys for part in parts):
        runs = {run: statistics.fmean(part.runs[run] for part in parts) for run in keys}
        return Value(mean, Measured(tuple(runs.values())).sem, runs, why_no_mean=why_no_mean, df=parts[0].df)
    se, df = math.hypot(*(v.se for v in parts)) / len(parts), _joint_df((v.se, v.df) for v in parts)
    return Value(mean, se, why_no_mean=why_no_mean, df=df)


# ----------------------------------------------------------------------------------------- kinds of rules


def _worst(
    margins: Mapping[str, tuple[float | int, float | int]], met: Callable[[float, float], bool]
) -> Verdict:
    """Verdict on margins (amount, SE), each of which should be positive; the detail names the smallest.

    A margin holds where it is `met`, and fails beyond 2 SE below 0. In between is a tie, and so is a mean that tells
    nothing. Where there are too few runs for a standard error, that is all that is said.
    """
    verdicts = []
    for amount, se in margins.values():
        known = "holds" if met(amount, se) else "fails" if amount < -2 * se or math.isnan(amount) else "tie"
        verdicts.append(_without_error(se) or known)
    verdict = min(verdicts, key=WORST_FIRST.index)
    decisive = [name for name, each in zip(margins, verdicts, strict=True) if each == verdict]
    return verdict, min(decisive, key=lambda name: margins[name][0])


def _by_errors(amount: float, se: float) -> bool:
    return amount >= 2 * se


def _beyond_errors(amount: float, se: float) -> bool:
    return amount > 2 * se


def _not_below(amount: float, se: float) -> bool:
    return amount >= 0


def _without_error(se: float) -> str:
    """The verdict where there is no standard error, as runs are too few or their mean tells nothing; else empty."""
    return TOO_FEW if math.isinf(se) else "tie" if math.isnan(se) else ""


def _number(value: float | int) -> str:
    return "never" if math.isinf(value) else f"{value:.4g}"


def _threshold(rule: dict, values: Values) -> Verdict:
    """Every cell is `at_least` a level, `at_most` one, or both, by 2 SE or more.

    Exactly at the level counts where there is no error: "more than one machine" is at least 1.01.
    """
    margins = {}
    for cell, value in values.items():
        above = [value.mean - rule["at_least"]] if "at_least" in rule else []
        below = [rule["at_most"] - value.mean] if "at_most" in rule else []
        margins[cell] = min(above + below), value.error
    verdict, cell = _worst(margins, _by_errors)
    return verdict, f"weakest: {cell}, {values[cell]}"


def _pairs(rule: dict, values: Values) -> Iterator[tuple[float, float, float, str]]:
    """Both means of every pair, the standard error of their difference, and the pair in words.

    The second side counts `times` as much, if the rule says so; then both are amounts, and one that is estimated
    below 0 counts as 0. Two sides that are measured in the same runs are compared run by run.
    """
    times = rule.get("times", 1)
    often = "" if times == 1 else f"{times} times "
    for left, right in rule["pairs"]:
        a, b = _mean(left, values), _mean(right, values)
        words = f"{_rows(left)} against {often}{_rows(right)}: {a} against {often}{b}"
        second = b.mean if times == 1 else times * max(b.mean, 0.0)
        yield a.mean, second, _difference_error(a, b, times), words


def _difference_error(a: Value, b: Value, times: int | float) -> float:
    """The error of a - times b (see `Value.error`); NaN where both are infinite, as nobody can tell these apart."""
    if math.isinf(a.mean) and math.isinf(b.mean):
        return math.hypot(a.se, b.se, math.nan)  # infinite where runs are too few
    if len(a.runs) >= ENOUGH and a.runs.keys() == b.runs.keys():
        differences = tuple(value - times * b.runs[run] for run, value in a.runs.items())
        return _widened(Measured(differences).sem, a.df)
    return _widened(math.hypot(a.se, times * b.se), _joint_df([(a.se, a.df), (times * b.se, b.df)]))


def _more(rule: dict, values: Values) -> Verdict:
    """In every pair the first side's mean exceeds the second's by more than `by` (0 if not said), and than 2 SE.

    With `or_equal` it is enough that it is not below, for nobody could show that two are equal. A pair says nothing
    against the claim where all runs of a side diverged; it does not hold then, but is open.
    """
    margins = {
        words: (math.inf if math.isnan(a - b) else a - b - rule.get("by", 0.0), se)
        for a, b, se, words in _pairs(rule, values)
    }
    return _worst(margins, _not_below if rule.get("or_equal") else _beyond_errors)


def _alike(rule: dict, values: Values) -> Verdict:
    """In every pair the two sides are equal, as far as the runs can tell, and the runs can tell something.

    They are alike where even a difference larger by 2 SE than the one measured would be no more than 25 % of their
    mean, or than the share `within` that the rule names; they are not where the difference exceeds 2 SE and 5 % of
    their mean. In between nobody can tell: a tie.
    """
    within = rule.get("within", UNLIKE)
    verdicts = []
    for a, b, se, words in _pairs(rule, values):
        size, apart = (abs(a) + abs(b)) / 2, abs(a - b)
        same = "holds" if math.isnan(apart) or apart + 2 * se <= within * size else "tie"
        known = "fails" if math.isinf(apart) or apart > max(2 * se, ALIKE * size) else same
        verdicts.append((_without_error(se) or known, words))
    return min(verdicts, key=lambda each: WORST_FIRST.index(each[0]))


def _t_test(rule: dict, values: Values) -> Verdict:
    """A paired t-test over conditions: the first sides are, if the rule `differs`, below the second, p < 0.05.

    Else they are not. The test takes the means alone, and every one of them has to be of enough runs. That nothing
    is found is no evidence that there is nothing, and the detail says so.
    """
    first, second = (
        [values[cell].mean for pair in rule["pairs"] for cell in expand(pair[side])] for side in (0, 1)
    )
    if len(first) != len(second) or len(first) < 2:
        raise ValueError(
            f"a paired test needs two equally long lists of 2 or more, got {len(first)} and {len(second)}"
        )
    if few := [cell for cell, value in values.items() if math.isinf(value.se)]:
        return TOO_FEW, few[0]
    if told_nothing := [value.why_no_mean for value in values.values() if math.isnan(value.se)]:
        return "tie", told_nothing[0]
    if not all(map(math.isfinite, first + second)):
        return "fails", "a cell has no finite mean"
    from scipy import stats  # here, since it takes most of a second

    t, p = (0.0, 1.0) if first == second else stats.ttest_rel(first, second)
    detail = f"t({len(first) - 1}) = {t:.2f}, p = {p:.2g}"
    if p >= 0.05 and not rule["differs"]:
        detail += ", which finds no difference and does not show that there is none"
    return "holds" if (p < 0.05 and t < 0) == rule["differs"] else "fails", detail


def _skewed(rule: dict, values: Values) -> Verdict:
    """In every cell the median over runs exceeds the mean, by more than it would were the runs normal.

    For normal values median and mean differ by chance with a variance that is the difference of their variances.
    """
    margins = {cell: (value.median - value.mean, SKEW_SE * value.error) for cell, value in values.items()}
    verdict, cell = _worst(margins, _beyond_errors)
    value = values[cell]
    return verdict, f"weakest: {cell}, median {_number(value.median)}, mean {_number(value.mean)}"


KINDS = {each.__name__[1:]: each for each in (_threshold, _more, _alike, _t_test, _skewed)}
