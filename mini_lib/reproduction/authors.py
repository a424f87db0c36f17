"""Load weights of the papers' own released codes: their parameters are ours under other names.

Which is which stands in the `[renaming.NETWORK]` tables of a paper's `paper.toml`; see `ledger.Renaming`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from mini_lib.reproduction.ledger import Renaming, load

SHOWN = 12  # problems that a message lists


class Place(NamedTuple):
    """Where a parameter of theirs belongs: in our tensor of this name, or in a half of it."""

    name: str  #: of our tensor.
    half: int | None = None  #: 0 or 1; None for all of it.
    note: str = ""  #: what is to be known about it.

    def __str__(self) -> str:
        """Such as "roles.bias_hh[1]"."""
        return self.name if self.half is None else f"{self.name}[{self.half}]"

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
                found[row.theirs.replace("*", rest)] = Place(name, int(half[:-1]) if half else None, row.note)
    return found


def load_renamed(
    network: nn.Module, theirs: Mapping[str, Tensor], paper: str, networks: Sequence[str], kind: str
) -> nn.Module:
    """Give `network`, of the same sizes and options, the parameters of a network of the authors' code.

    The names stand in the paper's ledger, in the renaming tables of `networks`; `kind` says in messages what
    `network` is. All of it is changed or, if parameters are missing, superfluous or of another shape, nothing:
    ValueError names each.
    """
    tables = load(paper).renamings
    renamings = [row for name in networks for row in tables[name]]
    state = {name: value.clone() for name, value in network.state_dict().items()}
    to = places(renamings, state)
    problems = [_missing(name, place) for name, place in to.items() if name not in theirs]
    for name, value in theirs.items():
        if name in to:
            target = to[name].of(state)
            if value.squeeze().shape != target.squeeze().shape:
                shapes = f"has shape {tuple(value.shape)}, our {str(to[name])!r} needs {tuple(target.shape)}"
                problems.append(f"{name!r} {shapes}")
            else:
                target.copy_(value.reshape(target.shape))
        elif not any(row.unused and _match(row.theirs, name) is not None for row in renamings):
            problems.append(f"{name!r} has no place in it{_belongs(name, tables)}")
    known = {place.name for place in to.values()}
    problems += [
        f"our {name!r} has no counterpart there"
        for name, _ in network.named_parameters()
        if name not in known
    ]
    if problems:
        more = [f"and {len(problems) - SHOWN} more"] if len(problems) > SHOWN else []
        raise ValueError(
            f"the weights do not fit {kind}:\n  {f'{chr(10)}  '.join(problems[:SHOWN] + more)}\n"
            "Build the network with the sizes and options of the run that they are from."
        )
    with torch.no_grad():
        network.load_state_dict(state)
    return network


def _match(pattern: str, name: str) -> str | None:
    """What "*" stands for if `name` is as the pattern says, empty without a "*"; None if it is not."""
    match = re.fullmatch(re.escape(pattern).replace(r"\*", "(.+)"), name)
    return None if match is None else "".join(match.groups())


def _missing(name: str, place: Place) -> str:
    note = f"; {place.note}" if place.note else ""
    return f"{name!r} is missing (it would be our {str(place)!r}{note})"


def _belongs(name: str, tables: Mapping[str, Iterable[Renaming]]) -> str:
    """To which of their networks a name belongs, if to any."""
    homes = [
        home for home, rows in tables.items() if any(_match(row.theirs, name) is not None for row in rows)
    ]
    return f" (it belongs to {', '.join(homes)})" if homes else ""
