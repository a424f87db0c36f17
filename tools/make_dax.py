"""Train the small SCAN networks whose learning rate falls to 0.

`python tools/make_dax.py` makes dax.json of `mini_lib.reproduction.scan.dax` again, from ten networks, in about
twenty minutes of a core. `python tools/make_dax.py NAME FILE` trains the one that comes with the library under that
name, and keeps its weights in half precision.
"""

import argparse
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch

from mini_lib.files import save_weights, write_atomically
from mini_lib.reproduction.scan.dax import STORED, Dax
from mini_lib.scan import analysis
from mini_lib.scan.runs import Settings, accuracy, build, paper_settings, tutorial_settings
from mini_lib.scan.syntactic_attention import SyntacticAttention
from mini_lib.scan.tasks import EOS, SOS, encode, get_split
from mini_lib.training import TrainingRun, train

SEEDS = range(1, 11)
SETTINGS = tutorial_settings(split="add_dax", epochs=2)
BASELINE = paper_settings(
    "add_jump", "gru_attention", lr=0.4, epochs=6, checks=(), options={"hidden": 64, "dropout": 0.0}
)
WEIGHTS = {"gru_attention": BASELINE, "syntactic_attention_dax": SETTINGS}


def falling(settings: Settings, seed: int) -> TrainingRun:
    """A run whose learning rate falls to 0."""
    run = build(settings, seed)
    return replace(run, schedule=falling_rate(run.updates))


def falling_rate(updates: int) -> Callable[[int], float]:
    """The rate of an update, as a share of the first one's."""
    return lambda update: 1 - update / updates


def measure(network: SyntacticAttention) -> Dax:
    """The scores and the meanings of a network, percentages with two decimals."""
    test = get_split("add_dax").test
    as_walk = [command.replace("dax", "walk") for command in test]
    best = analysis.dictionary(network).best()
    scores = (round(accuracy(network, encode(texts)), 2) for texts in (test, as_walk))
    return Dax(*scores, {word: best[word] for word in ("dax", SOS, EOS)})


def keep(name: str, path: Path, seed: int = 1) -> None:
    """Train the network of that name, and write its weights."""
    training_run = falling(WEIGHTS[name], seed)
    run = train([training_run], progress=True)[0]
    with torch.no_grad():
        about = {
            "settings": WEIGHTS[name].to_dict(),
            "seed": seed,
            "metrics": training_run.evaluate(run.model),
        }
    save_weights(run.model, path, about | {"command": f"tools/make_dax.py {name} {path.name}"})


def store(found: dict[int, Dax]) -> None:
    """Write results to where `stored` reads them."""
    fields = {seed: each._asdict() for seed, each in found.items()}
    write_atomically(STORED, lambda path: path.write_text(json.dumps(fields, indent=1) + "\n"))


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
        store({seed: measure(train([falling(SETTINGS, seed)])[0].model) for seed in SEEDS})
