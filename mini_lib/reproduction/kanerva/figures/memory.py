"""One memory at work: what it reads item by item, what it knows of each row, and what each machine adds."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from mini_lib.errors import UsageError
from mini_lib.kanerva.memory import State
from mini_lib.reproduction.kanerva.figures.parts import BLUE, VERMILION, arrays, paint
from mini_lib.reproduction.plotting import (
    OKABE_ITO,
    RULE,
    Numbers,
    figure,
    require_nonempty,
    style,
)

REACH = 4.0  # the plane of `geometry` is drawn from -REACH to REACH


def moment(
    pictures: Mapping[str, Numbers],
    curves: Mapping[str, Numbers],
    now: int,
    written: int,
    ylabel: str,
    colours: tuple[str, ...] = OKABE_ITO,
    log: bool = False,
) -> Figure:
    """Draw one state of a memory for one query: pictures of it, and curves over the items written.

    Pictures are [H, W], or [3, H, W] in colour; curves are values after 0, 1, .., T items, on an axis that begins at
    0 unless it is logarithmic. A dot on each curve marks how many items have been written `now`, a vertical line
    after how many the query's item is among them.
    """
    count = len(pictures)
    with style():
        ratios = (1,) * count + (2.3,)
        fig, axes = figure(1, count + 1, size=(7.8, 2.5), gridspec_kw={"width_ratios": ratios})
        for ax, (title, picture) in zip(axes, pictures.items(), strict=False):
            paint(ax, picture)
            ax.set_title(title)
        ax = axes[-1]
        for (name, values), colour in zip(arrays(curves).items(), colours, strict=False):
            ax.plot(values, color=colour, label=name)
            ax.plot(now, values[now], "o", color=colour)
        ax.axvline(written, color=RULE, linestyle="--", linewidth=0.8)
        ax.set(xlabel="items written", ylabel=ylabel)
        ax.set(yscale="log") if log else ax.set(ylim=(0, None))
        if len(curves) > 1:
            ax.legend(fontsize="small")
    return fig


# ---------------------------------------------------------------------------------------------- what is known


def geometry(before: State, after: State, w: Float[Tensor, "2"], code: Float[Tensor, "D"]) -> Figure:
    """Draw a memory of two columns before and after one item: each row is a point of the plane that is not known.

    A row's mean is a dot, its ellipses lie one and two standard deviations from it. On the right each row also has
    the line of all places that would say exactly its feature of the code; w, the address at which the item was
    written, is an arrow. The memory has one machine of D rows and M = 2 columns.
    """
    shapes = {tuple(state.R.shape) for state in (before, after)}
    if shapes != {(1, 1, len(code), 2)}:
        raise UsageError(f"this draws one machine of {len(code)} rows and 2 columns, got R of {shapes}")
    with style():
        fig, axes = figure(1, 2, size=(8.2, 4.6), sharex=True, sharey=True)
        for ax, state, title in zip(axes, (before, after), ("before", "after one item"), strict=True):
            for row, colour in zip(range(len(code)), OKABE_ITO, strict=False):
                _row(ax, state.R[0, 0, row].numpy(), state.V[0, 0].numpy(), colour, f"row {row + 1}")
            ax.set(title=title, xlabel="in column 1", ylabel="in column 2", box_aspect=1)
            ax.set(xlim=(-REACH, REACH), ylim=(-REACH, REACH))
        along = np.array([-w[1], w[0]]) / w.norm().item()
        for value, colour in zip(code.tolist(), OKABE_ITO, strict=False):
            foot = (value * w / (w @ w)).numpy()  # nearest to 0 of all rows M with M.w = value
            ends = foot[:, None] + along[:, None] * np.array([-4 * REACH, 4 * REACH])
            axes[1].plot(*ends, color=colour, linewidth=0.9, linestyle=":")
        look = {"arrowstyle": "-|>", "color": RULE, "linewidth": 1.6}
        axes[1].annotate("", w.tolist(), (0, 0), arrowprops=look)
        axes[1].text(*(1.15 * w).tolist(), "w", color=RULE, ha="center", va="center")
        axes[0].legend(fontsize="small")
    return fig


def _row(ax: Axes, mean: Float[np.ndarray, "2"], V: Float[np.ndarray, "2 2"], colour: str, name: str) -> None:
    angle = np.linspace(0, 2 * np.pi, 121)
    circle = np.linalg.cholesky(V) @ np.stack([np.cos(angle), np.sin(angle)])
    ax.plot(*mean, "o", color=colour, label=name)
    for deviations in (1, 2):
        ax.plot(*(mean[:, None] + deviations * circle), color=colour, linewidth=2.0 - 0.6 * deviations)


# ----------------------------------------------------------------------------------------------- many machines


def stems(panels: Mapping[str, Numbers]) -> Figure:
    """Draw two machines' weights, [T, 2], as stems: of the first upwards, of the second down (Figure 2A).

    Panels stand one below the other.
    """
    shown = arrays(panels)
    for title, gamma in shown.items():
        _check_two_machines(title, gamma)
    with style():
        fig, axes = figure(len(shown), 1, size=(7.2, 1.7 * len(shown) + 0.4), squeeze=False, sharex=True)
        for ax, (title, gamma) in zip(axes[:, 0], shown.items(), strict=True):
            _stems(ax, gamma)
            ax.set(title=title, yticks=(-1, 0, 1), yticklabels=("1", "0", "1"))
        axes[-1, 0].set_xlabel("item")
    return fig


def _check_two_machines(title: str, gamma: np.ndarray) -> None:
    if gamma.ndim != 2 or gamma.shape[1] != 2:
        raise UsageError(f"stems are of two machines, [T, 2]; {title!r} is {[*gamma.shape]}")


def _stems(ax: Axes, gamma: Float[np.ndarray, "T 2"]) -> None:
    x = np.arange(1, len(gamma) + 1)
    up, down = gamma.T
    ax.vlines(x, 0, up, color=BLUE, linewidth=2.2)
    ax.vlines(x, -down, 0, color=VERMILION, linewidth=2.2)
    ax.axhline(0, color=RULE, linewidth=0.8)
    ax.set(ylim=(-1.08, 1.08))
    ax.set_ylabel("$\\gamma_2$      $\\gamma_1$")


def at_work(networks: Mapping[str, tuple[Numbers, Mapping[str, Numbers]]]) -> Figure:
    """Draw what two machines do, for networks side by side: weights of T items as stems, then rows of pictures.

    A network has its weights [T, 2], and its pictures by name, [N, 3, H, W] each, of the first N items.
    """
    require_nonempty("network", networks)
    for name, (gamma, shown) in networks.items():
        _check_two_machines(name, np.asarray(gamma))
        require_nonempty("row of pictures", shown)
    rows = max(len(shown) for _, shown in networks.values())
    with style():
        fig = plt.figure(figsize=(4.4 * len(networks), 1.4 + 0.68 * rows))
        for part, (name, (gamma, shown)) in zip(
            np.ravel(fig.subfigures(1, len(networks))), networks.items(), strict=True
        ):
            gamma, shown = np.asarray(gamma, dtype=float), arrays(shown)
            grid = part.add_gridspec(
                1 + rows, len(next(iter(shown.values()))), height_ratios=(1.7, *[1] * rows)
            )
            top = part.add_subplot(grid[0, :])
            _stems(top, gamma)
            top.set(title=name, xticks=(1, len(gamma)), yticks=())
            for line, (label, pictures) in enumerate(shown.items(), start=1):
                axes = [part.add_subplot(grid[line, item]) for item in range(len(pictures))]
                for ax, picture in zip(axes, pictures, strict=True):
                    paint(ax, picture)
                axes[0].set_ylabel(label, rotation=0, ha="right", va="center", fontsize="small")
    return fig
