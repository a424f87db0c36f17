"""The networks of the ESBN paper, one file each, and `build_network`, which puts one together by name.

A sequence model takes embeddings [B, T, D] to logits [B, C]. It is made with `features` D, `classes` C, `length` T
where it has to know it, and sizes of its own. The defaults are the paper's.
"""

import inspect
from collections.abc import Callable, Mapping
from functools import partial

from torch import nn

from mini_lib.errors import check_names
from mini_lib.esbn.models.encoders import ENCODERS, ConvEncoder, MLPEncoder, RandomEncoder
from mini_lib.esbn.models.esbn import ESBN, ESBNTrace
from mini_lib.esbn.models.lstm import LSTM
from mini_lib.esbn.models.mnm import MNM
from mini_lib.esbn.models.network import Network, TemporalContextNorm
from mini_lib.esbn.models.ntm import NTM
from mini_lib.esbn.models.predinet import PrediNet
from mini_lib.esbn.models.rn import RelationNet
from mini_lib.esbn.models.transformer import Transformer
from mini_lib.esbn.models.trn import TemporalRelationNet
from mini_lib.layers import scaled
from mini_lib.settings import own_options

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
    "kept_options",
    "scaled_sizes",
]


# What `build_network` says, and the sizes that it scales by `width`: their defaults are the paper's.
GIVEN = ("features", "classes", "length")
SIZES = (
    *("features", "channels", "heads", "hidden", "hidden2"),
    *("answer_hidden", "key_size", "relation_size", "row_size"),
)


def kept_options(model: str, options: Mapping[str, object], width: float = 1.0) -> dict[str, object]:
    """The options, sizes among them, that a network of this width does not have by itself; see `own_options`.

    UsageError for a network that is not in `MODELS`, or an option that it lacks.
    """
    check_names("model", [model], MODELS)
    known = [name for name in inspect.signature(MODELS[model]).parameters if name not in GIVEN]
    return own_options(model, partial(MODELS[model], **scaled_sizes(MODELS[model], width)), options, known)


def scaled_sizes(part: Callable, width: float) -> dict[str, int]:
    """The sizes that an encoder or a sequence model takes, by name: its defaults times `width`."""
    parameters = inspect.signature(part).parameters
    return {name: scaled(parameters[name].default, width) for name in SIZES if name in parameters}


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
    """Put a network together by names of `MODELS` and `ENCODERS`, with weights from torch's global generator.

    `windows` are those of temporal context normalisation, which `tcn=False` leaves out. `width` scales every layer,
    in steps of 16 units; 1 is the paper's size. `options` are the sequence model's own, its sizes among them.

    >>> from torch import nn
    >>> import torch
    >>> network = build_network("esbn", classes=4, windows=(9,), width=0.125, key_size=32)
    >>> images = torch.rand(5, 9, 32, 32)  # five problems of nine images
    >>> nn.functional.cross_entropy(network(images), torch.arange(5) % 4).backward()
    >>> network(images).shape
    torch.Size([5, 4])
    """
    options = kept_options(model, options, width)
    check_names("encoder", [encoder], ENCODERS)
    features = scaled(128, width)
    norm = TemporalContextNorm(features, windows) if tcn else nn.Identity()
    core_sizes = scaled_sizes(MODELS[model], width) | options
    if "length" in inspect.signature(MODELS[model]).parameters:
        core_sizes["length"] = sum(windows)
    core = MODELS[model](classes=classes, **core_sizes)
    return Network(ENCODERS[encoder](**scaled_sizes(ENCODERS[encoder], width)), norm, core)
