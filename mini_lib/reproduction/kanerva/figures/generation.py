"""Images out of memory: what was imagined beside what was stored, and how images settle."""

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from mini_lib.kanerva.evaluation import NEW, RETRIEVED
from mini_lib.reproduction.kanerva.figures.parts import (
    GREEN,
    ORANGE,
    VERMILION,
    arrays,
    band,
    pictures,
)
from mini_lib.reproduction.plotting import OKABE_ITO, QUIET, Numbers, figure, legend_below, style

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
