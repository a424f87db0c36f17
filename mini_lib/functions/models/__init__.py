"""The four networks of the paper's tables: with or without the bottleneck, with or without the window."""

import inspect
from collections.abc import Mapping

from mini_lib.errors import check_names
from mini_lib.functions.models.network import FunctionTransformer, KVCache
from mini_lib.functions.models.one_d import OneDTransformer
from mini_lib.functions.models.relational import RelationalTransformer
from mini_lib.functions.models.window import Tokens, Window
from mini_lib.settings import own_options

MODELS = {
    "one_d": (OneDTransformer, False),
    "one_d_window": (OneDTransformer, True),
    "relational": (RelationalTransformer, False),
    "relational_window": (RelationalTransformer, True),
}
OPTIONS = [name for name in inspect.signature(FunctionTransformer).parameters if name != "window"]
WINDOW_OPTIONS = ("length", "window_rate", "own_windows", "gate")

__all__ = [
    "MODELS",
    "OPTIONS",
    "FunctionTransformer",
    "KVCache",
    "OneDTransformer",
    "RelationalTransformer",
    "Tokens",
    "Window",
    "build_network",
    "kept_options",
    "options_of",
]


def options_of(model: str) -> list[str]:
    """The options of a network of `MODELS`; those about the window only where it has one."""
    check_names("model", [model], MODELS)
    return [name for name in OPTIONS if MODELS[model][1] or name not in WINDOW_OPTIONS]


def kept_options(model: str, options: Mapping[str, object]) -> dict[str, object]:
    """The options that a network of `MODELS` does not have by itself; UsageError as `own_options` says."""
    return own_options(model, FunctionTransformer, options, options_of(model))


def build_network(model: str, **options) -> FunctionTransformer:
    """A network of `MODELS` with the paper's sizes, unless options of `FunctionTransformer` say otherwise.

    >>> build_network("relational_window", dim=16, layers=2, heads=2).window.length.item()
    10.0
    """
    options = kept_options(model, options)
    network, window = MODELS[model]
    return network(window=window, **options)
