"""Rows of small pictures, for the Kanerva chapters."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mini_lib.reproduction.plotting import Numbers, figure, style


def paint(ax: Axes, picture: Numbers, smooth: bool = False) -> None:
    """Draw a picture in a thin frame: [H, W] in grey, 1 is ink; [3, H, W] in color."""
    shown = np.asarray(picture, dtype=float)
    shown = shown if shown.ndim == 2 else shown.transpose(1, 2, 0).clip(0, 1)
    ax.imshow(shown, cmap="gray_r", vmin=0, vmax=1, interpolation="bicubic" if smooth else "nearest")
    ax.set(xticks=[], yticks=[])
    ax.grid(False)
    for side in ax.spines.values():
        side.set(visible=True, color="#c8c8c8", linewidth=0.6)


def pictures(rows: Mapping[str, Numbers], inches: tuple = (0.72, 0.82), smooth: bool = False) -> Figure:
    """Draw rows of small pictures, each with its name on the left.

    They are in grey, [N, H, W], where 1 is ink, or in color, [N, 3, H, W]; a shorter row leaves places empty.
    `inches` are width and height of a picture. One of few pixels is easier to recognize if drawn `smooth`.
    """
    shown = {name: np.asarray(each, dtype=float) for name, each in rows.items()}
    count = max(len(each) for each in shown.values())
    with style():
        size = (inches[0] * count + 1.5 * any(name.strip() for name in shown), inches[1] * len(shown))
        fig, axes = figure(len(shown), count, size=size, squeeze=False)
        for line, (name, each) in zip(axes, shown.items(), strict=True):
            for ax in line[len(each) :]:
                ax.set_axis_off()
            for ax, picture in zip(line, each, strict=False):
                paint(ax, picture, smooth)
            line[0].set_ylabel(name, rotation=0, ha="right", va="center", fontsize="small")
    return fig
