"""Figures of the function-learning chapters: problems, networks, continued curves, measurements."""

from mini_lib.reproduction.functions.figures.extrapolating import (
    Ensemble,
    cloud,
    continuations,
    ensemble,
    smooth,
)
from mini_lib.reproduction.functions.figures.looks import (
    KIND_COLOURS,
    KIND_NAMES,
    MODEL_COLOURS,
    MODEL_NAMES,
    label,
    shade,
)
from mini_lib.reproduction.functions.figures.measuring import (
    MetricHistory,
    by_step,
    metric_history,
)
from mini_lib.reproduction.functions.figures.networks import (
    attention,
    masks,
)
from mini_lib.reproduction.functions.figures.problems import differences, token_sets

__all__ = [
    "KIND_COLOURS",
    "KIND_NAMES",
    "MODEL_COLOURS",
    "MODEL_NAMES",
    "Ensemble",
    "MetricHistory",
    "attention",
    "by_step",
    "cloud",
    "continuations",
    "differences",
    "ensemble",
    "label",
    "masks",
    "metric_history",
    "shade",
    "smooth",
    "token_sets",
]
