"""Questions that only some networks can be asked, and what their predictions depend on."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from mini_lib.errors import UsageError
from mini_lib.functions.extrapolation import summarise
from mini_lib.functions.models import FunctionTransformer, RelationalTransformer
from mini_lib.functions.tasks import as_curve


def require_relational(model: FunctionTransformer, what: str) -> RelationalTransformer:
    """The network itself, if it is relational; UsageError, naming what was asked of it, if not."""
    if not isinstance(model, RelationalTransformer):
        raise UsageError(
            f"only a relational network has {what}, this one is a {type(model).__name__}; "
            "give 'relational' or 'relational_window'"
        )
    return model


def one_curve(y: Sequence[int | float] | Tensor) -> Float[Tensor, "1 N"]:
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
