"""What is measured in networks that learned functions: ensembles, calibration, windows, attention, and tables."""

from mini_lib.functions.analysis.attention import (
    Attended,
    Falling,
    by_distance,
    over_matrix,
)
from mini_lib.functions.analysis.calibration import (
    MEAN_ERROR,
    Bins,
    Course,
    Coverage,
    course,
    coverage,
    error_by_spread,
    normal_coverage,
    rank_within_steps,
)
from mini_lib.functions.analysis.ensembles import Ensemble, ensemble
from mini_lib.functions.analysis.networks import local_weights, reader_network
from mini_lib.functions.analysis.window import Fall, fall

__all__ = [
    "MEAN_ERROR",
    "Attended",
    "Bins",
    "Course",
    "Coverage",
    "Ensemble",
    "Fall",
    "Falling",
    "by_distance",
    "course",
    "coverage",
    "ensemble",
    "error_by_spread",
    "fall",
    "local_weights",
    "normal_coverage",
    "over_matrix",
    "rank_within_steps",
    "reader_network",
]
