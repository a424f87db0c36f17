"""What is seen inside one network: its ensemble, its window, its attention, and what its predictions depend on."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from mini_lib.errors import UsageError
from mini_lib.functions.extrapolation import extrapolate, summarise
from mini_lib.functions.models import MODELS, FunctionTransformer, RelationalTransformer, Tokens, Window
from mini_lib.functions.models.window import LENGTH, visible
from mini_lib.functions.tasks import STEPS, as_curve

FARTHEST = 30.0  # distance up to which F is worked out: that of the first and the last place in the paper
POINTS = 121  # distances at which F is worked out


def _relational(model: FunctionTransformer, what: str) -> RelationalTransformer:
    """The network itself, if it is relational; UsageError, naming what was asked of it, if not."""
    if not isinstance(model, RelationalTransformer):
        raise UsageError(
            f"only a relational network has {what}, this one is a {type(model).__name__}; "
            "give 'relational' or 'relational_window'"
        )
    return model


def _one_curve(y: Sequence[int | float] | Tensor) -> Float[Tensor, "1 N"]:
    """The observations of one curve as a batch of one; a batch of one stays as it is."""
    single = isinstance(y, torch.Tensor) and y.dim() == 2 and len(y) == 1
    return as_curve(y[0] if single else y)


def local_weights(model: FunctionTransformer, y: Float[Tensor, "B N"]) -> Float[Tensor, "B N"]:
    """How much the prediction of y_{N+1} changes with each observation: its derivatives, on the curve as it is.

    A linear autoregression has its own weights here, the same on every curve. Those of a relational network sum to
    1, since a constant added to a curve is added to its prediction.
    """
    y = y.detach().clone().requires_grad_()
    point, _ = summarise(model.estimates(y, model(y)))
    return torch.autograd.grad(point.sum(), y)[0]


# ------------------------------------------------------------------------------------------------ the ensemble


class Ensemble(NamedTuple):
    """How a relational network goes on with one curve of N points for S steps, and from where."""

    y: Tensor  #: the observations. [N]
    #: z_i + y_i by step and by the place i that it starts from, x = 1..N+S-1; NaN where the network had no
    #: such point. From i = N + 1 on, y_i is a prediction of its own. [S, N + S - 1]
    estimates: Tensor
    point: Tensor  #: their median at each step, which is taken for the next observation. [S]
    spread: Tensor  #: their sample standard deviation. [S]

    @property
    def places(self) -> Float[Tensor, "S"]:
        """Where the steps are, x = N+1..N+S."""
        return len(self.y) + 1 + torch.arange(len(self.point), dtype=torch.float32)


def ensemble(
    model: FunctionTransformer, y: Sequence[int | float] | Float[Tensor, "..."], steps: int = STEPS
) -> Ensemble:
    """Extrapolate one curve of N points with a relational network, its context growing, and keep every estimate."""
    y = _one_curve(y)
    device = next(_relational(model, "several estimates of a point").parameters()).device
    forecast = extrapolate(model, y.to(device), steps)
    estimates = torch.full((steps, y.shape[1] + steps - 1), torch.nan)
    for step, of_step in enumerate(forecast.estimates):
        estimates[step, : of_step.shape[1]] = of_step[0].cpu()
    return Ensemble(y[0], estimates, forecast.point[0].cpu(), forecast.spread[0].cpu())


# ------------------------------------------------------------------------------------------------ the window


class WindowProfile(NamedTuple):
    """F over distance, for L windows of layers and H of heads; both are 1 where all share one."""

    distance: Tensor  #: in steps of x. [G]
    #: F(d) = (1 - sigma(d / b - a)) / (1 - sigma(-a)), by which weights are multiplied. [L, H, G]
    factor: Tensor
    length: Tensor  #: a b. [L, H]
    start: Tensor  #: the factor that training began with. [G]


@torch.no_grad()
def window_profile(model: FunctionTransformer, length: int | float = LENGTH) -> WindowProfile:
    """F at G = 121 distances from 0 to 30, as a network has it now, and as it was at its first `length`."""
    if model.window is None:
        windowed = [name for name, (_, has_window) in MODELS.items() if has_window]
        raise UsageError(
            f"this {type(model).__name__} has no window; give {' or '.join(map(repr, windowed))}"
        )
    distance = torch.linspace(0, FARTHEST, POINTS)
    now, start = (
        window.log_factor(distance[None].to(window.log_a.device)).exp()[:, :, 0].cpu()
        for window in (model.window, Window(float(length)))
    )
    return WindowProfile(distance, now, model.window.length.cpu().clone(), start[0, 0])


# ------------------------------------------------------------------------------------------------ attention


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
    looks at it. Without a layer, counted from 0, it is the mean over all of them.
    """
    y = _one_curve(y)
    observed = y.shape[1]
    if not 1 <= query <= observed:
        raise UsageError(f"of {observed} observations there are queries 1 to {observed}, got {query!r}")
    weights, tokens = _weights(_relational(model, "a matrix of differences to look at"), y)
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


class DistanceAttention(NamedTuple):
    """Mean attention of queries to what stands at each distance, over all that they may look at."""

    distance: Tensor  #: in steps of x, from 0. [G]
    weights: Tensor  #: by layer and head. [L, H, G]
    even: Tensor  #: what it would be if each query shared its attention evenly. [G]


def attention_by_distance(model: FunctionTransformer, y: Float[Tensor, "B N"]) -> DistanceAttention:
    """How the attention of the queries about y_{N+1} whose answers are used falls with distance, over all curves.

    Distance is in j, the time of a token; in a relational network that is the later point of two.
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
