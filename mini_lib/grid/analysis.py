"""How far an inner signal of a mechanism moves when content, or structure, is exchanged: a double dissociation.

The signal is the input of the last layer; of a network that points, and of one that reads commands, its attention.
"""

import math
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from mini_lib.functions.tasks import sample_curves
from mini_lib.grid.tasks import HIDDEN, OBSERVED, Problems
from mini_lib.scan.tasks import NO_ACTION, encode, get_split
from mini_lib.seeding import torch_rng

MEASURED = 200  # problems
LIFTED = 3.0  # a curve is moved up or down by this much at most
DRAWS = 20  # random pairings of problems
ROUNDING = 100  # times the precision of the signal's type: what varies less may be nothing but rounding


class ConstantSignal(ValueError):
    """A signal that varies over problems by no more than rounding: there is nothing to compare a move with."""


def kept(before: Float[Tensor, "N ..."], after: Float[Tensor, "N ..."]) -> float:
    """How far a signal moves by an exchange, relative to its distance between different problems.

    `kept = 1 - mean_n |s'_n - s_n|^2 / mean_nm |s'_m - s_n|^2`, with n and m paired at random; s is the signal
    before, s' after the exchange, for the same N problems. 1: nothing moved. 0: as far as to another problem.

    >>> place = torch.arange(10.0)[:, None]  # a signal that is a problem's number
    >>> kept(place, place)
    1.0

    ConstantSignal if it varies by no more than the rounding of numbers of its size, at least 1; ValueError for other
    signals that cannot be compared.
    """
    if before.shape != after.shape or len(before) < 2:
        raise ValueError(f"signals are of 2 problems or more, alike, got {before.shape} and {after.shape}")
    precision = torch.finfo(before.dtype).eps
    before, after = (signal.detach().cpu().double().flatten(1) for signal in (before, after))
    if not (before.isfinite().all() and after.isfinite().all()):
        raise ValueError("the signal holds numbers that are not finite")
    spread = before.var(dim=0).mean().sqrt().item()
    size = max(before.square().mean().sqrt().item(), 1.0)
    if not spread > ROUNDING * precision * size:
        raise ConstantSignal(f"a deviation of {spread:.1e} is rounding for numbers of size {size:.1e}")
    draws = torch_rng(1, "pairs")
    pairs = [torch.arange(len(after)), *(torch.randperm(len(after), generator=draws) for _ in range(DRAWS))]
    own, *others = [(after[pair] - before).square().sum(dim=1).mean() for pair in pairs]
    return (1 - own / torch.stack(others).mean()).item()


class Exchanges(NamedTuple):
    """Input of a network, as its `forward` takes it."""

    before: tuple[Tensor, ...]  #: problems as they are.
    content: tuple[Tensor, ...]  #: other content, the same structure.
    structure: tuple[Tensor, ...]  #: the same content, another structure.


def glyphs_exchanged(problems: Problems, familiar: Tensor, new: Tensor) -> Exchanges:
    """Content: every familiar glyph becomes a new one, the same wherever it stands. Structure: steps change places.

    Of a rule the fourth and the fifth step do; items to be matched move on by one place, the last to the first.
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
    y = sample_curves(MEASURED, OBSERVED, torch_rng(0, "curves to exchange")).y
    lift = LIFTED * (2 * torch.rand(MEASURED, 1, generator=torch_rng(0, "lifts")) - 1)
    other = y.roll(1, dims=0)
    return Exchanges((y,), (y + lift,), (other + (y[:, -1:] - other[:, -1:]),))


def commands_exchanged() -> Exchanges:
    """Content: *look* for *run*, both trained in every construction. Structure: *after* for *and*."""
    known = [command.split() for command in get_split("add_jump_and_dax").train]
    known = [" ".join(words) for words in known if {"run", "and"} <= {*words} and "look" not in words]
    drawn = torch.randperm(len(known), generator=torch_rng(0, "commands to exchange"))[:MEASURED]
    before = [known[number] for number in drawn.tolist()]
    content = [c.replace("run", "look") for c in before]
    structure = [c.replace(" and ", " after ") for c in before]
    return Exchanges(*(encode(commands).tensors for commands in (before, content, structure)))


@torch.no_grad()
def signal(network: nn.Module, given: tuple[Tensor, ...]) -> Tensor:
    """The input of the last layer, [N, ...], or attention; zero beyond the end of a command."""
    device = next(network.parameters()).device
    given = tuple(each.to(device) for each in given)
    if len(given) == 3:
        words, lengths, actions = given
        attention = network.trace(words, lengths, actions.shape[1]).attention
        return (attention * (actions != NO_ACTION)[..., None]).cpu()
    core, z = network.core, network.embed(*given)
    layer = getattr(getattr(core, "transformer", core), "answer", None)
    if layer is None:  # a pointer
        return core.attention(z).cpu()
    read = []
    with layer.register_forward_pre_hook(lambda _, inputs: read.append(inputs[0])):
        core(z)
    return read[0].cpu()


def dissociation(network: nn.Module, exchanges: Exchanges) -> dict[str, float]:
    """How much of the signal is kept when content is exchanged, and when structure is, by name.

    1 for a signal that does not depend on the problem, NaN for one that is not finite.
    """
    network = network.eval()
    before, *after = signals = [signal(network, given) for given in exchanges]
    try:
        finite = all(each.isfinite().all() for each in signals)
        found = [kept(before, each) if finite else math.nan for each in after]
    except ConstantSignal:
        found = [1.0, 1.0]
    return {f"kept_{name}": value for name, value in zip(Exchanges._fields[1:], found, strict=True)}
