"""Figures of the mixture: choices soft and hard, who is chosen for what, and loss against the number of machines."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mini_lib.errors import UsageError
from mini_lib.reproduction.plotting import OKABE_ITO, QUIET, RULE, Numbers, Values, figure, style

BLUE, VERMILION, GREEN, *_ = OKABE_ITO
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 3**0.5 / 2]])  # of the triangle on which three weights lie
MARKS = {  # filled, then the same network with nothing written
    True: {"marker": "o", "linestyle": "-"},
    False: {"marker": "D", "linestyle": ":", "fillstyle": "none"},
}


def choices(panels: Mapping[str, Numbers]) -> Figure:
    """Draw weights of three machines as dots in a triangle: each corner is one machine alone, the middle all evenly.

    Args:
        panels: title -> weights of N draws, [N, 3], which sum to 1.

    Raises:
        UsageError: for no panel, or weights that are not of three machines.
    """
    shown = {title: np.asarray(each, dtype=float) for title, each in panels.items()}
    if not shown or any(each.ndim != 2 or each.shape[1] != 3 for each in shown.values()):
        sizes = {title: [*each.shape] for title, each in shown.items()}
        raise UsageError(f"the triangle is for three machines, [N, 3] in each panel, got {sizes}")
    with style():
        fig, axes = figure(1, len(shown), size=(2.3 * len(shown) + 0.3, 2.5), squeeze=False)
        for ax, (title, weights) in zip(axes[0], shown.items(), strict=True):
            ax.plot(*np.append(CORNERS, CORNERS[:1], axis=0).T, color=QUIET, linewidth=0.8)
            ax.plot(*(weights @ CORNERS).T, "o", color=BLUE, markersize=3, alpha=0.25, markeredgewidth=0)
            for number, (x, y) in enumerate(CORNERS, start=1):
                outward = 1.16 * (np.array([x, y]) - CORNERS.mean(0)) + CORNERS.mean(0)
                ax.text(*outward, str(number), ha="center", va="center", fontsize="small", color=RULE)
            ax.set(title=title, xlim=(-0.2, 1.2), ylim=(-0.2, 1.08), aspect="equal")
            ax.set_axis_off()
    return fig


def usage(panels: Mapping[str, Numbers], ylabel: str = "mean $\\|\\gamma_i R_i w_i\\|$") -> Figure:
    """Draw how much each machine says to digits of each class, a line for each machine (Figures 4A and 4B).

    Args:
        panels: title -> means by class and machine, [10, K]; NaN stays blank.
        ylabel: what is drawn.

    Raises:
        UsageError: for no panel, or means that are not by class.
    """
    shown = {title: np.asarray(each, dtype=float) for title, each in panels.items()}
    if not shown or any(each.ndim != 2 or len(each) != 10 for each in shown.values()):
        sizes = {title: [*each.shape] for title, each in shown.items()}
        raise UsageError(f"give means by class and machine, [10, K], for each panel, got {sizes}")
    with style():
        fig, axes = figure(1, len(shown), size=(4.2 * len(shown) + 0.6, 3.3), squeeze=False, sharey=True)
        for ax, (title, means) in zip(axes[0], shown.items(), strict=True):
            for machine, colour in zip(range(means.shape[1]), OKABE_ITO * means.shape[1], strict=False):
                ax.plot(means[:, machine], "o-", color=colour, markersize=5, label=f"machine {machine + 1}")
            ax.set(title=title, xlabel="digit", xticks=range(10), ylim=(0, None))
        axes[0, 0].set_ylabel(ylabel)
        axes[0, -1].legend(fontsize="small")
    return fig


def against_k(
    lines: Mapping[str, Mapping[int, Values]],
    controls: Mapping[str, Mapping[int, Values]] | None = None,
    ylabel: str = "loss (nats per image)",
) -> Figure:
    """Draw losses against the number of machines: a dot for each run, a line through the means (Figure 4D).

    Args:
        lines: name -> k -> one loss a run; a k may have none.
        controls: the same for networks into which nothing was written, by the names of lines; open and dotted.
        ylabel: what is drawn.

    Raises:
        UsageError: for a control of no line, or no line at all; lines without any run are said to be not run.
    """
    controls = controls or {}
    if strange := set(controls) - set(lines):
        raise UsageError(f"no line is called {min(strange)!r}; controls go by the names of lines")
    if not lines:
        raise UsageError("there is nothing to draw; give at least one line, by name")
    with style():
        fig, ax = figure(size=(6.4, 3.8))
        for (name, found), colour in zip(lines.items(), OKABE_ITO, strict=False):
            _line(ax, found, colour, name, written=True)
            if name in controls:
                _line(ax, controls[name], colour, f"{name}, nothing written", written=False)
        ticks = sorted({k for found in lines.values() for k in found})
        ax.set(xlabel="machines, of 30 columns in all", ylabel=ylabel, xticks=ticks, ylim=(0, None))
        if not any(len(values) for found in lines.values() for values in found.values()):
            ax.set_yticks([])
            ax.text(0.5, 0.5, "not run", color=QUIET, ha="center", transform=ax.transAxes)
        fig.legend(loc="outside lower center", ncols=2, fontsize="small")
    return fig


def _line(ax: Axes, found: Mapping[int, Values], colour: str, name: str, written: bool) -> None:
    having = {k: np.asarray(values, dtype=float) for k, values in sorted(found.items()) if len(values)}
    look = MARKS[written]
    for k, values in having.items():
        ax.plot(
            np.full(len(values), k), values, color=colour, alpha=0.7, markersize=5, **look | {"linestyle": ""}
        )
    means = [values.mean() for values in having.values()]
    ax.plot(list(having), means, color=colour, linewidth=1.4, linestyle=look["linestyle"], label=name)
