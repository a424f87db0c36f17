"""Time of the memory against its machines: the paper's model, and what the clock says."""

from collections.abc import Mapping

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullFormatter

from mini_lib.reproduction.kanerva.scaling import TOTALS, Fit, Times, optimal
from mini_lib.reproduction.plotting import figure, legend_below, log_ticks, style


def scaling_theory(fitted: Fit, unit: str = "time") -> Figure:
    """Draw T(k, m) of the paper's terms over k from 1 to 20, a line for each m of the paper, as in Figure 1C.

    Dots mark those k_opt that are in sight.
    """
    most = 20
    k = np.linspace(1, most, 200)
    with style():
        fig, ax = figure(size=(6.4, 3.6))
        for m, shade in zip(TOTALS, shades(len(TOTALS)), strict=True):
            ax.plot(k, fitted(k, m), color=shade, label=f"m = {m}")
            best = optimal(fitted, m)
            if 1 <= best <= most:
                ax.plot([best], [fitted(best, m)], "o", color=shade, markersize=7, zorder=3)
        ax.set(xlabel="machines k", ylabel=unit, yscale="log", xlim=(0.5, most + 0.5))
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        log_ticks(ax.yaxis)
        ax.legend(fontsize="small")
    return fig


def scaling_times(times: Mapping[str, Times], fits: Mapping[str, Fit]) -> Figure:
    """Draw what was measured as dots, and what was fitted as lines, a panel for each form, as in Figure 1D.

    A form without a fit has dots alone.
    """
    with style():
        size = (min(9.6, 4.3 * len(times) + 0.8), 3.9)
        fig, axes = figure(1, len(times), size=size, squeeze=False, sharey=True)
        for ax, (form, measured) in zip(axes[0], times.items(), strict=True):
            machines, totals = (sorted(set(each)) for each in zip(*measured, strict=True))
            k = np.geomspace(min(machines), max(machines), 100)
            ax.set(xscale="log", yscale="log", title=form, xlabel="machines k")
            for m, shade in zip(totals, shades(len(totals)), strict=True):
                each = [measured[k, m] for k in machines]
                ax.plot(machines, each, "o", color=shade, markersize=4.5, label=f"m = {m}")
                if form in fits:
                    line = fits[form](k, m)
                    ax.plot(k, np.where(line > 0, line, np.nan), color=shade, linewidth=1.2)
            ax.set_xticks(machines, [str(each) for each in machines])
            ax.xaxis.set_minor_formatter(NullFormatter())
        axes[0, 0].set_ylabel("milliseconds")
        log_ticks(axes[0, 0].yaxis)
        legend_below(fig, ncols=6)
    return fig


def shades(count: int) -> np.ndarray:
    """Colours from light to dark, without viridis's yellow, which is too faint."""
    return mpl.colormaps["viridis"](np.linspace(0.85, 0.1, count))
