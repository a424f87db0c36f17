"""The top of the page "paper against ours": a square for every printed number, our numbers over theirs, few lines.

All of it is plain HTML and SVG without blank lines, so that Markdown passes it on. Its colours stand in the book's
style sheet, book/_static/style.css.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable
from html import escape
from itertools import groupby

from mini_lib.reproduction import ledger
from mini_lib.reproduction.cells import Cell
from mini_lib.reproduction.claims import SCALES, Claim, Judgement, judge_all
from mini_lib.reproduction.comparison import (
    TOO_FEW,
    TUTORIAL,
    Comparison,
    scale_of_variant,
    table_name,
    table_order,
)

# What stands in a square beside its colour; where runs are too few, their number does.
SIGNS = {"match": "=", "close": "≈", "differs": "≠", "inconclusive": "?", TOO_FEW: "1", "not run": ""}
SCALE_WORDS = {"paper": "at the paper's scale", TUTORIAL: "at the small scale"}
SAVING = {
    "reading": "under another reading",
    "addition": "with an addition of ours",
    "task": "on a smaller and easier task",
}  # kinds of variants that may save a claim
WIDTH, HEIGHT = 340, 320  # of a drawing
LEFT, BOTTOM, EDGE = 52, 44, 12  # the room around its frame
Places = tuple[list[str], list[str], dict[tuple[str, str], Comparison]]


def at_a_glance(papers: Iterable[tuple[str, list[Comparison]]]) -> list[str]:
    """The parts of the page, as MyST, for each paper's (title, comparisons)."""
    papers = [(title, sorted(own, key=lambda each: table_order(each.cell.table))) for title, own in papers]
    every = [each for _, own in papers for each in own if each.is_printed]
    grids = [f"{_paper(title)}\n{squares(own)}" for title, own in papers]
    drawings = "\n".join(scatter(unit, every) for unit in dict.fromkeys(each.paper.unit for each in every))
    lines = [
        f"{_paper(title)}\n\n" + "\n".join(f"- {line}" for line in what_became(own)) for title, own in papers
    ]
    return [
        "## At a glance",
        "A square is a number that a paper prints, in the rows and columns of its table. Colour and sign say how "
        "ours compares; the words are told "
        '<a href="#how-to-read-an-entry">below</a>. A square leads to its entry.',
        "\n".join([legend(), *grids]),
        "Our numbers over the papers', a point for each cell that has a run. On the line they are equal. Bars are "
        "the errors that the entries show. Filled: three runs or more. Hollow: fewer, which decide nothing.",
        f'<div class="glance-drawings">\n{drawings}\n</div>',
        "What that makes of each paper:",
        *lines,
    ]


def _paper(title: str) -> str:
    return f'<p class="glance-paper"><strong>{escape(title)}</strong></p>'


def anchor(cell: Cell, kind: str = "cell") -> str:
    """The name of a place on the page: of a cell's entry, or with "runs" of what is known about its runs."""
    return f"{kind}-{re.sub(r'[^A-Za-z0-9]+', '-', cell.id).strip('-')}"


def table_anchor(table: str) -> str:
    """The name of a table's place on the page."""
    return table.replace(".", "-")


def claim_anchor(claim: Claim) -> str:
    """The name of a claim's place on the page."""
    return f"claim-{claim.id.replace('.', '-')}"


def places(comparisons: Iterable[Comparison]) -> Places:
    """Rows and columns in the order of the table, and what stands where they meet."""
    at = {(each.cell.row, each.cell.column): each for each in comparisons}
    return list(dict.fromkeys(row for row, _ in at)), list(dict.fromkeys(column for _, column in at)), at


# ----------------------------------------------------------------------------------------- squares


def legend() -> str:
    """The words for the colours."""
    items = (
        f'<li><span class="square {_mark(verdict)}" aria-hidden="true">{sign}</span> {verdict}</li>'
        for verdict, sign in SIGNS.items()
    )
    return f'<ul class="glance-legend">{"".join(items)}</ul>'


def squares(comparisons: Iterable[Comparison]) -> str:
    """A paper's tables as squares, those that follow one another with the same rows side by side.

    A sentence if the paper prints no numbers.
    """
    printed = [each for each in comparisons if each.is_printed]
    if not printed:
        return "<p>This paper prints no numbers in its figures. Its claims are what is judged.</p>"
    tables = [(table, places(own)) for table, own in groupby(printed, lambda each: each.cell.table)]
    beside = (_squares(list(group)) for _, group in groupby(tables, lambda table: table[1][0]))
    return '<div class="glance-tables">\n' + "\n".join(beside) + "\n</div>"


def _squares(tables: list[tuple[str, Places]]) -> str:
    names, heads = "", ""
    lines = [f'<th scope="row">{escape(row)}</th>' for row in tables[0][1][0]]
    for table, (rows, columns, at) in tables:
        link = f'<a href="#{table_anchor(table)}">{table_name(table)}</a>'
        names += f'<th scope="colgroup" colspan="{len(columns)}">{link}</th>'
        for column in columns:
            first = ' class="first"' * (column == columns[0])
            heads += f'<th scope="col"{first}><span>{escape(column)}</span></th>'
            for number, row in enumerate(rows):
                lines[number] += f"<td{first}>{_square(at.get((row, column)))}</td>"
    lines = [f"<td></td>{names}", f"<td></td>{heads}", *lines]
    body = "\n".join(f"<tr>{line}</tr>" for line in lines)
    return f'<div class="glance-table">\n<table class="glance">\n{body}\n</table>\n</div>'


def _square(each: Comparison | None) -> str:
    if each is None:
        return ""
    words = escape(in_words(each))
    sign = str(each.ours.n) if each.verdict == TOO_FEW else SIGNS[each.verdict]
    link = f'href="#{anchor(each.cell)}" title="{words}" aria-label="{words}"'
    return f'<a class="square {_mark(each.verdict)}" {link}>{sign}</a>'


def _mark(verdict: str) -> str:
    """The class that colours it."""
    return f"mark-{verdict.replace(' ', '-')}"


def in_words(each: Comparison) -> str:
    """A cell, the paper's number, ours, and the verdict: what a pointer, or a screen reader, is told."""
    ours = f", ours {each.ours.with_runs}" if each.ours.n else ""
    where = f"{table_name(each.cell.table)}, {each.cell.row}, {each.cell.column}"
    return f"{where}: paper {each.paper} ({each.paper.unit}){ours}, {each.label}"


# ----------------------------------------------------------------------------------------- the drawing


def scatter(unit: str, comparisons: Iterable[Comparison]) -> str:
    """Our means over the paper's numbers of one unit, with error bars; a sentence where nothing has run.

    Axes are even for "%", and logarithmic for other units. A cell without a mean, since all its runs diverged, has
    no point.
    """
    own = [each for each in comparisons if each.paper.unit == unit and each.ours.mean is not None]
    if not own:
        return f"<p>No printed {unit} has a run yet.</p>"
    across, ticks = _axis(unit, [number for each in own for number in (each.paper.mean, each.ours.mean)])
    right, top = WIDTH - EDGE - LEFT, HEIGHT - EDGE - BOTTOM

    def x(value: float) -> str:
        return f"{LEFT + right * across(value):.1f}"

    def y(value: float) -> str:
        return f"{EDGE + top * (1 - across(value)):.1f}"

    parts = [f'<rect class="frame" x="{LEFT}" y="{EDGE}" width="{right}" height="{top}"/>']
    parts.append(f'<path class="equal" d="M{LEFT} {EDGE + top}L{LEFT + right} {EDGE}"/>')
    for tick in ticks:
        parts.append(f'<text x="{x(tick)}" y="{EDGE + top + 16}" text-anchor="middle">{tick:g}</text>')
        parts.append(f'<text x="{LEFT - 6}" y="{y(tick)}" dy="4" text-anchor="end">{tick:g}</text>')
    parts.append(
        f'<text x="{LEFT + right / 2}" y="{HEIGHT - 6}" text-anchor="middle">the paper\'s {unit}</text>'
    )
    parts.append(
        f'<text transform="translate(12 {EDGE + top / 2}) rotate(-90)" text-anchor="middle">ours</text>'
    )
    parts += [_point(each, x, y) for each in sorted(own, key=lambda each: each.ours.sem is not None)]
    label = f"Our {unit} over the papers', {len(own)} cells"
    drawing = f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="group" aria-label="{escape(label)}">'
    return f'<figure class="glance-drawing">\n{drawing}\n' + "\n".join(parts) + "\n</svg>\n</figure>"


def _axis(unit: str, values: list[float]) -> tuple[Callable[[float], float], list[float]]:
    """Where a value lies on an axis, from 0 at its beginning to 1 at its end, and the values to print beside it."""
    if unit == "%":
        return lambda value: min(max(value / 100, 0.0), 1.0), [0.0, 25.0, 50.0, 75.0, 100.0]
    exponents = [math.log10(value) for value in values if value > 0] or [0.0]
    low = math.floor(min(exponents))
    high = max(math.ceil(max(exponents)), low + 1)

    def share(value: float) -> float:
        exponent = math.log10(value) if value > 0 else low
        return min(max((exponent - low) / (high - low), 0.0), 1.0)

    return share, [10.0**exponent for exponent in range(low, high + 1)]


def _point(each: Comparison, x: Callable[[float], str], y: Callable[[float], str]) -> str:
    """A cell's point, which leads to its entry, with the paper's error across and ours upright."""
    paper, ours = each.paper, each.ours
    middle = x(paper.mean), y(ours.mean)
    bars = ""
    if paper.err:
        bars += f"M{x(paper.mean - paper.err)} {middle[1]}H{x(paper.mean + paper.err)}"
    if ours.spread:
        bars += f"M{middle[0]} {y(ours.mean - ours.spread)}V{y(ours.mean + ours.spread)}"
    path = f'<path class="bars" d="{bars}"/>' if bars else ""
    words = f"<title>{escape(in_words(each))}</title>"
    point = f'<circle cx="{middle[0]}" cy="{middle[1]}" r="4"/>'
    return f'<a class="{_mark(each.verdict)}" href="#{anchor(each.cell)}">{words}{path}{point}</a>'


# ----------------------------------------------------------------------------------------- lines in words


def what_became(comparisons: Iterable[Comparison]) -> list[str]:
    """What is reproduced of a paper, what is contradicted, and what is undecided or untested, by cells and claims.

    Small networks reproduce nothing and contradict nothing: which way their runs go is told in lines of their own,
    if some claim holds or fails there. So are claims of ours, which the paper does not make, if there are any.
    """
    comparisons = list(comparisons)
    count = Counter(each.verdict for each in comparisons if each.is_printed)
    judged = judge_all(comparisons)
    judgements = [each for each in judged if not each.claim.ours]
    ours = [each for each in judged if each.claim.ours]
    reproduced = _named(judgements, "holds", "Claims that hold", ["paper"])
    reproduced = reproduced or ["No claim holds at the paper's scale so far."]
    reproduced += _undercut(judged, "paper") + _narrow(judgements, "holds", "paper")
    contradicted = _named(judgements, "fails", "Claims that fail", ["paper"])
    contradicted = contradicted or ["No claim fails at the paper's scale so far."]
    contradicted += _saved(judgements, "paper") + _narrow(judgements, "fails", "paper")
    small = [_which(judgements, verdict, TUTORIAL, " claims") for verdict in ("holds", "fails")]
    claimed, other = ([f"{which}."] if which else [] for which in small)
    claimed += _undercut(judged, TUTORIAL) + _narrow(judgements, "holds", TUTORIAL)
    other += _saved(judgements, TUTORIAL) + _narrow(judgements, "fails", TUTORIAL)
    untested = _named(judgements, "tie", "Claims that end in a tie")
    untested += _named(judgements, "open", "Claims that are open, as runs diverged,")
    untested += _lacking(judgements)
    if printed := count.total():
        few = f", {count[TOO_FEW]} have one or two" if count[TOO_FEW] else ""
        reproduced.insert(
            0, f"{count['match']} of {printed} printed numbers match, {count['close']} are close."
        )
        contradicted.insert(0, f"{count['differs']} of {printed} printed numbers differ.")
        untested.insert(0, f"{count['not run']} of {printed} printed numbers have no run{few}.")
        if unclear := count["inconclusive"]:
            untested.insert(
                1, f"{unclear} are inconclusive: the runs, ours or the paper's, differ too much to tell."
            )
    lines = {"Reproduced": reproduced, "Contradicted": contradicted}
    ways = {"Goes the claimed way in small runs": claimed, "Goes another way in small runs": other}
    lines |= {words: sentences for words, sentences in ways.items() if sentences}
    lines["Undecided or untested"] = untested or ["Nothing."]
    if ours:
        words = {"holds": "Hold", "fails": "Fail", "tie": "End in a tie", "open": "Open, as runs diverged,"}
        sentences = [sentence for each in words.items() for sentence in _named(ours, *each)]
        narrow = [sentence for scale in SCALES for word in words for sentence in _narrow(ours, word, scale)]
        lines["Claims of ours"] = sentences + narrow + _lacking(ours)
    return [f"**{word}.** {' '.join(sentences)}" for word, sentences in lines.items()]


def _named(
    judgements: list[Judgement], verdict: str, words: str, scales: Iterable[str] = SCALES
) -> list[str]:
    """A sentence a scale that counts and names the claims of this verdict."""
    found = {scale: _which(judgements, verdict, scale) for scale in scales}
    return [f"{words} {SCALE_WORDS[scale]}: {which}." for scale, which in found.items() if which]


def _which(judgements: list[Judgement], verdict: str, scale: str, what: str = "") -> str:
    """The claims of this verdict at a scale, "2 of 5 (C1, C4)"; nothing if there are none."""
    own = [each for each in judgements if each.scale == scale]
    found = [each.claim for each in own if each.verdict == verdict]
    return f"{len(found)} of {len(own)}{what} ({', '.join(map(_claim_link, found))})" if found else ""


def _lacking(judgements: list[Judgement]) -> list[str]:
    """A sentence a scale on the claims without a verdict that have some runs, and one on those that have none."""
    sentences = []
    for scale in SCALES:
        count = Counter(each.verdict for each in judgements if each.scale == scale)
        some = {"that lack some of their runs": (TOO_FEW, "incomplete"), "without a run": ("not run",)}
        for words, verdicts in some.items():
            if number := sum(count[verdict] for verdict in verdicts):
                sentences.append(f"Claims {words} {SCALE_WORDS[scale]}: {number} of {count.total()}.")
    return sentences


def _saved(judgements: list[Judgement], scale: str) -> list[str]:
    """A sentence for each other reading, addition or easier task under which claims hold that fail at this scale.

    What holds in a control says nothing of a claim that fails.
    """
    fails = {each.claim for each in judgements if each.verdict == "fails" and each.scale == scale}
    saved: dict[tuple[str, str], dict[Claim, None]] = {}
    for each in judgements:
        beside = each.scale not in SCALES and scale_of_variant(each.scale) == scale
        if beside and each.verdict == "holds" and each.claim in fails:
            name = each.scale.removeprefix(f"{scale}, ")
            kind = ledger.kind_of(each.claim.paper, name)
            if kind in SAVING:
                saved.setdefault((kind, name), {})[each.claim] = None
    held = "hold" if scale == "paper" else "go the claimed way"
    return [
        f"Of these {held} {SAVING[kind]} (*{name}*): {', '.join(map(_claim_link, saved[kind, name]))}."
        for kind, name in sorted(saved, key=lambda each: list(SAVING).index(each[0]))
    ]


def _narrow(judgements: list[Judgement], verdict: str, scale: str) -> list[str]:
    """A sentence that names the claims of this verdict at a scale that Student's t would leave undecided."""
    own = (each for each in judgements if each.verdict == verdict and each.scale == scale)
    found = [_claim_link(each.claim) for each in own if each.narrow]
    words = "hold" if verdict == "holds" else "fail"
    return [f"By Student's t undecided, of those that {words}: {', '.join(found)}."] if found else []


def _undercut(judgements: list[Judgement], scale: str) -> list[str]:
    """A sentence that names the paper's claims that hold where a claim of ours on one of their tables fails.

    Such a claim may hold for another reason than the paper's.
    """
    own = [each for each in judgements if each.scale == scale]
    failing = {
        table for each in own if each.claim.ours and each.verdict == "fails" for table in each.claim.tables()
    }
    found = [
        each.claim
        for each in own
        if not each.claim.ours and each.verdict == "holds" and failing & each.claim.tables()
    ]
    if not found:
        return []
    named = ", ".join(map(_claim_link, found))
    return [
        f"Of these may hold for another reason, as a control of ours on the same figure or table fails: {named}."
    ]


def _claim_link(claim: Claim) -> str:
    short = claim.id.removeprefix(f"{claim.paper}.")
    return f'<a href="#{claim_anchor(claim)}" title="{escape(claim.statement)}">{short}</a>'
