"""Measurements inside trained memories.

- Whether machines are chosen by the class of a digit: class selectivity (Figures 2D, 4A, 4B and 5).
- How machines share the work: the weight of each one, and its image alone (Figures 2A, 2B and 4C).
- What each machine of a memory of sprites is tuned to: template matching (A.1.5, Figures 3B, 3D, 6 and 7).

Letters: B episodes, T items, K machines, S = 2 sprites, J bins; N items of all episodes with A labels each.
"""

import math
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from mini_lib.errors import UsageError
from mini_lib.kanerva.digits import CLASSES
from mini_lib.kanerva.dsprites import ORIENTATIONS, POSITIONS, SCALES, SHAPES, SpriteEpisodes
from mini_lib.kanerva.objective import nats

BINS = 8  # of positions along an axis, and of orientations
SLACK = 1.5  # how much more alike one sprite has to be than the other


def class_means(
    values: Float[Tensor, "N F"], labels: Int[Tensor, "N A"]
) -> tuple[Float[Tensor, "..."], Int[Tensor, "..."]]:
    """Means of N items' values over all combinations of A labels, 0 to 9, and how many items each combination has.

    Of gamma and three labels this is Figure 5, S[r, g, b]; of one label, Figure 4A and B. NaN where no item is.
    """
    if len(values) != len(labels) or not ((labels >= 0) & (labels < CLASSES)).all():
        raise UsageError(f"each of the {len(values)} items needs its labels, digits from 0 to 9")
    shape = (CLASSES,) * labels.shape[1]
    place = torch.zeros_like(labels[:, 0])
    for axis in labels.unbind(1):
        place = CLASSES * place + axis
    number = torch.bincount(place, minlength=math.prod(shape))
    sums = values.new_zeros(len(number), values.shape[1]).index_add(0, place, values)
    return (sums / number[:, None]).reshape(*shape, -1), number.reshape(shape)


def variance_explained(values: Float[Tensor, "N F"], labels: Int[Tensor, " N"]) -> float:
    """Share of the variance of N items' values, all F together, that their classes explain; 0 if nothing varies."""
    whole = values.double() - values.double().mean(0)
    total = whole.square().sum()
    if total <= 1e-12 * len(values):
        return 0.0
    means, number = class_means(whole, labels[:, None])
    between = (number[:, None] * means.nan_to_num().square()).sum()
    return (between / total).item()


def usage(gamma: Float[Tensor, "B T K"]) -> dict[str, float]:
    """How gamma spreads over machines and items.

    ``largest``: the mean of each item's largest gamma, 1 where one machine does everything; ``least_used``: the
    smallest machine's mean gamma, 1/K where machines share evenly; ``changes``: standard deviations over items, of
    all machines together, 0 where gamma is fixed.
    """
    items = gamma.flatten(0, 1).double()
    return {
        "largest": items.max(dim=1).values.mean().item(),
        "least_used": items.mean(0).min().item(),
        "changes": items.std(0).sum().item(),
    }


def single_machine(
    pictures: Float[Tensor, "B T K C H W"], gamma: Float[Tensor, "B T K"], images: Float[Tensor, "B T C H W"]
) -> dict[str, float]:
    """Images of single machines, the dominant one of an item and the others (Figure 2B).

    Pictures are logits, of `Kanerva.machine_logits`, gamma is of reading. ``dominant_nll``: of the machine with the
    largest gamma, in nats; ``idle_variance``: variance over items, within each machine, of the others' pixels
    over that of the dominant ones, 0 for a fixed pattern, NaN where one of them has no two items.
    """
    top = gamma.argmax(dim=2)
    index = top[..., None, None, None, None].expand(*top.shape, 1, *pictures.shape[3:])
    shown = pictures.gather(2, index).squeeze(2)
    probabilities = torch.sigmoid(pictures).flatten(3)

    def variance(dominant: bool) -> Tensor:
        groups = [probabilities[:, :, i][(top == i) == dominant].double() for i in range(gamma.shape[2])]
        groups = [group for group in groups if len(group) > 1]
        total = sum(group.var(0).mean() * len(group) for group in groups)
        return total / sum(map(len, groups)) if groups else torch.tensor(torch.nan)

    return {
        "dominant_nll": nats(shown, images).mean().item(),
        "idle_variance": (variance(False) / variance(True)).item(),
    }


class Factor(NamedTuple):
    """A property of sprites in bins."""

    name: str  #: "position", "shape", "orientation" or "scale".
    bins: Int[Tensor, "B T S"]  #: of each sprite.
    number: int  #: of bins.


def cosines(
    pictures: Float[Tensor, "*B K H W"], templates: Float[Tensor, "*B S H W"]
) -> Float[Tensor, "*B K S"]:
    """C[i, j], the cosine of the pixels of image i, in probabilities, and of template j; 0 for an empty one."""
    a, b = pictures.flatten(-2), templates.flatten(-2).to(pictures)
    sizes = a.norm(dim=-1)[..., None] * b.norm(dim=-1)[..., None, :]  # [*B, K, S]
    return a @ b.mT / sizes.clamp(min=1e-12)


def separation(
    pictures: Float[Tensor, "B T K H W"], templates: Float[Tensor, "B T S H W"]
) -> dict[str, float]:
    """Whether single machines show single sprites (Figure 3B).

    ``contrast``: the mean of ``|C[i, 1] - C[i, 2]|`` over machines and items; ``one_sprite``: share of machines'
    images that are 1.5 times more alike to one sprite than to the other. Both with ``_shuffled``, the templates of
    another episode, and with ``_fixed``, each machine's mean image.
    """
    kinds = {
        "": cosines(pictures, templates),
        "_shuffled": cosines(pictures, templates.roll(1, dims=0)),
        "_fixed": cosines(fixed(pictures), templates),
    }
    metrics = {}
    for kind, similarity in kinds.items():  # [B, T, K, S]
        most, least = similarity.max(dim=3).values, similarity.min(dim=3).values
        metrics[f"contrast{kind}"] = (most - least).mean().item()
        metrics[f"one_sprite{kind}"] = (most >= SLACK * least).double().mean().item()
    return metrics


def fixed(pictures: Float[Tensor, "B T K H W"]) -> Float[Tensor, "B T K H W"]:
    """Each machine's mean picture in place of all its pictures, a control without tuning to items."""
    return pictures.mean(dim=(0, 1), keepdim=True).expand_as(pictures)


def factors(episodes: SpriteEpisodes) -> list[Factor]:
    """The properties of each sprite in each image, in bins: positions in 8 x 8, orientations in 8."""
    items = episodes.position.shape[1]

    def steady(values: Tensor) -> Tensor:
        return values[:, None].expand(-1, items, -1)

    x, y = (episodes.position * BINS // POSITIONS).unbind(-1)
    return [
        Factor("position", y * BINS + x, BINS * BINS),
        Factor("shape", steady(episodes.shape), len(SHAPES)),
        Factor("orientation", steady(episodes.orientation * BINS // ORIENTATIONS), BINS),
        Factor("scale", steady(episodes.scale), len(SCALES)),
    ]


def tuning(similarity: Float[Tensor, "B T K S"], factor: Factor) -> Float[Tensor, "K J S"]:
    """Mean cosine of each machine's image and each sprite in bin J (Figures 3D, 7); NaN without a sprite."""
    which = F.one_hot(factor.bins, factor.number).to(similarity)
    number = which.sum(dim=(0, 1))
    return torch.einsum("btks,btsj->kjs", similarity, which) / number.T


def modulation(similarity: Float[Tensor, "B T K S"], factor: Factor) -> float:
    """Variance over (machine, bin) of the mean cosine, without the mean of each machine and of each bin.

    It is estimated as the product of two halves of the episodes, which share no noise, and may be below 0. Bins that
    one half does not fill are left out.
    """
    halves = []
    for part in (slice(0, None, 2), slice(1, None, 2)):
        which = F.one_hot(factor.bins[part], factor.number).to(similarity)
        halves.append(torch.einsum("btks,btsj->kj", similarity[part], which) / which.sum(dim=(0, 1, 2)))
    means = torch.stack(halves)  # [2, K, J]
    means = means[:, :, ~means.isnan().any(dim=(0, 1))]
    means = means - means.mean(1, keepdim=True)  # without what all machines have in common,
    means = means - means.mean(2, keepdim=True)  # and all bins
    return means.prod(0).mean().item()
