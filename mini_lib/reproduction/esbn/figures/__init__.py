"""Figures of the ESBN chapter: the network, problems and memory, learning, keys."""

from mini_lib.reproduction.esbn.figures.diagram import two_streams
from mini_lib.reproduction.esbn.figures.keys import decoding, key_plane
from mini_lib.reproduction.esbn.figures.learning import learning_curves, live_curves
from mini_lib.reproduction.esbn.figures.problems import chosen, gallery, memory, problem, tasks

__all__ = [
    "chosen",
    "decoding",
    "gallery",
    "key_plane",
    "learning_curves",
    "live_curves",
    "memory",
    "problem",
    "tasks",
    "two_streams",
]
