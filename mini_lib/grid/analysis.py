"""How far an inner signal of a mechanism moves when content, or structure, is exchanged (`dissociation.kept`).

The signal is all that the last layer reads; of a network that points, where it points, and of one that hears
commands, where it looks. The same question for all: does it stay when what is shown is exchanged, and move when the
problem is another one?
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from mini_lib.dissociation import ConstantSignal, kept
from mini_lib.functions.tasks import sample
from mini_lib.grid.models import answer_layer
from mini_lib.grid.tasks import HIDDEN, OBSERVED, Problems
from mini_lib.scan.tasks import NO_ACTION, contains_phrase, encode, get_split
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

    Of a rule the fourth and the fifth step change places, so that in every problem other steps are alike than
    before. Items to be matched move on by one place, the last to the first.
    """
    ids = problems.ids[:MEASURED]
    other = torch.arange(HIDDEN + 1)
    other[familiar] = new[: len(familiar)]
    turned = ids.clone()
    if ids.shape[2] == 1:
        turned[:, [3, 4]] = ids[:, [4, 3]]
    else:
        turned[:, :-1] = ids[:, :-1].roll(1, dims=1)
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
        if contains_phrase(c, "run") and contains_phrase(c, "and") and not contains_phrase(c, "look")
    ]
    drawn = torch.randperm(len(known), generator=torch_rng(0, "commands to exchange"))[:MEASURED]
    spoken = [known[number] for number in drawn.tolist()]
    said = (
        spoken,
        [c.replace("run", "look") for c in spoken],
        [c.replace(" and ", " after ") for c in spoken],
    )
    return Exchanges(*(encode(commands).tensors for commands in said))


@torch.no_grad()
def signal(network: nn.Module, given: tuple[Tensor, ...]) -> Tensor:
    """What the answer is made of, [N, ...]; nothing beyond the end of a command."""
    device = next(network.parameters()).device
    given = tuple(each.to(device) for each in given)
    if len(given) == 3:
        words, lengths, actions = given
        looks = network.trace(words, lengths, actions.shape[1]).attention
        return (looks * (actions != NO_ACTION)[..., None]).cpu()
    layer, z = answer_layer(network.core), network.embed(*given)
    if layer is None:
        return network.core.scores(z).softmax(dim=-1).cpu()
    read = []
    with layer.register_forward_pre_hook(lambda _, inputs: read.append(inputs[0])):
        network.core(z)
    return read[0].cpu()


def dissociation(network: nn.Module, exchanges: Exchanges) -> dict[str, float]:
    """How much of the signal is kept when content is exchanged, and when structure is, by name.

    A signal that does not depend on the problem keeps all of itself both times. Of one that is not finite nobody can
    say: NaN, for which a record counts the run as diverged.
    """
    network = network.eval()
    before, *after = signals = [signal(network, given) for given in exchanges]
    try:
        finite = all(each.isfinite().all() for each in signals)
        found = [kept(before, each) if finite else math.nan for each in after]
    except ConstantSignal:
        found = [1.0, 1.0]
    return {f"kept_{name}": value for name, value in zip(Exchanges._fields[1:], found, strict=True)}
