"""Figures of the Kanerva chapters."""

from mini_lib.reproduction.kanerva.figures.parts import pictures
from mini_lib.reproduction.kanerva.figures.sprites import colored

__all__ = ["colored", "pictures"]
