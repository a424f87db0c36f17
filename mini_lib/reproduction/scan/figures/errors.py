"""Tables of what goes with each right action, what words mean alone, and roles."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mini_lib.reproduction.plotting import OKABE_ITO, figure, heat_map
from mini_lib.scan.analysis import Dictionary, Table


def _percents(
    ax: Axes, shares: Float[np.ndarray, "R C"], rows: Sequence[str], columns: Sequence[str]
) -> None:
    """Draw shares from 0 to 1 as percents, under slanted names of the columns."""
    heat_map(ax, 100 * shares, rows, columns, vmax=100)
    ax.tick_params(axis="x", labelrotation=35)
    for name in ax.get_xticklabels():
        name.set(ha="right", rotation_mode="anchor")


def table(counts: Table, xlabel: str, ylabel: str = "right action") -> Figure:
    """Draw a table as percents of its rows, the number of steps after each row's name; empty ones are left out."""
    kept = counts.without_empty()
    rows = [f"{name} ({n:,})" for name, n in zip(kept.rows, kept.counts.sum(axis=1), strict=True)]
    fig, ax = figure(size=(2.4 + 0.55 * len(kept.columns), 1.6 + 0.3 * len(rows)))
    _percents(ax, kept.shares, rows, kept.columns)
    ax.set(xlabel=xlabel, ylabel=f"{ylabel} (steps)")
    return fig


def word_meanings(dictionary: Dictionary) -> Figure:
    """Draw what each word says alone, in percent: the semantic stream is a dictionary."""
    words, actions = dictionary.words, dictionary.actions
    fig, ax = figure(size=(1.8 + 0.55 * len(actions), 1.2 + 0.27 * len(words)))
    _percents(ax, dictionary.probabilities.double().numpy(), words, actions)
    ax.set(xlabel="action (probability in %)", ylabel="word alone")
    return fig


def roles(similarity: Mapping[str, Mapping[str, float]], verb: str = "jump") -> Figure:
    """Draw how alike h_j of a verb and of each other verb are in the same place, by construction (cosine)."""
    names = list(dict.fromkeys(name for row in similarity.values() for name in row))
    fig, ax = figure(size=(5.6, 1.3 + 0.26 * len(similarity)))
    for number, name in enumerate(names):
        values = [row.get(name, np.nan) for row in similarity.values()]
        look = {"color": OKABE_ITO[number % len(OKABE_ITO)], "markersize": 6, "label": name, "alpha": 0.8}
        ax.plot(values, range(len(values)), "os^vD"[number % 5], **look)
    ax.set(yticks=range(len(similarity)), xlabel=f"cosine of h between {verb} and", xlim=(None, 1.03))
    ax.set_yticklabels(list(similarity))
    ax.invert_yaxis()
    ax.grid(axis="x")
    ax.legend(fontsize="small", loc="best", frameon=False)
    return fig
