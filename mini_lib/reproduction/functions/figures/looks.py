"""Colours and names: one for each class of curves and one for each network, the same in every figure."""

from collections.abc import Iterable
from itertools import cycle

import matplotlib as mpl
import numpy as np
from matplotlib.colors import ListedColormap

from mini_lib.reproduction.functions.cells import ROWS
from mini_lib.reproduction.plotting import OKABE_ITO, QUIET

BLUE, VERMILION, GREEN, PINK, ORANGE, SKY, BLACK = OKABE_ITO
TRUTH = BLACK  # the function itself
ASKED = VERMILION  # queries, and the column that they ask for
OTHERS = ("#8C5A2B", "#A6A6A6", "#2F7D7A", "#C4A0E0")  # predictors that are no networks, dashed
RULE_COLOURS = dict(zip(("zero", "OLS line", "ridge AR(2)", "Gaussian process"), OTHERS, strict=True))
RULE_COLOURS |= {"last value": "#7A7A00", "floor from differences": "#C9A27A"}
EARLY_TO_LATE = ListedColormap(mpl.colormaps["viridis_r"](np.linspace(0.15, 1, 256)))  # no yellow: too faint
KIND_COLOURS = {"lin": GREEN, "rbf": PINK, "sine": "#5D3A9B"}
KIND_NAMES = {
    "lin": "lines",
    "rbf": "RBF curves",
    "sine": "sinusoids",
    "all": "all, as the paper weighs",
    "even": "all, evenly",
}
# The bottleneck decides between orange and blue, the window makes either darker.
MODEL_COLOURS = {
    "one_d": ORANGE,
    "one_d_window": VERMILION,
    "relational": SKY,
    "relational_window": BLUE,
}
MODEL_NAMES = {
    "one_d": "1d",
    "one_d_window": "1d, window",
    "relational": "relational",
    "relational_window": "relational, window",
}
KEYS = {name: model for model, name in (*MODEL_NAMES.items(), *ROWS.items())}


def looks(names: Iterable[str]) -> dict[str, dict]:
    """How the lines of a figure are drawn: networks solid in their own colours, everything else dashed.

    What is said to a network's name, as in "1d, sliding", keeps the network's colour. The rules of `RULE_COLOURS`
    have a colour each; other names take in turn those that are left.
    """
    names = list(names)
    own = {name: MODEL_COLOURS.get(KEYS.get(name, name)) for name in names}
    kept = {name: MODEL_COLOURS.get(KEYS.get(name.rpartition(", ")[0])) for name in names} | {
        name: RULE_COLOURS[name] for name in names if name in RULE_COLOURS
    }
    left = cycle([colour for colour in OTHERS if colour not in kept.values()] or OTHERS)
    return {
        name: {"color": own[name]} if own[name] else {"color": kept[name] or next(left), "linestyle": "--"}
        for name in names
    }


def is_variant(name: str) -> bool:
    """Whether something is said to a network's name, as in "1d, sliding"; "1d, window" is itself a network.

    >>> is_variant("1d, sliding"), is_variant("1d, window"), is_variant("zero")
    (True, False, False)
    """
    return KEYS.get(name, name) not in MODEL_COLOURS and name.rpartition(", ")[0] in KEYS


def shade(name: str) -> str:
    """The colour of a network, by its key, its short name or the paper's name for it, or of a rule; else grey."""
    return MODEL_COLOURS.get(KEYS.get(name, name)) or RULE_COLOURS.get(name, QUIET)


def label(name: str) -> str:
    """How a network or a class is called in figures; any other name stays."""
    return (MODEL_NAMES | KIND_NAMES).get(name, name)
