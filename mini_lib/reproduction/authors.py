"""Load weights of the papers' released code: its parameters are ours under other names (`paper.toml`)."""

import re
from collections.abc import Iterable, Mapping, Sequence

import torch
from torch import Tensor, nn

from mini_lib.reproduction.ledger import Renaming, load


def places(renamings: Iterable[Renaming], own: Mapping[str, Tensor]) -> dict[str, tuple[str, Tensor]]:
    """Where each parameter of their network goes in ours: the name of our tensor, and it or a half of it."""
    found = {}
    for row in renamings:
        ours, _, half = row.ours.partition("[")
        for name, tensor in own.items():
            if (rest := _match(ours, name)) is not None:
                found[row.theirs.replace("*", rest)] = name, tensor[int(half[:-1])] if half else tensor
    return found


def _match(pattern: str, name: str) -> str | None:
    """What "*" stands for if `name` is as the pattern says, empty without a "*"; None if it is not."""
    match = re.fullmatch(re.escape(pattern).replace(r"\*", "(.+)"), name)
    return None if match is None else "".join(match.groups())


def load_renamed(network: nn.Module, theirs: Mapping, paper: str, networks: Sequence[str]) -> nn.Module:
    """Give `network`, of the same sizes and options, the parameters (tensors by name) of one of the authors' code.

    The names are in the paper's ledger, in the renaming tables of `networks`. All parameters are changed or, if
    some are missing, superfluous or of another shape, none: ValueError names each.
    """
    renamings = [row for name in networks for row in load(paper).renamings[name]]
    state = {name: value.clone() for name, value in network.state_dict().items()}
    to, unused = places(renamings, state), [row.theirs for row in renamings if row.unused]
    missing = {name: ours for name, (ours, _) in to.items() if name not in theirs}
    problems = [f"{name!r} is missing (it would be our {ours!r})" for name, ours in missing.items()]
    for name, value in theirs.items():
        if name not in to:
            if all(_match(pattern, name) is None for pattern in unused):
                problems.append(f"{name!r} has no place in it")
            continue
        ours, target = to[name]
        if value.squeeze().shape == target.squeeze().shape:
            target.copy_(value.reshape(target.shape))
        else:
            shapes = f"has shape {tuple(value.shape)}, our {ours!r} needs {tuple(target.shape)}"
            problems.append(f"{name!r} {shapes}")
    if problems:
        raise ValueError(
            f"the weights do not fit this {type(network).__name__}:\n  " + "\n  ".join(problems) + "\n"
            "Build the network with the sizes and options of the run that they are from."
        )
    with torch.no_grad():
        network.load_state_dict(state)
    return network
