"""The two streams of Syntactic Attention (Figure 1), and one hard problem made into two easy ones (Figure 3)."""

from textwrap import fill

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from mini_lib.reproduction.plotting import CONTENT, QUIET, RULE, STRUCTURE, diagram, figure
from mini_lib.reproduction.scan.figures.squares import Number, square

BOXES = {
    "words": ((5.0, 5.7), 2.4, RULE),
    "roles $h_j$\n(from the other words)": ((1.95, 3.9), 3.7, STRUCTURE),
    "decoder $s_i$\n(one step an action)": ((1.95, 1.9), 3.7, STRUCTURE),
    "meanings $m_j$\n(each word alone)": ((8.05, 3.9), 3.7, CONTENT),
    "average $d_i$\n(of the meanings)": ((8.05, 1.9), 3.7, CONTENT),
    "action": ((8.05, 0.25), 2.4, RULE),
}
ARROWS = {
    "": ((4.4, 5.32), (2.6, 4.28), (3.2, 5.0), STRUCTURE),
    " ": ((5.6, 5.32), (7.4, 4.28), (6.8, 5.0), CONTENT),
    "  ": ((1.95, 3.52), (1.95, 2.28), (2.3, 2.9), STRUCTURE),
    "   ": ((8.05, 3.52), (8.05, 2.28), (8.3, 2.9), CONTENT),
    "attention\n$\\alpha_{ij}$": ((3.8, 1.9), (6.2, 1.9), (5.0, 2.5), RULE),
    "$f$": ((8.05, 1.52), (8.05, 0.63), (8.4, 1.1), CONTENT),
}


def two_streams() -> Figure:
    """Draw the network: syntax, which places attention, in blue; semantics, which is attended to, in orange."""
    fig, ax = figure(size=(4.6, 3.5))
    diagram(ax, BOXES, ARROWS)
    for text in ax.texts:
        text.set_fontsize(9)
    ax.text(0.9, 4.65, "syntax", ha="center", color=STRUCTURE, weight="bold")
    ax.text(9.0, 4.65, "semantics", ha="center", color=CONTENT, weight="bold")
    ax.set(xlim=(0, 10), ylim=(-0.25, 6.2))
    ax.set_axis_off()
    return fig


# ------------------------------------------------------------------------------------------------ Figure 3

VERBS = ("walk", "look", "run", "jump")
FRAMES = ("VERB", "VERB twice", "VERB left", "VERB around right", "walk after VERB")
SEEN, UNSEEN = "#e9e9e9", "#ffffff"


def two_problems() -> list[Figure]:
    """Draw Figure 3's idea with add-jump: what is new as a pair of verb and construction is known in each part.

    First every verb in every construction; jump is seen in one alone. Then what each stream has to know: the meaning
    of every verb, and every construction with some verb; all of it was seen.
    """
    one, ax = figure(size=(3.5, 2.5))
    _grid(ax)
    ax.set(xlim=(0, 7.5), ylim=(5.1, -0.8))
    two, parts = figure(size=(3.1, 2.5))
    _parts(parts)
    parts.set(xlim=(0, 6.6), ylim=(5.1, -0.8))
    for each in (ax, parts):
        each.set_axis_off()
    return [one, two]


def _grid(ax: Axes) -> None:
    ax.text(3.75, -0.45, "one problem: each verb in each construction", ha="center")
    for row, verb in enumerate(VERBS):
        ax.text(0.85, 1.5 + row, verb, ha="right", va="center")
        for column, frame in enumerate(FRAMES):
            seen = verb != "jump" or frame == "VERB"
            _cell(ax, 1.0 + 1.3 * column, 1 + row, 1.22, "seen" if seen else "?", seen)
    for column, frame in enumerate(FRAMES):
        ax.text(1.6 + 1.3 * column, 0.4, fill(frame, 8), ha="center", va="center", fontsize=9)


def _parts(ax: Axes) -> None:
    ax.text(1.5, -0.45, "meanings", ha="center", color=CONTENT, weight="bold")
    ax.text(4.9, -0.45, "uses", ha="center", color=STRUCTURE, weight="bold")
    for row, verb in enumerate(VERBS):
        ax.text(1.0, 0.8 + 1.1 * row, verb, ha="right", va="center")
        look = {"arrowstyle": "-|>", "color": CONTENT}
        ax.annotate("", (1.75, 0.8 + 1.1 * row), (1.1, 0.8 + 1.1 * row), arrowprops=look)
        square(ax, verb.upper(), 1.85, 0.3 + 1.1 * row, 9)
    for row, frame in enumerate(FRAMES):
        _cell(ax, 3.3, 0.1 + 0.96 * row, 3.2, frame, True, 0.84)


def _cell(
    ax: Axes, x: Number, y: Number, width: Number, text: str, seen: bool, height: Number = 0.92
) -> None:
    style = {"facecolor": SEEN if seen else UNSEEN, "edgecolor": QUIET, "linestyle": "-" if seen else "--"}
    ax.add_patch(Rectangle((x, y), width, height, linewidth=1, **style))
    look = {"ha": "center", "va": "center", "fontsize": 9, "weight": "normal" if seen else "bold"}
    ax.text(x + width / 2, y + height / 2, text, **look)
