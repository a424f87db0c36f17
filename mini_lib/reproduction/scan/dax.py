"""Scores and meanings of ten small networks that met *dax*, a fifth verb, in one command only. Not in the paper.

`tools/make_dax.py` trained them and made dax.json. Its network of seed 1 comes with the library.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from mini_lib.scan import analysis
from mini_lib.scan.runs import Settings, accuracy, build, tutorial_settings
from mini_lib.scan.syntactic_attention import SyntacticAttention
from mini_lib.scan.tasks import EOS, SOS, encode, get_split
from mini_lib.training import TrainingRun

STORED = Path(__file__).with_name("dax.json")
SEEDS = range(1, 11)
SETTINGS = tutorial_settings(split="add_dax", epochs=2)


class Dax(NamedTuple):
    """A network after its training."""

    test_accuracy: float  #: of the commands with *dax*, in percent.
    with_walk: float  #: of the same commands with *walk*, which are training commands.
    means: dict[str, str]  #: the action that *dax*, <SOS> and <EOS> predict alone.


def falling(settings: Settings, seed: int) -> TrainingRun:
    """A run whose learning rate falls to 0, as that of the two networks that come with the library."""
    run = build(settings, seed)
    return replace(run, schedule=falling_rate(run.updates))


def falling_rate(updates: int) -> Callable[[int], float]:
    """The rate of an update, as a share of the first one's."""
    return lambda update: 1 - update / updates


def measure(network: SyntacticAttention) -> Dax:
    """Return the scores and the meanings of a network."""
    test = get_split("add_dax").test
    as_walk = [command.replace("dax", "walk") for command in test]
    best = analysis.dictionary(network).best()
    return Dax(
        accuracy(network, encode(test)),
        accuracy(network, encode(as_walk)),
        {word: best[word] for word in ("dax", SOS, EOS)},
    )


def stored() -> dict[int, Dax]:
    """The results that come with the library, by seed."""
    return {int(seed): Dax(**found) for seed, found in json.loads(STORED.read_text()).items()}
