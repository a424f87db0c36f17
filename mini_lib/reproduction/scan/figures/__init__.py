"""Figures of the SCAN chapter: commands, the network, attention, what words mean."""

from mini_lib.reproduction.scan.figures.attention import attention_map
from mini_lib.reproduction.scan.figures.diagram import two_problems, two_streams
from mini_lib.reproduction.scan.figures.meanings import word_meanings
from mini_lib.reproduction.scan.figures.problems import commands

__all__ = [
    "attention_map",
    "commands",
    "two_problems",
    "two_streams",
    "word_meanings",
]
