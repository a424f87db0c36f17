"""What machines are tuned to: maps over places, profiles over bins, and what double centring leaves of them."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from mini_lib.errors import UsageError
from mini_lib.kanerva.analysis.tuning import BINS
from mini_lib.reproduction.kanerva.figures.parts import frame
from mini_lib.reproduction.kanerva.figures.sprites import shade
from mini_lib.reproduction.plotting import Numbers, figure, style

HEAT, SIGNED = "viridis", "PuOr"  # of cosines; of differences, white is 0


def maps(tunings: Mapping[str, Numbers], limits: tuple[float, float] | None = None) -> Figure:
    """Draw mean cosines over a sprite's place, a panel for each machine; x from the left, y from the top.

    Args:
        tunings: name -> `analysis.tuning` of positions, [K, 64, S]; a row of panels for each sprite of each name
            (with S = 1, of both sprites together, say, a row for each name).
        limits: of the colours; by default the least and the largest value of all.

    Raises:
        UsageError: for nothing, or tunings of something else than 8 x 8 places.
    """
    found = {name: np.asarray(each, dtype=float) for name, each in tunings.items()}
    if not found or {each.shape[1] for each in found.values()} != {BINS * BINS}:
        raise UsageError(f"give tunings of {BINS} x {BINS} places; see analysis.tuning and analysis.factors")
    rows = [
        (f"{name}\nsprite {sprite + 1}".strip() if each.shape[2] > 1 else name, each[:, :, sprite])
        for name, each in found.items()
        for sprite in range(each.shape[2])
    ]
    limits = limits or (
        min(np.nanmin(each) for each in found.values()),
        max(np.nanmax(each) for each in found.values()),
    )
    count = max(len(each) for _, each in rows)
    with style():
        size = (1.35 * count + 1.9, 1.4 * len(rows) + 0.4)
        fig, axes = figure(len(rows), count, size=size, squeeze=False)
        for line, (name, each) in zip(axes, rows, strict=True):
            for machine, ax in enumerate(line):
                if machine < len(each):
                    drawn = ax.imshow(
                        each[machine].reshape(BINS, BINS), cmap=HEAT, vmin=limits[0], vmax=limits[1]
                    )
                frame(ax)
            line[0].set_ylabel(name, fontsize="small")
        for machine, ax in enumerate(axes[0]):
            ax.set_title(f"machine {machine + 1}", fontsize="small")
        fig.colorbar(drawn, ax=axes, label="mean cosine", shrink=0.8)
    return fig


def profiles(
    panels: Mapping[str, Numbers],
    bins: Mapping[str, Sequence[str]] | None = None,
    xlabel: str = "",
    ylabel: str = "mean cosine",
) -> Figure:
    """Draw a line for each machine over bins, a panel for each name (Figures 3E and 7B).

    Args:
        panels: title -> values, [K, J].
        bins: title -> names of that panel's bins; where there are none, they are numbered from 1.
        xlabel: of all panels; their titles, if it is empty.
        ylabel: what is drawn.

    Raises:
        UsageError: for nothing, or names of bins that are not there.
    """
    found = {name: np.asarray(each, dtype=float) for name, each in panels.items()}
    if not found:
        raise UsageError("there is nothing to draw; give the values of at least one panel")
    for title, names in (bins or {}).items():
        if title not in found or found[title].shape[1] != len(names):
            raise UsageError(f"{len(names)} bins are named for {title!r}; there is no panel of as many")
    with style():
        size = (min(9.6, 2.7 * len(found) + 0.8), 3.1)
        fig, axes = figure(1, len(found), size=size, squeeze=False, sharey=True)
        for ax, (title, each) in zip(axes[0], found.items(), strict=True):
            x = np.arange(1, each.shape[1] + 1)
            for machine, values in enumerate(each):
                ax.plot(x, values, marker="o", markersize=3, color=shade(machine))
            ax.set(title=title if xlabel else "", xlabel=xlabel or title)
            if title in (bins or {}):
                ax.set_xticks(x, bins[title], fontsize="small")
        axes[0, 0].set_ylabel(ylabel)
        count = max(len(each) for each in found.values())
        handles = [Line2D([], [], color=shade(i), marker="o", label=f"machine {i + 1}") for i in range(count)]
        fig.legend(handles=handles, loc="outside lower center", ncols=4, fontsize="small")
    return fig


def centring(means: Numbers, bins: Sequence[str], xlabel: str = "") -> Figure:
    """Draw what double centring takes apart: means = what all share + what is of a machine + of a bin + the rest.

    The rest is what a property moves machines apart; see `analysis.modulation`.

    Args:
        means: mean cosines by machine and bin. [K, J]
        bins: their names.
        xlabel: the property.

    Raises:
        UsageError: for other bins than are named.
    """
    means = np.asarray(means, dtype=float)
    if means.ndim != 2 or means.shape[1] != len(bins):
        raise UsageError(f"{len(bins)} bins are named, the means are {[*means.shape]}")
    whole = means.mean()
    of_machine = means.mean(axis=1, keepdims=True) - whole + 0 * means
    of_bin = means.mean(axis=0, keepdims=True) - whole + 0 * means
    parts = {
        "measured": means - whole,
        "of the machine": of_machine,
        "of the bin": of_bin,
        "the rest": means - whole - of_machine - of_bin,
    }
    extreme = max(np.abs(part).max() for part in parts.values())
    with style():
        fig, axes = figure(1, len(parts), size=(9.2, 2.5), sharey=True)
        for ax, (title, part) in zip(axes, parts.items(), strict=True):
            drawn = ax.imshow(part, cmap=SIGNED, vmin=-extreme, vmax=extreme, aspect="auto")
            ax.grid(False)
            ax.set_xticks(range(len(bins)), bins, fontsize=7)
            ax.set(title=title, xlabel=xlabel)
        axes[0].set_yticks(range(len(means)), [str(i + 1) for i in range(len(means))])
        axes[0].set_ylabel("machine")
        fig.colorbar(drawn, ax=axes, label="cosine", shrink=0.9)
    return fig
