"""What machines do together: errors of reading against k, and one item as every machine sees it."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from mini_lib.errors import UsageError
from mini_lib.reproduction.plotting import OKABE_ITO, QUIET, Values, figure, images, style

BLUE, VERMILION, GREEN, PINK, ORANGE, SKY, BLACK = OKABE_ITO
COLOURS = {
    "shared error": BLUE,
    "own error": VERMILION,
    "never written": QUIET,
    "asked jointly": GREEN,
}
OTHERS = (PINK, ORANGE, SKY, BLACK)
PICTURES = 17  # two and 15 machines, which share 30 columns two by two


def read_errors(panels: Mapping[str, Mapping[str, Mapping[int, Values]]]) -> Figure:
    """Draw the error of reading against the number of machines: a dot for each seed, a line through the means.

    Args:
        panels: title -> name of a memory -> k -> one error a seed; titles share their axis.

    Raises:
        UsageError: without a panel, or for a panel without errors.
    """
    if not panels or not all(any(found.values()) for found in panels.values()):
        raise UsageError("there is nothing to draw; give the errors of at least one memory for each panel")
    names = list(dict.fromkeys(name for found in panels.values() for name in found))
    colours = _colours(names)
    with style():
        size = (min(9.6, 4.2 * len(panels) + 0.8), 3.8)
        fig, axes = figure(1, len(panels), size=size, squeeze=False, sharey=True)
        for ax, (title, found) in zip(axes[0], panels.items(), strict=True):
            machines = sorted({k for errors in found.values() for k in errors})
            place = {k: x for x, k in enumerate(machines)}
            for name, errors in found.items():
                dots = [(place[k], value) for k, values in errors.items() for value in values]
                ax.plot(*np.array(dots).T, "o", color=colours[name], alpha=0.3, markersize=3.5)
                means = [(place[k], np.mean(values)) for k, values in sorted(errors.items())]
                ax.plot(*np.array(means).T, color=colours[name])
            ax.set_xticks(range(len(machines)), [str(k) for k in machines])
            ax.set(title=title, xlabel="machines k", ylim=(0, None))
        axes[0, 0].set_ylabel("error of reading, relative")
        handles = [Line2D([], [], color=colours[name], marker="o", label=name) for name in names]
        fig.legend(handles=handles, loc="outside lower center", ncols=4, fontsize="small")
    return fig


def _colours(names: Sequence[str]) -> dict[str, str]:
    """Own colours of the memories that have one; others in turn."""
    spare = iter(OTHERS)
    return {name: COLOURS.get(name) or next(spare, QUIET) for name in names}


def by_machine(
    w: Float[np.ndarray, "K M"],
    item: Float[np.ndarray, "H W"],
    answer: Float[np.ndarray, "H W"],
    parts: Float[np.ndarray, "P H W"],
) -> Figure:
    """Draw one item's addresses as bars, a colour a machine, and below them the item, the answer and each part.

    Args:
        w: weight of each machine's columns.
        item: what was asked, 0 (black) to 1 (white).
        answer: what all machines say together.
        parts: what each machine says.

    Raises:
        UsageError: for more machines than there is room for, 15, or parts that are not one a machine.
    """
    machines, columns = w.shape
    if machines != len(parts):
        raise UsageError(f"there are addresses of {machines} machines and parts of {len(parts)}")
    if machines + 2 > PICTURES:
        raise UsageError(f"there is room for {PICTURES - 2} machines, not for {machines}")
    with style():
        fig, axes = figure(3, 9, size=(7.2, 3.9), gridspec_kw={"height_ratios": (1.3, 1, 1)})
        grid = axes[0, 0].get_gridspec()
        for ax in axes[0]:
            ax.remove()
        bars = fig.add_subplot(grid[0, :])
        shades = [(BLUE, ORANGE)[i % 2] for i in range(machines) for _ in range(columns)]
        bars.bar(np.arange(machines * columns), np.ravel(w), color=shades, width=0.8)
        bars.axhline(0, color=QUIET, linewidth=0.8)
        bars.set(xlabel="column", ylabel="weight", xlim=(-0.8, machines * columns - 0.2))
        titles = ["item", "answer", *(f"machine {i + 1}" for i in range(machines))]
        images(axes[1:], np.concatenate([[item, answer], parts]), titles)
        for ax in axes[1:].ravel():
            ax.title.set_fontsize(7)
    return fig
