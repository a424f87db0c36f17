"""The comparison's page, all of whose numbers are computed from the records."""

from pathlib import Path

from mini_lib.reproduction.glance import strip
from mini_lib.reproduction.grid.contrasts import (
    BOTTLENECKS,
    FAMILIES,
    MATTERS,
    RULES,
    SYMMETRY,
    Interval,
    by_architecture,
    by_family,
    interval,
    paired,
    questions,
    scores,
    verdict,
)
from mini_lib.reproduction.pages import environment
from mini_lib.reproduction.records import Records

NAMES = {
    "rules": "rules (distribution of three, relational match-to-sample)",
    "match": "finding the item of which one character is hidden",
    "curves": "curves that are doubled or slowed down",
    "commands": "commands with a verb that was trained alone",
}
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
COLORS = {"helps": "reproduced", "harms": "not-reproduced", "undecided": "unclear"}  # of verdicts
AXIS = -25.0, 100.0  # points; a family with a run outside has no axis


def points(score: float) -> str:
    """A score, or a difference of two, on the scale from 0 (chance) to 100 (all right)."""
    return f"{100 * score:.0f}".replace("-", "−")


def within(found: Interval) -> str:
    """A contrast with its interval."""
    return f"{points(found.mean)} ({points(found.low)} to {points(found.high)})"


def write_page(folder: Path | str, records: Records) -> Path:
    """Write grid.md into a folder; returns its path."""
    found = scores(records)
    asked, families = questions(found), by_family(found)
    lines = []
    for family, (tasks, pairs) in FAMILIES.items():
        runs = [100 * each for each in paired(found, tasks, pairs)]
        shown = AXIS[0] <= min(runs) and max(runs) <= AXIS[1]
        lines.append(
            {
                "name": NAMES[family],
                "difference": within(asked["the bottleneck"][family]) if shown else "",
                "runs": len(runs),
                "strip": strip(
                    AXIS[1], [runs], marks={0.0: "no difference", 100 * MATTERS: "matters"}, low=AXIS[0]
                )
                if shown
                else "no score: a guess is nearly as good as the best answer",
                "word": VERDICTS[families[family]],
                "color": COLORS.get(families[family], "not-run"),
            }
        )
    tasks, streams = FAMILIES["commands"]
    both = [
        all(found[tasks[0], name][seed].learned for name in streams[0])
        for seed in found[tasks[0], streams[0][0]]
    ]
    text = (
        environment()
        .get_template("grid.md.j2")
        .render(
            lines=lines,
            points=points,
            matters=100 * MATTERS,
            whole=VERDICTS[verdict(families)],
            rules=by_architecture(found, RULES, BOTTLENECKS),
            maps=by_architecture(found, RULES, SYMMETRY),
            cost=asked["the cost"]["name"],
            fifteen=interval(paired(found, ("d3, m=85",), BOTTLENECKS)),
            pairs_learned=sum(both),
            pairs=len(both),
        )
    )
    path = Path(folder) / "grid.md"
    path.write_text(text, encoding="utf-8")
    return path
