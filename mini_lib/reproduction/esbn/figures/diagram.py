"""The two streams of the ESBN and the memory between them (Figure 2)."""

from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from mini_lib.reproduction.plotting import OKABE_ITO, RULE, diagram, figure

KEYS, VALUES = OKABE_ITO[:2]
BOXES = {
    "image $x_t$": ((1.1, 0.8), 1.6, VALUES),
    "encoder $f_e$,\nnormalisation": ((3.9, 0.8), 2.2, VALUES),
    "values $M_v$": ((7.9, 0.8), 1.7, VALUES),
    "keys $M_k$": ((7.9, 3.0), 1.7, KEYS),
    "controller $f_s$\n(LSTM)": ((3.9, 3.0), 2.2, KEYS),
    "answer $\\hat{y}$": ((1.1, 3.0), 1.6, RULE),
}
ARROWS = {
    "": ((1.9, 0.8), (2.8, 0.8), (2.3, 1.0), VALUES),
    "embedding $z_t$\nasks, then is stored": ((5.0, 0.8), (7.05, 0.8), (5.92, 0.36), VALUES),
    "writes $k_{w,t}$": ((5.0, 3.2), (7.05, 3.2), (5.92, 3.48), KEYS),
    "retrieved $k_{r,t}$,\nconfidence": ((7.05, 2.8), (5.0, 2.8), (5.92, 2.32), KEYS),
    "weights and\nconfidences": ((7.9, 1.2), (7.9, 2.6), (8.55, 1.9), RULE),
    " ": ((2.8, 3.0), (1.9, 3.0), (2.3, 3.2), RULE),
}

FRAME = {"fill": False, "edgecolor": "#bdbdbd", "linestyle": "--"}


def two_streams() -> Figure:
    """Draw the network: what objects look like in orange, what role they play in blue."""
    fig, ax = figure(size=(7.6, 3.2))
    diagram(ax, BOXES, ARROWS)
    ax.text(7.95, 3.72, "memory", ha="center", color=RULE)
    ax.add_patch(FancyBboxPatch((6.8, 0.2), 2.5, 3.4, boxstyle="square,pad=0", **FRAME))
    ax.set(xlim=(0, 9.4), ylim=(0, 4.1))
    ax.set_axis_off()
    return fig
