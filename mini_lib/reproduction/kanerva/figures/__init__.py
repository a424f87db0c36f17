"""Figures of the Kanerva chapters."""

from mini_lib.reproduction.kanerva.figures.generation import imagined
from mini_lib.reproduction.kanerva.figures.losses import by_row
from mini_lib.reproduction.kanerva.figures.memory import choices
from mini_lib.reproduction.kanerva.figures.parts import heat_maps, pictures
from mini_lib.reproduction.kanerva.figures.sprites import coloured, maps, single_machines

__all__ = [
    "by_row",
    "choices",
    "coloured",
    "heat_maps",
    "imagined",
    "maps",
    "pictures",
    "single_machines",
]
