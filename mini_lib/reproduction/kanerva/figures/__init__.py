"""Figures of the Kanerva chapters."""

from mini_lib.reproduction.kanerva.figures.losses import by_row
from mini_lib.reproduction.kanerva.figures.memory import at_work, geometry, moment, stems
from mini_lib.reproduction.kanerva.figures.parts import (
    against_machines,
    heat_maps,
    lines,
    pictures,
    strips,
)
from mini_lib.reproduction.kanerva.figures.sprites import coloured

__all__ = [
    "against_machines",
    "at_work",
    "by_row",
    "coloured",
    "geometry",
    "heat_maps",
    "lines",
    "moment",
    "pictures",
    "stems",
    "strips",
]
