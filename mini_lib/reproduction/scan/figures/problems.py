"""Commands and their actions (Figure 2), and the word from which each action comes."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from mini_lib.reproduction.plotting import QUIET, figure
from mini_lib.reproduction.scan.figures.squares import LOOKS, ink, square
from mini_lib.scan.grammar import derive, interpret

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


def derivation(command: str) -> Figure:
    """Draw which word each action is the meaning of: a line from the word to every action that it emits.

    Words that emit nothing (turn, and all that say how often and in what order) are grey.
    """
    steps, words = derive(command), command.split()
    cell = min(0.34, WIDTH / max(len(steps), 1))
    wide = max(len(steps), 0.76 * len(words) / cell)
    fig, ax = figure(size=(cell * wide + 0.1, 1.9))
    place = {number: wide * (number + 0.5) / len(words) for number in range(len(words))}
    offset, high = (wide - len(steps)) / 2, 1.3 / cell
    emitted = {step.word: step.action for step in steps}
    for at, step in enumerate(steps):
        line = ([place[step.word], offset + at + 0.5], [0, high])
        ax.plot(*line, color=LOOKS[step.action][0], linewidth=1.1, alpha=0.75, zorder=1)
        square(ax, step.action, offset + at, high, 30 * cell)
    for number, word in enumerate(words):
        shade = LOOKS[emitted[number]][0] if number in emitted else "#eeeeee"
        look = {"boxstyle": "round,pad=0.25", "facecolor": shade, "edgecolor": "none"}
        color = ink(shade) if number in emitted else QUIET
        ax.text(
            place[number], 0, word, ha="center", va="center", color=color, bbox=look, zorder=3, fontsize=9
        )
    ax.set(xlim=(-0.2, wide + 0.2), ylim=(high + 1.3, -0.35 / cell))
    ax.set_axis_off()
    return fig
