"""The trained networks for readers, and the questions that only some networks can be asked."""

from collections.abc import Sequence
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from mini_lib.errors import UsageError, unknown_name_error
from mini_lib.functions.extrapolation import summarise
from mini_lib.functions.models import MODELS, FunctionTransformer, RelationalTransformer
from mini_lib.functions.runs import Settings
from mini_lib.functions.tasks import own_curve
from mini_lib.weights import read_network

WEIGHTS = Path(__file__).parents[1] / "weights"


def reader_network(model: str, folder: Path = WEIGHTS) -> tuple[FunctionTransformer, dict]:
    """A trained network for readers, and what its file says of it: settings, seed, metrics, command.

    Args:
        model: a key of `models.MODELS`; all four are trained with `experiments.tutorial_settings`.
        folder: where `<model>.safetensors` lies.

    Raises:
        UsageError: for a network that is not there; the nearest name is offered.
        FileNotFoundError: if there is no such file.
        CorruptFileError: if the file is damaged.
    """
    if model not in MODELS:
        raise unknown_name_error("model", model, MODELS)
    return read_network(Settings, Path(folder) / f"{model}.safetensors")


def relational(model: FunctionTransformer, what: str) -> RelationalTransformer:
    """The network itself, if it is relational; UsageError, naming what was asked of it, if not."""
    if not isinstance(model, RelationalTransformer):
        raise UsageError(
            f"only a relational network has {what}, this one is a {type(model).__name__}; "
            "give 'relational' or 'relational_window'"
        )
    return model


def one_curve(y: Sequence[int | float] | Tensor) -> Float[Tensor, "1 N"]:
    """The observations of one curve as a batch of one; a batch of one stays as it is.

    Raises:
        UsageError: for what is no curve; see `tasks.own_curve`.
    """
    single = isinstance(y, torch.Tensor) and y.dim() == 2 and len(y) == 1
    return own_curve(y[0] if single else y)


def local_weights(model: FunctionTransformer, y: Float[Tensor, "B N"]) -> Float[Tensor, "B N"]:
    """How much the prediction of y_{N+1} changes with each observation: its derivatives, on the curve as it is.

    A linear autoregression has its own weights here, the same on every curve. Those of a relational network sum to
    1, since a constant added to a curve is added to its prediction.
    """
    y = y.detach().clone().requires_grad_()
    point, _ = summarise(model.estimates(y, model(y)))
    return torch.autograd.grad(point.sum(), y)[0]
