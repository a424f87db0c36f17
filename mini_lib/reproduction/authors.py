"""Load weights of the papers' released code: its parameters are ours under other names (`paper.toml`)."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from mini_lib.reproduction.ledger import Renaming, load


class Place(NamedTuple):
    """Where a parameter of theirs belongs: in our tensor of this name, or in a half of it."""

    name: str  #: of our tensor.
    half: int | None = None  #: 0 or 1; None for all of it.

    def of(self, tensors: Mapping[str, Tensor]) -> Tensor:
        """The tensor, or its half; a view that one can fill."""
        return tensors[self.name] if self.half is None else tensors[self.name][self.half]


def places(renamings: Iterable[Renaming], own: Iterable[str]) -> dict[str, Place]:
    """Where each parameter of their network goes in ours, whose tensors have the names `own`."""
    own, found = list(own), {}
    for row in renamings:
        ours, _, half = row.ours.partition("[")
        for name in own:
            if (rest := _match(ours, name)) is not None:
                found[row.theirs.replace("*", rest)] = Place(name, int(half[:-1]) if half else None)
    return found


def _match(pattern: str, name: str) -> str | None:
    """What "*" stands for if `name` is as the pattern says, empty without a "*"; None if it is not."""
    match = re.fullmatch(re.escape(pattern).replace(r"\*", "(.+)"), name)
    return None if match is None else "".join(match.groups())


def load_renamed(
    network: nn.Module, theirs: Mapping[str, Tensor], paper: str, networks: Sequence[str]
) -> nn.Module:
    """Give `network`, of the same sizes and options, the parameters of a network of the authors' code.

    The names are in the paper's ledger, in the renaming tables of `networks`. All parameters are changed or, if
    some are missing, superfluous or of another shape, none: ValueError names each.
    """
    renamings = [row for name in networks for row in load(paper).renamings[name]]
    state = {name: value.clone() for name, value in network.state_dict().items()}
    to, unused = places(renamings, state), [row.theirs for row in renamings if row.unused]
    problems = [
        f"{name!r} is missing (it would be our {place.name!r})"
        for name, place in to.items()
        if name not in theirs
    ]
    for name, value in theirs.items():
        if name not in to:
            if all(_match(pattern, name) is None for pattern in unused):
                problems.append(f"{name!r} has no place in it")
            continue
        target = to[name].of(state)
        if value.squeeze().shape == target.squeeze().shape:
            target.copy_(value.reshape(target.shape))
        else:
            shapes = f"has shape {tuple(value.shape)}, our {to[name].name!r} needs {tuple(target.shape)}"
            problems.append(f"{name!r} {shapes}")
    if problems:
        raise ValueError(
            f"the weights do not fit this {type(network).__name__}:\n  " + "\n  ".join(problems) + "\n"
            "Build the network with the sizes and options of the run that they are from."
        )
    with torch.no_grad():
        network.load_state_dict(state)
    return network
