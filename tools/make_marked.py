"""Train a small binding network with a mark in every second picture, and store by what it sorts.

`python tools/make_marked.py line|pixel [--seed N] [--weights FILE]`: about ten minutes of a core. The result goes
into marked.json of `mini_lib.reproduction.kanerva.marked`, the weights into a file if one is named.
"""

import argparse
import json
from pathlib import Path

import torch

from mini_lib import trained
from mini_lib.files import save_weights, write_atomically
from mini_lib.kanerva.runs import Settings
from mini_lib.reproduction.kanerva.marked import MARKS, STORED, build_marked, stored
from mini_lib.training import train

UNMARKED = "kanerva_small_1"  # these networks have its settings


def make(mark: str, seed: int, path: Path | None) -> None:
    """Train, store the result, and write the weights."""
    kept = trained(UNMARKED).about["settings"]
    settings = Settings.from_dict(kept)
    torch.set_num_threads(1)
    run = train([build_marked(settings, seed, mark)], progress=True)[0]
    metrics = {name: float(f"{value:.3g}") for name, value in run.metrics.items()}
    others = [each for each in stored() if (each["mark"], each["seed"]) != (mark, seed)]
    results = sorted(
        [*others, {"mark": mark, "seed": seed, **metrics}], key=lambda each: tuple(each.values())[:2]
    )
    lines = ",\n ".join(map(json.dumps, results))
    write_atomically(STORED, lambda file: file.write_text(f"[{lines}]\n"))
    if path:
        command = f"tools/make_marked.py {mark} --seed {seed} --weights {path.name}"
        save_weights(
            run.model, path, {"settings": kept, "seed": seed, "metrics": metrics, "command": command}
        )
    print(mark, seed, metrics)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mark", choices=MARKS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--weights", type=Path)
    given = parser.parse_args()
    make(given.mark, given.seed, given.weights)
