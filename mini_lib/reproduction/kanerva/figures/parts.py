"""What several figures of this paper are made of: rows of pictures, heat maps, lines in bands, dots over columns."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mini_lib.errors import UsageError, check_names
from mini_lib.reproduction.plotting import (
    OKABE_ITO,
    QUIET,
    Number,
    Numbers,
    figure,
    legend_below,
    require_nonempty,
    strip,
    style,
)

BLUE, VERMILION, GREEN, PINK, ORANGE, SKY, BLACK = OKABE_ITO
CHANNELS = {"red": VERMILION, "green": GREEN, "blue": BLUE}  # of the binding task
MACHINES = (BLUE, VERMILION, GREEN, PINK, SKY, BLACK)  # one a machine; from the seventh on they begin again
BESIDE = 4  # lines whose names have room within the axes


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


# ------------------------------------------------------------------------------------------------------- lines


def band(ax: Axes, x: Float[np.ndarray, "P"], runs: Float[np.ndarray, "B P"], name: str, colour: str) -> None:
    """Draw the mean over B; with more than one of them, in a band of two standard errors each way."""
    mean = runs.mean(0)
    ax.plot(x, mean, color=colour, label=name)
    if len(runs) > 1:
        wide = 2 * runs.std(0, ddof=1) / len(runs) ** 0.5
        ax.fill_between(x, mean - wide, mean + wide, color=colour, alpha=0.18, linewidth=0)


def lines(
    x: Numbers,
    values: Mapping[str, Numbers],
    *,
    xlabel: str,
    ylabel: str,
    floors: Mapping[str, Numbers] | None = None,
) -> Figure:
    """Draw how numbers go with items written, or with anything else that is counted.

    Values are [P], one for each x, or [B, P] for B episodes: then the mean, in a band of two standard errors each
    way. Floors, such as the least that is possible, are dotted in the colour of the line of the same name.
    """
    shown = arrays(values)
    check_names("line", floors or {}, shown)
    colours = {name: OKABE_ITO[place % len(OKABE_ITO)] for place, name in enumerate(shown)}
    with style():
        fig, ax = figure()
        for name, each in shown.items():
            band(ax, np.asarray(x, dtype=float), np.atleast_2d(each), name, colours[name])
        for name, each in (floors or {}).items():
            least = np.atleast_2d(np.asarray(each, dtype=float)).mean(0)
            ax.plot(x, least, color=colours[name], linestyle=":", linewidth=1.3)
        ax.set(xlabel=xlabel, ylabel=ylabel)
        ax.set_ylim(bottom=min(0.0, ax.get_ylim()[0]))  # 0 is in sight, and nothing below it is cut off
        if len(shown) > BESIDE:
            legend_below(fig, ncols=3)
        else:
            ax.legend(fontsize="small")
    return fig


# -------------------------------------------------------------------------------------------------------- dots


def strips(panels: Mapping[str, Mapping[str, Numbers]], ylabel: str) -> Figure:
    """Draw a dot for each value and a bar at the mean, over columns of groups, a panel for each title.

    Every panel has the same groups, and each of these a colour; `limits` are of the y axis, which panels share.
    """
    with style():
        fig, axes = figure(1, len(panels), size=(2.9 * len(panels) + 0.4, 3.4), squeeze=False, sharey=True)
        for ax, (title, groups) in zip(axes[0], panels.items(), strict=True):
            strip(ax, arrays(groups), colours=OKABE_ITO)
            ax.set_title(title)
        axes[0, 0].set_ylabel(ylabel)
    return fig


def against_machines(
    panels: Mapping[str, Mapping[str, Mapping[int, Sequence]]],
    ylabel: str,
    colours: Mapping[str, str] | None = None,
) -> Figure:
    """Draw numbers against the number of machines: a dot for each run, a line through the means.

    Panels are title -> name -> k -> one value a run; a k may have none. Names have the book's colors in order, or
    their own.
    """
    names = list(dict.fromkeys(name for panel in panels.values() for name in panel))
    machines = sorted({k for panel in panels.values() for each in panel.values() for k in each})
    require_nonempty("panel with a line", names)
    colours = dict(zip(names, OKABE_ITO * len(names), strict=False)) | dict(colours or {})
    with style():
        size = (max(6.4, min(9.6, 4.2 * len(panels) + 0.8)), 3.8)
        fig, axes = figure(1, len(panels), size=size, squeeze=False, sharey=True)
        for ax, (title, panel) in zip(axes[0], panels.items(), strict=True):
            for name, each in panel.items():
                _through_means(ax, machines, each, color=colours[name], marker="o", label=name)
            ax.set_xticks(range(len(machines)), [str(k) for k in machines])
            ax.set(title=title, xlabel="machines k")
            if not any(len(values) for each in panel.values() for values in each.values()):
                ax.text(0.5, 0.5, "not run", color=QUIET, ha="center", transform=ax.transAxes)
        axes[0, 0].set_ylabel(ylabel)
        axes[0, 0].set_ylim(bottom=0)  # once every panel is drawn, as they share the axis
        legend_below(fig)
    return fig


def _through_means(ax: Axes, machines: Sequence[int], found: Mapping[int, Sequence], **look) -> None:
    having = {machines.index(k): values for k, values in sorted(found.items()) if len(values)}
    each = [(x, value) for x, values in having.items() for value in values]
    alone = look | {"linestyle": "", "label": None}
    ax.plot(*np.reshape(each, (-1, 2)).T, alpha=0.5, markersize=4, **alone)
    ax.plot(list(having), [np.mean(values) for values in having.values()], **look | {"marker": ""})
