"""What several figures of this wing are made of: small pictures, rows of them, and means in their bands."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mini_lib.errors import UsageError
from mini_lib.reproduction.plotting import OKABE_ITO, Numbers, figure, style

INK = "gray_r"  # 1 is ink
BLUE, VERMILION, GREEN, *_ = OKABE_ITO
CHANNELS = {"red": VERMILION, "green": GREEN, "blue": BLUE}  # of the binding task


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


def rows_of_pictures(
    rows: Mapping[str, Numbers], titles: Sequence[str], paint: Callable[[Axes, np.ndarray], None]
) -> Figure:
    """Draw rows of small pictures, each row with its name on the left.

    Args:
        rows: name -> N pictures; all rows have the same N.
        titles: of the columns, or none.
        paint: draws one picture.

    Raises:
        UsageError: for titles that are not one a column.
    """
    count = len(next(iter(rows.values())))
    if titles and len(titles) != count:
        raise UsageError(f"{count} columns of pictures with {len(titles)} titles; give one for each")
    with style():
        fig, axes = figure(len(rows), count, size=(0.72 * count + 1.5, 0.82 * len(rows)), squeeze=False)
        for line, (name, each) in zip(axes, rows.items(), strict=True):
            for ax, picture in zip(line, np.asarray(each, dtype=float), strict=True):
                paint(ax, picture)
            line[0].set_ylabel(name, rotation=0, ha="right", va="center", fontsize="small")
        for ax, title in zip(axes[0], titles, strict=False):
            ax.set_title(title, fontsize="small", loc="center")
    return fig


def band(ax: Axes, x: Float[np.ndarray, "P"], runs: Float[np.ndarray, "B P"], name: str, colour: str) -> None:
    """Draw the mean over B; with more than one of them, in a band of two standard errors each way."""
    mean = runs.mean(0)
    ax.plot(x, mean, color=colour, label=name)
    if len(runs) > 1:
        wide = 2 * runs.std(0, ddof=1) / len(runs) ** 0.5
        ax.fill_between(x, mean - wide, mean + wide, color=colour, alpha=0.18, linewidth=0)
