"""How machines are chosen."""

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from mini_lib.reproduction.kanerva.figures.parts import BLUE, arrays
from mini_lib.reproduction.plotting import QUIET, RULE, Numbers, figure, style

CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 3**0.5 / 2]])  # of the triangle on which three weights lie


def choices(panels: Mapping[str, Numbers]) -> Figure:
    """Draw weights of three machines as dots in a triangle: each corner is one machine alone, the middle all evenly.

    Each panel has the weights of N draws, [N, 3], which sum to 1.
    """
    shown = arrays(panels)
    with style():
        fig, axes = figure(1, len(shown), size=(2.3 * len(shown) + 0.3, 2.5), squeeze=False)
        for ax, (title, weights) in zip(axes[0], shown.items(), strict=True):
            ax.plot(*np.append(CORNERS, CORNERS[:1], axis=0).T, color=QUIET, linewidth=0.8)
            ax.plot(*(weights @ CORNERS).T, "o", color=BLUE, markersize=3, alpha=0.25, markeredgewidth=0)
            for number, corner in enumerate(CORNERS, start=1):
                outward = 1.16 * (corner - CORNERS.mean(0)) + CORNERS.mean(0)
                ax.text(*outward, str(number), ha="center", va="center", fontsize="small", color=RULE)
            ax.set(title=title, xlim=(-0.2, 1.2), ylim=(-0.2, 1.08), aspect="equal")
            ax.set_axis_off()
    return fig
