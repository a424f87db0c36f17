"""Figures of the ESBN chapters: the network, problems, learning, keys."""

from mini_lib.reproduction.esbn.figures.diagram import two_streams
from mini_lib.reproduction.esbn.figures.keys import key_plane
from mini_lib.reproduction.esbn.figures.learning import learning_curves
from mini_lib.reproduction.esbn.figures.problems import gallery, problem

__all__ = ["gallery", "key_plane", "learning_curves", "problem", "two_streams"]
