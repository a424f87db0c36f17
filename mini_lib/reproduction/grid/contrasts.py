"""What the study asks, as contrasts of its runs; the rule of its verdict was written before any run that counts.

Scores S run from 0, the floor of a task, to 1, its ceiling; they are not clipped. A contrast pairs runs of one seed,
which met the same problems and, in twins, began with the same numbers.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

import torch

from mini_lib.functions.baselines import last_value
from mini_lib.functions.tasks import STEPS
from mini_lib.grid.networks import FACTORIAL
from mini_lib.grid.runs import TEST_CURVES
from mini_lib.grid.tasks import transformed_curves
from mini_lib.reproduction.comparison import compare
from mini_lib.reproduction.grid.cells import CELLS, TASKS, TUNING
from mini_lib.reproduction.judgement import mean_of
from mini_lib.reproduction.records import Records

# Percent right of who has learned nothing; of names one glyph of 15.
FLOORS = {
    "d3, m=95": 25.0,
    "d3, m=85": 25.0,
    "rmts, m=95": 50.0,
    "match": 12.5,
    "name": 100 / 15,
    "commands": 0.0,
}
# Which part says whether a network learned: problems of training where the same ones come again and again.
LEARNED_BY = {
    "d3, m=95": "training",
    "d3, m=85": "training",
    "rmts, m=95": "training",
    "commands": "training",
}
LEARNED = 0.9  # S below which a network did not learn; curves have no such mark
NEW = {
    "curves": ("stretched", "slowed"),
    "normalised curves": ("slowed",),
}  # else all parts but the familiar one
KINDS = ("lin", "sine")  # of curves, both of which count
MATTERS = 0.10  # a difference of S below it makes no difference
NEEDED = 3  # families of the four

Pair = tuple[str, str]
RULES = ("d3, m=95", "rmts, m=95")
# Networks that differ in the bottleneck alone: with it, and without.
BOTTLENECKS: tuple[Pair, ...] = tuple(
    (name, f"{name}, open") for name in FACTORIAL if not name.endswith(", open")
)
# Networks that differ in the relation alone.
LEARNING: tuple[Pair, ...] = tuple(
    (name, name.replace("fixed", "tied")) for name in FACTORIAL if "fixed" in name
)  # fixed, and one map that is learned
SYMMETRY: tuple[Pair, ...] = tuple(
    (name, name.replace("tied", "learned")) for name in FACTORIAL if "tied" in name
)  # one map, and two
# family -> its tasks, and its networks with a bottleneck and without
FAMILIES: dict[str, tuple[tuple[str, ...], tuple[Pair, ...]]] = {
    "rules": (RULES, BOTTLENECKS),
    "match": (("match",), BOTTLENECKS),
    "curves": (("curves",), (("differences", "differences, open"),)),
    "commands": (("commands",), (("syntactic attention", "sequential semantics"),)),
}
# A family whose contrast has to come out alike on another task, else it is undecided.
CONFIRMED_BY = {"curves": ("normalised curves",)}


class Scored(NamedTuple):
    """A run's scores."""

    familiar: float  #: S on familiar content.
    new: float  #: S on new content, the mean where there is more than one kind; NaN where there is none.
    learned: bool  #: whether the network learned its training problems.


class Interval(NamedTuple):
    """A contrast."""

    mean: float
    low: float  #: of the 95 % interval by Student's t, over seeds.
    high: float
    runs: int  #: seeds.


Found = Mapping[tuple[str, str], Mapping[int, Scored]]
Measure = Callable[[Scored], float]

# ------------------------------------------------------------------------------------------------ scores


@cache
def anchors() -> dict[str, dict[str, tuple[float, float]]]:
    """Of lines and sines in each part of the curves: the error of the last value, and of a curve that is fitted.

    By least squares to the 12 points: a line, or a constant and a sine of any amplitude and phase with a period from
    5 to 18, whichever has the smaller variance left. Nobody is told the class. RBF curves have no such curve, so
    that they do not count.
    """
    found = {}
    for name, part in transformed_curves(TEST_CURVES).items():
        found[name] = {}
        for kind in KINDS:
            y, truth = part.y[part.kinds[kind]], part.truth[part.kinds[kind]].double()
            errors = [(each(y, STEPS) - truth).square().mean().item() for each in (last_value, fitted_curve)]
            found[name][kind] = tuple(errors)
    return found


def fitted_curve(y: torch.Tensor, steps: int = STEPS) -> torch.Tensor:
    """The continuation of a line or a sine, whichever leaves the smaller variance per degree of freedom. [B, S]"""
    y = y.double()
    points = y.shape[1]
    x = torch.arange(1, points + steps + 1, dtype=torch.float64)
    line = torch.stack([torch.ones_like(x), x], dim=1)
    off, answer = least_squares(y, line)
    least = off / (points - 2)
    for period in torch.linspace(5, 18, 131, dtype=torch.float64):
        angle = 2 * math.pi * x / period
        off, ahead = least_squares(y, torch.stack([torch.ones_like(x), angle.sin(), angle.cos()], dim=1))
        better = off / (points - 4) < least  # the period is fitted, too
        least = torch.where(better, off / (points - 4), least)
        answer = torch.where(better[:, None], ahead, answer)
    return answer


def least_squares(y: torch.Tensor, design: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """What is left of y [B, N] in squares [B], and the continuation [B, S], for a design [N + S, K]."""
    seen = design[: y.shape[1]]
    weights = y @ torch.linalg.pinv(seen).T
    return (y - weights @ seen.T).square().sum(dim=1), weights @ design[y.shape[1] :].T


def score(task: str, part: str, metrics: Mapping[str, float], kinds: Sequence[str] = KINDS) -> float:
    """S of a part of a task, from a record's metrics.

    In percent right: (right - floor) / (100 - floor). Of curves ln(E_last / E) / ln(E_last / E_fitted), the mean of
    `kinds` of curves: 0 is an error no less than that of the last value again and again, 1 that of the fitted curve.
    """
    if task in FLOORS:
        return (metrics[part] - FLOORS[task]) / (100 - FLOORS[task])
    by_kind = []
    for kind in kinds:
        last, fitted = anchors()[part][kind]
        by_kind.append(math.log(last / metrics[f"{part}_{kind}"]) / math.log(last / fitted))
    return sum(by_kind) / len(by_kind)


def scored(task: str, record: Mapping, kinds: Sequence[str] = KINDS) -> Scored:
    """A run's scores; one that diverged has learned nothing, so that its scores are 0."""
    new = NEW.get(task, TASKS[task].parts[1:])
    if record["diverged"]:
        return Scored(0.0, 0.0 if new else math.nan, False)
    metrics = record["metrics"]
    familiar = score(task, "familiar", metrics, kinds)
    learned = task not in FLOORS or score(task, LEARNED_BY.get(task, "familiar"), metrics) >= LEARNED
    by_part = [score(task, part, metrics, kinds) for part in new]
    return Scored(familiar, sum(by_part) / len(by_part) if by_part else math.nan, learned)


def runs_that_count(records: Records) -> dict[tuple[str, str], list[dict]]:
    """The records of the declared seeds, by task and mechanism; those of a trained encoder are apart."""
    found = {}
    for each in compare([cell for cell in CELLS if cell.table != TUNING and not cell.variant], records):
        task = each.cell.column.rpartition(": ")[0]
        found[task, each.cell.row] = [record for record in each.records if record["seed"] <= each.cell.runs]
    return found


def scores(records: Records, kinds: Sequence[str] = KINDS) -> dict[tuple[str, str], dict[int, Scored]]:
    """S of every run that counts, by task and mechanism and then by seed; of curves that of these `kinds`."""
    return {
        (task, row): {record["seed"]: scored(task, record, kinds) for record in runs}
        for (task, row), runs in runs_that_count(records).items()
    }


# ------------------------------------------------------------------------------------------------ contrasts


def new(run: Scored) -> float:
    """S on new content."""
    return run.new


def familiar(run: Scored) -> float:
    """S on familiar content."""
    return run.familiar


def paired(
    found: Found,
    tasks: Sequence[str],
    pairs: Sequence[Pair],
    measure: Measure = new,
    only_learned: bool = False,
) -> list[float]:
    """A contrast, seed by seed: the mean over tasks and pairs of the first less the second network.

    Only seeds that all of them have; with `only_learned` the mean of a seed is over the pairs of which both networks
    learned, and a seed without any is left out.
    """
    cells = [
        (found.get((task, one), {}), found.get((task, other), {})) for task in tasks for one, other in pairs
    ]
    seeds = set.intersection(*({*one} & {*other} for one, other in cells))
    values = []
    for seed in sorted(seeds):
        runs = [(one[seed], other[seed]) for one, other in cells]
        runs = [each for each in runs if not only_learned or all(run.learned for run in each)]
        if runs:
            values.append(sum(measure(one) - measure(other) for one, other in runs) / len(runs))
    return values


def interval(values: Sequence[float]) -> Interval | None:
    """Mean and its 95 % interval by `mean_of`; None for fewer than three seeds."""
    mean = mean_of({str(number): float(value) for number, value in enumerate(values)})
    return mean and Interval(
        mean.value, mean.value - mean.half_width, mean.value + mean.half_width, len(values)
    )


def by_architecture(
    found: Found, tasks: Sequence[str], pairs: Sequence[Pair], only_learned: bool = False
) -> dict[str, Interval | None]:
    """A contrast of networks of the factorial: of both architectures, and of each by itself.

    Nothing is done about there being several.
    """
    return {
        name: interval(
            paired(found, tasks, [pair for pair in pairs if pair[0].startswith(start)], new, only_learned)
        )
        for name, start in {"both": "", "Abstractor": "abstractor", "CoRelNet": "corelnet"}.items()
    }


# ------------------------------------------------------------------------------------------------ verdict


def decided(contrast: Interval) -> str:
    """What the bottleneck does, by where the interval lies against .10 either way.

    It "helps" or "harms", or does "none" of it; "undecided" where the interval does not say.
    """
    if contrast.low > MATTERS:
        return "helps"
    if contrast.high < -MATTERS:
        return "harms"
    return "none" if contrast.low > -MATTERS and contrast.high < MATTERS else "undecided"


def by_family(found: Found) -> dict[str, str]:
    """What the bottleneck does in each family: where all runs say the same as those that learned.

    Curves have to say it of normalised curves, too. Where they differ it is "undecided", and so it is where fewer
    than three seeds have a pair that learned. "not run" where there are fewer than three seeds at all.
    """
    words = {}
    for family, (tasks, pairs) in FAMILIES.items():
        learned = interval(paired(found, tasks, pairs, only_learned=True))
        other_tasks = [(task,) for task in CONFIRMED_BY.get(family, ())]
        run = [interval(paired(found, own, pairs)) for own in (tasks, *other_tasks)]
        if None in run:
            words[family] = "not run"
            continue
        said = {decided(each) for each in run}
        said.add("undecided" if learned is None else decided(learned))
        words[family] = said.pop() if len(said) == 1 else "undecided"
    return words


def verdict(words: Mapping[str, str]) -> str:
    """What the protocol says of the thesis that a bottleneck makes for transfer, from `by_family`.

    "for": it helps in three families of four. "against": it brings nothing, or harms, in three of four. "mixed":
    three are decided and it is neither. "undecided" else, and "not run" while runs are lacking.
    """
    counts = {
        word: sum(each == word for each in words.values()) for word in ("helps", "none", "harms", "not run")
    }
    if counts["not run"]:
        return "not run"
    if counts["helps"] >= NEEDED:
        return "for"
    if counts["none"] + counts["harms"] >= NEEDED:
        return "against"
    return "mixed" if counts["helps"] + counts["none"] + counts["harms"] >= NEEDED else "undecided"
