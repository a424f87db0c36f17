"""Figures of the Kanerva chapters."""

from mini_lib.reproduction.kanerva.figures.generation import imagined
from mini_lib.reproduction.kanerva.figures.losses import by_row
from mini_lib.reproduction.kanerva.figures.memory import at_work, choices, geometry, moment, stems
from mini_lib.reproduction.kanerva.figures.parts import (
    against_machines,
    heat_maps,
    lines,
    pictures,
    strips,
)
from mini_lib.reproduction.kanerva.figures.sprites import coloured, maps, single_machines

__all__ = [
    "against_machines",
    "at_work",
    "by_row",
    "choices",
    "coloured",
    "geometry",
    "heat_maps",
    "imagined",
    "lines",
    "maps",
    "moment",
    "pictures",
    "single_machines",
    "stems",
    "strips",
]
