"""How far an inner signal of a mechanism moves when content, or structure, is exchanged (`dissociation.kept`).

The signal is what the mechanism knows of every step, its `states`; in a network that hears commands, where it looks.
The same question for all of them: does it stay when what is shown is exchanged, and move when the problem is another
one?
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from mini_lib.dissociation import kept
from mini_lib.functions.tasks import sample
from mini_lib.grid.tasks import HIDDEN, OBSERVED, Problems
from mini_lib.scan.tasks import encode, get_split, has
from mini_lib.seeding import torch_rng

MEASURED = 200  # problems
LIFTED = 3.0  # a curve is moved up or down by so much at most


class Exchanges(NamedTuple):
    """What a network is given, as its `forward` takes it: problems as they are, and two exchanges."""

    before: tuple[Tensor, ...]  #: as they are.
    content: tuple[Tensor, ...]  #: other content, the same structure.
    structure: tuple[Tensor, ...]  #: the same content, another structure.


def glyphs_exchanged(problems: Problems, familiar: Tensor, new: Tensor) -> Exchanges:
    """Content: every familiar glyph becomes a new one, the same wherever it stands. Structure: steps change places.

    A step of a rule changes place with the one after it, so that other glyphs are repeated than before; of recall
    the part that is asked about is that of the item after.
    """
    ids = problems.ids[:MEASURED]
    other = torch.arange(HIDDEN + 1)
    other[familiar] = new[: len(familiar)]
    turned = ids.clone()
    if (
        ids.shape[2] == 1
    ):  # the third and the fourth step: in both rules one is of a pair that has to match another
        turned[:, [2, 3]] = ids[:, [3, 2]]
    else:
        after = (problems.answers[: len(ids)] + 1) % (ids.shape[1] - 1)
        turned[:, -1, :2] = ids[torch.arange(len(ids)), after, :2]
    return Exchanges((ids,), (other[ids],), (turned,))


def curves_exchanged() -> Exchanges:
    """Content: each curve is lifted, by an amount of its own. Structure: another curve, moved to end as this one."""
    y = sample(MEASURED, OBSERVED, torch_rng(0, "curves to exchange")).y
    lift = LIFTED * (2 * torch.rand(MEASURED, 1, generator=torch_rng(0, "lifts")) - 1)
    other = y.roll(1, dims=0)
    return Exchanges((y,), (y + lift,), (other + (y[:, -1:] - other[:, -1:]),))


def commands_exchanged() -> Exchanges:
    """Content: *look* for *run*, both met in every construction. Structure: *after* for *and*."""
    known = [
        c
        for c in get_split("add_jump_and_dax").train
        if has(c, "run") and has(c, "and") and not has(c, "look")
    ]
    drawn = torch.randperm(len(known), generator=torch_rng(0, "commands to exchange"))[:MEASURED]
    spoken = [known[number] for number in drawn.tolist()]
    said = (
        spoken,
        [c.replace("run", "look") for c in spoken],
        [c.replace(" and ", " after ") for c in spoken],
    )
    return Exchanges(*(tuple(encode(commands)) for commands in said))


@torch.no_grad()
def signal(network: nn.Module, given: tuple[Tensor, ...]) -> Tensor:
    """The states of all steps, [N, ...]; of commands the attention of all actions."""
    device = next(network.parameters()).device
    given = tuple(each.to(device) for each in given)
    if len(given) == 3:
        words, lengths, actions = given
        return network.trace(words, lengths, actions.shape[1]).attention.cpu()
    return network.core.states(network.embed(*given)).cpu()


def dissociation(network: nn.Module, exchanges: Exchanges) -> dict[str, float]:
    """How much of the signal is kept when content is exchanged, and when structure is, by name.

    A signal that does not depend on the problem has no such numbers: then none are returned.
    """
    network = network.eval()
    before, *after = (signal(network, given) for given in exchanges)
    try:
        return {
            f"kept_{name}": kept(before, each)
            for name, each in zip(Exchanges._fields[1:], after, strict=True)
        }
    except ValueError:
        return {}
