"""Scores and meanings of ten small networks that met *dax*, a fifth verb, in one command only. Not in the paper.

`tools/make_dax.py` trained them and made dax.json. Its network of seed 1 comes with the library.
"""

import json
from pathlib import Path
from typing import NamedTuple

STORED = Path(__file__).with_name("dax.json")


class Dax(NamedTuple):
    """A network after its training."""

    test_accuracy: float  #: of the commands with *dax*, in percent.
    with_walk: float  #: of the same commands with *walk*, which are training commands.
    means: dict[str, str]  #: the action that *dax*, <SOS> and <EOS> predict alone.


def stored() -> dict[int, Dax]:
    """The results that come with the library, by seed."""
    return {int(seed): Dax(**found) for seed, found in json.loads(STORED.read_text()).items()}
