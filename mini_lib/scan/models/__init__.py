"""Every network of the paper's tables by name."""

import inspect

from torch import nn

from mini_lib.errors import unknown
from mini_lib.scan.models.cnn import CNN
from mini_lib.scan.models.gru_attention import GRUAttention
from mini_lib.scan.models.li import LiNetwork
from mini_lib.scan.models.syntactic_attention import SyntacticAttention, Trace

MODELS = {
    "syntactic_attention": SyntacticAttention,
    "gru_attention": GRUAttention,
    "cnn": CNN,
    "li": LiNetwork,
}

__all__ = ["CNN", "MODELS", "GRUAttention", "LiNetwork", "SyntacticAttention", "Trace", "build_network"]


def build_network(name: str, **options) -> nn.Module:
    """A network of `MODELS` with the paper's sizes, unless options say otherwise.

    Raises:
        WrongUse: for a network or an option that is not there; the nearest name is offered.
    """
    if name not in MODELS:
        raise unknown("model", name, MODELS)
    known = [option for option in inspect.signature(MODELS[name]).parameters]
    for option in options:
        if option not in known:
            raise unknown(f"option of {name}", option, known)
    return MODELS[name](**options)
