"""The four networks of the paper's tables: with or without the bottleneck, with or without the window."""

import inspect
from collections.abc import Iterable

from mini_lib.errors import check_names
from mini_lib.functions.models.network import FunctionTransformer, Memory
from mini_lib.functions.models.one_d import OneDTransformer
from mini_lib.functions.models.relational import RelationalTransformer
from mini_lib.functions.models.window import Tokens, Window

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
    "Memory",
    "OneDTransformer",
    "RelationalTransformer",
    "Tokens",
    "Window",
    "build_network",
    "check_options",
    "options_of",
]


def options_of(name: str) -> list[str]:
    """The options of a network of `MODELS`; those about the window only where it has one.

    Raises:
        UsageError: for a network that is not there.
    """
    check_names("model", [name], MODELS)
    return [each for each in OPTIONS if MODELS[name][1] or each not in WINDOW_OPTIONS]


def check_options(name: str, options: Iterable[str]) -> None:
    """UsageError for an option that a network of `MODELS` does not have."""
    check_names(f"option of {name}", options, options_of(name))


def build_network(name: str, **options) -> FunctionTransformer:
    """A network of `MODELS` with the paper's sizes, unless options of `FunctionTransformer` say otherwise.

    Raises:
        UsageError: for a network or an option that is not there; the nearest name is offered.
    """
    check_options(name, options)
    network, window = MODELS[name]
    return network(window=window, **options)
