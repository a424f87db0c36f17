"""Which reading of the paper its Table 1 speaks for: a rule that was written before most of the runs it decides on.

Two things about training are open in the text. Whether a token sees itself: 1[x_i > x_j] is printed, and called the
standard mask, which has the diagonal. And what a network learns to predict: y_{N+1} alone, or the next point of
every prefix, as a "next-timestep prediction objective" may be understood. That makes four readings. Every run is
tested with a growing and with a sliding context. `choose` is the rule; the ledger (`paper.toml`) says which results
had been seen when it was written. The default was then the standard mask and the last point (`FIRST_READING`); the
rule chose the strict mask and every prefix, which is the default since.
"""

import math
from collections.abc import Mapping
from itertools import product

import numpy as np
from jaxtyping import Float

from mini_lib.errors import UsageError
from mini_lib.functions.tasks import KINDS
from mini_lib.reproduction import Records, compare, printed
from mini_lib.reproduction.comparison import TUTORIAL
from mini_lib.reproduction.functions.cells import (
    CELLS,
    FIRST_READING,
    ROWS,
    SLIDING,
    TABLE1,
    TRAININGS,
    variant_name,
)

Errors = Float[np.ndarray, "M K S"]  # of networks as in `ROWS`, classes as in `KINDS`, and runs
Table = Float[np.ndarray, "M K"]

DEFAULT = ""  # the name of the reading that the table's own cells are
GROWING = (*TRAININGS, DEFAULT)  # what the text allows
READINGS = (*GROWING, *(variant_name(training, SLIDING) for training in GROWING))
SEEDS = (1, 2, 3)  # those that decide; a run that is added later changes no choice


def measure(records: Records, reading: str = DEFAULT, scale: str = TUTORIAL) -> Errors:
    """The errors of a reading's runs with `SEEDS`, [M, K, S]: NaN where there is no run, infinite where it diverged.

    The reading is one of `READINGS`, the scale "paper" or "tutorial".
    """
    variant = variant_name(scale.removeprefix("paper"), reading)
    cells = [cell for cell in CELLS if (cell.table, cell.variant) == (TABLE1, variant)]
    found = {
        (each.cell.row, each.cell.column, record["seed"]): (
            math.inf if record["diverged"] else record["metrics"][each.cell.metric]
        )
        for each in compare(cells, records, columns=KINDS)
        for record in each.records
    }
    places = product(ROWS.values(), KINDS, SEEDS)
    values = [found.get(place, math.nan) for place in places]
    return np.reshape(values, (len(ROWS), len(KINDS), len(SEEDS)))


def table1() -> Table:
    """The 12 errors that are printed for classes of curves, [M, K]."""
    entries = printed(TABLE1)
    return np.array([[entries[row, kind].mean for kind in KINDS] for row in ROWS.values()])


def distance(errors: Errors, paper: Table) -> float:
    """The mean of `|ln(ours / printed)|` over networks and classes, each counting alike; ours is a mean over runs.

    Logarithms, since the printed errors range from 0.056 to 1.501; absolute, so that errors too large and too small
    do not cancel. NaN where a run is lacking, infinite where one diverged.
    """
    return float(np.abs(np.log(errors.mean(axis=-1) / paper)).mean())


def standard_error(errors: Errors, paper: Table) -> float:
    """The standard error of `distance` by bootstrap over seeds; NaN if a run is lacking or diverged.

    Over every way of drawing S runs with replacement, those of a network together; the variance times S / (S - 1).
    """
    networks, _, runs = errors.shape
    if not np.isfinite(errors).all():
        return math.nan
    draws = np.array(list(product(range(runs), repeat=runs)))  # [D, S]
    means = errors[..., draws].mean(axis=-1)  # [M, K, D]
    drawn = np.abs(np.log(means / paper[..., None])).mean(axis=1)  # [M, D]
    return float(np.sqrt(drawn.var(axis=-1).sum() * runs / (runs - 1))) / networks


def choose(measured: Mapping[str, Errors], paper: Table) -> str:
    """The rule: which reading of all four networks is the default, given their errors (`measure`).

    It is the candidate of least `distance` from the 12 errors that are printed for lines, RBF curves and sinusoids
    ("all" is their weighted mean), if it is nearer than `FIRST_READING`, the default of then, by more than two
    standard errors of the difference; else that one stays. A reading in which a run diverged cannot win.

    Candidates are the four small ones with a growing context (`GROWING`): the text makes each next input of "the
    original observations" together with the prediction.
    """
    if np.isnan([*measured.values()]).any():
        raise UsageError("a choice needs the runs of all networks in every candidate")
    nearest = min(measured, key=lambda reading: distance(measured[reading], paper))
    best, first = measured[nearest], measured[FIRST_READING]
    difference = distance(first, paper) - distance(best, paper)
    error = math.hypot(standard_error(best, paper), standard_error(first, paper))
    return nearest if difference == math.inf or difference > 2 * error else FIRST_READING
