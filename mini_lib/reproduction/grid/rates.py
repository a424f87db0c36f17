"""Which learning rate a set of twins has on a task: a rule over short runs, on familiar content alone.

`mini-lib reproduce grid.tuning` makes these runs, and `python -m mini_lib.reproduction.grid.rates` writes rates.json
from them.
"""

import json
import math
from collections import defaultdict

from mini_lib.reproduction.comparison import compare
from mini_lib.reproduction.grid.cells import CELLS, CHOSEN_RATES, TASKS, TUNING, twins_of
from mini_lib.reproduction.records import Records


def choose_rates(records: Records) -> dict[str, dict[str, float]]:
    """The rate of the least mean loss over all short runs of a set of twins, by task and set.

    The loss is that on familiar problems that were kept from training (of curves the error). One rate serves all of
    a set, since the rate alone can move what twins are compared by. A rate with which a run diverged is out; of
    equals the smaller is taken. A set some of whose runs are lacking has no rate yet; where no rate is left it is an
    error.
    """
    losses = defaultdict(lambda: defaultdict(list))
    for each in compare([cell for cell in CELLS if cell.table == TUNING], records):
        name, _, rate = each.cell.column.rpartition(", ")
        runs = [record for record in each.records if record["seed"] <= TASKS[name].tuning_runs]
        found = [math.inf if run["diverged"] else run["metrics"][each.cell.metric] for run in runs]
        lacking = [math.nan] * (TASKS[name].tuning_runs - len(runs))
        losses[name, twins_of(each.cell.row)][float(rate)] += found + lacking
    chosen = defaultdict(dict)
    for (name, twins), by_rate in losses.items():
        means = {rate: sum(found) / len(found) for rate, found in sorted(by_rate.items())}
        if any(math.isnan(mean) for mean in means.values()):
            continue
        best = min(means, key=means.__getitem__)
        if math.isinf(means[best]):
            raise ValueError(f"{twins} diverged with every learning rate on {name}: declare smaller ones")
        chosen[name][twins] = best
    return dict(chosen)


if __name__ == "__main__":  # runs that count are declared with these rates from then on
    CHOSEN_RATES.write_text(json.dumps(choose_rates(Records()), indent=1, sort_keys=True) + "\n")
