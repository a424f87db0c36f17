"""The two streams of the ESBN and the memory between them (Figure 2)."""

from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from mini_lib.reproduction.plotting import CONTENT, RULE, STRUCTURE, diagram, figure

BOXES = {
    "picture $x_t$": ((2.0, 0.5), 2.0, CONTENT),
    "encoder,\nnormalization": ((2.0, 2.0), 2.3, CONTENT),
    "values": ((2.0, 4.0), 1.7, CONTENT),
    "keys": ((5.6, 4.0), 1.7, STRUCTURE),
    "controller\n(LSTM)": ((5.6, 6.0), 2.3, STRUCTURE),
    "answer": ((5.6, 7.5), 2.0, RULE),
}
ARROWS = {
    "": ((2.0, 0.9), (2.0, 1.6), (2.2, 1.2), CONTENT),
    "embedding $z_t$": ((2.0, 2.4), (2.0, 3.6), (3.2, 2.85), CONTENT),
    "weights,\nconfidences": ((2.85, 4.0), (4.75, 4.0), (3.8, 4.42), RULE),
    "key\nwritten": ((6.0, 5.6), (6.0, 4.4), (6.75, 5.2), STRUCTURE),
    "key retrieved,\nconfidence": ((5.2, 4.4), (5.2, 5.6), (4.1, 5.25), STRUCTURE),
    " ": ((5.6, 6.4), (5.6, 7.1), (5.8, 6.75), RULE),
}

FRAME = {"fill": False, "edgecolor": "#bdbdbd", "linestyle": "--"}


def two_streams() -> Figure:
    """Draw the network: what objects look like in orange, what role they play in blue."""
    fig, ax = figure(size=(3.7, 4.4))
    diagram(ax, BOXES, ARROWS)
    ax.text(0.62, 4.0, "memory", ha="center", va="center", rotation=90, color=RULE)
    ax.add_patch(FancyBboxPatch((0.3, 3.3), 6.9, 1.45, boxstyle="square,pad=0", **FRAME))
    for text in ax.texts:
        text.set_fontsize(9.5)
    ax.set(xlim=(0, 7.6), ylim=(0, 8.0))
    ax.set_axis_off()
    return fig
