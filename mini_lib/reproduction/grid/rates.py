"""Which learning rate a mechanism has on a task: a rule over short runs, on familiar content alone."""

import json
import math
from collections import defaultdict

from mini_lib.reproduction.comparison import compare
from mini_lib.reproduction.grid.cells import CELLS, CHOSEN_BY, CHOSEN_RATES, TUNING, TUNING_RUNS
from mini_lib.reproduction.records import Records


def choose_rates(records: Records) -> dict[str, dict[str, float]]:
    """The rate with the best mean over the short runs with both seeds, by task and mechanism.

    What counts is the loss on familiar problems that were kept from training (of curves the error, of commands the
    share that is right, in which case more is better). A rate with which a run diverged is out; of equals the middle
    one of those tried is taken, and else the smaller. A mechanism some of whose runs are lacking has none yet.
    """
    tried = defaultdict(dict)
    for each in compare([cell for cell in CELLS if cell.table == TUNING], records):
        task, _, rate = each.cell.column.rpartition(", ")
        runs = [record for record in each.records if record["seed"] <= TUNING_RUNS]
        if len(runs) == TUNING_RUNS:
            fine = not any(record["diverged"] for record in runs)
            mean = (
                sum(record["metrics"][each.cell.metric] for record in runs) / len(runs) if fine else math.nan
            )
            tried[task, each.cell.row][float(rate)] = mean
    chosen = defaultdict(dict)
    for (task, model), means in tried.items():
        rates = sorted(means)
        if len(rates) < 3:
            continue
        better = CHOSEN_BY.get(task, ("", min))[1]
        known = [mean for mean in means.values() if not math.isnan(mean)]
        best = [rate for rate in (rates[1], rates[0], rates[2]) if known and means[rate] == better(known)]
        if best:
            chosen[task][model] = best[0]
    return dict(chosen)


def write_rates(records: Records) -> None:
    """Keep what the rule chooses; runs that count are declared with it from then on."""
    CHOSEN_RATES.write_text(json.dumps(choose_rates(records), indent=1, sort_keys=True) + "\n")
