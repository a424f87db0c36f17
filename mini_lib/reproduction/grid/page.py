"""The comparison's page, all of whose numbers are computed from the records."""

from pathlib import Path
from statistics import fmean

from mini_lib.reproduction.grid.contrasts import (
    BOTTLENECKS,
    FAMILIES,
    MATTERS,
    RULES,
    SYMMETRY,
    Interval,
    Scored,
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
    "rules": "rules (distribution of three, RMTS)",
    "match": "match",
    "curves": "curves",
    "commands": "commands",
}
VERDICTS = {
    "helps": "helps",
    "harms": "harms",
    "none": "makes no difference",
    "undecided": "unclear",
    "not run": "not run",
    "for": "in favor of it",
    "against": "against it",
    "mixed": "mixed",
}
TASKS = {
    "d3, m=95": "distribution of three",
    "rmts, m=95": "RMTS",
    "match": "match",
    "d3, m=85": "15 objects",
}
DESCRIBED = {
    "esbn": "ESBN",
    "kanerva": "Kanerva memory",
    "pointer": "Syntactic Attention",
    "differences": "differences",
    "abstractor": "Abstractor, its paper's size",
    "lstm": "LSTM",
    "transformer": "Transformer",
}


def s(value: float) -> str:
    """A score with two decimals, and no 0 before the point."""
    return f"{round(value, 2) + 0.0:.2f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.2f}"


def within(found: Interval) -> str:
    """A contrast with its interval."""
    return f"{s(found.mean)} ({s(found.low)} to {s(found.high)})"


def write_page(folder: Path | str, records: Records) -> Path:
    """Write grid.md into a folder; returns its path."""
    found = scores(records)
    curves, (tasks, streams) = FAMILIES["curves"], FAMILIES["commands"]
    asked = questions(found)

    def runs(task: str, row: str) -> list[Scored]:
        return list(found[task, row].values())

    both = [
        all(found[tasks[0], name][seed].learned for name in streams[0])
        for seed in found[tasks[0], streams[0][0]]
    ]
    named = runs("name", "abstractor tied")
    text = (
        environment()
        .get_template("grid.md.j2")
        .render(
            NAMES=NAMES,
            VERDICTS=VERDICTS,
            TASKS=TASKS,
            DESCRIBED=DESCRIBED,
            MATTERS=MATTERS,
            s=s,
            within=within,
            bottleneck=asked["the bottleneck"],
            families=(families := by_family(found)),
            whole=verdict(families),
            rules=by_architecture(found, RULES, BOTTLENECKS),
            maps=by_architecture(found, RULES, SYMMETRY),
            cost=asked["the cost"]["name"],
            fifteen=interval(paired(found, ("d3, m=85",), BOTTLENECKS)),
            sines=interval(paired(scores(records, ("sine",)), *curves)),
            new=lambda task, row: fmean(run.new for run in runs(task, row)),
            known=lambda task, row: fmean(run.familiar for run in runs(task, row)),
            learned=lambda task, row: sum(run.learned for run in runs(task, row)),
            leaky=sum(run.learned for run in named),
            named=len(named),
            pairs_learned=sum(both),
        )
    )
    path = Path(folder) / "grid.md"
    path.write_text(text, encoding="utf-8")
    return path
