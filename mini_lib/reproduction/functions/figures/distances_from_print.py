"""How far each reading of the paper is from its Table 1."""

import math
from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from mini_lib.errors import UsageError
from mini_lib.reproduction.functions.readings import (
    Errors,
    distance,
    distance_of_a_repeat,
    standard_error,
    table1,
)
from mini_lib.reproduction.plotting import RULE, figure, require_nonempty, style


def distances(measured: Mapping[str, Mapping[str, Errors]]) -> Figure:
    """Draw how far each reading is from the printed table (`readings.distance`), a panel for each test.

    `measured` are errors (`readings.measure`) by test, such as "the context grows", and reading; every test has the
    same readings. Bars are a standard error each way; a dot of runs that tell none is hollow. A reading in which a
    network has no runs, or one that diverged, has no dot. The dotted line is `readings.distance_of_a_repeat`.
    """
    of_all = [errors for test in measured.values() for errors in test.values()]
    require_nonempty("run of a reading", [each for each in of_all if not np.isnan(each).all()])
    paper, paper_se = table1()
    names = list(next(iter(measured.values())))
    if any(set(by_reading) != set(names) for by_reading in measured.values()):
        raise UsageError("every test has to have the same readings")
    with style():
        fig, axes = figure(
            1,
            len(measured),
            size=(3.0 + 2.6 * len(measured), 0.5 * len(names) + 1.2),
            sharex=True,
            sharey=True,
        )
        for ax, (test, by_reading) in zip(np.atleast_1d(axes), measured.items(), strict=True):
            for place, name in enumerate(names):
                far = distance(by_reading[name], paper)
                if math.isfinite(far):
                    se = standard_error(by_reading[name], paper)
                    known = math.isfinite(se)
                    look = {"color": RULE, "markersize": 6, "fillstyle": "full" if known else "none"}
                    ax.errorbar(far, place, xerr=se if known else 0.0, fmt="o", **look)
            ax.axvline(distance_of_a_repeat(paper, paper_se), color=RULE, linewidth=0.8, linestyle=":")
            ax.set(title=test, xlabel="distance from print", xlim=(0, None))
        shown = np.atleast_1d(axes)[0]
        shown.set_yticks(range(len(names)), names)
        shown.set_ylim(len(names) - 0.5, -0.5)
    return fig
