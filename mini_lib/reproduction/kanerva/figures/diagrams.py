"""Drawings of the network: its parts, and what depends on what when it generates."""

from collections.abc import Mapping

from matplotlib.figure import Figure

from mini_lib.reproduction.kanerva.figures.parts import BLACK, BLUE, GREEN, ORANGE, PINK, VERMILION
from mini_lib.reproduction.plotting import RULE, diagram, figure, style


def _diagram(boxes: Mapping, arrows: Mapping, size: tuple, xlim: tuple, ylim: tuple) -> Figure:
    with style():
        fig, ax = figure(size=size)
        diagram(ax, boxes, arrows)
        ax.set(xlim=xlim, ylim=ylim)
        ax.set_axis_off()
    return fig


def architecture() -> Figure:
    """Draw the Product Kanerva Machine with its networks (Figure 1A)."""
    boxes = {
        "image $x$": ((0.6, 3.0), 1.2, RULE),
        "encoder $e$": ((2.5, 3.0), 1.3, RULE),
        "address\n$w_i$": ((4.7, 3.9), 1.3, BLUE),
        "machines\n$R_i,\\ V_i$": ((7.0, 3.9), 1.5, BLUE),
        "history\n$\\Omega,\\ h$": ((2.5, 1.0), 1.3, PINK),
        "assignment\n$u \\rightarrow \\eta_i$": ((4.7, 1.9), 1.6, VERMILION),
        "weights\n$\\gamma_i$": ((7.0, 1.9), 1.3, VERMILION),
        "$\\sum_i\\gamma_i R_i w_i$": ((9.4, 3.0), 1.6, RULE),
        "decoder": ((11.5, 3.0), 1.2, RULE),
    }
    arrows = {
        "": ((1.2, 3.0), (1.83, 3.0), (1.5, 3.3), RULE),
        "$z$": ((3.17, 3.1), (4.03, 3.75), (3.45, 3.62), RULE),
        "$z$ ": ((3.17, 2.9), (3.9, 2.2), (3.4, 2.4), RULE),
        "$h$": ((3.17, 1.15), (3.9, 1.65), (3.65, 1.2), PINK),
        " ": ((5.37, 3.9), (6.23, 3.9), (5.8, 4.1), BLUE),
        "$1/\\eta_i^2$": ((5.52, 1.9), (6.33, 1.9), (5.93, 2.25), VERMILION),
        "$\\eta_i$ when writing": ((5.2, 2.3), (6.6, 3.48), (4.95, 3.05), VERMILION),
        "$R_i w_i$": ((7.77, 3.8), (8.7, 3.4), (8.4, 3.85), BLUE),
        "$\\gamma_i$ ": ((7.67, 2.1), (8.7, 2.65), (8.4, 2.2), VERMILION),
        "  ": ((10.22, 3.0), (10.88, 3.0), (10.5, 3.3), RULE),
        "$z, \\gamma$ of the items before": ((6.5, 1.48), (3.17, 0.85), (5.4, 0.75), PINK),
    }
    return _diagram(boxes, arrows, (9.4, 3.6), (-0.2, 12.3), (0.4, 4.5))


def generative_model() -> Figure:
    """Draw what depends on what when an image is generated (Figure 1B, in words of our own)."""
    boxes = {
        "history  $h$": ((1.2, 1.6), 1.8, PINK),
        "weights  $r_1 \\ldots r_k$": ((4.6, 1.6), 2.6, ORANGE),
        "addresses  $w_1 \\ldots w_k$": ((4.6, 2.8), 2.6, BLUE),
        "machines  $M_1 \\ldots M_k$": ((4.6, 4.0), 2.6, BLUE),
        "code  $z$": ((8.4, 2.8), 1.6, GREEN),
        "image  $x$": ((11.4, 2.8), 1.6, BLACK),
    }
    arrows = {
        "$p(r\\,|\\,h)$": ((2.15, 1.6), (3.2, 1.6), (2.7, 2.05), ORANGE),
        "$z = \\sum_i \\gamma_i M_i w_i$": ((5.95, 4.0), (7.5, 3.2), (8.3, 3.9), GREEN),
        "": ((5.95, 2.8), (7.5, 2.8), (6.7, 2.8), GREEN),
        " ": ((5.95, 1.6), (7.5, 2.4), (6.7, 1.6), GREEN),
        "decoder": ((9.25, 2.8), (10.55, 2.8), (9.9, 3.1), BLACK),
    }
    return _diagram(boxes, arrows, (8.2, 2.6), (0.1, 12.4), (1.0, 4.6))
