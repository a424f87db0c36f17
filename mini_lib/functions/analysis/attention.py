"""Where queries look: over the observations, over the matrix of differences, and how that falls with distance."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from mini_lib.errors import UsageError
from mini_lib.functions.analysis.networks import one_curve, require_relational
from mini_lib.functions.models import FunctionTransformer, RelationalTransformer, Tokens
from mini_lib.functions.models.window import visible


class MatrixAttention(NamedTuple):
    """Attention of one query of a relational network to every token."""

    query: int  #: i of the query (i, N + 1).
    #: on token (i', j') in row i' and column j', from 1; 0 where the query may not look, NaN where there is
    #: no token. The last column holds the queries. [N, N + 1]
    weights: Tensor


def over_matrix(
    model: FunctionTransformer,
    y: Sequence[int | float] | Float[Tensor, "..."],
    query: int,
    layer: int | None = None,
) -> MatrixAttention:
    """Where the query (i, N + 1) of a relational network looks, laid out as the matrix of places; mean over heads.

    The query (N + 1, N + 1), whose answer is 0, has no row of its own in the matrix; with a causal mask no other
    looks at it.

    Args:
        model: a relational network.
        y: the N observations of one curve.
        query: i, from 1 to N.
        layer: from 0; the mean over layers without it.
    """
    y = one_curve(y)
    observed = y.shape[1]
    if not 1 <= query <= observed:
        raise UsageError(f"of {observed} observations there are queries 1 to {observed}, got {query!r}")
    weights, tokens = _weights(require_relational(model, "a matrix of differences to look at"), y)
    if layer is not None and not 0 <= layer < len(weights):
        raise UsageError(f"layer has to be from 0 to {len(weights) - 1}, got {layer!r}")
    mean = (weights if layer is None else weights[layer : layer + 1]).mean(dim=(0, 1))  # [T, T]
    i, j = tokens.places.long().unbind(dim=-1)
    row = int(((i == query) & tokens.query).nonzero())
    matrix = torch.full((observed + 1, observed + 1), torch.nan)
    matrix[i - 1, j - 1] = mean[row]
    return MatrixAttention(query, matrix[:-1])


@torch.no_grad()
def _weights(model: FunctionTransformer, y: Float[Tensor, "1 N"]) -> tuple[Float[Tensor, "L H T T"], Tokens]:
    """Attention of all layers and heads in one curve, on the CPU."""
    weights, tokens = model.attention(y.to(next(model.parameters()).device))
    return torch.cat(weights).cpu(), tokens.to("cpu")


# ------------------------------------------------------------------------------------------------ with distance


class DistanceAttention(NamedTuple):
    """Mean attention of queries to what stands at each distance, over all that they may look at."""

    distance: Tensor  #: in steps of x, from 0. [G]
    weights: Tensor  #: by layer and head. [L, H, G]
    even: Tensor  #: what it would be if each query shared its attention evenly. [G]


def attention_by_distance(model: FunctionTransformer, y: Float[Tensor, "B N"]) -> DistanceAttention:
    """How the attention of the queries about y_{N+1} whose answers are used falls with distance, over all curves.

    Distance is in j, the time of a token; in a relational network that is the later point of two.

    Args:
        model: of any kind.
        y: curves of N observations each.
    """
    if not len(y):
        raise UsageError("there is no curve to look at; give at least one")
    total = 0.0
    for curve in y:  # one at a time: the weights of many would fill the memory
        weights, tokens = _weights(model, curve[None])
        used = tokens.query.clone()
        used[-1] &= not isinstance(model, RelationalTransformer)  # (N + 1, N + 1), whose answer is not used
        total = total + weights[:, :, used]
    queries = Tokens(*(part[used] for part in tokens))
    seen = visible(queries, tokens, model.mask)
    distance = (queries.places[:, None, -1] - tokens.places[None, :, -1]).abs().long()
    even = seen / seen.sum(dim=1, keepdim=True).clamp(min=1)
    places = distance[seen].unique()
    return DistanceAttention(
        places.float(),
        _means(total / len(y), seen, distance, places),
        _means(even[None, None], seen, distance, places)[0, 0],
    )


def _means(
    weights: Float[Tensor, "L H Q T"], seen: Bool[Tensor, "Q T"], distance: Tensor, places: Tensor
) -> Float[Tensor, "L H G"]:
    """Mean weight on what is seen at each distance."""
    return torch.stack([weights[:, :, seen & (distance == place)].mean(dim=-1) for place in places], dim=-1)
