"""Images out of memory: what was imagined beside what was stored, and how images settle."""

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from mini_lib.errors import UsageError
from mini_lib.kanerva.evaluation import NEW, RETRIEVED
from mini_lib.reproduction.kanerva.figures.parts import (
    BLACK,
    GREEN,
    ORANGE,
    VERMILION,
    arrays,
    band,
    pictures,
)
from mini_lib.reproduction.plotting import OKABE_ITO, QUIET, RULE, Numbers, figure, legend_below, style

KINDS = {"retrieved": GREEN, "between": QUIET, "new": VERMILION, "blank": ORANGE}


def kind(cosine: float) -> str:
    """What an imagined image counts as, by its cosine with the nearest stored one: a key of `KINDS`.

    An image without ink has a cosine of 0 (see `evaluation.nearest`).
    """
    if cosine == 0:
        return "blank"
    return "retrieved" if cosine >= RETRIEVED else "new" if cosine < NEW else "between"


def imagined(stored: Numbers, images: Numbers, cosines: Numbers) -> Figure:
    """Draw what was stored, [T, H, W], and below it in two rows what was imagined, [N, H, W], as in Figure 8.

    Below each imagined image stands its cosine with the nearest stored one, [N]. Its frame is green where it counts
    as retrieved, vermilion where it counts as new, orange where it is blank.
    """
    half = -(-len(images) // 2)
    rows = {"stored": stored, "imagined": images[:half], "": images[half:]}
    with style():
        fig = pictures(rows, inches=(0.98, 1.2))
        places = [ax for ax in fig.axes[-2 * fig.axes[0].get_gridspec().ncols :] if ax.images]
        for ax, cosine in zip(places, cosines, strict=True):
            ax.set_xlabel(f"{float(cosine):.2f}", fontsize="small", labelpad=2)
            for side in ax.spines.values():
                side.set(color=KINDS[kind(float(cosine))], linewidth=1.8)
    return fig


def settling(cosines: Mapping[str, Numbers]) -> Figure:
    """Draw over steps of settling the mean cosine with the nearest stored image, and how many are retrieved or new.

    Cosines are [B, N, S + 1], from the first look on; the band is two standard errors over B memories.
    """
    with style():
        fig, (left, right) = figure(1, 2, size=(8.4, 3.5))
        for (name, each), colour in zip(arrays(cosines).items(), OKABE_ITO, strict=False):
            steps, kinds = np.arange(each.shape[2], dtype=float), np.vectorize(kind)(each)
            band(left, steps, each.mean(axis=1), name, colour)
            for counted, line in (("retrieved", "-"), ("new", "--")):
                share = 100 * (kinds == counted).mean(axis=(0, 1))
                right.plot(steps, share, color=colour, linestyle=line)
        left.set(xlabel="times settled", ylabel="cosine with nearest stored")
        right.set(xlabel="times settled", ylabel="of imagined images (%)", ylim=(-3, 103))
        handles = left.get_legend_handles_labels()[0]
        for line, words in (("-", f"from {RETRIEVED:g}: retrieved"), ("--", f"below {NEW:g}: new")):
            handles.append(Line2D([], [], color=QUIET, linestyle=line, label=f"right: {words}"))
        legend_below(fig, handles, ncols=2)
    return fig


def trajectories(paths: Numbers, stored: Numbers, cosines: Numbers) -> Figure:
    """Draw how codes move while images settle, in the plane of the two directions in which they vary most.

    Paths, [N, S + 1, D], go from the first look (open dots) to the last (full dots); crosses are the codes of what
    was stored, [T, D]. Colours say what each path's end counts as, by its cosine with the nearest stored image, [N].
    """
    paths, stored = np.asarray(paths, dtype=float), np.asarray(stored, dtype=float)
    if paths.ndim != 3 or stored.ndim != 2 or paths.shape[2] != stored.shape[1]:
        given = f"{[*paths.shape]} and {[*stored.shape]}"
        raise UsageError(f"give paths [N, S + 1, D] and stored codes [T, D], got {given}")
    every = np.concatenate([stored, paths.reshape(-1, paths.shape[2])])
    centre = every.mean(axis=0)
    _, spread, axes = np.linalg.svd(every - centre, full_matrices=False)
    shares = 100 * spread[:2] ** 2 / (spread**2).sum()
    along, marks = (paths - centre) @ axes[:2].T, (stored - centre) @ axes[:2].T
    kinds = [kind(float(cosine)) for cosine in cosines]
    with style():
        fig, ax = figure(size=(5.6, 4.2))
        for path, counted in zip(along, kinds, strict=True):
            ax.plot(*path.T, color=KINDS[counted], linewidth=0.9, alpha=0.7)
            ax.plot(*path[0], "o", color=KINDS[counted], fillstyle="none", markersize=5)
            ax.plot(*path[-1], "o", color=KINDS[counted], markersize=5)
        ax.plot(*marks.T, "x", color=BLACK, markersize=10, markeredgewidth=2)
        ax.set(xlabel=f"first direction ({shares[0]:.0f} %)", ylabel=f"second ({shares[1]:.0f} %)")
        marker = {"linewidth": 0, "color": RULE}
        handles = [
            Line2D([], [], marker="x", label="stored", **marker),
            Line2D([], [], marker="o", fillstyle="none", label="first look", **marker),
            Line2D([], [], marker="o", label="settled", **marker),
            *(Line2D([], [], color=KINDS[name], label=name) for name in KINDS if name in kinds),
        ]
        legend_below(fig, handles, ncols=3)
    return fig
