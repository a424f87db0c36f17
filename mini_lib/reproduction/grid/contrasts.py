"""What the study asks, as contrasts of its runs; the rule of its verdict was written before any run that counts.

Scores S run from 0, the floor of a task, to 1, its ceiling; they are not clipped. A contrast pairs runs of one seed,
which met the same problems and, in twins, began with the same numbers.
"""

import math
from collections.abc import Mapping, Sequence
from functools import cache
from statistics import fmean
from typing import NamedTuple

import torch

from mini_lib.functions.baselines import last_value
from mini_lib.functions.tasks import STEPS
from mini_lib.grid.networks import FACTORIAL
from mini_lib.grid.runs import TEST_CURVES
from mini_lib.grid.tasks import transformed_curves
from mini_lib.reproduction.comparison import compare
from mini_lib.reproduction.grid.cells import CELLS, DIFFERENCES, TASKS, TUNING
from mini_lib.reproduction.judgement import Mean, mean_of
from mini_lib.reproduction.records import Records

# Percent right of who has learned nothing; of names one glyph of 15.
FLOORS = {"d3, m=95": 25.0, "d3, m=85": 25.0, "rmts, m=95": 50.0}
FLOORS |= {"match": 12.5, "name": 100 / 15, "commands": 0.0}
LEARNED = 0.9  # S below which a network did not learn; curves have no such mark
# Parts with new content, else all but the familiar one.
NEW = {"curves": ("stretched", "slowed"), "normalised curves": ("slowed",)}
KINDS = ("lin", "sine")  # of curves, both of which count
MATTERS = 0.10  # a difference of S below it makes no difference
NEEDED = 3  # families of the four

Pair = tuple[str, str]
RULES = ("d3, m=95", "rmts, m=95")
# Networks that differ in the bottleneck alone: with it, and without.
BOTTLENECKS: tuple[Pair, ...] = tuple((name, f"{name}, open") for name in FACTORIAL if "open" not in name)
# family -> its tasks, and its networks with a bottleneck and without
FAMILIES: dict[str, tuple[tuple[str, ...], tuple[Pair, ...]]] = {
    "rules": (RULES, BOTTLENECKS),
    "match": (("match",), BOTTLENECKS),
    "curves": (("curves",), (DIFFERENCES,)),
    "commands": (("commands",), (("syntactic attention", "sequential semantics"),)),
}
# A family whose contrast has to come out alike on another task, else it is undecided.
CONFIRMED_BY = {"curves": ("normalised curves",)}


class Scored(NamedTuple):
    """A run's scores."""

    familiar: float  #: S on familiar content.
    new: float  #: S on new content, the mean where there is more than one kind; NaN where there is none.
    learned: bool  #: whether the network learned its training problems.


Found = Mapping[tuple[str, str], Mapping[int, Scored]]


@cache
def anchors() -> dict[str, dict[str, tuple[float, float]]]:
    """Of lines and sines in each part of the curves: the error of the last value, and of a curve that is fitted.

    To the 12 points: a line, or a constant and a sine with a period from 5 to 18, whichever leaves the smaller
    variance. RBF curves have no such curve, so that they do not count.
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
    off, answer = least_squares(y, torch.stack([torch.ones_like(x), x], dim=1))
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


def score(task: str, part: str, metrics: Mapping[str, float]) -> float:
    """S of a part of a task, from a record's metrics.

    In percent right: (right - floor) / (100 - floor). Of curves ln(E_last / E) / ln(E_last / E_fitted), the mean of
    lines and sines: 0 is an error no less than that of the last value again and again, 1 that of the fitted curve.
    """
    if task in FLOORS:
        return (metrics[part] - FLOORS[task]) / (100 - FLOORS[task])
    return fmean(
        math.log(last / metrics[f"{part}_{kind}"]) / math.log(last / fitted)
        for kind, (last, fitted) in anchors()[part].items()
    )


def scored(task: str, record: Mapping) -> Scored:
    """A run's scores; one that diverged has learned nothing, so that its scores are 0."""
    new = NEW.get(task, TASKS[task].parts[1:])
    if record["diverged"]:
        return Scored(0.0, 0.0 if new else math.nan, False)
    metrics = record["metrics"]
    # Problems of training say whether a network learned, where the same ones come again and again.
    learned_by = "training" if "training" in metrics else "familiar"
    learned = task not in FLOORS or score(task, learned_by, metrics) >= LEARNED
    on_new = fmean(score(task, part, metrics) for part in new) if new else math.nan
    return Scored(score(task, "familiar", metrics), on_new, learned)


def scores(records: Records) -> dict[tuple[str, str], dict[int, Scored]]:
    """S of every run of a declared seed, by task and mechanism and then by seed; a trained encoder is left out."""
    found = {}
    for each in compare([cell for cell in CELLS if cell.table != TUNING and not cell.variant], records):
        task = each.cell.column.rpartition(": ")[0]
        runs = [record for record in each.records if record["seed"] <= each.cell.runs]
        found[task, each.cell.row] = {record["seed"]: scored(task, record) for record in runs}
    return found


def paired(
    found: Found, tasks: Sequence[str], pairs: Sequence[Pair], part: str = "new", only_learned: bool = False
) -> list[float]:
    """A contrast, seed by seed: the mean over tasks and pairs of the first less the second network.

    Of new content, or of the "familiar" `part`. Only seeds that all of them have; with `only_learned` the mean of a
    seed is over the pairs of which both networks learned, and a seed without any is left out.
    """
    cells = [tuple(found.get((task, name), {}) for name in pair) for task in tasks for pair in pairs]
    values = []
    for seed in sorted(set.intersection(*({*one} & {*other} for one, other in cells))):
        runs = [(one[seed], other[seed]) for one, other in cells]
        runs = [each for each in runs if not only_learned or all(run.learned for run in each)]
        gains = [getattr(one, part) - getattr(other, part) for one, other in runs]
        values += [fmean(gains)] if gains else []
    return values


def interval(values: Sequence[float]) -> Mean | None:
    """Mean and its 95 % interval by `mean_of`; None for fewer than three seeds."""
    return mean_of({str(number): float(value) for number, value in enumerate(values)})


def decided(contrast: Mean) -> str:
    """What the bottleneck does, by where the interval lies against .10 either way.

    It "helps" or "harms", or does "none" of it; "undecided" where the interval does not say.
    """
    low, high = contrast.value - contrast.half_width, contrast.value + contrast.half_width
    if low > MATTERS:
        return "helps"
    if high < -MATTERS:
        return "harms"
    return "none" if low > -MATTERS and high < MATTERS else "undecided"


def by_family(found: Found) -> dict[str, str]:
    """What the bottleneck does in each family: where all runs say the same as those that learned.

    Curves have to say it of normalised curves, too. Where they differ it is "undecided", and so it is where fewer
    than three seeds have a pair that learned. "not run" where there are fewer than three seeds at all.
    """
    words = {}
    for family, (tasks, pairs) in FAMILIES.items():
        other_tasks = [(task,) for task in CONFIRMED_BY.get(family, ())]
        run = [interval(paired(found, own, pairs)) for own in (tasks, *other_tasks)]
        if None in run:
            words[family] = "not run"
            continue
        learned = interval(paired(found, tasks, pairs, only_learned=True))
        said = {"undecided" if each is None else decided(each) for each in (*run, learned)}
        words[family] = said.pop() if len(said) == 1 else "undecided"
    return words


def verdict(words: Mapping[str, str]) -> str:
    """What the protocol says of the thesis that a bottleneck makes for transfer, from `by_family`.

    "for": it helps in three families of four. "against": it brings nothing, or harms, in three of four. "mixed":
    three are decided and it is neither. "undecided" else, and "not run" while runs are lacking.
    """
    said = [*words.values()]
    if "not run" in said:
        return "not run"
    if said.count("helps") >= NEEDED:
        return "for"
    if said.count("none") + said.count("harms") >= NEEDED:
        return "against"
    return "undecided" if said.count("undecided") > len(said) - NEEDED else "mixed"
