"""What the study asks, as contrasts of its runs: written, with the protocol, before any run that counts.

Scores S run from 0, the floor of a task, to 1, its ceiling; they are not clipped. A contrast pairs runs of one seed,
which met the same problems. Its interval is a bootstrap over seeds.
"""

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import torch
from scipy.stats import spearmanr

from mini_lib.functions.baselines import last_value, straight_line
from mini_lib.functions.tasks import STEPS
from mini_lib.grid.runs import TEST_CURVES
from mini_lib.grid.tasks import transformed_curves
from mini_lib.reproduction.comparison import compare
from mini_lib.reproduction.grid.cells import CELLS, COLUMNS, TUNING
from mini_lib.reproduction.records import Records
from mini_lib.seeding import numpy_rng

FLOORS = {"d3, m=95": 25.0, "d3, m=85": 25.0, "rmts, m=95": 50.0, "recall": 12.5, "commands": 0.0}  # percent
LEARNED = 0.9  # a network whose S on familiar content is below did not learn
DRAWS = 10_000
MATTERS = 0.10  # a difference of S below it makes no difference
NEEDED = 3  # of the four families

RULES = ("d3, m=95", "d3, m=85", "rmts, m=95")
# Networks that differ in the wall alone: with it, and without.
WALLS = (
    ("abstractor fixed", "abstractor fixed, open"),
    ("abstractor learned", "abstractor learned, open"),
    ("corelnet fixed", "corelnet fixed, open"),
    ("corelnet learned", "corelnet learned, open"),
)
# Networks that differ in the relation alone: fixed, and learned.
RELATIONS = (
    ("abstractor fixed", "abstractor learned"),
    ("abstractor fixed, open", "abstractor learned, open"),
    ("corelnet fixed", "corelnet learned"),
    ("corelnet fixed, open", "corelnet learned, open"),
)
# family -> its tasks, and the pairs of networks with a wall and without
FAMILIES: dict[str, tuple[Sequence[str], Sequence[tuple[str, str]]]] = {
    "rules": (RULES, WALLS),
    "recall": (("recall",), WALLS),
    "curves": (("curves",), (("differences", "transformer"),)),
    "commands": (("commands",), (("syntactic attention", "sequential semantics"),)),
}


class Scored(NamedTuple):
    """A run's scores."""

    familiar: float  #: S on familiar content.
    new: float  #: S on new content; the mean where there is more than one kind.


class Interval(NamedTuple):
    """A contrast."""

    mean: float
    low: float  #: of the central 95 % of bootstrap draws.
    high: float
    p: float  #: two-sided, of no difference, before anything is done about there being several contrasts.
    runs: int  #: seeds.


# ------------------------------------------------------------------------------------------------ scores


@cache
def anchors() -> dict[str, dict[str, tuple[float, float]]]:
    """Of lines and sines in each part of the curves: the error of the last value, and of the best such curve.

    The best is fitted to the 12 points by least squares: a line, or a constant and a sine of any amplitude and phase
    with a period from 5 to 18. RBF curves have no such curve, so they do not count.
    """
    found = {}
    for name, part in transformed_curves(TEST_CURVES).items():
        found[name] = {}
        for kind, fit in (("lin", straight_line), ("sine", best_sine)):
            y, truth = part.y[part.kinds[kind]], part.truth[part.kinds[kind]].double()
            errors = [(each(y, STEPS) - truth).square().mean().item() for each in (last_value, fit)]
            found[name][kind] = tuple(errors)
    return found


def best_sine(y: torch.Tensor, steps: int = STEPS) -> torch.Tensor:
    """The continuation of c + a sin(2 pi x / P) + b cos(2 pi x / P), fitted by least squares over a grid of P."""
    y = y.double()
    x = torch.arange(1, y.shape[1] + steps + 1, dtype=torch.float64)
    best = torch.full((len(y),), math.inf, dtype=torch.float64)
    answer = torch.zeros(len(y), steps, dtype=torch.float64)
    for period in torch.linspace(5, 18, 131, dtype=torch.float64):
        angle = 2 * math.pi * x / period
        design = torch.stack([torch.ones_like(x), angle.sin(), angle.cos()], dim=1)  # [N + S, 3]
        seen = design[: y.shape[1]]
        weights = y @ torch.linalg.pinv(seen).T
        off = (y - weights @ seen.T).square().sum(dim=1)
        better = off < best
        best = torch.where(better, off, best)
        answer[better] = (weights @ design[y.shape[1] :].T)[better]
    return answer


def score(task: str, part: str, metrics: Mapping[str, float]) -> float:
    """S of a part of a task, from a record's metrics.

    In percent right: (right - floor) / (100 - floor). Of curves ln(E_last / E) / ln(E_last / E_best), the mean of
    lines and sines: 0 is an error no less than that of the last value again and again, 1 that of the fitted curve.
    """
    if task in FLOORS:
        return (metrics[part] - FLOORS[task]) / (100 - FLOORS[task])
    by_kind = []
    for kind, (last, best) in anchors()[part].items():
        by_kind.append(math.log(last / metrics[f"{part}_{kind}"]) / math.log(last / best))
    return sum(by_kind) / len(by_kind)


def scores(records: Records) -> dict[tuple[str, str], dict[int, Scored]]:
    """S of every run that counts, by task and mechanism and then by seed; a run that diverged has none."""
    found = {}
    for each in compare([cell for cell in CELLS if cell.table != TUNING and not cell.variant], records):
        task = each.cell.column.rpartition(": ")[0]
        if (task, each.cell.row) in found:
            continue  # the cells of a mechanism share their runs
        new = COLUMNS.get(task, ("familiar", "new"))[1:]
        found[task, each.cell.row] = {
            record["seed"]: Scored(
                score(task, "familiar", record["metrics"]),
                sum(score(task, part, record["metrics"]) for part in new) / len(new),
            )
            for record in each.records
            if not record["diverged"]
        }
    return found


# ------------------------------------------------------------------------------------------------ contrasts


def loss_of_transfer(scored: Scored) -> float:
    """S on new content less that on familiar."""
    return scored.new - scored.familiar


def paired(
    found: Mapping[tuple[str, str], Mapping[int, Scored]],
    tasks: Sequence[str],
    pairs: Sequence[tuple[str, str]],
    measure=loss_of_transfer,
) -> list[float]:
    """A family's contrast, seed by seed: the mean over tasks and pairs of the first less the second network.

    Only seeds that all of them have.
    """
    cells = [
        (found.get((task, one), {}), found.get((task, other), {})) for task in tasks for one, other in pairs
    ]
    seeds = set.intersection(*({*one} & {*other} for one, other in cells))
    return [
        sum(measure(one[seed]) - measure(other[seed]) for one, other in cells) / len(cells)
        for seed in sorted(seeds)
    ]


def interval(values: Sequence[float]) -> Interval | None:
    """Mean and bootstrap interval over seeds; None for fewer than two."""
    if len(values) < 2:
        return None
    drawn = numpy_rng(0, "bootstrap").choice(np.array(values), size=(DRAWS, len(values))).mean(axis=1)
    low, high = np.quantile(drawn, [0.025, 0.975])
    p = min(1.0, 2 * min((drawn <= 0).mean(), (drawn >= 0).mean()) + 1 / DRAWS)
    return Interval(float(np.mean(values)), float(low), float(high), float(p), len(values))


def holm(p: Mapping[str, float]) -> dict[str, float]:
    """Holm's adjusted p of several contrasts."""
    adjusted, largest = {}, 0.0
    for rank, name in enumerate(sorted(p, key=p.__getitem__)):
        largest = max(largest, min(1.0, p[name] * (len(p) - rank)))
        adjusted[name] = largest
    return adjusted


def wall_contrasts(found: Mapping[tuple[str, str], Mapping[int, Scored]]) -> dict[str, Interval | None]:
    """What the wall does to transfer in each family: above 0 where a network with it loses less."""
    return {family: interval(paired(found, tasks, pairs)) for family, (tasks, pairs) in FAMILIES.items()}


def verdict(contrasts: Mapping[str, Interval | None]) -> str:
    """What the protocol says of the thesis that a wall makes for transfer: "for", "against", "mixed" or "not run".

    For: in three families of four the interval lies above .10. Against: in three of four it lies within .10 of 0, or
    below. Mixed: anything else.
    """
    if any(each is None for each in contrasts.values()):
        return "not run"
    if sum(each.low > MATTERS for each in contrasts.values()) >= NEEDED:
        return "for"
    if sum(each.high < MATTERS for each in contrasts.values()) >= NEEDED:
        return "against"
    return "mixed"


# ------------------------------------------------------------------------------------------------ inside


class Inside(NamedTuple):
    """What exchanges leave of a run's signal, and how the run transfers."""

    family: str
    task: str
    mechanism: str
    seed: int
    untrained: float  #: kept when content is exchanged, less kept when structure is, before training.
    trained: float  #: the same after training.
    new: float  #: S on new content.


def insides(records: Records) -> list[Inside]:
    """Every run that counts and has a signal that depends on the problem, before and after training."""
    family_of = {task: family for family, (tasks, _) in FAMILIES.items() for task in tasks}
    points, scored = [], scores(records)
    for each in compare([cell for cell in CELLS if cell.table != TUNING and not cell.variant], records):
        task = each.cell.column.rpartition(": ")[0]
        if task not in family_of or not each.cell.column.endswith(": familiar"):
            continue
        for record in each.records:
            metrics = record["metrics"]
            if record["diverged"] or not {"kept_content", "untrained_kept_content"} <= metrics.keys():
                continue
            before, after = (
                metrics[f"{when}kept_content"] - metrics[f"{when}kept_structure"]
                for when in ("untrained_", "")
            )
            place = family_of[task], task, each.cell.row, record["seed"]
            points.append(Inside(*place, before, after, scored[task, each.cell.row][record["seed"]].new))
    return points


def rank_correlation(points: Sequence[Inside], when: str = "trained") -> Interval | None:
    """Spearman's correlation of the signal with S on new content, over the means of all cells; bootstrap over cells.

    None for fewer than three cells.
    """
    cells = {}
    for point in points:
        cells.setdefault((point.task, point.mechanism), []).append((getattr(point, when), point.new))
    means = np.array([np.mean(runs, axis=0) for runs in cells.values()])
    if len(means) < 3:
        return None
    rows = numpy_rng(0, "bootstrap of cells").integers(len(means), size=(DRAWS // 10, len(means)))
    varied = [
        row for row in rows if np.ptp(means[row], axis=0).all()
    ]  # a cell drawn again and again has none
    low, high = np.quantile([spearmanr(*means[row].T).statistic for row in varied], [0.025, 0.975])
    found = spearmanr(*means.T)
    return Interval(float(found.statistic), float(low), float(high), float(found.pvalue), len(means))
