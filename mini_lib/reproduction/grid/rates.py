"""Which learning rate a set of twins has on a task: a rule over short runs, on familiar content alone.

`mini-lib reproduce grid.tuning` makes these runs, and `python -m mini_lib.reproduction.grid.rates` writes rates.json
from them.
"""

import json
import math
from collections import defaultdict
from statistics import fmean

from mini_lib.reproduction.comparison import compare
from mini_lib.reproduction.grid.cells import CELLS, CHOSEN_RATES, TASKS, TUNING, twins_of
from mini_lib.reproduction.records import Records


def choose_rates(records: Records) -> dict[str, dict[str, float]]:
    """The rate of the least mean loss over all short runs of a set of twins, by task and set.

    The loss is that on familiar problems that were kept from training (of curves the error). One rate serves all of
    a set, since the rate alone can move what twins are compared by. A rate with which a run diverged is out; of
    equals the smaller is taken. A set some of whose runs are lacking has no rate yet, nor has one of which all rates
    are out.
    """
    losses = defaultdict(lambda: defaultdict(list))
    for each in compare([cell for cell in CELLS if cell.table == TUNING], records):
        name, _, rate = each.cell.column.rpartition(", ")
        runs = {
            run["seed"]: math.inf if run["diverged"] else run["metrics"][each.cell.metric]
            for run in each.records
        }
        own = losses[name, twins_of(each.cell.row)][float(rate)]
        own += [runs.get(seed, math.nan) for seed in range(1, TASKS[name].tuning_runs + 1)]
    chosen = defaultdict(dict)
    for (name, twins), by_rate in losses.items():
        means = {rate: fmean(found) for rate, found in sorted(by_rate.items())}
        best = min(means, key=means.__getitem__)
        if not any(map(math.isnan, means.values())) and math.isfinite(means[best]):
            chosen[name][twins] = best
    return dict(chosen)


if __name__ == "__main__":  # runs that count are declared with these rates from then on
    CHOSEN_RATES.write_text(json.dumps(choose_rates(Records()), indent=1, sort_keys=True) + "\n")
