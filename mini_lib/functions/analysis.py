"""Measurements: what a prediction depends on."""

import torch
from jaxtyping import Float
from torch import Tensor

from mini_lib.functions.transformer import FunctionTransformer


def local_weights(model: FunctionTransformer, y: Float[Tensor, "B N"]) -> Float[Tensor, "B N"]:
    """Return the derivatives of the prediction of y_{N+1}; those of a linear autoregression are its weights."""
    y = y.detach().clone().requires_grad_()
    return torch.autograd.grad(model.predict(y).sum(), y)[0]
