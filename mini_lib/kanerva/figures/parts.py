"""What several figures of this wing are made of: small pictures, and means in their bands."""

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes

from mini_lib.plotting import Numbers

INK = "gray_r"  # 1 is ink


def frame(ax: Axes) -> None:
    """Axes of a picture: a thin frame, no ticks."""
    ax.set(xticks=[], yticks=[])
    ax.grid(False)
    for side in ax.spines.values():
        side.set(visible=True, color="#c8c8c8", linewidth=0.6)


def ink(ax: Axes, picture: Numbers, limits: tuple[float, float] = (0.0, 1.0)) -> None:
    """Draw a grey picture, [H, W], in a thin frame; the limits are white and black."""
    shown = np.asarray(picture, dtype=float)
    ax.imshow(shown, cmap=INK, vmin=limits[0], vmax=limits[1], interpolation="nearest")
    frame(ax)


def band(ax: Axes, x: Float[np.ndarray, "P"], runs: Float[np.ndarray, "B P"], name: str, colour: str) -> None:
    """Draw the mean over B; with more than one of them, in a band of two standard errors each way."""
    mean = runs.mean(0)
    ax.plot(x, mean, color=colour, label=name)
    if len(runs) > 1:
        wide = 2 * runs.std(0, ddof=1) / len(runs) ** 0.5
        ax.fill_between(x, mean - wide, mean + wide, color=colour, alpha=0.18, linewidth=0)
