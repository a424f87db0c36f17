"""Dancing sprites and the machines that remember them: the task, and what each machine shows alone."""

from collections.abc import Mapping, Sequence

import matplotlib as mpl
import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from mini_lib.errors import UsageError
from mini_lib.kanerva.tasks.dsprites import SpriteEpisodes
from mini_lib.reproduction.kanerva.figures.parts import frame, ink
from mini_lib.reproduction.plotting import OKABE_ITO, RULE, Numbers, figure, style

SPRITES = ("#5D3A9B", "#E69F00")  # one colour a sprite, in every figure
MACHINES = tuple(OKABE_ITO[i] for i in (0, 1, 2, 3, 5, 6))  # one a machine
ROWS, ACROSS = 12, 15  # pictures that there is room for


def shade(machine: int) -> str:
    """The colour of a machine, counted from 0; from the seventh on they begin again."""
    return MACHINES[machine % len(MACHINES)]


# ----------------------------------------------------------------------------------------------------- the task


def dance(dances: SpriteEpisodes, episode: int = 0, items: int = 8) -> Figure:
    """Draw images of an episode as a network sees them, and below them which pixels are of which sprite (Figure 3A).

    Pixels of the first sprite are purple, those of the second orange, and those of both dark.

    Args:
        dances: with their latents.
        episode: which one.
        items: how many images, from the first.

    Raises:
        UsageError: for an episode or images that are not there, or more of these than there is room for, 15.
    """
    episodes, there = dances.images.shape[:2]
    if not 0 <= episode < episodes:
        raise UsageError(f"there are episodes 0 to {episodes - 1}, not {episode}")
    if not 1 <= items <= min(there, ACROSS):
        raise UsageError(f"1 to {min(there, ACROSS)} images can be drawn, not {items}")
    with style():
        fig, axes = figure(2, items, size=(0.86 * items + 0.9, 2.0), squeeze=False)
        for t in range(items):
            ink(axes[0, t], dances.images[episode, t, 0])
            axes[1, t].imshow(_coloured(dances.templates[episode, t].numpy()), interpolation="nearest")
            frame(axes[1, t])
            axes[0, t].set_title(str(t + 1), fontsize="small")
        for ax, name in zip(axes[:, 0], ("image", "sprites"), strict=True):
            ax.set_ylabel(name, fontsize="small")
    return fig


def _coloured(templates: Float[np.ndarray, "S H W"]) -> Float[np.ndarray, "H W 3"]:
    """White where there is nothing; the colours of several sprites are multiplied."""
    picture = np.ones((*templates.shape[1:], 3))
    for template, colour in zip(templates, SPRITES, strict=True):
        picture = np.where(template[..., None] > 0, picture * np.array(to_rgb(colour)), picture)
    return picture


# ------------------------------------------------------------------------------------------ what machines show


def single_machines(
    images: Numbers,
    parts: Numbers,
    together: Numbers,
    templates: Numbers | None = None,
    cosines: Numbers | None = None,
    names: Sequence[str] = (),
) -> Figure:
    """Draw for each item the image, what each machine shows alone, and what all show together (Figures 3B and 6).

    Args:
        images: what was asked. [N, H, W]
        parts: probabilities of each machine's own picture. [N, K, H, W]
        together: of the picture of all machines. [N, H, W]
        templates: sprites alone, [N, S, H, W]; their outlines are drawn over the machines' pictures.
        cosines: with each sprite, written below: first and second. [N, K, S]
        names: of the rows.

    Raises:
        UsageError: for more rows than there is room for, 12, or arguments of several lengths.
    """
    given = [np.asarray(each, dtype=float) for each in (images, parts, together)]
    rows, count = given[1].shape[:2]
    others = [len(each) for each in (*given, templates, cosines, names or None) if each is not None]
    if set(others) != {rows}:
        raise UsageError(f"everything has to be of the same items, got {others} of them")
    if not 1 <= rows <= ROWS:
        raise UsageError(f"there is room for 1 to {ROWS} rows, not {rows}")
    titles = ["image", *(f"machine {i + 1}" for i in range(count)), "together"]
    tall = 1.2 if cosines is not None else 1.02
    with style():
        fig, axes = figure(rows, count + 2, size=(1.05 * (count + 2), tall * rows + 0.3), squeeze=False)
        for row, line in enumerate(axes):
            ink(line[0], given[0][row])
            ink(line[-1], given[2][row])
            for machine, ax in enumerate(line[1:-1]):
                ink(ax, given[1][row, machine])
                if templates is not None:
                    _outlines(ax, np.asarray(templates[row], dtype=float))
                if cosines is not None:
                    told = "   ".join(f"{float(c):.2f}" for c in cosines[row][machine])
                    ax.set_xlabel(told, fontsize=7, labelpad=2)
            if names:
                line[0].set_ylabel(names[row], fontsize="small", rotation=0, ha="right", va="center")
        for ax, title in zip(axes[0], titles, strict=True):
            ax.set_title(title, fontsize="small")
    return fig


def _outlines(ax: Axes, templates: Float[np.ndarray, "S H W"]) -> None:
    for template, colour in zip(templates, SPRITES, strict=True):
        if template.min() < template.max():
            ax.contour(template, levels=[0.5], colors=[colour], linewidths=0.9)


def gammas(gamma: Numbers, episode: int = 0) -> Figure:
    """Draw machine weights: of the items of one episode on the left, of all items on the right.

    On the right a dot is an item, its height gamma; items are spread evenly in the order in which they come.

    Args:
        gamma: of each machine. [B, T, K]
        episode: the one on the left.

    Raises:
        UsageError: for an episode that is not there.
    """
    gamma = np.asarray(gamma, dtype=float)
    if not 0 <= episode < len(gamma):
        raise UsageError(f"there are episodes 0 to {len(gamma) - 1}, not {episode}")
    items, count = gamma.shape[1:]
    with style():
        fig, (left, right) = figure(1, 2, size=(7.6, 3.1), sharey=True)
        for machine in range(count):
            look = {"color": shade(machine), "marker": "o"}
            name = f"machine {machine + 1}"
            left.plot(range(1, items + 1), gamma[episode, :, machine], markersize=3.5, label=name, **look)
            every = gamma[..., machine].ravel()
            spots = machine + np.linspace(-0.35, 0.35, len(every))
            right.plot(spots, every, linewidth=0, markersize=1.5, alpha=0.35, **look)
            right.hlines(every.mean(), machine - 0.4, machine + 0.4, color=RULE, linewidth=1.6)
        for ax in (left, right):
            ax.axhline(1 / count, color=RULE, linestyle=":", linewidth=1)
        left.set(xlabel="item", ylabel="gamma", ylim=(0, 1), title="one episode")
        names = [str(machine + 1) for machine in range(count)]
        right.set(xticks=range(count), xticklabels=names, xlabel="machine", title="all items")
        fig.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize="small")
    return fig


# ----------------------------------------------------------------------------------------------------- contrasts


def contrasts(groups: Mapping[str, Mapping[str, Numbers]], ylabel: str) -> Figure:
    """Draw one number a network for each way of measuring: a dot each, a mark at the mean of several.

    Args:
        groups: name of a group of networks -> way of measuring -> a value for each network.
        ylabel: what is measured.

    Raises:
        UsageError: for nothing, or groups that were measured in different ways.
    """
    ways = [list(each) for each in groups.values()]
    if not ways or any(each != ways[0] for each in ways):
        raise UsageError(f"give groups that were measured in the same ways, got {ways}")
    wide = 0.8 / len(groups)
    with style():
        fig, ax = figure(size=(max(4.8, 1.5 * len(ways[0]) + 1.2), 3.3))
        for place, (name, each) in enumerate(groups.items()):
            colour = mpl.colors.to_hex((RULE, *OKABE_ITO)[place % 8])
            for x, values in enumerate(each.values()):
                values = np.asarray(values, dtype=float)
                middle = x + wide * (place - (len(groups) - 1) / 2)
                spots = middle + np.linspace(-wide / 4, wide / 4, len(values)) * (len(values) > 1)
                ax.plot(spots, values, "o", color=colour, label=name if x == 0 else None, alpha=0.75)
                if len(values) > 1:
                    ax.hlines(values.mean(), middle - wide / 2.5, middle + wide / 2.5, color=colour)
        ax.set_xticks(range(len(ways[0])), ways[0], fontsize="small")
        ax.set(ylabel=ylabel, ylim=(0, None), xlim=(-0.6, len(ways[0]) - 0.4))
        fig.legend(loc="outside lower center", ncols=3, fontsize="small")
    return fig
