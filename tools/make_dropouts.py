"""Make dropouts.json of `mini_lib.reproduction.kanerva.dropouts` again, in about two minutes of a core."""

import json

import torch

from mini_lib.files import write_atomically
from mini_lib.kanerva.runs import build
from mini_lib.reproduction.kanerva import dropouts
from mini_lib.training import train


def counted(machines: int, seed: int) -> list[int]:
    """Train one mixture, and count."""
    return dropouts.counts(train([build(dropouts.settings(machines), seed)])[0].checks)


if __name__ == "__main__":
    torch.set_num_threads(1)
    runs = [
        {"machines": machines, "seed": seed, "counts": counted(machines, seed)}
        for machines, seed in dropouts.RUNS
    ]
    lines = ",\n ".join(map(json.dumps, runs))
    write_atomically(dropouts.STORED, lambda path: path.write_text(f"[{lines}]\n"))
