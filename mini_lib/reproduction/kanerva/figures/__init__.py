"""Figures of the Kanerva chapters."""

from mini_lib.reproduction.kanerva.figures.diagrams import architecture, generative_model
from mini_lib.reproduction.kanerva.figures.generation import imagined
from mini_lib.reproduction.kanerva.figures.losses import by_row, curves_of
from mini_lib.reproduction.kanerva.figures.memory import at_work, choices, geometry, moment, stems
from mini_lib.reproduction.kanerva.figures.parts import (
    against_machines,
    heat_maps,
    lines,
    pictures,
    strips,
)
from mini_lib.reproduction.kanerva.figures.scaling import scaling_theory, scaling_times
from mini_lib.reproduction.kanerva.figures.sprites import coloured, maps, single_machines

__all__ = [
    "against_machines",
    "architecture",
    "at_work",
    "by_row",
    "choices",
    "coloured",
    "curves_of",
    "generative_model",
    "geometry",
    "heat_maps",
    "imagined",
    "lines",
    "maps",
    "moment",
    "pictures",
    "scaling_theory",
    "scaling_times",
    "single_machines",
    "stems",
    "strips",
]
