"""Errors step by step, and what is measured over training."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from mini_lib.errors import UsageError, unknown_name_error
from mini_lib.functions.tasks import KINDS, UPDATES
from mini_lib.reproduction.functions.figures.looks import is_variant, label, looks
from mini_lib.reproduction.plotting import (
    Numbers,
    figure,
    legend_below,
    log_ticks,
    require_nonempty,
    style,
)

# ------------------------------------------------------------------------------------------------ step by step


def by_step(errors: Mapping[str, Mapping[str, Numbers]], sharey: bool = True) -> Figure:
    """Draw the error of each step, a panel for each class and a line for each network or predictor, by name.

    Errors are those of `analysis.error_by_step`, on a logarithmic axis. What is said to a network's name, as in "1d,
    sliding", has open dots. Without `sharey` each panel has a scale of its own.
    """
    require_nonempty("network or predictor, by name", errors)
    dot = {"marker": "o", "markersize": 3}
    drawn = {
        name: dot | look | ({"markerfacecolor": "white", "markersize": 4.5} if is_variant(name) else {})
        for name, look in looks(errors).items()
    }
    classes = list(dict.fromkeys(kind for by_class in errors.values() for kind in by_class))
    with style():
        size = (max(5.0, 3.0 * len(classes) + 0.3), 3.8)
        fig, axes = figure(1, len(classes), size=size, squeeze=False, sharey=sharey)
        for ax, kind in zip(axes[0], classes, strict=True):
            for name, by_class in errors.items():
                if kind in by_class:
                    x = np.arange(1, len(by_class[kind]) + 1)
                    ax.plot(x, by_class[kind], **drawn[name])
            ax.set(title=label(kind), xlabel="step", yscale="log")
        axes[0, 0].set_ylabel("mean squared error")
        for ax in axes[0, : 1 if sharey else None]:
            log_ticks(ax.yaxis)
        handles = [Line2D([], [], label=label(name), **look) for name, look in drawn.items()]
        legend_below(fig, handles)
    return fig


# ------------------------------------------------------------------------------------------------ over training


class MetricHistory(NamedTuple):
    """A measure over the training of a network."""

    updates: list[int]  #: when it was measured.
    values: dict[str, list[float]]  #: by class, or by the one thing that is measured.


def metric_history(record: dict, measure: str) -> MetricHistory:
    """Read a measure of `runs.evaluate` over the training of one run from the checks in its record.

    It is "mse", "noisy_mse", "sliding_mse", "spread", "covered_1", "covered_2" or "spread_error", by class; or
    "window".
    """
    checks = record.get("checks")
    if not checks:
        raise UsageError("this record has one test, at the end; give one of a run with `checks`")
    names = {measure: measure} if measure == "window" else {kind: f"{measure}_{kind}" for kind in KINDS}
    if not all(name in checks[0] for name in names.values()):
        known = {name.removesuffix(f"_{KINDS[0]}") for name in checks[0] if name.endswith(f"_{KINDS[0]}")}
        raise unknown_name_error("measure", measure, sorted(known | ({"window"} & checks[0].keys())))
    updates = [UPDATES * check["epoch"] for check in checks]
    return MetricHistory(updates, {key: [check[name] for check in checks] for key, name in names.items()})
