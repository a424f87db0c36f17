"""The film of specialisation: what two machines say of the same pictures, at moments of two trainings.

Both trainings are of the small binding task: one as the paper says, one balanced at first, which is our addition.
`tools/make_films.py` made films.npz.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int, UInt8

from mini_lib.kanerva.runs import Settings
from mini_lib.reproduction.comparison import TUTORIAL
from mini_lib.reproduction.kanerva.cells import CELLS

STORED = Path(__file__).with_name("films.npz")
VARIANTS = {"as printed": f"{TUTORIAL}, small", "balanced at first": f"{TUTORIAL}, small, balanced at first"}
UPDATES = (0, 50, 100, 200, 300, 400, 500, 700, 1000, 1500, 2000, 2250, 2500, 2750, 3000, 4000, 5000)
SEED, SHOWN = 1, 5  # weights are those of one test episode; pictures, its first items


class Film(NamedTuple):
    """One training of two machines: F frames of a test episode of T items, N of them as pictures."""

    updates: Int[np.ndarray, "F"]  #: after which a frame was taken.
    gamma: Float[np.ndarray, "F T 2"]  #: weights with which items are written.
    alone: UInt8[np.ndarray, "F 2 N 3 H W"]  #: each machine's answer by itself; 255 is ink.
    together: UInt8[np.ndarray, "F N 3 H W"]  #: the answer of both.
    #: of all test episodes: the larger weight of an item, the share of the machine used least, and the loss in nats.
    largest: Float[np.ndarray, "F"]
    least_used: Float[np.ndarray, "F"]
    nll: Float[np.ndarray, "F"]


def settings_of(name: str) -> Settings:
    """The settings of a film, those of the records of Figure 2A under its reading."""
    return next(
        Settings.from_dict(cell.settings)
        for cell in CELLS
        if cell.table == "kanerva.fig2a" and cell.variant == VARIANTS[name]
    )


def stored() -> dict[str, Film]:
    """The two films that come with the library, by name."""
    with np.load(STORED) as parts:
        return {name: Film(*(parts[f"{name}/{field}"] for field in Film._fields)) for name in VARIANTS}
