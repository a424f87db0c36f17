"""The two streams of Syntactic Attention (Figure 1), and one hard problem made into two easy ones (Figure 3)."""

from textwrap import fill

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from mini_lib.reproduction.plotting import OKABE_ITO, QUIET, RULE, diagram, figure
from mini_lib.reproduction.scan.figures.squares import Number, square

SYNTAX, SEMANTICS = OKABE_ITO[:2]
BOXES = {
    "words $x_j$": ((0.95, 1.9), 1.5, RULE),
    "roles $h_j$\n(from the words around)": ((3.6, 3.1), 2.7, SYNTAX),
    "decoder $s_i$\n(LSTM)": ((6.9, 3.1), 1.7, SYNTAX),
    "meanings $m_j$\n(each word by itself)": ((3.6, 0.7), 2.7, SEMANTICS),
    "sum $d_i=\\sum_j\\alpha_{ij}m_j$": ((6.9, 0.7), 2.4, SEMANTICS),
    "action $y_i$": ((9.6, 0.7), 1.3, RULE),
}
ARROWS = {
    "": ((1.2, 2.28), (2.3, 2.75), (1.5, 2.7), SYNTAX),
    " ": ((1.2, 1.52), (2.3, 1.05), (1.5, 1.1), SEMANTICS),
    "$e_{ij}=s_i\\cdot h_j$": ((4.95, 3.25), (6.05, 3.25), (5.5, 3.52), SYNTAX),
    "$c_i=\\sum_j\\alpha_{ij}h_j$": ((4.95, 2.9), (6.05, 2.9), (5.5, 2.52), SYNTAX),
    "  ": ((4.95, 0.7), (5.7, 0.7), (5.3, 0.9), SEMANTICS),
    "attention $\\alpha_{ij}$:\nwhere to look, nothing else": ((6.9, 2.72), (6.9, 1.08), (8.15, 1.9), RULE),
    "$f$": ((8.1, 0.7), (8.95, 0.7), (8.5, 0.95), SEMANTICS),
}


def two_streams() -> Figure:
    """Draw the network: syntax, which steers, in blue; semantics, which speaks, in orange."""
    fig, ax = figure(size=(8.6, 3.3))
    diagram(ax, BOXES, ARROWS)
    ax.text(3.6, 3.72, "syntax", ha="center", color=SYNTAX)
    ax.text(3.6, 0.0, "semantics", ha="center", color=SEMANTICS)
    ax.set(xlim=(0, 10.5), ylim=(-0.2, 4.0))
    ax.set_axis_off()
    return fig


# ------------------------------------------------------------------------------------------------ Figure 3

VERBS = ("walk", "look", "run", "jump")
FRAMES = ("VERB", "VERB twice", "VERB left", "VERB around right", "walk after VERB")
SEEN, UNSEEN = "#dfe9f3", "#ffffff"


def two_problems() -> Figure:
    """Draw Figure 3's idea with add-jump: what is new as a pair of verb and construction is known in each part.

    On the left every verb in every construction; jump is seen in one alone. On the right what each stream has to
    know: the meaning of every verb, and every construction with some verb; all of it was seen.
    """
    fig, ax = figure(size=(9.4, 2.9))
    _grid(ax)
    ax.annotate("", (9.1, 2.5), (8.0, 2.5), arrowprops={"arrowstyle": "-|>", "color": RULE, "linewidth": 2})
    _parts(ax)
    ax.set(xlim=(-0.1, 16.6), ylim=(5.6, -1.1))
    ax.set_axis_off()
    return fig


def _grid(ax: Axes) -> None:
    ax.text(4.4, -0.75, "one problem out of the distribution", ha="center")
    for row, verb in enumerate(VERBS):
        ax.text(1.15, 1.5 + row, verb, ha="right", va="center")
        for column, frame in enumerate(FRAMES):
            seen = verb != "jump" or frame == "VERB"
            _cell(ax, 1.4 + 1.3 * column, 1 + row, 1.22, "seen" if seen else "?", seen)
    for column, frame in enumerate(FRAMES):
        ax.text(2.0 + 1.3 * column, 0.45, fill(frame, 10), ha="center", va="center", fontsize="small")


def _parts(ax: Axes) -> None:
    ax.text(10.9, -0.75, "meanings", ha="center", color=SEMANTICS)
    ax.text(14.7, -0.75, "uses", ha="center", color=SYNTAX)
    ax.text(12.9, 5.35, "two problems within it: every part was seen", ha="center")
    for row, verb in enumerate(VERBS):
        ax.text(10.3, 1.0 + row, verb, ha="right", va="center")
        ax.annotate(
            "", (11.0, 1.0 + row), (10.4, 1.0 + row), arrowprops={"arrowstyle": "-|>", "color": SEMANTICS}
        )
        square(ax, verb.upper(), 11.1, 0.5 + row, 9)
    for row, frame in enumerate(FRAMES):
        _cell(ax, 13.1, 0.2 + 0.9 * row, 3.2, frame, True, 0.82)


def _cell(
    ax: Axes, x: Number, y: Number, width: Number, text: str, seen: bool, height: Number = 0.92
) -> None:
    shade = "#bdbdbd" if seen else SEMANTICS
    style = {"facecolor": SEEN if seen else UNSEEN, "edgecolor": shade, "linestyle": "-" if seen else "--"}
    ax.add_patch(Rectangle((x, y), width, height, linewidth=1, **style))
    colour = QUIET if seen else SEMANTICS
    ax.text(x + width / 2, y + height / 2, text, ha="center", va="center", fontsize="small", color=colour)
