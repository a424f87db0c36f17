"""Figures of the SCAN chapter: commands and splits, the network, attention, errors, runs."""

from mini_lib.reproduction.scan.figures.attention import attention_map
from mini_lib.reproduction.scan.figures.diagram import two_problems, two_streams
from mini_lib.reproduction.scan.figures.errors import roles, table, word_meanings
from mini_lib.reproduction.scan.figures.learning import accuracies, best_and_last, checkpoints
from mini_lib.reproduction.scan.figures.problems import commands, derivation, splits

__all__ = [
    "accuracies",
    "attention_map",
    "best_and_last",
    "checkpoints",
    "commands",
    "derivation",
    "roles",
    "splits",
    "table",
    "two_problems",
    "two_streams",
    "word_meanings",
]
