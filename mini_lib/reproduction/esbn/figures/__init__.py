"""Figures of the ESBN chapter: the network, problems and memory, learning, keys."""

from mini_lib.reproduction.esbn.figures.diagram import two_streams
from mini_lib.reproduction.esbn.figures.keys import (
    decoding,
    geometries,
    key_plane,
    paired_differences,
    retrieved_against_written,
    third_key,
    train_against_test,
)
from mini_lib.reproduction.esbn.figures.learning import (
    accuracy_by_regime,
    learning_curves,
    live_curves,
)
from mini_lib.reproduction.esbn.figures.problems import embeddings, gallery, memory, problem, tasks

__all__ = [
    "accuracy_by_regime",
    "decoding",
    "embeddings",
    "gallery",
    "geometries",
    "key_plane",
    "learning_curves",
    "live_curves",
    "memory",
    "paired_differences",
    "problem",
    "retrieved_against_written",
    "tasks",
    "third_key",
    "train_against_test",
    "two_streams",
]
