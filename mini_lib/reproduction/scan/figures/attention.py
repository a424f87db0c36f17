"""Attention of one command, step by step, as a map."""

import numpy as np
from matplotlib.figure import Figure

from mini_lib.reproduction.plotting import QUIET, RULE, figure
from mini_lib.reproduction.scan.figures.squares import square
from mini_lib.scan.analysis import CommandAttention

WIDTH, LABELS = 4.6, 1.15  # inches: of the widest map, and of the words beside it
WRONG = "#000000"


def attention_map(attended: CommandAttention, *, large: bool = False) -> Figure:
    """Draw the attention of every step (from left to right) on every word (from top to bottom).

    Above it the correct actions and, if it differs, the network's output, wrong actions in black frames. A ring
    marks the word whose meaning the correct action is; a step is right if its dark field is in its ring. A `large`
    map of few steps has large fields.
    """
    words, steps = len(attended.words), len(attended.right)
    columns = steps if large else max(steps, 12)
    cell = min(0.46 if large else 0.3, (WIDTH - LABELS) / columns)
    tall = min(max(cell, 0.24), 0.36)
    wrong = attended.right != attended.predicted
    above = 2.3 if wrong else 1.25  # rows of actions, in cells
    fig, ax = figure(size=(LABELS + cell * columns + 0.1, tall * words + above * cell + 0.2))
    extent = (0, steps, words * tall / cell, 0)
    look = {"cmap": "Blues", "vmin": 0, "vmax": 1, "aspect": "auto", "interpolation": "nearest"}
    ax.imshow(attended.attention.T.numpy(), extent=extent, **look)
    x, y = np.arange(len(attended.source)) + 0.5, (attended.source.numpy() + 0.5) * tall / cell
    for shade, wide in (("white", 3.4), (RULE, 1.6)):  # seen on dark and on light
        ax.plot(x, y, "o", fillstyle="none", color=shade, markersize=9, markeredgewidth=wide)
    for step, (right, predicted) in enumerate(zip(attended.right, attended.predicted, strict=True)):
        square(ax, right, step, -1.15, 28 * cell)
        if wrong:
            square(ax, predicted, step, -2.2, 28 * cell, edge="none" if predicted == right else WRONG)
    for place, word in enumerate(attended.words):
        ax.text(-0.3, (place + 0.5) * tall / cell, word, ha="right", va="center", fontsize=9)
    margin = {"ha": "right", "va": "center", "fontsize": 9, "color": QUIET}
    ax.text(-0.3, -0.65, "correct", **margin)
    if wrong:
        ax.text(-0.3, -1.7, "its output", **margin)
    ax.set(xlim=(-LABELS / cell, columns + 0.1), ylim=(words * tall / cell + 0.2, -above), autoscale_on=False)
    ax.set_axis_off()
    return fig
