"""Figures of the Kanerva chapters."""

from mini_lib.reproduction.kanerva.figures.parts import pictures
from mini_lib.reproduction.kanerva.figures.sprites import coloured

__all__ = ["coloured", "pictures"]
