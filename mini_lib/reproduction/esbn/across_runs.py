"""What is measured across runs of the ESBN paper (Figures 4, 5, 7, 8; A.5.4)."""

from typing import NamedTuple

import numpy as np
from scipy import stats

from mini_lib.reproduction import Comparison
from mini_lib.reproduction.claims import (
    paired_t_test as paired_t_test,
)  # one definition for claims and curves
from mini_lib.reproduction.claims import updates_to as updates_to


class Curve(NamedTuple):
    """Mean learning curve over runs, with the standard error of the mean; `runs` is how many."""

    update: np.ndarray
    mean: np.ndarray
    sem: np.ndarray
    runs: int


def mean_curve(records: list[dict]) -> Curve:
    """Average the training accuracy of runs of equal settings at every logged update (Figures 4, 5, 7, 8).

    Raises:
        ValueError: without records.
    """
    whole = [record["curve"] for record in records if not record["diverged"]]
    if not whole:
        raise ValueError("no finished runs of these settings on record; `mini-lib reproduce` makes them")
    scores = np.array([curve["score"] for curve in whole])
    sem = stats.sem(scores, axis=0) if len(scores) > 1 else np.zeros(scores.shape[1])
    return Curve(np.array(whole[0]["update"]), scores.mean(axis=0), sem, len(scores))


def condition_means(
    comparisons: list[Comparison], row: str, ours: bool = False
) -> dict[tuple[str, str], float]:
    """Mean accuracy of a row of Tables 15-18 in each condition (table, m), the paper's or ours where we have any."""
    chosen = [c for c in comparisons if c.cell.row == row and not c.cell.variant]
    means = {(c.cell.table, c.cell.column): c.ours.mean if ours else c.paper.mean for c in chosen}
    return {condition: mean for condition, mean in means.items() if mean is not None}
