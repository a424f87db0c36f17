"""The comparison's page, all of whose numbers are computed from the records."""

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from mini_lib.reproduction.glance import Line, strip
from mini_lib.reproduction.grid.contrasts import (
    BOTTLENECKS,
    FAMILIES,
    MATTERS,
    RULES,
    by_family,
    decided,
    interval,
    paired,
    scores,
    verdict,
)
from mini_lib.reproduction.pages import environment
from mini_lib.reproduction.records import Records

VERDICTS = {
    "helps": "helps",
    "harms": "harms",
    "none": "no difference",
    "undecided": "unclear",
    "not run": "not run",
    "for": "in favor of it",
    "against": "against it",
    "mixed": "mixed",
}
COLORS = {"helps": "reproduced", "harms": "not reproduced", "undecided": "unclear"}  # of verdicts
AXIS = -0.7, 0.9
MORE = ("d3, m=85",)  # distribution of three with fifteen objects in training
PLANNED = {
    "rules": "rules: complete a row (<em>distribution of three</em>) or match a pair (<em>RMTS</em>),"
    " after five objects",
    "match": "finding: which of eight items has a part hidden?",
    "curves": "curves of twice the height, or slowed down",
    "commands": "commands with a verb that was trained alone",
}
# The families that have no score to draw, and why.
NO_AXIS = {"curves": "no score: on slowed lines it is divided by almost 0"}


def number(score: float) -> str:
    """A score, or a difference of two, on the scale from 0 (chance) to 1 (perfect), as the chapter writes them."""
    return f"{round(score, 2) + 0:g}".replace("0.", ".").replace("-", "−")


def line(name: str, gains: Sequence[float], word: str | None = None, no_axis: str = "") -> Line:
    """The gains of the bottleneck by seed; the word is that of their interval where none is given."""
    found, seeds = interval(gains), f"<small>{len(gains)} seeds</small>"
    if found is None:
        return Line(name, "", seeds, "", "not run", VERDICTS["not run"])
    word, half = word or decided(found), found.half_width
    verdict = COLORS.get(word, "not run"), VERDICTS[word]
    if no_axis:
        return Line(name, "", seeds, no_axis, *verdict)
    ends = f"<small>{number(found.value - half)} to {number(found.value + half)}</small>"
    marks = {-MATTERS: "harms below", MATTERS: "helps above"}
    dots = strip(AXIS[1], [gains], (found.value, half), marks, AXIS[0], (0.0,))
    return Line(name, "", number(found.value) + ends, dots, *verdict)


def pairs_of(architecture: str, relation: str = "") -> list[tuple[str, str]]:
    """The pairs of an architecture with and without its bottleneck; of one relation, if it is given."""
    return [pair for pair in BOTTLENECKS if architecture.lower() in pair[0] and relation in pair[0]]


def write_page(folder: Path | str, records: Records) -> Path:
    """Write grid.md into a folder; returns its path."""
    found = scores(records)
    families = by_family(found)
    planned = [
        line(name, paired(found, *FAMILIES[key]), families[key], NO_AXIS.get(key, ""))
        for key, name in PLANNED.items()
    ]
    apart = [line(name, paired(found, RULES, pairs_of(name))) for name in ("CoRelNet", "Abstractor")]
    apart.append(line("distribution of three, after fifteen objects", paired(found, MORE, BOTTLENECKS)))
    naming = paired(found, ("name",), BOTTLENECKS, "familiar")
    groups = [
        ("Planned: four families of tasks", planned),
        ("Added after results were seen: <em>rules</em>, taken apart", apart),
        ("Planned, outside the verdict", [line("naming: what is the hidden part? (familiar ones)", naming)]),
    ]

    def gain(tasks: Sequence[str], architecture: str) -> float:
        """With objects compared as they are, as the chapter shows it."""
        return fmean(paired(found, tasks, pairs_of(architecture, "fixed")))

    (task,), ((one, other),) = FAMILIES["commands"]
    both = [found[task, one][seed].learned and found[task, other][seed].learned for seed in found[task, one]]
    facts = {"groups": groups, "number": number, "matters": MATTERS, "whole": VERDICTS[verdict(families)]}
    facts["shown"] = {name: gain(RULES[:1], name) for name in ("CoRelNet", "Abstractor")}
    facts |= {"fifteen": gain(MORE, "CoRelNet"), "pairs_learned": sum(both), "pairs": len(both)}
    path = Path(folder) / "grid.md"
    path.write_text(environment().get_template("grid.md.j2").render(facts), encoding="utf-8")
    return path
