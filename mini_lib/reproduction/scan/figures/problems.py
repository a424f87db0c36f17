"""Commands and their actions (Figure 2)."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from mini_lib.reproduction.plotting import figure
from mini_lib.reproduction.scan.figures.squares import square
from mini_lib.scan.grammar import interpret

WIDTH = 4.6  # inches of the widest figure
LETTER = 0.085  # inches of a letter of the commands
CELL = 0.29  # inches of a square, less where a command has many actions


def commands(texts: Sequence[str]) -> Figure:
    """Draw commands, each over its actions as colored squares."""
    meanings = [interpret(text) for text in texts]
    wide = max(*map(len, meanings), *(round(LETTER * len(text) / CELL) for text in texts))
    cell = min(CELL, WIDTH / wide)
    fig, ax = figure(size=(cell * wide + 0.2, cell * 2.3 * len(texts) + 0.1))
    for number, (text, actions) in enumerate(zip(texts, meanings, strict=True)):
        ax.text(0.06, 2.3 * number + 0.55, text, va="center", fontsize=9.5)
        for place, action in enumerate(actions):
            square(ax, action, place, 2.3 * number + 1, 30 * cell)
    ax.set(xlim=(-0.1, wide + 0.1), ylim=(2.3 * len(texts), -0.1), aspect="equal", anchor="W")
    ax.set_axis_off()
    return fig
