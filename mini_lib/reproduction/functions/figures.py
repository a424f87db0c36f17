"""What the figures of the function-learning chapters share: colors, names, smooth curves."""

import numpy as np
from jaxtyping import Float
from scipy.interpolate import CubicSpline

from mini_lib.reproduction.functions.cells import ROWS
from mini_lib.reproduction.plotting import COLORS, QUIET, Numbers

BETWEEN = 10  # points of a smooth line from one x to the next
KIND_COLORS = {"lin": "#8C5A2B", "rbf": "#CC79A7", "sine": "#5D3A9B"}
KIND_NAMES = {"lin": "lines", "rbf": "RBF curves", "sine": "sinusoids"}
MODEL_NAMES = {
    "one_d": "1d",
    "one_d_window": "1d, window",
    "one_d_level_hidden": "1d, level hidden",
    "relational": "relational",
    "relational_window": "relational, window",
}
KEYS = {name: model for model, name in (*MODEL_NAMES.items(), *ROWS.items())}


def shade(name: str) -> str:
    """The color of a network, by its key, its short name or the paper's name for it; of anything else a grey."""
    return COLORS.get(KEYS.get(name, name), QUIET)


def label(name: str) -> str:
    """How a network or a class is called in figures; any other name stays."""
    return (MODEL_NAMES | KIND_NAMES).get(name, name)


def smooth(truth: Numbers) -> tuple[Float[np.ndarray, "G"], Float[np.ndarray, "G"]]:
    """A function known at x = 1..T drawn as what it is, smooth: a cubic spline through these points."""
    points = len(truth)
    x = np.linspace(1, points, BETWEEN * (points - 1) + 1)
    return x, CubicSpline(np.arange(1, points + 1), np.asarray(truth, dtype=float))(x)
