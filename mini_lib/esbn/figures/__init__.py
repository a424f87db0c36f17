"""Figures of the ESBN chapter: problems and memory, learning, keys."""

from mini_lib.esbn.figures.keys import decoding, key_plane
from mini_lib.esbn.figures.learning import accuracy_by_regime, learning_curves, live_curves
from mini_lib.esbn.figures.problems import embeddings, gallery, memory, problem, tasks

__all__ = [
    "accuracy_by_regime",
    "decoding",
    "embeddings",
    "gallery",
    "key_plane",
    "learning_curves",
    "live_curves",
    "memory",
    "problem",
    "tasks",
]
