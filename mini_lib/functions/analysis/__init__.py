"""What is measured in networks that learned functions: ensembles, calibration, windows and attention."""

from mini_lib.functions.analysis.calibration import (
    Coverage,
    MetricHistory,
    coverage,
    error_by_step,
    metric_history,
    normal_coverage,
    rank_within_steps,
)
from mini_lib.functions.analysis.networks import (
    DistanceAttention,
    Ensemble,
    MatrixAttention,
    WindowProfile,
    attention_by_distance,
    ensemble,
    local_weights,
    over_matrix,
    window_profile,
)

__all__ = [
    "Coverage",
    "DistanceAttention",
    "Ensemble",
    "MatrixAttention",
    "MetricHistory",
    "WindowProfile",
    "attention_by_distance",
    "coverage",
    "ensemble",
    "error_by_step",
    "local_weights",
    "metric_history",
    "normal_coverage",
    "over_matrix",
    "rank_within_steps",
    "window_profile",
]
