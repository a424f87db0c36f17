"""The mechanisms of the study, each for any sequence of vectors: [B, T, D] to logits [B, C], by name.

Those of the four papers are their own networks where these take vectors; CoRelNet and the Abstractor are added. A
name says what was done to a mechanism: "fixed" or "learned", of the relation; "open", of the same network without
its wall. The first eight are the factorial: wall by relation, in two architectures.
"""

import inspect
from collections.abc import Callable, Mapping
from functools import partial

from torch import nn

from mini_lib.errors import UsageError, check_names
from mini_lib.esbn.models import ESBN, LSTM, TemporalContextNorm, Transformer
from mini_lib.grid.models.abstractor import Abstractor
from mini_lib.grid.models.commands import CommandNetwork, syntactic_attention
from mini_lib.grid.models.corelnet import CoRelNet
from mini_lib.grid.models.differences import Differences
from mini_lib.grid.models.kanerva import KanervaReader
from mini_lib.grid.models.network import CurveNetwork, GlyphNetwork
from mini_lib.grid.models.pointer import Pointer

__all__ = [
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
    "build_core",
    "check_options",
    "context_norm",
    "syntactic_attention",
]

_PAIR = {"heads": 1, "answer_hidden": 32}  # one relation, of whole objects

MODELS: dict[str, Callable[..., nn.Module]] = {
    "abstractor fixed": partial(Abstractor, relation="fixed", **_PAIR),
    "abstractor learned": partial(Abstractor, relation="learned", **_PAIR),
    "abstractor fixed, open": partial(Abstractor, relation="fixed", content=True, **_PAIR),
    "abstractor learned, open": partial(Abstractor, relation="learned", content=True, **_PAIR),
    "corelnet fixed": partial(CoRelNet, relation="fixed"),
    "corelnet learned": partial(CoRelNet, relation="learned"),
    "corelnet fixed, open": partial(CoRelNet, relation="fixed", content=True),
    "corelnet learned, open": partial(CoRelNet, relation="learned", content=True),
    "esbn": partial(ESBN, key_size=64),
    "differences": Differences,
    "pointer": Pointer,
    "kanerva": KanervaReader,
    "lstm": LSTM,
    "transformer": Transformer,
    "abstractor": Abstractor,
    "corelnet": CoRelNet,
}

# The size that makes a mechanism one of about 110,000 numbers to learn. The four Abstractors of the factorial share
# it, so that they differ in nothing else: those that learn their relation have its two maps more.
SIZES: dict[str, dict[str, dict[str, int]]] = {
    "distribution_of_three": {
        "abstractor": {"hidden": 106},
        "corelnet fixed": {"hidden": 2199},
        "corelnet learned": {"hidden": 1544},
        "corelnet fixed, open": {"hidden": 91},
        "corelnet learned, open": {"hidden": 64},
        "esbn": {"hidden": 128},
        "differences": {"hidden": 519},
        "pointer": {"syntax": 58},
        "kanerva": {"hidden": 3309},
        "lstm": {"hidden": 112},
        "transformer": {"hidden": 35},
    },
    "rmts": {
        "abstractor": {"hidden": 156},
        "corelnet fixed": {"hidden": 4583},
        "corelnet learned": {"hidden": 3217},
        "corelnet fixed, open": {"hidden": 138},
        "corelnet learned, open": {"hidden": 97},
        "esbn": {"hidden": 128},
        "differences": {"hidden": 523},
        "pointer": {"syntax": 58},
        "kanerva": {"hidden": 5042},
        "lstm": {"hidden": 112},
        "transformer": {"hidden": 37},
    },
    "recall": {
        "abstractor": {"hidden": 139},
        "corelnet fixed": {"hidden": 2036},
        "corelnet learned": {"hidden": 1503},
        "corelnet fixed, open": {"hidden": 96},
        "corelnet learned, open": {"hidden": 71},
        "esbn": {"hidden": 128},
        "differences": {"hidden": 515},
        "pointer": {"syntax": 62},
        "kanerva": {"hidden": 2948},
        "lstm": {"hidden": 115},
        "transformer": {"hidden": 74},
    },
    "curves": {
        "abstractor": {"hidden": 57},
        "corelnet fixed": {"hidden": 1374},
        "corelnet learned": {"hidden": 965},
        "corelnet fixed, open": {"hidden": 68},
        "corelnet learned, open": {"hidden": 47},
        "esbn": {"hidden": 128},
        "differences": {"hidden": 525},
        "pointer": {"syntax": 58},
        "kanerva": {"hidden": 2786},
        "lstm": {"hidden": 112},
        "transformer": {"hidden": 38},
    },
    # Of a stream of syntax, which are 83,000 in Syntactic Attention; two that make next to nothing of a word stay
    # small.
    "commands": {
        "abstractor": {"hidden": 1200},
        "corelnet fixed": {},
        "esbn": {"hidden": 108},
        "differences": {"hidden": 512},
        "kanerva": {},
        "lstm": {"hidden": 128},
        "transformer": {"hidden": 1216},
    },
}
# The twins whose meanings are shielded from a word's neighbours, or not: both streams are their own.
STREAMS = {"syntactic attention": False, "sequential semantics": True}
NATURAL = ("abstractor", "corelnet")  # of the size in their papers


def sizes(model: str, task: str, features: int) -> dict[str, int]:
    """The sizes of a mechanism on a task, for vectors of so many features; see `SIZES`."""
    if model in NATURAL:
        return {}
    if model.startswith("abstractor "):
        return SIZES[task]["abstractor"] | {"size": features, "head_size": features}
    return SIZES[task][model]


def check_options(model: str, options: Mapping[str, object]) -> None:
    """UsageError for a mechanism that is not in `MODELS`, or an option that it lacks."""
    if model in STREAMS and not options:
        return
    check_names("model", [model], MODELS)
    known = inspect.signature(MODELS[model]).parameters
    given = ("features", "classes", "length", "places")
    check_names(f"option of {model}", options, [name for name in known if name not in given])
    for name, value in options.items():
        if type(value) is not known[name].annotation:
            raise UsageError(
                f"option {name} of {model} has to be of type {known[name].annotation.__name__}, got {value!r}"
            )


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
    check_options(model, options)
    given = {"length": length, "places": places}
    known = inspect.signature(MODELS[model]).parameters
    own = {name: value for name, value in given.items() if name in known}
    return MODELS[model](features=features, classes=classes, **own, **sizes(model, task, features) | options)


def context_norm(features: int, length: int) -> TemporalContextNorm:
    """Temporal context normalisation over a whole problem, as one window.

    The ESBN paper normalises each pair of RMTS by itself. That alone tells whether a pair is of equal objects,
    before any mechanism has seen it; so here the window is the problem.
    """
    return TemporalContextNorm(features, (length,))
