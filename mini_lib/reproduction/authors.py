"""Load weights of the papers' released code: its parameters are ours under other names (`paper.toml`)."""

import re
from collections.abc import Iterable, Mapping, Sequence

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

    The names are in the paper's ledger, in the renaming tables of `networks`. ValueError for those that are missing
    or superfluous; then, and where a shape differs, the network stays as it was.
    """
    renamings = [row for name in networks for row in load(paper).renamings[name]]
    state = {name: value.clone() for name, value in network.state_dict().items()}
    to, unused = places(renamings, state), [row.theirs for row in renamings if row.unused]
    given = [name for name in theirs if name in to or all(_match(each, name) is None for each in unused)]
    if wrong := sorted(to.keys() ^ given):
        remedy = "build the network with the sizes and options of the run that the weights are from"
        raise ValueError(f"missing or superfluous: {', '.join(wrong)}; {remedy}")
    for name, (_, target) in to.items():
        target.copy_(theirs[name].reshape(target.shape))
    network.load_state_dict(state)
    return network
