"""Time of the memory against its machines: the paper's model, its printed constants, and what the clock says."""

from collections.abc import Mapping, Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

from mini_lib.errors import UsageError
from mini_lib.reproduction.kanerva.footnote import Assignment
from mini_lib.reproduction.kanerva.scaling import TOTALS, Fit, Times, optimal
from mini_lib.reproduction.plotting import OKABE_ITO, RULE, figure, style

MARK = OKABE_ITO[1]  # what a figure is about


def scaling_theory(fitted: Fit, totals: Sequence[int] = TOTALS, most: int = 20, unit: str = "time") -> Figure:
    """Draw T(k, m) over the number of machines, a line for each m, as in Figure 1C; dots mark k_opt.

    Args:
        fitted: with the paper's terms.
        totals: the m.
        most: the largest k that is drawn; a k_opt outside 1 to `most` has no dot.
        unit: label of the vertical axis.

    Raises:
        UsageError: for a fit with other terms, no m, or fewer than 2 machines.
    """
    if not totals or most < 2:
        raise UsageError("give at least one m, and let most be 2 or more")
    k = np.linspace(1, most, 200)
    with style():
        fig, ax = figure(size=(6.4, 3.6))
        for m, shade in shades(totals).items():
            ax.plot(k, fitted(k, m), color=shade, label=f"m = {m}")
            best = optimal(fitted, m)
            if 1 <= best <= most:
                ax.plot([best], [fitted(best, m)], "o", color=shade, markersize=7, zorder=3)
        ax.set(xlabel="machines k", ylabel=unit, yscale="log", xlim=(0.5, most + 0.5))
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        plain(ax.yaxis)
        ax.legend(fontsize="small")
    return fig


def scaling_times(times: Mapping[str, Times], fits: Mapping[str, Fit]) -> Figure:
    """Draw what was measured as dots and what was fitted as lines, a panel for each form, as in Figure 1D.

    Args:
        times: form -> what was measured.
        fits: form -> T(k, m); a form may have none.

    Raises:
        UsageError: without times, or for a fit of a form that was not measured.
    """
    if not times:
        raise UsageError("there is nothing to draw; give the times of at least one form")
    if strangers := set(fits) - set(times):
        raise UsageError(f"there are no times for the fits of {', '.join(sorted(strangers))}")
    with style():
        size = (min(9.6, 4.3 * len(times) + 0.8), 3.9)
        fig, axes = figure(1, len(times), size=size, squeeze=False, sharey=True)
        for ax, (form, found) in zip(axes[0], times.items(), strict=True):
            _panel(ax, found, fits.get(form))
            ax.set(title=form, xlabel="machines k")
        axes[0, 0].set_ylabel("milliseconds")
        plain(axes[0, 0].yaxis)
        handles, labels = axes[0, 0].get_legend_handles_labels()
        fig.legend(handles, labels, loc="outside lower center", ncols=6, fontsize="small")
    return fig


def _panel(ax: Axes, found: Times, fitted: Fit | None) -> None:
    k = np.geomspace(min(found.machines), max(found.machines), 100)
    ax.set(xscale="log", yscale="log")
    for m, shade in shades(found.totals).items():
        ax.plot(found.machines, found.of(m), "o", color=shade, markersize=4.5, label=f"m = {m}")
        if fitted is not None:
            line = fitted(k, m)
            ax.plot(k, np.where(line > 0, line, np.nan), color=shade, linewidth=1.2)
    ax.set_xticks(found.machines, [str(each) for each in found.machines])
    ax.xaxis.set_minor_formatter(NullFormatter())


def plain(axis: Axis) -> None:
    """Plain numbers at 1, 2 and 5 of every decade of a logarithmic axis, and nothing between them."""
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


def shades(totals: Sequence[int]) -> dict[int, str]:
    """One colour an m, the darker the larger; without viridis's yellow, which is too faint."""
    places = np.linspace(0.85, 0.1, len(totals))
    return {m: to_hex(mpl.colormaps["viridis"](place)) for m, place in zip(totals, places, strict=True)}


def footnote(found: Sequence[Assignment], forced: Mapping[str, tuple[float, float]]) -> Figure:
    """Draw the printed standard errors' two ratios under each assignment, beside those that least squares forces.

    Args:
        found: from `assignments`; the first is named in colour.
        forced: name of a choice of machines -> `error_ratios`, drawn as crosses.

    Raises:
        UsageError: without assignments.
    """
    if not found:
        raise UsageError("there is nothing to draw; give the assignments")
    with style():
        fig, ax = figure(size=(6.8, 4.0))
        for place, each in enumerate(found):
            look = {"color": MARK if place == 0 else RULE, "zorder": 3}
            ax.plot(*each.ratios, "o", markersize=8, fillstyle="none", markeredgewidth=1.6, **look)
            left = each.ratios[0] > 1e3
            words = ", ".join(f"{letter}: {role}" for letter, role in each.roles.items())
            at = {"xytext": (-10 if left else 10, -10), "textcoords": "offset points", "fontsize": 7.5}
            ax.annotate(words, each.ratios, ha="right" if left else "left", **at, **look)
        x, y = np.array(list(forced.values())).reshape(-1, 2).T
        ax.plot(x, y, "x", color=OKABE_ITO[0], markersize=7, label="forced by least squares", zorder=4)
        ax.set(xscale="log", yscale="log", xlim=(1e-9, 1e10), ylim=(1e-9, 1e10))
        ax.set(xlabel="error of the constant / of the slope", ylabel="error of the cubic / of the slope")
        ax.legend(loc="upper left", fontsize="small")
    return fig
