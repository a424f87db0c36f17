"""Make films.npz of `mini_lib.reproduction.kanerva.film` again, in a quarter of an hour of a core."""

from pathlib import Path

import numpy as np
import torch

from mini_lib.files import write_atomically
from mini_lib.kanerva import tasks
from mini_lib.kanerva.analysis import usage
from mini_lib.kanerva.evaluation import run_episodes
from mini_lib.kanerva.network import Kanerva
from mini_lib.kanerva.runs import Settings, build
from mini_lib.reproduction.kanerva import film
from mini_lib.training import train


def take(settings: Settings, updates: tuple[int, ...] = film.UPDATES) -> film.Film:
    """Train with these settings, and take a frame after each of so many updates."""
    run = build(settings, film.SEED)
    episodes = tasks.evaluation("rgb", settings.test_episodes, settings.items, source=settings.source)
    frames = []

    def watch(update: int) -> bool:
        if update in updates:
            frames.append(_frame(run.model, episodes))
        return update >= updates[-1]

    watch(0)
    train([run], stop=watch)
    return film.Film(np.array(updates), *(np.stack(part) for part in zip(*frames, strict=True)))


def _frame(network: Kanerva, episodes: tasks.Episodes) -> tuple[np.ndarray, ...]:
    """What a film keeps of one moment, in the order of its fields."""
    outputs = run_episodes(network, episodes)
    alone, together = (
        torch.sigmoid(logits[0, : film.SHOWN]).mul(255).round().byte().numpy()
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


def store(films: dict[str, film.Film]) -> None:
    """Write films to where `stored` reads them."""
    parts = {
        f"{name}/{field}": part for name, each in films.items() for field, part in each._asdict().items()
    }

    def write(path: Path) -> None:
        with path.open("wb") as file:  # by its path alone, NumPy would add an ending
            np.savez_compressed(file, **parts)

    write_atomically(film.STORED, write)


if __name__ == "__main__":
    store({name: take(film.settings_of(name)) for name in film.VARIANTS})
