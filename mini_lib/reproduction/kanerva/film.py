"""The film of specialisation: what two machines say of the same pictures, at moments of two trainings.

Both trainings are of the small binding task: one as printed, one balanced at first, which is our addition.
`python -m mini_lib.reproduction.kanerva.film` makes both, in a quarter of an hour of a core, and writes films.npz.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int, UInt8

from mini_lib.files import write_atomically
from mini_lib.kanerva import tasks
from mini_lib.kanerva.analysis import usage
from mini_lib.kanerva.evaluation import run_episodes
from mini_lib.kanerva.network import Kanerva
from mini_lib.kanerva.runs import Settings, build
from mini_lib.reproduction.comparison import TUTORIAL
from mini_lib.reproduction.kanerva.cells import CELLS
from mini_lib.training import train

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


def take(settings: Settings, updates: tuple[int, ...] = UPDATES) -> Film:
    """Train with these settings, and take a frame after each of so many updates."""
    run = build(settings, SEED)
    episodes = tasks.evaluation("rgb", settings.test_episodes, settings.items, source=settings.source)
    frames = []

    def watch(update: int) -> bool:
        if update in updates:
            frames.append(_frame(run.model, episodes))
        return update >= updates[-1]

    watch(0)
    train([run], stop=watch)
    return Film(np.array(updates), *(np.stack(part) for part in zip(*frames, strict=True)))


def _frame(network: Kanerva, episodes: tasks.Episodes) -> tuple[np.ndarray, ...]:
    """What a film keeps of one moment, in the order of its fields."""
    outputs = run_episodes(network, episodes)
    alone, together = (
        torch.sigmoid(logits[0, :SHOWN]).mul(255).round().byte().numpy()
        for logits in (outputs.machines, outputs.logits)
    )
    use = usage(outputs.gamma)
    numbers = (use["largest"], use["least_used"], outputs.parts["reconstruction"].mean())
    return (
        outputs.gamma[0].numpy(),
        alone.swapaxes(0, 1),
        together,
        *(np.asarray(each, np.float32) for each in numbers),
    )


def stored() -> dict[str, Film]:
    """The two films that come with the library, by name."""
    with np.load(STORED) as parts:
        return {name: Film(*(parts[f"{name}/{field}"] for field in Film._fields)) for name in VARIANTS}


def store(films: dict[str, Film]) -> None:
    """Write films to where `stored` reads them."""
    parts = {
        f"{name}/{field}": part for name, film in films.items() for field, part in film._asdict().items()
    }

    def write(path: Path) -> None:
        with path.open("wb") as file:  # by its path alone, NumPy would add an ending
            np.savez_compressed(file, **parts)

    write_atomically(STORED, write)


if __name__ == "__main__":
    store({name: take(settings_of(name)) for name in VARIANTS})
