"""Which word says JUMP in the 25 small networks on add jump after 150 updates, and where their first look lies.

Not in the paper. `tools/make_toss.py` made toss.json.
"""

import json
from pathlib import Path
from typing import NamedTuple

import torch

from mini_lib.scan import analysis
from mini_lib.scan.syntactic_attention import SyntacticAttention
from mini_lib.scan.tasks import Examples, get_split

STORED = Path(__file__).with_name("toss.json")
SEEDS = range(1, 26)
UPDATES = 150


class Early(NamedTuple):
    """A network after the first updates, in percent."""

    says_jump: float  #: how surely *jump* by itself says JUMP.
    on_start: float  #: attention of the first look on <SOS>, in the command where it is least.
    on_end: float  #: the same on <EOS>.


def practised() -> list[str]:
    """Every fortieth training command, without *jump*."""
    return [text for text in get_split("add_jump").train[::40] if text != "jump"]


def says_jump(network: SyntacticAttention) -> float:
    """How surely a look at *jump* alone says JUMP, in percent."""
    book = analysis.dictionary(network)
    return 100 * book.probabilities[book.words.index("jump"), book.actions.index("JUMP")].item()


@torch.no_grad()
def first_look(network: SyntacticAttention, asked: Examples) -> tuple[float, float]:
    """How much of the first look is on <SOS> and on <EOS>, each in the command where it is least, in percent."""
    look = network.trace(asked.words, asked.lengths, 1).attention[:, 0]
    ends = look[:, 0], look.gather(1, (asked.lengths - 1)[:, None])
    return tuple(100 * each.min().item() for each in ends)


def stored() -> dict[int, Early]:
    """The looks that come with the library, by seed."""
    return {int(seed): Early(**look) for seed, look in json.loads(STORED.read_text()).items()}
