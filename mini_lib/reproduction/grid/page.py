"""The comparison's page, all of whose numbers are computed from the records."""

from collections.abc import Sequence
from pathlib import Path

from mini_lib.reproduction.glance import Line, strip
from mini_lib.reproduction.grid.contrasts import (
    BOTTLENECKS,
    FAMILIES,
    MATTERS,
    RULES,
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
AXIS = -0.7, 0.9
MORE = ("d3, m=85",)  # distribution of three with fifteen objects in training
AS_THEY_ARE = [pair for pair in BOTTLENECKS if "fixed" in pair[0]]  # what the chapter shows
# The families that have no score to draw, and why.
NO_AXIS = {"curves": "no score: on slowed lines it is divided by almost 0"}


def number(score: float) -> str:
    """A score, or a difference of two, on the scale from 0 (chance) to 1 (perfect), as the chapter writes them."""
    return f"{round(score, 2) + 0:g}".replace("0.", ".").replace("-", "−")


def line(name: str, gains: Sequence[float], word: str | None = None, no_axis: str = "") -> Line:
    """The gains of the bottleneck by seed; the word is that of their interval where none is given."""
    found = interval(gains)
    if found is None:
        return Line(name, "", f"<small>{len(gains)} seeds</small>", "", "not run", VERDICTS["not run"])
    word = word or decided(found)
    told = f"{number(found.mean)}<small>{number(found.low)} to {number(found.high)}</small>"
    marks = {-MATTERS: "harms below", MATTERS: "helps above"}
    dots = strip(AXIS[1], [gains], (found.mean, found.high - found.mean), marks, AXIS[0], (0.0,))
    return Line(
        name,
        "",
        f"<small>{len(gains)} seeds</small>" if no_axis else told,
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
            "Planned: four families of tasks",
            [
                family(
                    "rules: complete a row (<em>distribution of three</em>) or match a pair (<em>RMTS</em>),"
                    " after five objects",
                    "rules",
                ),
                family("finding: which of eight items has a part hidden?", "match"),
                family("curves of twice the height, or slowed down", "curves"),
                family("commands with a verb that was trained alone", "commands"),
            ],
        ),
        (
            "Added after results were seen: <em>rules</em>, taken apart",
            [
                line("CoRelNet", alone("corelnet")),
                line("Abstractor", alone("abstractor")),
                line("distribution of three, after fifteen objects", paired(found, MORE, BOTTLENECKS)),
            ],
        ),
        (
            "Planned, outside the verdict",
            [
                line(
                    "naming: what is the hidden part? (familiar ones)",
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
            number=number,
            matters=MATTERS,
            whole=VERDICTS[verdict(families)],
            shown={name: each.mean for name, each in by_architecture(found, RULES[:1], AS_THEY_ARE).items()},
            fifteen=by_architecture(found, MORE, AS_THEY_ARE)["CoRelNet"].mean,
            pairs_learned=sum(both),
            pairs=len(both),
        )
    )
    path = Path(folder) / "grid.md"
    path.write_text(text, encoding="utf-8")
    return path
