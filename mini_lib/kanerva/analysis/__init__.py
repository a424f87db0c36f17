"""What is measured inside trained memories."""

from mini_lib.kanerva.analysis.classes import CLASSES, class_means, explained
from mini_lib.kanerva.analysis.machines import alone, sharing
from mini_lib.kanerva.analysis.tuning import (
    Factor,
    cosines,
    diagonal,
    factors,
    fixed,
    modulation,
    separation,
    tuning,
)

__all__ = [
    "CLASSES",
    "Factor",
    "alone",
    "class_means",
    "cosines",
    "diagonal",
    "explained",
    "factors",
    "fixed",
    "modulation",
    "separation",
    "sharing",
    "tuning",
]
