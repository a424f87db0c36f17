"""The one table of a replication page: what the paper reports, our runs as dots beside it, and what that makes."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mini_lib.reproduction.claims import Judgement
from mini_lib.reproduction.comparison import Comparison, counted
from mini_lib.reproduction.judgement import NOT_REPRODUCED, NOT_RUN, REPRODUCED, UNCLEAR

# The words for a claim, at the paper's size and in small networks, which do not judge the paper.
HELD = {REPRODUCED: "holds", NOT_REPRODUCED: "does not hold", UNCLEAR: "undecided", NOT_RUN: NOT_RUN}
SEEN = HELD | {REPRODUCED: "seen", NOT_REPRODUCED: "not seen"}
# The words for a number of a network that may not be the authors'.
AGREES = {REPRODUCED: "agrees", NOT_REPRODUCED: "differs", UNCLEAR: UNCLEAR, NOT_RUN: NOT_RUN}
AT_CHANCE = 1.0  # points from chance within which a score counts as chance
WIDTH, HEIGHT = 160, 30  # of a strip of dots


class Reported(NamedTuple):
    """Lines of a table that compare reported numbers with ours, under a heading."""

    heading: str
    entries: tuple[tuple[str, str], ...]  #: what each is in words, and its id.
    chance: float | None = None  #: the score of a guess.


class Stated(NamedTuple):
    """A line of a table that sets a statement of a paper next to small networks."""

    words: str  #: the statement.
    claim: str  #: its id.
    #: One or two means that decide it: what each is, and its id. It is judged on the networks of the last.
    shown: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Line:
    """A line of the table, as HTML."""

    label: str
    paper: str
    ours: str
    strip: str
    verdict: str  #: one of `judgement.WORDS`, for its color.
    word: str
    said: str = ""  #: what stands beside the word.


ESBN = (
    Reported(
        "Same/different, trained on 2 of 100 pictures",
        (
            ("ESBN + TCN", "esbn.table9/ESBN + TCN/m=98"),
            ("ESBN", "esbn.table9/ESBN/m=98"),
            ("ESBN + TCN without confidence", "esbn.table19/Same/different/m=98"),
            ("best rival in the paper: Transformer + TCN", "esbn.table9/Transformer + TCN/m=98"),
        ),
        50.0,
    ),
    Reported(
        "Relational match-to-sample, trained on 5 pictures",
        (
            ("ESBN + TCN", "esbn.table10/ESBN + TCN/m=95"),
            ("ESBN", "esbn.table10/ESBN/m=95"),
            ("best rival in the paper: NTM + TCN", "esbn.table10/NTM + TCN/m=95"),
            ("Transformer + TCN", "esbn.table10/Transformer + TCN/m=95"),
            ("Relation Net (RN) + TCN", "esbn.table10/RN + TCN/m=95"),
        ),
        50.0,
    ),
    Reported(
        "Distribution of three, trained on 5 pictures",
        (
            ("ESBN + TCN", "esbn.table11/ESBN + TCN/m=95"),
            ("ESBN", "esbn.table11/ESBN/m=95"),
            ("ESBN + TCN, encoder not trained", "esbn.table17/ESBN (rand)/m=95"),
            ("best rival in the paper: LSTM + TCN", "esbn.table11/LSTM + TCN/m=95"),
        ),
        25.0,
    ),
    Reported(
        "Identity rules, trained on 5 pictures",
        (
            ("ESBN + TCN", "esbn.table12/ESBN + TCN/m=95"),
            ("ESBN", "esbn.table12/ESBN/m=95"),
            ("best rival in the paper: Transformer + TCN", "esbn.table12/Transformer + TCN/m=95"),
            ("PrediNet + TCN", "esbn.table12/PrediNet + TCN/m=95"),
        ),
        25.0,
    ),
)
SCAN = (
    Reported(
        "Commands with <em>jump</em> right, in %",
        (
            ("Syntactic Attention", "scan.table1/Syntactic Attention/Add jump"),
            (
                "sequential semantics: meanings may depend on earlier words",
                "scan.table2/Sequential semantics/Add jump",
            ),
            (
                "syntax-action: actions may also depend on the syntax stream",
                "scan.table2/Syntax-action/Add jump",
            ),
        ),
    ),
)
NETWORKS = {
    "1d transformer": "plain",
    "relational transformer": "relational",
    "1d transformer, learned window": "plain, with the window",
}
FUNCTIONS = tuple(
    Reported(
        f"{heading}, squared error",
        tuple((name, f"functions.table1/{row}/{column}") for row, name in NETWORKS.items()),
    )
    for heading, column in (
        ("All curves", "all"),
        ("Lines", "lin"),
        ("Sinusoids", "sine"),
        ("RBF curves", "rbf"),
    )
)


KANERVA = (
    (
        "Speed",
        Stated(
            "From 500 columns, two machines are faster than one.",
            "kanerva.fig1d.2",
            (("one takes {} times as long", "kanerva.fig1d/loop/T(1)/T(2), m=500/tutorial"),),
        ),
        Stated(
            "A formula for the time, fitted at 400 columns, also holds at 100.",
            "kanerva.fig1d.4",
            (("explains {} of the variance of the times", "kanerva.fig1d/loop/R^2, m=100/tutorial"),),
        ),
    ),
    (
        "Errors of what is retrieved (loss: lower is better)",
        Stated(
            "Single digits: fifteen machines are as good as one.",
            "kanerva.fig1e.1",
            (
                ("one", "kanerva.fig1e/k = 1/loss/tutorial"),
                ("fifteen", "kanerva.fig1e/k = 15/loss/tutorial"),
            ),
        ),
        Stated(
            "Three digits: two machines of 30 columns beat one of 60.",
            "kanerva.fig2c.1",
            (
                ("one", "kanerva.fig2c/k = 1/loss/tutorial"),
                ("two", "kanerva.fig2c/k = 2/loss/tutorial"),
            ),
        ),
        Stated(
            "Three digits, our smaller task: two machines beat one.",
            "kanerva.fig2c.1",
            (
                ("one", "kanerva.fig2c/k = 1/loss/tutorial, small"),
                ("two", "kanerva.fig2c/k = 2/loss/tutorial, small"),
            ),
        ),
        Stated(
            "Three digits, with our balance term: two machines of 30 columns beat one of 60.",
            "kanerva.fig2c.1",
            (
                ("one", "kanerva.fig2c/k = 1/loss/tutorial"),
                ("two", "kanerva.fig2c/k = 2/loss/tutorial, balanced at first"),
            ),
        ),
        Stated(
            "Sprites: four machines of 5 columns beat one of 20.",
            "kanerva.fig3c.1",
            (
                ("one", "kanerva.fig3c/k = 1, 20 columns each/loss/tutorial"),
                ("four", "kanerva.fig3c/k = 4, 5 columns each/loss/tutorial"),
            ),
        ),
        Stated(
            "Our control: four of 5 also beat a single one of 5.",
            "kanerva.fig3c.3",
            (
                ("one", "kanerva.fig3c/k = 1, 5 columns each/loss/tutorial"),
                ("four", "kanerva.fig3c/k = 4, 5 columns each/loss/tutorial"),
            ),
        ),
        Stated(
            "A mixture gets worse with more machines.",
            "kanerva.fig4d.1",
            (
                ("two", "kanerva.fig4d/k = 2/loss/tutorial"),
                ("three", "kanerva.fig4d/k = 3/loss/tutorial"),
            ),
        ),
    ),
    (
        "Who stores what",
        Stated(
            "Three digits: one of two machines takes nearly all of an item.",
            "kanerva.fig2a.1",
            (("larger share, reading: {}", "kanerva.fig2a/k = 2/largest gamma, reading/tutorial"),),
        ),
        Stated(
            "Our smaller task: one of two takes nearly all of an item.",
            "kanerva.fig2a.1",
            (("larger share, reading: {}", "kanerva.fig2a/k = 2/largest gamma, reading/tutorial, small"),),
        ),
        Stated(
            "Three digits, with our balance term: one of two takes nearly all of an item.",
            "kanerva.fig2a.1",
            (
                (
                    "larger share, reading: {}",
                    "kanerva.fig2a/k = 2/largest gamma, reading/tutorial, balanced at first",
                ),
            ),
        ),
        Stated(
            "Sprites: the picture of one machine shows one sprite of two, more clearly than a single machine does.",
            "kanerva.fig3b.1",
            (
                ("one", "kanerva.fig3b/k = 1/contrast/tutorial"),
                ("four", "kanerva.fig3b/k = 4/contrast/tutorial"),
            ),
        ),
    ),
)


# ------------------------------------------------------------------------------------------------ lines


def compared(
    groups: Iterable[Reported], at: Mapping[str, Comparison], words: Mapping[str, str]
) -> list[tuple[str, list[Line]]]:
    """The lines of each group, on one axis: percent from 0 to 100, errors from 0 to the largest of the group.

    `words` names the verdicts.
    """
    found = []
    for group in groups:
        own = [(name, at[entry]) for name, entry in group.entries]
        top = 100.0
        if own[0][1].paper.unit != "%":
            top = max(
                max(each.papers_mean.value + each.papers_mean.half_width, *each.ours.values)
                for _, each in own
            )
        axis = "" if top == 100.0 else f" (axis from 0 to {top:.2g})"
        lines = [_compared(name, each, group.chance, top, words) for name, each in own]
        found.append((group.heading + axis, lines))
    return found


def _compared(
    name: str, each: Comparison, chance: float | None, top: float, words: Mapping[str, str]
) -> Line:
    mean = each.papers_mean
    decimals = 1 if each.paper.unit == "%" else 2

    def cell(value: float | None, runs: int) -> str:
        number = "" if value is None else f"{value:.{decimals}f}"
        return f"{number}<small>{counted(runs, 'run') if runs else 'no run'}</small>"

    return Line(
        name,
        cell(each.paper.mean, each.paper.runs),
        cell(each.ours.mean, each.ours.n),
        strip(
            top,
            [each.ours.values],
            (mean.value, mean.half_width),
            {chance: "chance"} if chance is not None else {},
        ),
        each.verdict,
        words[each.verdict],
        beside(each, chance),
    )


def at_chance(each: Comparison, chance: float | None) -> bool:
    """Whether both scores are at chance: then they say nothing of a network, however far apart they are."""
    scores = (each.paper.mean, each.ours.mean)
    return chance is not None and all(
        score is not None and abs(score - chance) <= AT_CHANCE for score in scores
    )


def beside(each: Comparison, chance: float | None = None) -> str:
    """What stands beside the word: how far apart the numbers are, and half the interval where that decides."""
    difference = each.difference
    if difference is None:
        return ""
    if at_chance(each, chance):
        return (
            f"both at chance{f', {_points(difference.value)} apart' if abs(difference.value) >= 0.05 else ''}"
        )
    apart = _apart(difference.value, each)
    if each.verdict == REPRODUCED:
        return apart
    wide = difference.half_width if each.paper.unit == "%" else 100 * difference.half_width / each.paper.mean
    close = each.paper.unit == "%" and 9.95 <= abs(difference.value) and abs(abs(difference.value) - wide) < 1
    if close:  # the decimals decide
        apart = apart.replace(_points(difference.value), f"{abs(difference.value):.1f} points")
    known = f"{wide:.1f}" if wide < 1.95 or close else f"{wide:.0f}"
    return f"{apart}, give or take {known}{'' if each.paper.unit == '%' else ' %'}"


def _points(value: float) -> str:
    number = f"{abs(value):.1f}".removesuffix(".0") if abs(value) < 9.95 else f"{abs(value):.0f}"
    return f"{number} point{'s' * (number != '1')}"


def _apart(difference: float, each: Comparison) -> str:
    way = "higher" if difference > 0 else "lower"
    if each.paper.unit == "%":
        return f"{_points(difference)} {way}" if abs(difference) >= 0.05 else "equal"
    share = 100 * abs(difference) / each.paper.mean
    return f"{share:.0f} % {way}" if share >= 0.5 else "equal"


def stated(
    groups: Iterable[tuple], at: Mapping[str, Comparison], judged: Mapping[tuple[str, str], Judgement]
) -> list[tuple[str, list[Line]]]:
    """The lines of statements without numbers, each on an axis of its own."""
    return [(heading, [_stated(each, at, judged) for each in lines]) for heading, *lines in groups]


def _stated(line: Stated, at: Mapping[str, Comparison], judged: Mapping[tuple[str, str], Judgement]) -> Line:
    own = [at[entry] for _, entry in line.shown]
    runs = [each.ours.values for each in own]
    judgement = judged[line.claim, own[-1].cell.variant]
    limit = judgement.claim.rule.get("at_least")  # a level that the claim asks for
    signs = ("●", "○") if len(runs) > 1 else ("●",)
    means = ", ".join(
        f"{sign} {(name if '{}' in name else name + ' {}').format(f'{each.ours.mean:.3g}')}"
        for sign, (name, _), each in zip(signs, line.shown, own, strict=True)
    )
    top = 1.08 * max(map(max, runs)) if limit is None or limit > 1 else 1.0
    marks = {} if limit is None else {limit: "needed"}
    asked = f" (needed: {limit:g})" if limit is not None else ""
    return Line(
        line.words,
        "",
        f"{means}{asked}<small>{' and '.join(str(each.ours.n) for each in own)} runs</small>",
        strip(top, runs, None, marks),
        judgement.verdict,
        SEEN[judgement.verdict],
    )


# ------------------------------------------------------------------------------------------------ dots


def strip(
    top: float,
    runs: Sequence[Sequence[float]],
    reported: tuple[float, float] | None = None,
    marks: Mapping[float, str] | None = None,
    low: float = 0.0,
) -> str:
    """Runs as dots on an axis from `low` to `top`, under the reported mean and its interval, as SVG.

    Of two sets of runs the second are rings, a line lower. `marks` are levels, dotted.
    """

    def at(value: float) -> str:
        return f"{5 + (WIDTH - 10) * (min(max(value, low), top) - low) / (top - low):.1f}"

    parts = [f'<path class="axis" d="M5 {HEIGHT - 1}H{WIDTH - 5}"/>']
    parts += [
        f'<path class="level" d="M{at(level)} 1V{HEIGHT - 1}"><title>{name}</title></path>'
        for level, name in (marks or {}).items()
    ]
    if reported:
        mean, half = reported
        parts += [
            f'<path class="reported" d="M{at(mean - half)} 7H{at(mean + half)}"/>',
            f'<path class="reported mean" d="M{at(mean)} 3l4 4l-4 4l-4 -4z"/>',
        ]
    for place, own in enumerate(runs):
        base = 19 if reported or len(runs) == 1 else 9 + 12 * place
        parts += [
            f'<circle class="run{" ring" * place}" cx="{at(value)}" cy="{base + 3 * (number % 3 - 1)}" r="3"/>'
            for number, value in enumerate(sorted(own))
            if math.isfinite(value)
        ]
    told = f"{sum(map(len, runs))} runs as dots" if any(runs) else "no run"
    return f'<svg class="dots" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{told}">{"".join(parts)}</svg>'
