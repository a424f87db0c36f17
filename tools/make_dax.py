"""Train the small SCAN networks whose learning rate falls to 0.

`python tools/make_dax.py` makes dax.json of `mini_lib.reproduction.scan.dax` again, from ten networks, in about
twenty minutes of a core. `python tools/make_dax.py NAME FILE` trains the one that comes with the library under that
name, and keeps its weights in half precision.
"""

import argparse
import json
from pathlib import Path

import torch

from mini_lib.files import save_weights, write_atomically
from mini_lib.reproduction.scan import dax
from mini_lib.scan.runs import paper_settings
from mini_lib.training import train

BASELINE = paper_settings(
    "add_jump", "gru_attention", lr=0.4, epochs=6, checks=(), options={"hidden": 64, "dropout": 0.0}
)
WEIGHTS = {"gru_attention": BASELINE, "syntactic_attention_dax": dax.SETTINGS}


def keep(name: str, path: Path, seed: int = 1) -> None:
    """Train the network of that name, and write its weights."""
    training_run = dax.falling(WEIGHTS[name], seed)
    run = train([training_run], progress=True)[0]
    with torch.no_grad():
        about = {
            "settings": WEIGHTS[name].to_dict(),
            "seed": seed,
            "metrics": training_run.evaluate(run.model),
        }
    save_weights(run.model, path, about | {"command": f"tools/make_dax.py {name} {path.name}"})


def store(found: dict[int, dax.Dax]) -> None:
    """Write results to where `stored` reads them, percentages with two decimals."""
    rounded = {
        seed: each._replace(
            test_accuracy=round(each.test_accuracy, 2), with_walk=round(each.with_walk, 2)
        )._asdict()
        for seed, each in found.items()
    }
    write_atomically(dax.STORED, lambda path: path.write_text(json.dumps(rounded, indent=1) + "\n"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", nargs="?", choices=WEIGHTS)
    parser.add_argument("file", nargs="?", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    if given.name:
        keep(given.name, given.file or parser.error("name the FILE for the weights"))
    else:
        store({seed: dax.measure(train([dax.falling(dax.SETTINGS, seed)])[0].model) for seed in dax.SEEDS})
