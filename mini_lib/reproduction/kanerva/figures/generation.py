"""Images out of memory: the generative model, what was imagined beside what was stored, and how images settle."""

from collections.abc import Mapping, Sequence
from itertools import cycle

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from mini_lib.errors import UsageError
from mini_lib.kanerva.evaluation import NEW, RETRIEVED
from mini_lib.reproduction.kanerva.figures.parts import band, ink
from mini_lib.reproduction.plotting import OKABE_ITO, QUIET, RULE, Numbers, diagram, figure, style

BLUE, VERMILION, GREEN, PINK, ORANGE, SKY, BLACK = OKABE_ITO
ACROSS = 10  # pictures in a row
KINDS = {"retrieved": GREEN, "between": QUIET, "new": VERMILION, "blank": ORANGE}


def kind(cosine: float) -> str:
    """What an imagined image counts as, by its cosine with the nearest stored one: a key of `KINDS`.

    An image without ink has a cosine of 0 (see `evaluation.nearest`).
    """
    if cosine == 0:
        return "blank"
    return "retrieved" if cosine >= RETRIEVED else "new" if cosine < NEW else "between"


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
    with style():
        fig, ax = figure(size=(8.2, 2.6))
        ax.set(xlim=(0.1, 12.4), ylim=(1.0, 4.6))
        ax.set_axis_off()
        diagram(ax, boxes, arrows)
    return fig


def imagined(stored: Numbers, pictures: Numbers, cosines: Numbers | None = None) -> Figure:
    """Draw what was stored, and below it what was imagined (the layout of Figure 8).

    Args:
        stored: [T, H, W]
        pictures: [N, H, W]
        cosines: of each imagined picture with the nearest stored one, [N]: it is written below, and the frame is
            green where it counts as retrieved, vermilion where it counts as new, orange where it is blank.

    Raises:
        UsageError: for no picture, or cosines that are not one a picture.
    """
    stored, pictures = (np.asarray(each, dtype=float) for each in (stored, pictures))
    if not len(stored) or not len(pictures):
        raise UsageError("give at least one stored and one imagined picture, [N, H, W]")
    if cosines is not None and len(cosines) != len(pictures):
        raise UsageError(f"{len(pictures)} pictures with {len(cosines)} cosines; give one for each")
    blocks = [("stored", stored)]
    across = min(ACROSS, max(len(stored), -(-len(pictures) // 2), 5))
    for start in range(0, len(pictures), across):
        blocks.append(("imagined" if not start else "", pictures[start : start + across]))
    with style():
        tall = 1.05 if cosines is None else 1.2
        fig, axes = figure(len(blocks), across, size=(0.98 * across + 0.9, tall * len(blocks)), squeeze=False)
        for line, (name, block) in zip(axes, blocks, strict=True):
            for place, ax in enumerate(line):
                if place < len(block):
                    ink(ax, block[place])
                else:
                    ax.set_axis_off()
            line[0].set_ylabel(name, fontsize="small")
        if cosines is not None:
            _labels(axes[1:].ravel().tolist(), [float(cosine) for cosine in cosines])
    return fig


def _labels(axes: Sequence[Axes], cosines: Sequence[float]) -> None:
    """The cosine below each picture, and its frame in the colour of what it counts as."""
    for ax, cosine in zip(axes, cosines, strict=False):
        ax.set_xlabel(f"{cosine:.2f}", fontsize="small", labelpad=2)
        for side in ax.spines.values():
            side.set(color=KINDS[kind(cosine)], linewidth=1.8)


def settling(cosines: Mapping[str, Numbers]) -> Figure:
    """Draw over steps of settling the mean cosine with the nearest stored image, and how many are retrieved or new.

    Blank images, whose cosine is 0, are neither.

    Args:
        cosines: name -> [B, N, S + 1], from the first look on; the band is two standard errors over B memories.

    Raises:
        UsageError: for nothing, or paths of several lengths.
    """
    found = {name: np.asarray(each, dtype=float) for name, each in cosines.items()}
    if not found or len({each.shape[2] for each in found.values()}) != 1:
        raise UsageError("give the cosines of paths of one length, [B, N, S + 1], by name")
    colours = dict(zip(found, cycle(OKABE_ITO), strict=False))
    with style():
        fig, (left, right) = figure(1, 2, size=(8.4, 3.5))
        for name, each in found.items():
            steps, look = np.arange(each.shape[2], dtype=float), {"color": colours[name]}
            band(left, steps, each.mean(axis=1), name, colours[name])
            right.plot(steps, 100 * (each >= RETRIEVED).mean(axis=(0, 1)), **look)
            right.plot(steps, 100 * ((each < NEW) & (each != 0)).mean(axis=(0, 1)), linestyle="--", **look)
        left.set(xlabel="times settled", ylabel="cosine with nearest stored")
        right.set(xlabel="times settled", ylabel="of imagined images (%)", ylim=(-3, 103))
        handles, names = left.get_legend_handles_labels()
        for line, words in (("-", f"from {RETRIEVED:g}: retrieved"), ("--", f"below {NEW:g}: new")):
            handles.append(Line2D([], [], color=QUIET, linestyle=line))
            names.append(f"right: {words}")
        fig.legend(handles, names, loc="outside lower center", ncols=2, fontsize="small")
    return fig


def orbits(paths: Numbers, stored: Numbers, cosines: Numbers | None = None) -> Figure:
    """Draw how codes move while images settle, in the plane of the two directions in which they vary most.

    Args:
        paths: [N, S + 1, D], codes from the first look (open dots) to the last (full dots).
        stored: [T, D], codes of what was stored: crosses.
        cosines: of each path's end with the nearest stored image, [N]; its colour says what it counts as.

    Raises:
        UsageError: for codes of several sizes, or fewer than two dimensions.
    """
    paths, stored = np.asarray(paths, dtype=float), np.asarray(stored, dtype=float)
    if paths.ndim != 3 or stored.ndim != 2 or paths.shape[2] != stored.shape[1] or stored.shape[1] < 2:
        raise UsageError(
            f"give paths [N, S + 1, D] and stored codes [T, D], got {[*paths.shape]} and {[*stored.shape]}"
        )
    every = np.concatenate([stored, paths.reshape(-1, paths.shape[2])])
    centre = every.mean(axis=0)
    _, spread, axes = np.linalg.svd(every - centre, full_matrices=False)
    shares = 100 * spread[:2] ** 2 / (spread**2).sum()
    along, marks = (paths - centre) @ axes[:2].T, (stored - centre) @ axes[:2].T
    with style():
        fig, ax = figure(size=(5.6, 4.2))
        for number, path in enumerate(along):
            colour = QUIET if cosines is None else KINDS[kind(float(cosines[number]))]
            ax.plot(*path.T, color=colour, linewidth=0.9, alpha=0.7)
            ax.plot(*path[0], "o", color=colour, fillstyle="none", markersize=5)
            ax.plot(*path[-1], "o", color=colour, markersize=5)
        ax.plot(*marks.T, "x", color=BLACK, markersize=10, markeredgewidth=2)
        ax.set(xlabel=f"first direction ({shares[0]:.0f} %)", ylabel=f"second ({shares[1]:.0f} %)")
        marker = {"linewidth": 0, "color": RULE}
        handles = [
            Line2D([], [], marker="x", label="stored", **marker),
            Line2D([], [], marker="o", fillstyle="none", label="first look", **marker),
            Line2D([], [], marker="o", label="settled", **marker),
        ]
        if cosines is not None:
            found = {kind(float(cosine)) for cosine in cosines}
            handles += [Line2D([], [], color=KINDS[name], label=name) for name in KINDS if name in found]
        fig.legend(handles=handles, loc="outside lower center", ncols=3, fontsize="small")
    return fig
