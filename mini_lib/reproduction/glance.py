"""The one table of a replication page: what the paper reports, our runs as dots next to it, and the verdict."""

import math
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from mini_lib.errors import check_names
from mini_lib.reproduction.claims import Judgement, level_mean
from mini_lib.reproduction.comparison import Comparison, counted
from mini_lib.reproduction.judgement import NOT_REPRODUCED, NOT_RUN, REPRODUCED, UNCLEAR

TEMPLATES = Path(__file__).with_name("templates")
# The words for a claim, at the paper's size and in small networks, which do not judge the paper.
HELD = {REPRODUCED: "holds", NOT_REPRODUCED: "does not hold", UNCLEAR: "undecided", NOT_RUN: NOT_RUN}
SEEN = HELD | {REPRODUCED: "seen", NOT_REPRODUCED: "not seen"}
# The words for a number that has no verdict yet, and for one of a network that may not be the authors'.
FEW = "fewer than three runs"
AGREES = {REPRODUCED: "agrees", NOT_REPRODUCED: "differs", UNCLEAR: UNCLEAR, NOT_RUN: FEW}
AT_CHANCE = 1.0  # points from chance within which a score counts as chance
WIDTH, HEIGHT, EDGE = 180, 42, 14  # of a strip of dots, and from where to where its axis goes
AXIS = 30  # the height of the axis; numbers are below
DOT, STACK = 6, 12  # how wide a dot is, and how high dots may be stacked


class Item(NamedTuple):
    """A line to be: a reported number next to ours, or a statement next to our runs."""

    name: str  #: of the network, or the statement.
    entry: str = ""  #: the id of the number.
    claim: str = ""  #: the id of the statement.
    #: One or two means that decide it: what each is, and its id. It is judged on the networks of the last.
    shown: Sequence[tuple[str, str]] = ()


class Group(NamedTuple):
    """Lines under a heading, which `chapter` shows, a notebook such as "esbn/1_tasks"."""

    heading: str
    chapter: str
    lines: Sequence[Item]


class Layout(NamedTuple):
    """How a paper's page is laid out, in `templates/PAPER.toml`."""

    groups: Sequence[Group]  #: the table.
    columns: Mapping[str, str]  #: of the fold: what a claim was judged on.
    chapters: Mapping[str, str]  #: the notebook about a table or figure, by the beginning of its name.
    agree: bool = False  #: whether numbers only agree, as what was trained may not be what the authors did.
    map: Mapping[str, str] = {}  #: what each table of the map is about; none where there is no map.
    chance: Mapping[str, float] = {}  #: the score of a guess, by task, where there is a choice of answers.


@cache
def layout(paper: str) -> Layout:
    """The layout of a paper's page."""
    read = tomllib.loads(TEMPLATES.joinpath(f"{paper}.toml").read_text(encoding="utf-8"))
    groups = [Group(**own | {"lines": [Item(**line) for line in own["lines"]]}) for own in read["group"]]
    return Layout(groups, **{name: read[name] for name in Layout._fields if name in read})


class Line(NamedTuple):
    """A line of the table, as HTML."""

    label: str
    paper: str
    ours: str
    strip: str
    verdict: str  #: one of `judgement.WORDS`, for its color.
    word: str
    detail: str = ""  #: next to the word.


def lines(
    group: Group,
    at: Mapping[str, Comparison],
    judged: Mapping[tuple[str, str], Judgement],
    words: Mapping[str, str],
) -> list[Line]:
    """The lines of a group: its numbers on one axis, each statement on its own; `words` name verdicts."""
    check_names("entry in a page's layout", [line.entry for line in group.lines if line.entry], at)
    own = [at[line.entry] for line in group.lines if line.entry]
    levels = [level for each in own for level in (*reported_interval(each), chance(each), *each.ours.values)]
    ends = _ends([level for level in levels if level is not None]) if own else (0.0, 0.0)
    return [
        _compared(line.name, at[line.entry], ends, words) if line.entry else _stated(line, at, judged)
        for line in group.lines
    ]


def reported_interval(each: Comparison) -> tuple[float, float]:
    """The interval of a reported mean, clipped to possible values."""
    mean, most = each.papers_mean, 100.0 if each.paper.unit == "%" else math.inf
    return max(mean.value - mean.half_width, 0.0), min(mean.value + mean.half_width, most)


def _ends(values: Sequence[float]) -> tuple[float, float]:
    """Round numbers that enclose these: 0 or near the least, and near the most. Infinity is beyond the end."""
    known = [value for value in values if math.isfinite(value)] or [0.0]
    if 0 < min(known) < max(known) / 2:
        known.append(0.0)
    spread = (max(known) - min(known)) or abs(known[0]) or 1.0
    power = 10.0 ** math.floor(math.log10(spread / 3))
    step = max(factor * power for factor in (1, 2, 5) if factor * power <= spread / 3)
    low, top = math.floor(min(known) / step) * step, math.ceil(max(known) / step) * step
    return round(low, 9), round(top if top > low else low + step, 9)


def _compared(name: str, each: Comparison, ends: tuple[float, float], words: Mapping[str, str]) -> Line:
    def cell(value: float | None, runs: int) -> str:
        number = "" if value is None else f"{value:.{1 if each.paper.unit == '%' else 3}f}"
        return f"{number}<small>{counted(runs, 'run') if runs else 'no run'}</small>"

    return Line(
        name,
        cell(each.paper.mean, each.paper.runs),
        cell(each.ours.mean, each.ours.n),
        strip_of(each, *ends),
        each.verdict,
        words[each.verdict],
        how_far(each),
    )


def strip_of(each: Comparison, low: float = 0.0, top: float = 100.0) -> str:
    """The runs of an entry as dots, under the reported mean, with chance where there is one."""
    guess = chance(each)
    return strip(
        top,
        [each.ours.values],
        (each.papers_mean.value, each.papers_mean.half_width),
        {guess: "chance"} if guess is not None and low <= guess <= top else {},
        low,
    )


def meanings(numbers: Sequence[Comparison], words: Mapping[str, str]) -> list[tuple[str, str]]:
    """What the verdicts on these numbers mean, under their words."""
    percent, verdicts = {each.paper.unit for each in numbers} == {"%"}, {each.verdict for each in numbers}
    little, wide = ("half a point", "8 points") if percent else ("5 %", "25 %")
    found = {
        NOT_REPRODUCED: f"it excludes 0, and the difference is over {little}",
        UNCLEAR: f"it includes 0 and is wider than ± {wide}",
        REPRODUCED: "all others with three runs",
    }
    return [(words[each], meaning) for each, meaning in found.items() if each in verdicts]


def chance(each: Comparison) -> float | None:
    """The score of a guess, in percent, where there is a choice of answers."""
    return layout(each.cell.paper).chance.get(each.cell.settings.get("task"))


def at_chance(each: Comparison) -> bool:
    """Whether both scores are at chance: then they show nothing of a network, however far apart they are."""
    guess, scores = chance(each), (each.paper.mean, each.ours.mean)
    return None not in (guess, *scores) and all(abs(score - guess) <= AT_CHANCE for score in scores)


def how_far(each: Comparison) -> str:
    """How far apart the numbers are, with half of the 95 % interval where that decides."""
    difference = each.difference
    if difference is None:
        return ""
    percent = each.paper.unit == "%"
    share = 1 if percent else 100 / each.paper.mean
    far, wide = abs(difference.value) * share, difference.half_width * share
    close = percent and abs(far - wide) < 1  # the decimals decide
    digits = 2 if close and f"{far:.1f}" == f"{wide:.1f}" else 1
    equal, places = far < (0.05 if percent else 0.5), digits if percent and far < 9.95 else digits * close
    number = "equal" if equal else f"{far:.{places}f}".removesuffix(".0")
    known = f"{wide:.{digits}f}" if wide < 1.95 or close else f"{wide:.0f}"
    if each.verdict != REPRODUCED and not at_chance(each):
        number += f" ± {known}" if percent or wide <= 100 else " % ± more than 100"
    apart = f"{number} point{'s' * (number != '1')}" if percent else f"{number} %"
    if at_chance(each):
        return "both at chance" if equal else f"both at chance, {apart} apart"
    if equal:
        return number if number == "equal" else apart
    return f"{apart} {'higher' if difference.value > 0 else 'lower'}"


def claimed(judgement: Judgement) -> tuple[str, str]:
    """The word for a claim, and what has to be next to it."""
    if judgement.untestable:
        return "cannot be tested", judgement.claim.otherwise
    word = (HELD if judgement.scale.startswith("paper") else SEEN)[judgement.verdict]
    return word, "a control fails" * ("our control" in judgement.detail)


def _stated(line: Item, at: Mapping[str, Comparison], judged: Mapping[tuple[str, str], Judgement]) -> Line:
    own = [at[entry] for _, entry in line.shown]
    judgement = judged[line.claim, own[-1].cell.variant or "paper"]
    rule = judgement.claim.rule
    limit = rule.get("at_least")  # a level that the claim asks for
    means = [each.mean() if "metric" not in rule else level_mean(each, rule["metric"]) for each in own]
    runs = [list(mean.runs.values()) for mean in means]
    signs = ("● ", "○ ") if len(runs) > 1 else ("",)
    values = ", ".join(
        sign + (name if "{}" in name else f"{name} {{}}").format(_number(mean.value))
        for sign, (name, _), mean in zip(signs, line.shown, means, strict=True)
    )
    needed = "" if limit is None else f"over {limit:,}" if limit > 100 else f" (needed: {limit:g})"
    word, detail = claimed(judgement)
    if word == SEEN[UNCLEAR]:
        better = [value < means[0].value if limit is None else value >= limit for value in runs[-1]]
        detail = f"{sum(better)} of {len(better)} {'are lower' if limit is None else 'reach it'}"
    low, top = _ends([value for own in runs for value in own] + [limit or 0] * (len(runs) == 1))
    return Line(
        line.name,
        needed,
        f"{values}{needed * ('(' in needed)}<small>{' and '.join(map(str, map(len, runs)))} runs</small>",
        strip(top, runs, None, {limit: "needed"} if limit else {}, low),
        judgement.verdict,
        word,
        detail,
    )


def _stacked(across: Sequence[float], room: float) -> list[float]:
    """How high dots have to be, of these ordered places, so that they can be told apart."""
    last: list[float] = []  # the last dot of each level
    levels = []
    for each in across:
        level = next((i for i, before in enumerate(last) if each - before >= DOT), len(last))
        last[level : level + 1] = [each]
        levels.append(level)
    step = min(DOT, room / (len(last) - 1)) if len(last) > 1 else 0.0
    return [level * step for level in levels]


def _number(value: float) -> str:
    return (f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}").replace("-", "−")


def strip(
    top: float,
    runs: Sequence[Sequence[float]],
    reported: tuple[float, float] | None = None,
    marks: Mapping[float, str] | None = None,
    low: float = 0.0,
    ticks: Iterable[float] = (),
) -> str:
    """Runs as dots on an axis from `low` to `top`, under a mean and half its interval, as SVG.

    Runs that coincide are stacked. Of two sets of runs the second are rings, a line lower. `marks` are levels,
    dotted. Both ends of the axis have their numbers, and so have `ticks`. An interval ends with the axis.
    """

    def place(value: float) -> float:
        return min(max(EDGE + (WIDTH - 2 * EDGE) * (value - low) / (top - low), EDGE), WIDTH - EDGE)

    def at(value: float) -> str:
        return f"{place(value):.1f}"

    parts = [f'<path class="axis" d="M{EDGE} {AXIS}H{WIDTH - EDGE}"/>']
    parts += [
        f'<text x="{at(value)}" y="{HEIGHT - 1}">{_number(value)}</text>' for value in (low, *ticks, top)
    ]
    parts += [
        f'<path class="level" d="M{at(level)} 1V{AXIS}"><title>{name}</title></path>'
        for level, name in (marks or {}).items()
    ]
    if reported:
        mean, half = reported
        parts += [
            f'<path class="reported" d="M{at(mean - half)} 7H{at(mean + half)}"/>',
            f'<path class="reported mean" d="M{at(mean)} 3l4 4l-4 4l-4 -4z"/>',
        ]
    for line, own in enumerate(runs):
        bottom, room = (14 + 12 * line, 8) if len(runs) > 1 else (AXIS - 4, STACK)
        parts += [
            f'<circle class="run{" ring" * line}" cx="{at(value)}" cy="{bottom - up:.1f}" r="{DOT // 2}">'
            f"<title>{_number(value)}</title></circle>"
            for value, up in zip(sorted(own), _stacked([*map(place, sorted(own))], room), strict=True)
        ]
    label = f"{counted(sum(map(len, runs)), 'run')} as dots" if any(runs) else "no run"
    return f'<svg class="dots" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">{"".join(parts)}</svg>'
