"""Learning curves (Figures 4, 5, 7 and 8)."""

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from mini_lib.reproduction.plotting import ACCENT, color, figure, require_nonempty

OTHERS = "#d0d0d0"  # networks that no label tells apart
ABSENT = "#8a8a8a"


def learning_curves(
    panels: Mapping[str, Mapping[str, Sequence[dict]]],
    *,
    named: Mapping[str, Collection[str]] | None = None,
    blur: int = 1,
) -> list[Figure]:
    """Draw Figures 4, 5, 7, 8: training accuracy against updates, one figure a panel, on a logarithmic axis.

    Panels are given by title, with the records of every network by name. A line is the mean over runs, smoothed over
    `blur` points. Networks that `named` has for a panel, all without it, have a label and their color; the others
    are grey. A named network without finished runs is said to be not run.
    """
    require_nonempty("panel of records", panels)
    return [
        _panel(title, networks, networks if named is None else named[title], blur)
        for title, networks in panels.items()
    ]


def _panel(title: str, networks: Mapping[str, Sequence[dict]], named: Collection[str], blur: int) -> Figure:
    fig, ax = figure(size=(3.3, 2.7))
    absent = []
    for name in sorted(networks, key=lambda name: name in named):
        whole = [record["curve"] for record in networks[name] if not record["diverged"]]
        shade = color(name.replace(" ", "_")) if name in named else OTHERS
        if whole:
            updates, scores = mean_curve(whole, blur)
            ax.plot(updates, scores, color=shade, linewidth=1.6)
        if whole and name in named:
            half = np.flatnonzero(scores >= (scores[0] + 100) / 2)
            spot = half[0] if len(half) else len(scores) - 1
            side = {"ha": "left", "xytext": (5, -4)} if len(half) else {"ha": "right", "xytext": (0, -18)}
            side |= {"ha": "right", "xytext": (-5, 5)} if shade == ACCENT else {}
            look = {"textcoords": "offset points", "va": "center", "fontsize": 9, "color": shade}
            ax.annotate(name, (updates[spot], scores[spot]), annotation_clip=False, **side, **look)
        elif name in named:
            absent.append(name)
    if absent:
        look = {"ha": "right", "va": "bottom", "fontsize": 9, "color": ABSENT, "transform": ax.transAxes}
        ax.text(0.98, 0.03, "not run: " + ", ".join(absent), **look)
    ax.set(title=title, xscale="log", xlabel="update", ylabel="training correct (%)", ylim=(0, 105))
    return fig


def mean_curve(curves: Sequence[dict], blur: int = 1) -> tuple[list[int], np.ndarray]:
    """The updates that all these curves hold, and the mean score there, smoothed over `blur` points."""
    by_update = [dict(zip(curve["update"], curve["score"], strict=True)) for curve in curves]
    shared = sorted(set.intersection(*map(set, by_update)))
    mean = np.mean([[scores[update] for update in shared] for scores in by_update], axis=0)
    smooth = np.convolve(mean, np.ones(blur) / blur, mode="valid")
    return shared[blur // 2 : len(smooth) + blur // 2], smooth
