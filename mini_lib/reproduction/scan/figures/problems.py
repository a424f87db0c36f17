"""Commands and their actions (Figure 2), where each action comes from, and what the splits hold back."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mini_lib.reproduction.plotting import OKABE_ITO, QUIET, figure
from mini_lib.reproduction.scan.figures.squares import LOOKS, NAMES, ink, square
from mini_lib.scan.grammar import derive, interpret
from mini_lib.scan.tasks import MAX_ACTIONS, action_count, get_split

TRAIN, TEST = OKABE_ITO[0], OKABE_ITO[1]
WIDTH = 9.4  # inches of the widest figure
LETTER = 0.085  # inches of a letter of the commands
CELL = 0.25  # inches of a square, less where a command has many actions
TITLES = {
    "simple": "simple: at random",
    "length": "length: long ones held out",
    "add_jump": "add jump: jump only alone",
    "add_turn_left": "add turn left: turn left only alone",
}


def commands(texts: Sequence[str]) -> Figure:
    """Draw commands, each over its actions as coloured squares."""
    meanings = [interpret(text) for text in texts]
    kinds = {action for actions in meanings for action in actions}
    wide = max(*map(len, meanings), 5 * len(kinds), *(round(LETTER * len(text) / CELL) for text in texts))
    cell = min(CELL, WIDTH / wide)
    fig, ax = figure(size=(cell * wide + 0.2, cell * (2.3 * len(texts) + 1.6) + 0.1))
    size, below = 30 * cell, 2.3 * len(texts) + 0.4
    for number, (text, actions) in enumerate(zip(texts, meanings, strict=True)):
        ax.text(0.06, 2.3 * number + 0.55, text, va="center", fontsize=9.5)
        for place, action in enumerate(actions):
            square(ax, action, place, 2.3 * number + 1, size)
    for place, action in enumerate(action for action in LOOKS if action in kinds):
        square(ax, action, 5 * place, below, size)
        name = NAMES.get(action, action.lower())
        ax.text(5 * place + 1.15, below + 0.5, name, va="center", fontsize="small", color=QUIET)
    ax.set(xlim=(-0.1, wide + 0.1), ylim=(below + 1.1, -0.1), aspect="equal", anchor="W")
    ax.set_axis_off()
    return fig


def derivation(command: str) -> Figure:
    """Draw which word each action is the meaning of: a line from the word to every action that it emits.

    Words that emit nothing (turn, and all that say how often and in what order) are grey.
    """
    steps, words = derive(command), command.split()
    cell = min(0.34, WIDTH / max(len(steps), 1))
    wide = max(len(steps), 0.85 * len(words) / cell)
    fig, ax = figure(size=(cell * wide + 0.3, 2.2))
    place = {number: wide * (number + 0.5) / len(words) for number in range(len(words))}
    offset, high = (wide - len(steps)) / 2, 1.5 / cell
    emitted = {step.word: step.action for step in steps}
    for at, step in enumerate(steps):
        line = ([place[step.word], offset + at + 0.5], [0, high])
        ax.plot(*line, color=LOOKS[step.action][0], linewidth=1.1, alpha=0.75, zorder=1)
        square(ax, step.action, offset + at, high, 30 * cell)
    for number, word in enumerate(words):
        shade = LOOKS[emitted[number]][0] if number in emitted else "#eeeeee"
        look = {"boxstyle": "round,pad=0.3", "facecolor": shade, "edgecolor": "none"}
        colour = ink(shade) if number in emitted else QUIET
        ax.text(place[number], 0, word, ha="center", va="center", color=colour, bbox=look, zorder=3)
    ax.set(xlim=(-0.2, wide + 0.2), ylim=(high + 1.3, -0.35 / cell))
    ax.set_axis_off()
    return fig


# ------------------------------------------------------------------------------------------------ splits


def splits(names: Sequence[str] = ("simple", "length", "add_turn_left", "add_jump")) -> Figure:
    """Draw how many different commands of each number of actions are for training and for the test.

    Each panel says how many there are, and which command is shown many times.
    """
    rows = -(-len(names) // 2)
    fig, axes = figure(rows, 2, size=(9.4, 2.9 * rows), squeeze=False, sharex=True, sharey=True)
    for ax, name in zip(axes.ravel(), names, strict=True):
        _split(ax, name)
    for left, below in zip(axes[:, 0], axes[-1], strict=False):
        left.set_ylabel("different commands")
        below.set_xlabel("actions asked for")
    axes[0, 0].set_ylim(0, 1.06 * axes[0, 0].get_ylim()[1])  # bars end at the limit otherwise
    return fig


def _split(ax: Axes, name: str) -> None:
    train, test = get_split(name)
    places, bottom = range(1, MAX_ACTIONS), np.zeros(MAX_ACTIONS - 1)
    for part, texts, shade in (("training", set(train), TRAIN), ("test", set(test), TEST)):
        counts = Counter(map(action_count, texts))
        bars = np.array([counts[n] for n in places])
        ax.bar(places, bars, 0.9, bottom=bottom, color=shade, label=f"{part}: {len(texts):,}")
        bottom = bottom + bars
    ax.set(title=TITLES.get(name, name.replace("_", " ")), xlim=(0, MAX_ACTIONS))
    look = {"fontsize": "small", "title_fontsize": "small", "handlelength": 1, "loc": "upper right"}
    ax.legend(title=_repeated(train), frameon=False, **look)


def _repeated(texts: Sequence[str]) -> str:
    """Which command is in the training set many times, if one is."""
    [(text, count)] = Counter(texts).most_common(1)
    return f"“{text}” is shown {count:,} times" if count > 1 else ""
