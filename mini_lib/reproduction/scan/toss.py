"""Early meaning of *jump* and first attention in the 25 small networks on add jump, after 150 updates.

Not in the paper. `tools/make_toss.py` made toss.json.
"""

import json
from pathlib import Path
from typing import NamedTuple

STORED = Path(__file__).with_name("toss.json")


class Early(NamedTuple):
    """A network after the first updates, in percent."""

    says_jump: float  #: probability of JUMP for *jump* by itself.
    on_start: float  #: first attention on <SOS>, in the command where it is least.
    on_end: float  #: the same on <EOS>.


def stored() -> dict[int, Early]:
    """The measurements that come with the library, by seed."""
    return {int(seed): Early(**found) for seed, found in json.loads(STORED.read_text()).items()}
