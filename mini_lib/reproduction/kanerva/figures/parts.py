"""What several figures of this paper are made of: rows of pictures and heat maps."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mini_lib.errors import UsageError
from mini_lib.reproduction.plotting import (
    OKABE_ITO,
    Number,
    Numbers,
    figure,
    require_nonempty,
    style,
)

BLUE, VERMILION, GREEN, PINK, ORANGE, SKY, BLACK = OKABE_ITO
CHANNELS = {"red": VERMILION, "green": GREEN, "blue": BLUE}  # of the binding task
MACHINES = (BLUE, VERMILION, GREEN, PINK, SKY, BLACK)  # one a machine; from the seventh on they begin again


def arrays(values: Mapping[str, Numbers]) -> dict[str, np.ndarray]:
    """The values as arrays of floats; UsageError where there are none."""
    require_nonempty("name with its values", values)
    return {name: np.asarray(each, dtype=float) for name, each in values.items()}


def look_of_machine(machine: int) -> dict[str, str]:
    """Colour and name of a machine, counted from 0, in every figure."""
    return {"color": MACHINES[machine % len(MACHINES)], "label": f"machine {machine + 1}"}


# ---------------------------------------------------------------------------------------------------- pictures


def paint(ax: Axes, picture: Numbers, limits: tuple = (0.0, 1.0)) -> None:
    """Draw a picture in a thin frame: [H, W] in grey, 1 is ink; [3, H, W] in colour."""
    shown = np.asarray(picture, dtype=float)
    shown = shown if shown.ndim == 2 else shown.transpose(1, 2, 0).clip(0, 1)
    ax.imshow(shown, cmap="gray_r", vmin=limits[0], vmax=limits[1], interpolation="nearest")
    ax.set(xticks=[], yticks=[])
    ax.grid(False)
    for side in ax.spines.values():
        side.set(visible=True, color="#c8c8c8", linewidth=0.6)


def pictures(
    rows: Mapping[str, Numbers],
    titles: Sequence[str] = (),
    limits: tuple = (0.0, 1.0),
    inches: tuple = (0.72, 0.82),
) -> Figure:
    """Draw rows of small pictures, each with its name on the left.

    They are in grey, [N, H, W], where 1 is ink, or in colour, [N, 3, H, W]; a shorter row leaves places empty. What
    is beyond the limits is as white or black as these. `inches` are width and height of a picture.
    """
    shown = arrays(rows)
    for name, each in shown.items():
        if each.ndim != 3 and (each.ndim != 4 or each.shape[1] != 3):
            raise UsageError(
                f"pictures are [N, H, W], or [N, 3, H, W] in colour; {name!r} is {[*each.shape]}"
            )
    count = max(len(each) for each in shown.values())
    if titles and len(titles) != count:
        raise UsageError(f"{count} columns of pictures with {len(titles)} titles; give one for each")
    with style():
        size = (inches[0] * count + 1.5 * any(name.strip() for name in shown), inches[1] * len(shown))
        fig, axes = figure(len(shown), count, size=size, squeeze=False)
        for line, (name, each) in zip(axes, shown.items(), strict=True):
            for ax in line[len(each) :]:
                ax.set_axis_off()
            for ax, picture in zip(line, each, strict=False):
                paint(ax, picture, limits)
            line[0].set_ylabel(name, rotation=0, ha="right", va="center", fontsize="small")
        for ax, title in zip(axes[0], titles, strict=False):
            ax.set_title(title, fontsize="small", loc="center")
    return fig


# --------------------------------------------------------------------------------------------------- heat maps


def heat_maps(
    rows: Mapping[str, Numbers],
    titles: Sequence[str],
    label: str,
    *,
    limits: tuple | None = None,
    colours: str = "viridis",
    inches: Number = 1.4,
    **options,
) -> Figure:
    """Draw rows of heat maps in one scale of colours, each row with its name on the left; NaN stays blank.

    Colours are a map of matplotlib's, "PuOr" for signed values, where white is 0. The scale goes from the least to
    the largest value unless it has limits, for "PuOr" as far below 0 as above it. `inches` is the side of a map;
    other options are of all axes, such as `xticks`, or `facecolor`, which shows where there is no number.
    """
    shown = [[np.asarray(each, dtype=float) for each in row] for row in rows.values()]
    if limits is None:
        every = np.concatenate([each.ravel() for row in shown for each in row])
        extreme = np.nanmax(np.abs(every))
        limits = (-extreme, extreme) if colours == "PuOr" else (np.nanmin(every), np.nanmax(every))
    with style():
        size = (inches * len(titles) + 1.7, inches * len(shown) + 0.6)
        fig, axes = figure(len(shown), len(titles), size=size, squeeze=False, sharey=True)
        for line, name, row in zip(axes, rows, shown, strict=True):
            for ax, each in zip(line, row, strict=True):
                drawn = ax.imshow(each, cmap=colours, vmin=limits[0], vmax=limits[1], interpolation="nearest")
                ax.set(**options)
                ax.grid(False)
            line[0].set_ylabel(name, fontsize="small")
        for ax, title in zip(axes[0], titles, strict=True):
            ax.set_title(title, fontsize="small")
        fig.colorbar(drawn, ax=axes, label=label, shrink=0.85)
    return fig
