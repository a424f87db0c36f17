"""The papers' headline claims: small rules over cells in claims.json, judged on what we measured."""

import json
import math
import re
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from textwrap import fill
from types import MappingProxyType
from typing import NamedTuple

from scipy import stats

from mini_lib.errors import unknown_name_error
from mini_lib.reproduction.compare import ENOUGH, TUTORIAL, VERDICTS, Comparison, counts, printed
from mini_lib.training import LOG_EVERY

CLAIMS = Path(__file__).with_name("claims.json")
SCALES = ("paper", TUTORIAL)
WORST_FIRST = ("fails", "open", "tie", "holds")
WINDOW = 5  # logged batches that a training accuracy is averaged over before it is compared with a level
ALIKE, UNLIKE = 0.05, 0.25  # shares of a mean: a difference that is none, and one that would matter
MEDIAN_SE = math.sqrt(math.pi / 2)  # standard errors of a mean in that of a median, for normal values


class Value(NamedTuple):
    """A mean and its standard error, infinite where too few runs can tell; and, by run, what it is a mean of."""

    mean: float
    se: float
    runs: Mapping[str, float] = MappingProxyType({})


Lookup = Callable[[str, str], Value | None]  # of a cell's id and a metric; None where there are no runs


@dataclass(frozen=True, eq=False)
class Claim:
    """A claim of a paper.

    Attributes:
        id: such as "esbn.C1".
        statement: in a sentence.
        source: where the paper says so.
        rule: its `kind` (a key of `KINDS`), the cells it names ("table/row/column", or "*" for every column
            that the paper prints) and its numbers; `metric` where it is not the cells' own.
    """

    id: str
    statement: str
    source: str
    rule: dict

    @property
    def paper(self) -> str:
        """The paper's short name."""
        return self.id.split(".")[0]

    def cells(self) -> list[str]:
        """Ids of all cells that the rule names."""
        patterns = [*self.rule.get("cells", ()), *_flat(self.rule.get("pairs", ()))]
        return list(dict.fromkeys(cell for pattern in patterns for cell in expand(pattern)))

    def judge(self, lookup: Lookup) -> tuple[str, str]:
        """The verdict, "holds", "fails", "tie", "open" or "not run", and the figure that decided it."""
        metric = self.rule.get("metric", "")
        missing = [cell for cell in self.cells() if lookup(cell, metric) is None]
        if missing:
            some = f"{len(missing)} of {len(self.cells())} cells have no runs"
            return "not run", "no runs" if len(missing) == len(self.cells()) else some
        return KINDS[self.rule["kind"]](
            self.rule, lambda pattern, metric=metric: _mean(pattern, metric, lookup)
        )


class Judgement(NamedTuple):
    """What became of a claim at one scale; `settings` are those that differ from the paper's."""

    claim: Claim
    scale: str
    verdict: str
    detail: str
    settings: str = ""

    def __str__(self) -> str:
        """Such as "holds @tutorial (width=0.25; weakest: ...)"."""
        return f"{self.verdict} @{self.scale} ({'; '.join(filter(None, (self.settings, self.detail)))})"

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


def judge(comparisons: Iterable[Comparison], claims: Iterable[Claim] | None = None) -> list[Judgement]:
    """Judge every claim at every scale; those that name cells which are not given are left out."""
    found = {comparison.cell.id: comparison for comparison in comparisons}
    judgements = []
    for claim in load_claims() if claims is None else claims:
        if not all(cell in found for cell in claim.cells()):
            continue
        for scale in SCALES:
            suffix = "" if scale == "paper" else f"/{scale}"
            if suffix and not any(cell + suffix in found for cell in claim.cells()):
                continue  # nobody has declared this claim at a smaller scale
            settings = _changed(claim, found, suffix) if suffix else ""
            verdict, detail = claim.judge(_lookup(found, suffix))
            lost = _diverged(claim, found, suffix) if verdict != "not run" else ""
            verdict = "open" if lost and verdict == "holds" else verdict
            judgements.append(Judgement(claim, scale, verdict, detail + lost, settings))
    return judgements


def _diverged(claim: Claim, found: dict[str, Comparison], suffix: str) -> str:
    """How many runs behind a claim diverged: what the others did says nothing of these, so the claim cannot hold."""
    comparisons = [found[cell + suffix] for cell in claim.cells()]
    runs = {record["key"]: record["diverged"] for each in comparisons for record in each.records}
    lost = sum(runs.values())
    return f"; {lost} of {len(runs)} runs diverged" if lost else ""


def format_claims(judgements: Iterable[Judgement], claims: Iterable[str] = (), width: int = 84) -> str:
    """Each claim in words, and beneath it its verdict at each scale with the figure that decided it.

    Args:
        judgements: as `judge` returns them.
        claims: ids, or how they begin where there is no such id, such as "kanerva.fig2"; all without any.
        width: characters of a line.

    Raises:
        ValueError: if there is no such claim; the nearest name is offered.
    """
    judgements, claims = list(judgements), tuple(claims)
    ids = dict.fromkeys(each.claim.id for each in judgements)
    chosen = {known for wanted in claims for known in _chosen(wanted, ids)}
    told = _by_claim(each for each in judgements if not claims or each.claim.id in chosen)
    lines = []
    for claim, found in told.items():
        lines.append(fill(f"{claim.id}: {claim.statement}", width))
        for each in found:
            detail = each.detail.replace(f"{claim.paper}.", "")
            text = f"@{each.scale}: {each.verdict} ({detail})"
            lines.append(fill(text, width, initial_indent="    ", subsequent_indent="      "))
    return "\n".join(lines)


def _by_claim(judgements: Iterable[Judgement]) -> dict[Claim, list[Judgement]]:
    told: dict[Claim, list[Judgement]] = {}
    for each in judgements:
        told.setdefault(each.claim, []).append(each)
    return told


def _chosen(wanted: str, ids: Iterable[str]) -> list[str]:
    """The id itself if there is one, else those that begin so; ValueError if none does."""
    ids = list(ids)
    found = [wanted] if wanted in ids else [known for known in ids if known.startswith(wanted)]
    if not found:
        raise unknown_name_error("claim", wanted, ids)
    return found


def _lookup(found: dict[str, Comparison], suffix: str) -> Lookup:
    return lambda cell, metric: measured(found.get(cell + suffix), metric)


def measured(comparison: Comparison | None, metric: str) -> Value | None:
    """Mean and standard error of a cell's runs; None without any.

    With fewer than 3 runs the paper's SD stands in, if it prints one. `metric` is the cell's own if empty;
    "median" is the median of that in the place of the mean, with the standard error that it has for normal values;
    "updates_to_95" is the update at which training accuracy reaches 95 %, as `updates_to` says, and infinite if
    a run never does.
    """
    if comparison is None or not comparison.ours.n:
        return None
    values, sd = list(comparison.ours.values), comparison.paper.sd if comparison.paper else math.inf
    if metric and metric != "median":
        level = float(re.fullmatch(r"updates_to_(\d+)", metric).group(1))
        values, sd = [updates_to(record, level) or math.inf for record in comparison.records], math.inf
    if not values or math.inf in values:
        return Value(math.inf if values else math.nan, 0.0)
    sd = statistics.stdev(values) if len(values) >= ENOUGH else sd
    se = sd / math.sqrt(len(values))
    if metric == "median":
        return Value(statistics.median(values), MEDIAN_SE * se)
    finished = [record["key"] for record in comparison.records if not record["diverged"]]
    runs = dict(zip(finished, values, strict=True)) if finished and not metric else {}
    return Value(statistics.fmean(values), se, runs)


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


def summary(comparisons: list[Comparison]) -> str:
    """How often each verdict was given, per table, and the verdicts on the claims that these cells decide."""
    lines = ["table           " + "".join(f"{name:>14}" for name in (*VERDICTS, "partial"))]
    for table, count in counts(comparisons).items():
        lines.append(f"{table:16}" + "".join(f"{count[name]:14}" for name in (*VERDICTS, "partial")))
    told = _by_claim(judge(comparisons))
    lines += [""] if told else []
    for claim, judgements in told.items():
        lines.append(f"{claim.id:9} {claim.statement}\n          {'; '.join(map(str, judgements))}")
    return "\n".join(lines)


# ----------------------------------------------------------------------------------------- cells


def expand(pattern: str) -> list[str]:
    """The ids that "table/row/column" stands for; the column "*" is every column printed for that row.

    Raises:
        ValueError: if no such row is printed.
    """
    table, rest = pattern.split("/", 1)
    row, column = rest.rsplit("/", 1)
    if column != "*":
        return [pattern]
    columns = [c for r, c in printed(table) if r == row]
    if not columns:
        raise unknown_name_error("row", row, dict.fromkeys(r for r, _ in printed(table)))
    return [f"{table}/{row}/{c}" for c in columns]


def _flat(sides: Iterable) -> list[str]:
    return [each for side in sides for each in ([side] if isinstance(side, str) else _flat(side))]


def _rows(side: str | list[str]) -> str:
    """A side by its rows, with the columns that it names."""
    if isinstance(side, str):
        return side.removesuffix("/*")
    rows: dict[str, list[str]] = {}
    for row, column in (pattern.rsplit("/", 1) for pattern in _flat(side)):
        rows.setdefault(row, []).extend([column] if column != "*" else [])
    return " and ".join(f"{row} ({', '.join(columns)})" if columns else row for row, columns in rows.items())


def _mean(patterns: str | list[str], metric: str, lookup: Lookup) -> Value:
    """The mean over all cells that the patterns name, and its standard error.

    Cells are taken for independent, as print allows nothing else, also where they are measured in the same runs.
    """
    values = [lookup(cell, metric) for pattern in _flat([patterns]) for cell in expand(pattern)]
    mean, se = statistics.fmean(v.mean for v in values), math.hypot(*(v.se for v in values)) / len(values)
    return Value(mean, se, values[0].runs if len(values) == 1 else {})


def _changed(claim: Claim, found: dict[str, Comparison], suffix: str) -> str:
    changes = {}
    for cell in claim.cells():
        if cell + suffix in found:
            full, small = found[cell].cell.settings, found[cell + suffix].cell.settings
            changes |= {f"{name}={value}": None for name, value in small.items() if full.get(name) != value}
    return ", ".join(changes)


# ----------------------------------------------------------------------------------------- kinds of rules


def _worst(margins: dict[str, tuple[float, float]], strict: bool) -> tuple[str, str]:
    """Verdict on margins (amount, SE), each of which should be positive; the detail names the smallest.

    A threshold is met by the mean alone, and missed for certain only by more than 2 SE; a comparison needs more
    than 2 SE either way, and so does a threshold of a rule that is `strict`. In between is a tie; where there are
    too few runs for a standard error, and no printed one stands in, it is open.
    """
    verdicts = []
    for amount, se in margins.values():
        clear = 2 * se if strict else 0.0
        met = amount > clear if strict else amount >= 0
        between = "open" if math.isinf(se) else "tie"
        verdicts.append("holds" if met else "fails" if amount < -2 * se or math.isnan(amount) else between)
    verdict = min(verdicts, key=WORST_FIRST.index)
    decisive = [name for name, each in zip(margins, verdicts, strict=True) if each == verdict]
    return verdict, min(decisive, key=lambda name: margins[name][0])


def _threshold(rule: dict, mean: Callable, margin: Callable[[float], float]) -> tuple[str, str]:
    values = {cell: mean(cell) for pattern in rule["cells"] for cell in expand(pattern)}
    margins = {cell: (margin(v.mean), v.se) for cell, v in values.items()}
    verdict, cell = _worst(margins, strict=rule.get("strict", False))
    return verdict, f"weakest: {cell}, {_number(values[cell].mean)}"


def _number(value: float) -> str:
    return "never" if math.isinf(value) else f"{value:.4g}"


def _at_least(rule: dict, mean: Callable) -> tuple[str, str]:
    return _threshold(rule, mean, lambda value: value - rule["level"])


def _at_most(rule: dict, mean: Callable) -> tuple[str, str]:
    return _threshold(rule, mean, lambda value: rule["level"] - value)


def _within(rule: dict, mean: Callable) -> tuple[str, str]:
    return _threshold(rule, mean, lambda value: rule["by"] - abs(value - rule["level"]))


def _pairs(rule: dict, mean: Callable) -> Iterator[tuple[float, float, float, str]]:
    """Both means of every pair, the standard error of their difference, and the pair in words.

    The second side counts `times` as much, if the rule says so; then both are amounts, and one that is estimated
    below 0 counts as 0. Two cells that are measured in the same runs are compared run by run.
    """
    times = rule.get("times", 1)
    often = "" if times == 1 else f"{times} times "
    for left, right in rule["pairs"]:
        a, b = mean(left), mean(right)
        words = (
            f"{_rows(left)} against {often}{_rows(right)}: {_number(a.mean)} against {often}{_number(b.mean)}"
        )
        second = b.mean if times == 1 else times * max(b.mean, 0.0)
        yield a.mean, second, _apart(a, b, times), words


def _apart(a: Value, b: Value, times: int | float) -> float:
    """The standard error of a - times b."""
    if len(a.runs) >= ENOUGH and a.runs.keys() == b.runs.keys():
        found = [value - times * b.runs[run] for run, value in a.runs.items()]
        return statistics.stdev(found) / math.sqrt(len(found))
    return math.hypot(a.se, times * b.se)


def _more(rule: dict, mean: Callable) -> tuple[str, str]:
    """In every pair the first side's mean exceeds the second's by more than `by` (0 if not said)."""
    margins = {words: (a - b - rule.get("by", 0.0), se) for a, b, se, words in _pairs(rule, mean)}
    return _worst(margins, strict=True)


def _no_less(rule: dict, mean: Callable) -> tuple[str, str]:
    """In every pair the first side's mean is not below the second's; below by more than 2 SE is certain.

    Without a standard error it is open.
    """
    margins = {words: (a - b, se) for a, b, se, words in _pairs(rule, mean)}
    return _worst(margins, strict=any(math.isinf(se) for _, se in margins.values()))


def _alike(rule: dict, mean: Callable) -> tuple[str, str]:
    """In every pair the two sides are equal, as far as the runs can tell, and the runs can tell something.

    They are alike where even a difference larger by 2 SE than the one found would be no more than 25 % of their
    mean, or than the share `within` that the rule names; they are not where the difference exceeds 2 SE and 5 % of
    their mean. In between nobody can tell: a tie, or open where there are too few runs for a standard error.
    """
    within = rule.get("within", UNLIKE)
    found = []
    for a, b, se, words in _pairs(rule, mean):
        size, apart = (abs(a) + abs(b)) / 2, abs(a - b)
        known = "holds" if apart + 2 * se <= within * size else "open" if math.isinf(se) else "tie"
        verdict = known if apart <= max(2 * se, ALIKE * size) else "fails"
        found.append((verdict, words))
    return min(found, key=lambda each: WORST_FIRST.index(each[0]))


def _t_test(rule: dict, mean: Callable) -> tuple[str, str]:
    """A paired t-test over conditions, first sides minus second; it is to find `p` below 0.05, or not to."""
    sides = [[mean(cell).mean for pair in rule["pairs"] for cell in expand(pair[side])] for side in (0, 1)]
    if sides[0] == sides[1]:
        return ("holds" if not rule["differs"] else "fails"), "the two sides are equal"
    t, p = stats.ttest_rel(*sides)
    found = f"t({len(sides[0]) - 1}) = {t:.2f}, p = {p:.2g}"
    return ("holds" if (p < 0.05 and t < 0) == rule["differs"] else "fails"), found


def _skewed(rule: dict, mean: Callable) -> tuple[str, str]:
    """In every cell the median over runs exceeds the mean, by more than it would were the runs normal.

    For normal values median and mean differ by chance with a variance that is the difference of their variances.
    """
    margins, said = {}, {}
    for cell in (cell for pattern in rule["cells"] for cell in expand(pattern)):
        middle, average = mean(cell, "median"), mean(cell, "")
        margins[cell] = (middle.mean - average.mean, math.sqrt(MEDIAN_SE**2 - 1) * average.se)
        said[cell] = f"weakest: {cell}, median {_number(middle.mean)}, mean {_number(average.mean)}"
    verdict, cell = _worst(margins, strict=True)
    return verdict, said[cell]


KINDS = {
    each.__name__[1:]: each
    for each in (_at_least, _at_most, _within, _more, _no_less, _alike, _t_test, _skewed)
}
