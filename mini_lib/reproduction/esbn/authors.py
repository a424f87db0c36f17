"""Load weights saved by the authors' released code (github.com/taylorwwebb/emergent_symbols).

Their parameters and ours are the same ones under other names, which stand in `paper.toml`.
"""

from collections.abc import Mapping

from torch import Tensor

from mini_lib.esbn.esbn import ESBN
from mini_lib.esbn.network import ENCODERS, Network
from mini_lib.esbn.runs import MODELS
from mini_lib.reproduction.authors import load_renamed

# model -> the renaming tables of a network that is a form of another
FAMILY = {
    "esbn": ["every ESBN", "esbn"],
    "esbn_no_confidence": ["every ESBN"],
    "esbn_default_memory": ["every ESBN", "esbn_default_memory"],
}


def load_authors(network: Network, state_dict: Mapping[str, Tensor]) -> Network:
    """Give `network` the weights of a network of the authors' code.

    Make `network` first, with the model, encoder, classes, windows and norm of the run that made the `state_dict`.
    The random constants in MNM's memory are part of what it computes, and a state_dict of theirs leaves them out:
    add them from their network, as "mnm.memfunc.l1" to "mnm.memfunc.l3". All or nothing is changed: ValueError names
    parameters that are missing, superfluous or of another shape.
    """
    model, encoder = model_name(network), encoder_name(network)
    kind = f"a network {model!r} with encoder {encoder!r}"
    return load_renamed(network, state_dict, "esbn", tables(model, encoder), kind)


def tables(model: str, encoder: str) -> list[str]:
    """The renaming tables of `paper.toml` that a network's parameters are in."""
    return ["every network", "networks with TCN", f"{encoder} encoder", *FAMILY.get(model, [model])]


def model_name(network: Network) -> str:
    """The name in `MODELS` of this network's sequence model."""
    core = network.core
    if isinstance(core, ESBN) and core.default_memory:
        return "esbn_default_memory"
    if isinstance(core, ESBN):
        return "esbn" if core.confidence else "esbn_no_confidence"
    return next(name for name, kind in MODELS.items() if kind is type(core))


def encoder_name(network: Network) -> str:
    """The name in `ENCODERS` of this network's encoder."""
    return next(name for name, kind in ENCODERS.items() if type(network.encoder) is kind)
