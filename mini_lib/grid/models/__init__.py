"""The mechanisms of the study, each for any sequence of vectors: [B, T, D] to logits [B, C], by name.

Those of the four papers are their own networks where these take vectors; CoRelNet and the Abstractor are added. A
name says what was done to a mechanism: "fixed", "tied" or "learned", of the relation; "open", of the same network
without its wall. The factorial has all of these in two architectures.
"""

import inspect
from collections.abc import Callable, Mapping
from functools import partial

from torch import nn

from mini_lib.errors import check_names
from mini_lib.esbn.esbn import ESBN
from mini_lib.esbn.network import TemporalContextNorm
from mini_lib.esbn.recurrent_baselines import LSTM
from mini_lib.esbn.relational_baselines import Transformer
from mini_lib.grid.models.abstractor import Abstractor
from mini_lib.grid.models.commands import CommandNetwork, syntactic_attention
from mini_lib.grid.models.corelnet import RELATIONS, CoRelNet
from mini_lib.grid.models.differences import Differences
from mini_lib.grid.models.kanerva import KanervaReader
from mini_lib.grid.models.network import CurveNetwork, GlyphNetwork
from mini_lib.grid.models.pointer import Pointer
from mini_lib.settings import own_options

__all__ = [
    "FACTORIAL",
    "MODELS",
    "SIZES",
    "STREAMS",
    "Abstractor",
    "CoRelNet",
    "CommandNetwork",
    "CurveNetwork",
    "Differences",
    "GlyphNetwork",
    "KanervaReader",
    "Pointer",
    "answer_layer",
    "build_core",
    "context_norm",
    "kept_options",
    "sizes",
    "syntactic_attention",
]

_WHOLE = {"heads": 1, "hidden": 128, "answer_hidden": 32}  # one relation, of whole objects
_FROM_FIXED = {"relation": "learned", "from_identity": True}


def _factorial() -> dict[str, Callable[..., nn.Module]]:
    """Relation by wall, in two architectures."""
    made = {}
    for name, make in (("abstractor", partial(Abstractor, **_WHOLE)), ("corelnet", CoRelNet)):
        for relation in RELATIONS:
            made[f"{name} {relation}"] = partial(make, relation=relation)
            made[f"{name} {relation}, open"] = partial(make, relation=relation, content=True)
    return made


FACTORIAL = _factorial()
MODELS: dict[str, Callable[..., nn.Module]] = FACTORIAL | {
    "abstractor learned from fixed": partial(Abstractor, **_WHOLE, **_FROM_FIXED),
    "differences": Differences,
    "differences, open": partial(Differences, content=True),
    "esbn": partial(ESBN, key_size=64),
    "pointer": Pointer,
    "kanerva": KanervaReader,
    "lstm": LSTM,
    "transformer": Transformer,
    "abstractor": Abstractor,
}
# The size that makes a mechanism one of about 110,000 numbers to learn; those of the factorial keep the same layers
# on every task, and the Abstractor of the paper its own.
SIZES: dict[str, dict[str, dict[str, int]]] = {
    "distribution_of_three": {
        "esbn": {"hidden": 128},
        "pointer": {"syntax": 58},
        "kanerva": {"hidden": 3309},
        "lstm": {"hidden": 112},
        "transformer": {"hidden": 35},
    },
    "rmts": {
        "esbn": {"hidden": 128},
        "pointer": {"syntax": 58},
        "kanerva": {"hidden": 5042},
        "lstm": {"hidden": 112},
        "transformer": {"hidden": 37},
    },
    "match": {
        "esbn": {"hidden": 128},
        "pointer": {"syntax": 62},
        "kanerva": {"hidden": 2948},
        "lstm": {"hidden": 115},
        "transformer": {"hidden": 74},
    },
    "name": {
        "esbn": {"hidden": 128},
        "lstm": {"hidden": 115},
        "transformer": {"hidden": 74},
    },
    "curves": {
        "esbn": {"hidden": 128},
        "pointer": {"syntax": 58},
        "kanerva": {"hidden": 2786},
        "lstm": {"hidden": 112},
        "transformer": {"hidden": 38},
    },
    # Of a stream of syntax, which are 83,000 in Syntactic Attention:
    "commands": {
        "esbn": {"hidden": 108},
        "lstm": {"hidden": 128},
        "transformer": {"hidden": 1216},
    },
}
# The twins whose meanings are shielded from a word's neighbours, or not: both streams are their own.
STREAMS = {"syntactic attention": False, "sequential semantics": True}


def sizes(model: str, task: str, features: int) -> dict[str, int]:
    """The sizes of a mechanism on a task, for vectors of so many features; see `SIZES`."""
    if model.startswith("abstractor "):
        wide = {"hidden": 1200} if task == "commands" else {}  # whose vectors are short
        return {"size": features, "head_size": features} | wide
    return SIZES[task].get(model, {})


def kept_options(
    model: str, options: Mapping[str, object], own_sizes: Mapping[str, int] | None = None
) -> dict[str, object]:
    """The options that a mechanism of these `sizes` does not have by itself; see `own_options`.

    UsageError for a mechanism that is not there, or an option that it lacks; `STREAMS` have none.
    """
    if model in STREAMS:
        return own_options(model, syntactic_attention, options, known=())
    check_names("model", [model], MODELS)
    given = ("features", "classes", "length", "places")
    known = [name for name in inspect.signature(MODELS[model]).parameters if name not in given]
    return own_options(model, partial(MODELS[model], **(own_sizes or {})), options, known)


def build_core(
    model: str,
    task: str,
    *,
    features: int,
    classes: int,
    length: int,
    places: tuple[int, ...] = (),
    **options,
) -> nn.Module:
    """A mechanism by its name, of the size that it has on a task, with weights from torch's global generator.

    `places` are the steps that may be the answer, which the pointer alone wants to know. `options` are the
    mechanism's own, its sizes among them.

    >>> import torch
    >>> core = build_core("esbn", "rmts", features=128, classes=2, length=6)
    >>> core(torch.randn(5, 6, 128)).shape, core.states(torch.randn(5, 6, 128)).shape
    (torch.Size([5, 2]), torch.Size([5, 6, 65]))
    """
    kept_options(model, options)  # refuses what is none
    check_names("task", [task], SIZES)
    given = {"length": length, "places": places}
    known = inspect.signature(MODELS[model]).parameters
    own = {name: value for name, value in given.items() if name in known}
    return MODELS[model](features=features, classes=classes, **own, **sizes(model, task, features) | options)


def context_norm(features: int, length: int) -> TemporalContextNorm:
    """Temporal context normalisation over a whole problem, as one window, without gain and shift.

    The ESBN paper normalises each pair of RMTS by itself. That alone tells whether a pair is of equal objects,
    before any mechanism has seen it; so here the window is the problem. Gain and shift stay 1 and 0, since learning
    them would be learning the relation.
    """
    return TemporalContextNorm(features, (length,)).requires_grad_(False)


def answer_layer(network: nn.Module) -> nn.Module | None:
    """The last layer of a mechanism, which reads all that reaches the answer; None where it points at a step."""
    return getattr(getattr(network, "transformer", network), "answer", None)
