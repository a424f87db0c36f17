"""What is measured in networks that learned functions: ensembles, calibration, windows, attention, and tables."""

from mini_lib.functions.analysis.attention import (
    Attended,
    Falling,
    by_distance,
    over_matrix,
    over_observations,
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
)
from mini_lib.functions.analysis.ensembles import Ensemble, ensemble
from mini_lib.functions.analysis.networks import reader_network
from mini_lib.functions.analysis.tables import by_step, printed_optimum, rows
from mini_lib.functions.analysis.window import Fall, Moved, fall, moved

__all__ = [
    "MEAN_ERROR",
    "Attended",
    "Bins",
    "Course",
    "Coverage",
    "Ensemble",
    "Fall",
    "Falling",
    "Moved",
    "by_distance",
    "by_step",
    "course",
    "coverage",
    "ensemble",
    "error_by_spread",
    "fall",
    "moved",
    "normal_coverage",
    "over_matrix",
    "over_observations",
    "printed_optimum",
    "reader_network",
    "rows",
]
