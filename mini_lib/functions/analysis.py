"""Measurements: what a prediction depends on, where a network attends, and how its error grows step by step."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from mini_lib.errors import UsageError
from mini_lib.functions.tasks import Curves, as_curve, check_curves, rows_by_kind
from mini_lib.functions.transformer import FunctionTransformer, RelationalTransformer
from mini_lib.functions.window import Tokens, visible


def local_weights(model: FunctionTransformer, y: Float[Tensor, "B N"]) -> Float[Tensor, "B N"]:
    """Return the derivatives of the prediction of y_{N+1}; those of a linear autoregression are its weights."""
    y = y.detach().clone().requires_grad_()
    return torch.autograd.grad(model.predict(y).sum(), y)[0]


class MatrixAttention(NamedTuple):
    """Attention of one query of a relational network to every token."""

    query: int  #: i of the query (i, N + 1).
    #: to token (i', j') in row i' and column j', from 1; 0 where it is hidden from the query, NaN where there is no
    #: token. The last column holds the queries.
    weights: Float[Tensor, "N _"]


@torch.no_grad()
def over_matrix(
    model: FunctionTransformer,
    y: Sequence[int | float] | Float[Tensor, "N"],
    query: int,
    layer: int | None = None,
) -> MatrixAttention:
    """Return a query's attention in one curve: the mean over heads and, without a `layer` (from 0), over layers."""
    if not isinstance(model, RelationalTransformer):
        raise UsageError(
            f"only a relational network has a matrix of differences, not a {type(model).__name__}"
        )
    y = as_curve(y).to(next(model.parameters()).device)
    observed, layers = y.shape[1], len(model.transformer.blocks)
    if not 1 <= query <= observed:
        raise UsageError(f"of {observed} observations there are queries 1 to {observed}, got {query!r}")
    if layer is not None and not 0 <= layer < layers:
        raise UsageError(f"layer has to be from 0 to {layers - 1}, got {layer!r}")
    trace = model.trace(y)
    weights = trace.attention if layer is None else trace.attention[[layer]]
    mean = weights.mean(dim=(0, 1, 2)).cpu()  # [T, T]
    places = trace.tokens.places.cpu()
    i, j = places.long().unbind(dim=-1)
    row = (places == torch.tensor([query, observed + 1])).all(dim=1)
    matrix = torch.full((observed + 1, observed + 1), torch.nan, dtype=mean.dtype)
    matrix[i - 1, j - 1] = mean[row][0]
    return MatrixAttention(query, matrix[:-1])


class DistanceAttention(NamedTuple):
    """Mean attention of queries to the tokens at each distance, over all that are visible to them."""

    distance: Float[Tensor, "G"]  #: in steps of x, from 0.
    weights: Float[Tensor, "L H G"]  #: by layer and head.
    even: Float[Tensor, "G"]  #: the same for uniform attention.


@torch.no_grad()
def attention_by_distance(model: FunctionTransformer, y: Float[Tensor, "B N"]) -> DistanceAttention:
    """Average the attention of the queries about y_{N+1} by distance, over all curves.

    Distance is in j, of two points the later one. The relational query (N + 1, N + 1), which is unused, is left out.
    """
    check_curves(y)
    device, total = next(model.parameters()).device, 0.0
    for curve in y:  # one at a time, to save memory
        trace = model.trace(curve[None].to(device))
        tokens = Tokens(*(part.cpu() for part in trace.tokens))
        used = tokens.query.clone()
        used[-1] &= not isinstance(model, RelationalTransformer)
        total = total + trace.attention.cpu()[:, 0][:, :, used] / len(y)  # [L, H, Q, T]
    queries = Tokens(*(part[used] for part in tokens))
    seen = visible(queries, tokens, model.mask)
    distance = (queries.places[:, None, -1] - tokens.places[None, :, -1]).abs()
    even = seen / seen.sum(dim=1, keepdim=True).clamp(min=1)
    at = [seen & (distance == place) for place in distance[seen].unique()]
    weights = torch.stack([total[:, :, where].mean(dim=-1) for where in at], dim=-1)
    return DistanceAttention(distance[seen].unique(), weights, torch.stack([even[w].mean() for w in at]))


def error_by_step(point: Float[Tensor, "B S"], curves: Curves) -> dict[str, list[float]]:
    """Mean squared error against the noiseless truth at each of the curves' last S points, by class."""
    count, steps = point.shape
    if len(curves.y) != count or curves.y.shape[1] <= steps:
        raise UsageError(f"{[count, steps]} predictions do not belong to curves {list(curves.y.shape)}")
    squares = (point.double() - curves.truth[:, -steps:].double()).square()
    return {kind: squares[rows].mean(dim=0).tolist() for kind, rows in rows_by_kind(curves.kinds).items()}
