"""Images out of memory: what was imagined beside what was stored, and how images settle."""

from matplotlib.figure import Figure

from mini_lib.kanerva.evaluation import NEW, RETRIEVED
from mini_lib.reproduction.kanerva.figures.parts import (
    GREEN,
    ORANGE,
    VERMILION,
    pictures,
)
from mini_lib.reproduction.plotting import QUIET, Numbers, style

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
