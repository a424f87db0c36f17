"""Which token sees which, and where queries look."""

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from mini_lib.errors import UsageError
from mini_lib.functions.transformer import OneDTransformer, RelationalTransformer
from mini_lib.functions.window import MASKS, Tokens, visible
from mini_lib.reproduction.functions.figures.looks import ASKED, label
from mini_lib.reproduction.functions.figures.problems import asked_column, token_set
from mini_lib.reproduction.plotting import figure


def masks(observed: int = 4, mask: str = "causal") -> Figure:
    """Draw which token (a row) may look at which (a column) in both networks; queries come last, in vermilion.

    A token that may look at none is marked.
    """
    if mask not in MASKS or not 2 <= observed <= 6:
        raise UsageError(
            f"masks are {', '.join(MASKS)}, of 2 to 6 observations; got {mask!r} and {observed!r}"
        )
    fig, axes = figure(1, 2, size=(9.4, 4.6), gridspec_kw={"width_ratios": (1, 1.6)})
    networks = {"one_d": OneDTransformer, "relational": RelationalTransformer}
    for ax, (kind, network) in zip(axes, networks.items(), strict=True):
        tokens = token_set(network, observed)
        _seen(ax, visible(tokens, tokens, mask), tokens)
        ax.set_title(label(kind))
    axes[0].set(xlabel="is looked at", ylabel="looks")
    axes[1].set_xlabel("is looked at")
    return fig


def _seen(ax: Axes, seen: Tensor, tokens: Tokens) -> None:
    names = [",".join(str(int(place)) for place in places) for places in tokens.places.tolist()]
    ax.imshow(seen.numpy(), cmap="Greys", vmin=-0.11, vmax=1.6, interpolation="nearest")
    places = range(len(names))
    ax.set_anchor("N")
    for place in (~seen.any(dim=1)).nonzero()[:, 0].tolist():
        ax.text(0, place, "sees nothing", va="center", fontsize=7.5, color="#444444")
    turned = {"rotation": 90} if tokens.places.shape[1] > 1 else {}
    ax.set_xticks(places, names, fontsize=8, **turned)
    ax.set_yticks(places, names, fontsize=8)
    for ticks in (ax.get_xticklabels(), ax.get_yticklabels()):
        for tick, asks in zip(ticks, tokens.query.tolist(), strict=True):
            tick.set_color(ASKED if asks else "#222222")
    edges = np.arange(len(names) + 1) - 0.5
    ax.hlines(edges, -0.5, len(names) - 0.5, color="white", linewidth=0.8)
    ax.vlines(edges, -0.5, len(names) - 0.5, color="white", linewidth=0.8)
    ax.grid(False)


# ------------------------------------------------------------------------------------------------ attention


def attention(weights: Float[Tensor, "N _"], query: int, highest: int | float | None = None) -> Figure:
    """Draw the attention of the query (i, N + 1) of a relational network, i = `query`, to every token.

    The weight of token (i', j') is in row i' and column j', from 1, NaN where there is no token.
    The query has a ring, the column that is asked for a frame; places without a token are grey. The weight `highest`
    is darkest, or else the largest one.
    """
    rows, columns = weights.shape
    fig, ax = figure(size=(5.4, 4.2))
    ax.set_facecolor("#ececec")
    top = float(weights.nan_to_num().max()) if highest is None else highest
    look = {"cmap": "Blues", "vmin": 0, "vmax": top, "interpolation": "nearest"}
    extent = (0.5, columns + 0.5, rows + 0.5, 0.5)
    fig.colorbar(ax.imshow(weights.numpy(), extent=extent, **look), ax=ax, label="attention", shrink=0.85)
    asked_column(ax, columns, rows)
    ring = {"fillstyle": "none", "color": ASKED, "markersize": min(9, 150 / columns)}
    ax.plot([columns], [query], "o", **ring)
    limits = {"xlim": (0.5, columns + 0.6), "ylim": (rows + 0.6, 0.4)}
    ax.set(xlabel="later point $j$", ylabel="earlier point $i$", **limits)
    ax.grid(False)
    return fig
