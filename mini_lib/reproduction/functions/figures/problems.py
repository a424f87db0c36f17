"""The differences that a relational network sees, and the tokens of both networks."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from mini_lib.errors import UsageError
from mini_lib.functions.tasks import as_curve
from mini_lib.functions.transformer import FunctionTransformer, OneDTransformer, RelationalTransformer
from mini_lib.functions.window import Tokens
from mini_lib.reproduction.functions.figures.looks import ASKED, TRUTH
from mini_lib.reproduction.plotting import QUIET, figure, style

SIGNED = "PuOr"  # colours of differences; white is none


# ------------------------------------------------------------------------------------------------ differences


def differences(y: Sequence[int | float] | Float[Tensor, "N"]) -> Figure:
    """Draw one curve, and the matrix of its differences y_j - y_i (i < j) with the column that is asked for.

    Rows of the matrix are i, columns j; column N + 1 has a question mark for every query.
    """
    y = as_curve(y)[0]
    observed = len(y)
    fig, (left, right) = figure(1, 2, size=(8.6, 3.9), gridspec_kw={"width_ratios": (1, 1.25)})
    x = np.arange(1, observed + 1)
    left.plot(x, y, "-o", color=TRUTH, linewidth=1, markersize=4.5)
    left.text(observed + 1, float(y[-1]), "?", ha="center", va="center", color=ASKED, fontsize="x-large")
    left.set(xlabel="x", ylabel="y", xlim=(0.4, observed + 1.6))
    _matrix(fig, right, y)
    return fig


def _matrix(fig: Figure, ax: Axes, y: Float[Tensor, "N"]) -> None:
    observed = len(y)
    lower = torch.ones(observed, observed, dtype=torch.bool).tril()
    values = (y[None, :] - y[:, None]).masked_fill(lower, torch.nan)
    extreme = float(values[~lower].abs().max()) or 1.0
    extent = (0.5, observed + 0.5, observed + 0.5, 0.5)
    look = {"cmap": SIGNED, "vmin": -extreme, "vmax": extreme, "extent": extent, "interpolation": "nearest"}
    fig.colorbar(ax.imshow(values.numpy(), **look), ax=ax, label="$y_j-y_i$", shrink=0.85)
    asked_column(ax, observed + 1, rows=observed + 1)
    size = min(9.0, 130 / observed)
    for row in range(1, observed + 2):
        look = {"ha": "center", "va": "center", "color": ASKED, "fontsize": size}
        ax.text(observed + 1, row, "?", **look)
    limits = {"xlim": (0.5, observed + 1.6), "ylim": (observed + 1.6, 0.4)}
    ax.set(xlabel="later point $j$", ylabel="earlier point $i$", **limits)
    ax.grid(False)


def asked_column(ax: Axes, column: int, rows: int) -> None:
    """Frame the column of a matrix that is asked for."""
    look = {"fill": False, "edgecolor": ASKED, "linewidth": 1.4, "clip_on": False}
    ax.add_patch(Rectangle((column - 0.5, 0.5), 1, rows, **look))


# ------------------------------------------------------------------------------------------------ tokens


def token_set(network: type[FunctionTransformer], observed: int) -> Tokens:
    """Inputs and queries of a network given N observations."""
    return network.input_tokens(observed).cat(network.query_tokens(observed + 1))


def token_sets(observed: int = 6) -> Figure:
    """Draw where the tokens of both networks stand, and count them: squares carry a value, circles ask for one."""
    if observed < 2:
        raise UsageError(f"two observations at least make a difference, got observed={observed!r}")
    with style():
        fig, (left, right) = figure(1, 2, size=(8.6, 3.6), sharex=True)
        _tokens(left, token_set(OneDTransformer, observed), "observations")
        _tokens(right, token_set(RelationalTransformer, observed), "differences")
        left.set(title="1d", xlabel="x", yticks=[])
        right.set(title="relational", xlabel="later point $j$", ylabel="earlier point $i$")
        for ax in (left, right):
            limits = {"xlim": (0.3, observed + 1.7), "ylim": (observed + 1.7, 0.3)}
            ax.set(xticks=range(1, observed + 2), **limits)
    return fig


def _tokens(ax: Axes, tokens: Tokens, inputs: str) -> None:
    """Each token at its places; those of the 1d network stand in one row."""
    j, asks = tokens.places[:, -1].numpy(), tokens.query.numpy()
    i = tokens.places[:, 0].numpy() if tokens.places.shape[1] == 2 else np.ones(len(j))
    ax.plot(j[~asks], i[~asks], "s", color=QUIET, markersize=7, label=f"{(~asks).sum()} {inputs}")
    words = f"{asks.sum()} {'query' if asks.sum() == 1 else 'queries'}"
    ax.plot(j[asks], i[asks], "o", color=ASKED, fillstyle="none", markersize=8, label=words)
    ax.legend(loc="lower left", fontsize="small")
    ax.grid(False)
