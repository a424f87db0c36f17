"""Load weights saved by the authors' released code (github.com/taylorwwebb/emergent_symbols).

Their parameters and ours are the same ones under other names. Which is which stands in `paper.toml`, one
`[[renaming]]` row per layer; parameters that their networks make but do not use are marked `dead` there.
"""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources

from torch import Tensor

from mini_lib.esbn.models import (
    ENCODERS,
    ESBN,
    LSTM,
    MNM,
    NTM,
    Network,
    PrediNet,
    RelationNet,
    TemporalRelationNet,
    Transformer,
)

NAMES = {
    LSTM: "lstm",
    MNM: "mnm",
    NTM: "ntm",
    PrediNet: "predinet",
    RelationNet: "rn",
    TemporalRelationNet: "trn",
    Transformer: "transformer",
}


def load_authors(network: Network, state_dict: Mapping[str, Tensor]) -> Network:
    """Give `network` the weights of a network of the authors' code.

    Build `network` first with the model, encoder, classes, windows and tcn of the run that made the
    `state_dict`. The random constants in MNM's memory are part of what it computes, and a state_dict of theirs
    leaves them out: add them from their network, as "mnm.memfunc.l1" to "mnm.memfunc.l3".

    Returns:
        The same network, all or nothing of it changed.

    Raises:
        ValueError: for parameters that are missing, superfluous or of another shape; each is named.
    """
    own = network.state_dict()
    pairs, dead = _expand(network, own, state_dict)
    notes = {row["theirs"]: f"; {row['note']}" for row in renaming() if "note" in row}
    problems = [
        f"{theirs!r} is missing (it would be our {ours!r}{notes.get(theirs, '')})"
        for theirs, ours in pairs.items()
        if theirs not in state_dict
    ]
    problems += [_superfluous(name) for name in state_dict if name not in pairs and name not in dead]
    present = {theirs: ours for theirs, ours in pairs.items() if theirs in state_dict}
    problems += [
        f"{theirs!r} has shape {tuple(state_dict[theirs].shape)}, our {ours!r} needs {tuple(own[ours].shape)}"
        for theirs, ours in present.items()
        if state_dict[theirs].shape != own[ours].shape
    ]
    if problems:
        raise ValueError(_report(network, problems))
    network.load_state_dict({ours: state_dict[theirs] for theirs, ours in present.items()}, strict=False)
    return network


def model_name(network: Network) -> str:
    """The name under which `build_network` makes this network's sequence model."""
    core = network.core
    if isinstance(core, ESBN) and core.default_memory:
        return "esbn_default_memory"
    if isinstance(core, ESBN):
        return "esbn" if core.confidence else "esbn_no_confidence"
    return NAMES[type(core)]


def encoder_name(network: Network) -> str:
    """The name under which `build_network` makes this network's encoder."""
    return next(name for name, kind in ENCODERS.items() if type(network.encoder) is kind)


@cache
def renaming() -> tuple[dict, ...]:
    """The rows of the renaming table, as they stand in `paper.toml`."""
    text = resources.files("mini_lib.reproduction.esbn").joinpath("paper.toml").read_text(encoding="utf-8")
    return tuple(tomllib.loads(text)["renaming"])


def _expand(
    network: Network, own: Mapping[str, Tensor], state_dict: Mapping[str, Tensor]
) -> tuple[dict[str, str], set[str]]:
    """What concerns `network`, layers spelled out: their name -> ours; dead names."""
    pairs, dead = {}, set()
    for row in renaming():
        if row["model"] not in ("any", model_name(network)):
            continue
        if row.get("encoder", encoder_name(network)) != encoder_name(network):
            continue
        ours, theirs = row.get("ours", ""), row["theirs"]
        same = [name for name in own if _matches(name, ours)]
        for name in same:
            pairs[theirs.removesuffix("*") + name.removeprefix(ours.removesuffix("*"))] = name
        if row.get("dead") and not same:
            dead |= {name for name in state_dict if _matches(name, theirs)}
    return pairs, dead


def _matches(name: str, pattern: str) -> bool:
    """Whether `name` is `pattern`, or lies in the layer where the pattern is one, "layer.*"."""
    return name.startswith(pattern[:-1]) if pattern.endswith(".*") else name == pattern


def _superfluous(name: str) -> str:
    """Say that `name` does not belong here, and where it would."""
    homes = {_home(row) for row in renaming() if _matches(name, row["theirs"])}
    return f"{name!r} has no place in it" + (f" (it belongs to {', '.join(sorted(homes))})" if homes else "")


def _home(row: dict) -> str:
    if "encoder" in row:
        return f"encoder {row['encoder']!r}"
    return "every network with tcn=True" if row["model"] == "any" else f"model {row['model']!r}"


def _report(network: Network, problems: list[str]) -> str:
    shown = "\n  ".join(problems[:12]) + (f"\n  and {len(problems) - 12} more" if len(problems) > 12 else "")
    kind = f"{model_name(network)!r} with encoder {encoder_name(network)!r}"
    return (
        f"the state_dict does not fit a network {kind}:\n  {shown}\n"
        "Build the network, at width 1, with the model, encoder, classes, windows and tcn of the run it is from."
    )
