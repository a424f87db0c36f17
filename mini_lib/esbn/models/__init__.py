"""The networks of the ESBN paper, one file each, and `build_network`, which puts one together by name."""

import inspect
from collections.abc import Iterable
from functools import partial

from torch import nn

from mini_lib.errors import check_names
from mini_lib.esbn.models.context_norm import TemporalContextNorm
from mini_lib.esbn.models.encoders import ENCODERS, ConvEncoder, MLPEncoder, RandomEncoder
from mini_lib.esbn.models.esbn import ESBN, ESBNTrace
from mini_lib.esbn.models.lstm import LSTM
from mini_lib.esbn.models.mnm import MNM
from mini_lib.esbn.models.network import Network
from mini_lib.esbn.models.ntm import NTM
from mini_lib.esbn.models.predinet import PrediNet
from mini_lib.esbn.models.rn import RelationNet
from mini_lib.esbn.models.transformer import Transformer
from mini_lib.esbn.models.trn import TemporalRelationNet
from mini_lib.layers import scaled

MODELS = {
    "esbn": ESBN,
    "esbn_no_confidence": partial(ESBN, confidence=False),
    "esbn_default_memory": partial(ESBN, confidence=False, default_memory=True),
    "transformer": Transformer,
    "ntm": NTM,
    "mnm": MNM,
    "lstm": LSTM,
    "predinet": PrediNet,
    "rn": RelationNet,
    "trn": TemporalRelationNet,
}

__all__ = [
    "ENCODERS",
    "ESBN",
    "LSTM",
    "MNM",
    "MODELS",
    "NTM",
    "ConvEncoder",
    "ESBNTrace",
    "MLPEncoder",
    "Network",
    "PrediNet",
    "RandomEncoder",
    "RelationNet",
    "TemporalContextNorm",
    "TemporalRelationNet",
    "Transformer",
    "build_network",
    "check_options",
    "options_of",
]


def options_of(model: str) -> list[str]:
    """The options of a network of `MODELS`, without the sizes that every network takes.

    Raises:
        UsageError: for a network that is not there.
    """
    check_names("model", [model], MODELS)
    sizes = ("features", "classes", "length", "width")
    return [name for name in inspect.signature(MODELS[model]).parameters if name not in sizes]


def check_options(model: str, options: Iterable[str]) -> None:
    """UsageError for an option that a network of `MODELS` does not have."""
    check_names(f"option of {model}", options, options_of(model))


def build_network(
    model: str,
    *,
    classes: int,
    windows: tuple[int, ...],
    encoder: str = "conv",
    tcn: bool = True,
    width: float = 1.0,
    **options,
) -> Network:
    """Put a network together by name, with fresh weights from torch's global generator.

    Args:
        model: a key of `MODELS`, such as "esbn" or "transformer".
        classes: C, number of answers.
        windows: lengths of the windows of temporal context normalisation; they add up to T.
        encoder: "conv", "mlp" or "rand".
        tcn: normalise the embeddings, or leave them raw.
        width: scales every hidden layer; 1 is the paper's size.
        **options: named options of the sequence model.

    Raises:
        UsageError: for a name that is not known, and the nearest is offered; for a width that is not above 0.
    """
    check_options(model, options)
    check_names("encoder", [encoder], ENCODERS)
    features = scaled(128, width)
    norm = TemporalContextNorm(features, windows) if tcn else nn.Identity()
    core = MODELS[model](features=features, classes=classes, length=sum(windows), width=width, **options)
    return Network(ENCODERS[encoder](features, width), norm, core)
