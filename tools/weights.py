"""Train one run of an entry on the CPU and keep its weights, in half precision, for readers to load.

`python tools/weights.py ENTRY FILE [--seed N] [--records FOLDER]`. The run goes on record too, unless it is there.
"""

import argparse
from pathlib import Path

import torch

from mini_lib.files import load_weights, save_weights
from mini_lib.reproduction.cells import paper_module, select
from mini_lib.reproduction.records import Records, check_folder, record_of
from mini_lib.training import train

CHECKPOINTS = Path("checkpoints")


def make(entry: str, path: Path, seed: int = 1, records: Path | None = None) -> None:
    """Train the run, put it on record, and write its weights; SystemExit if it diverged."""
    (cell,), store = select(entry), Records(records)
    check_folder(store.folder, "records")
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    build = paper_module(cell.paper).build
    training_run = build(cell.settings, seed)
    run = train([training_run], checkpoints=CHECKPOINTS, keep_finished=True, progress=True)[0]
    if run.key not in store:
        store.add(record_of(run, cell, seed), cell.file)
    if not run.diverged:
        with torch.no_grad():
            # Of the last weights, whichever checkpoint a record reports:
            metrics = training_run.evaluate(run.model)
            about = {"settings": cell.settings, "seed": seed, "metrics": metrics}
            save_weights(
                run.model, path, about | {"command": f"tools/weights.py '{entry}' {path.name} --seed {seed}"}
            )
            load_weights(run.model, path)
            print(f"{path}: full precision {metrics}, as stored {training_run.evaluate(run.model)}")
    (CHECKPOINTS / f"{run.key}.pt").unlink(missing_ok=True)
    if run.diverged:
        raise SystemExit(
            f"{entry}, seed {seed}, diverged after {run.updates} updates; its weights are not kept"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("entry")
    parser.add_argument("file", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--records", type=Path)
    given = parser.parse_args()
    make(given.entry, given.file, given.seed, given.records)
