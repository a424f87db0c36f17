"""The comparison's page, all of whose numbers are computed from the records."""

from collections.abc import Sequence
from pathlib import Path

from mini_lib.reproduction.glance import Line, strip
from mini_lib.reproduction.grid.contrasts import (
    BOTTLENECKS,
    FAMILIES,
    MATTERS,
    RULES,
    SYMMETRY,
    by_architecture,
    by_family,
    decided,
    familiar,
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
AXIS = -75.0, 100.0  # points
# The families that have no score to draw, and why.
NO_AXIS = {
    "curves": "no score: it is divided by what the best continuation gains over repeating the last point,"
    " nearly 0 on slowed lines"
}


def points(score: float) -> str:
    """A score, or a difference of two, on the scale from 0 (chance) to 100 (all right)."""
    return f"{100 * score:.0f}".replace("-", "−")


def line(name: str, gains: Sequence[float], word: str | None = None, no_axis: str = "") -> Line:
    """The gains of the bottleneck by seed; the word is that of their interval where none is given."""
    found = interval(gains)
    word = word or decided(found)
    told = (
        "" if no_axis else f"{points(found.mean)}<small>{points(found.low)} to {points(found.high)}</small>"
    )
    half = 50 * (found.high - found.low)
    marks = {0.0: "no gain", 100 * MATTERS: "matters"}
    runs = [[100 * each for each in gains]]
    dots = strip(AXIS[1], runs, (100 * found.mean, half), marks, AXIS[0], (0.0,))
    return Line(
        name,
        "",
        f"{told}<small>{len(gains)} seeds</small>",
        no_axis or dots,
        COLORS.get(word, "not run"),
        VERDICTS[word],
    )


def write_page(folder: Path | str, records: Records) -> Path:
    """Write grid.md into a folder; returns its path."""
    found = scores(records)
    families = by_family(found)

    def family(name: str, key: str) -> Line:
        return line(name, paired(found, *FAMILIES[key]), families[key], NO_AXIS.get(key, ""))

    def alone(start: str) -> list[float]:
        return paired(found, RULES, [pair for pair in BOTTLENECKS if pair[0].startswith(start)])

    groups = [
        (
            "Rules: which object is missing, or which pair is related alike (<em>distribution of three, RMTS</em>)",
            [
                family("trained on five objects, both networks", "rules"),
                line("<em>of these, CoRelNet</em>", alone("corelnet")),
                line("<em>of these, the Abstractor</em>", alone("abstractor")),
                line(
                    "trained on fifteen objects (distribution of three)",
                    paired(found, ("d3, m=85",), BOTTLENECKS),
                ),
            ],
        ),
        (
            "The other families",
            [
                family("finding: <em>which of eight items</em> has a character hidden?", "match"),
                family("curves of twice the height, or slowed down", "curves"),
                family("commands with a verb that was trained alone", "commands"),
            ],
        ),
        (
            "Outside the verdict",
            [
                line(
                    "naming: <em>which character</em> is hidden? (familiar ones)",
                    paired(found, ("name",), BOTTLENECKS, familiar),
                )
            ],
        ),
    ]
    tasks, streams = FAMILIES["commands"]
    both = [
        all(found[tasks[0], name][seed].learned for name in streams[0])
        for seed in found[tasks[0], streams[0][0]]
    ]
    text = (
        environment()
        .get_template("grid.md.j2")
        .render(
            groups=groups,
            points=points,
            matters=100 * MATTERS,
            whole=VERDICTS[verdict(families)],
            rules=by_architecture(found, RULES, BOTTLENECKS),
            maps=by_architecture(found, RULES, SYMMETRY),
            pairs_learned=sum(both),
            pairs=len(both),
        )
    )
    path = Path(folder) / "grid.md"
    path.write_text(text, encoding="utf-8")
    return path
