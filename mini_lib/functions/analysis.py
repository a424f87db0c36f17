"""Measurements: what a prediction depends on, and how its error grows step by step."""

import torch
from jaxtyping import Float
from torch import Tensor

from mini_lib.errors import UsageError
from mini_lib.functions.tasks import Curves, rows_by_kind
from mini_lib.functions.transformer import FunctionTransformer


def local_weights(model: FunctionTransformer, y: Float[Tensor, "B N"]) -> Float[Tensor, "B N"]:
    """Return the derivatives of the prediction of y_{N+1}; those of a linear autoregression are its weights."""
    y = y.detach().clone().requires_grad_()
    return torch.autograd.grad(model.predict(y).sum(), y)[0]


def error_by_step(point: Float[Tensor, "B S"], curves: Curves) -> dict[str, list[float]]:
    """Mean squared error against the noiseless truth at each of the curves' last S points, by class."""
    count, steps = point.shape
    if len(curves.y) != count or curves.y.shape[1] <= steps:
        raise UsageError(f"{[count, steps]} predictions do not belong to curves {list(curves.y.shape)}")
    squares = (point.double() - curves.truth[:, -steps:].double()).square()
    return {kind: squares[rows].mean(dim=0).tolist() for kind, rows in rows_by_kind(curves.kinds).items()}
