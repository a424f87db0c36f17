"""What each machine of a memory of sprites is tuned to: template matching (A.1.5, Figures 3B, 3D, 3E, 6 and 7)."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from mini_lib.kanerva.tasks.dsprites import ORIENTATIONS, POSITIONS, SCALES, SHAPES, SpriteEpisodes

BINS = 8  # of positions along an axis, of orientations, and of the diagonal
SLACK = 1.5  # how much more alike one sprite has to be than the other


class Factor(NamedTuple):
    """A property of sprites in bins."""

    name: str  #: "position", "shape", "orientation" or "scale".
    bins: Int[Tensor, "B T S"]  #: of each sprite.
    number: int  #: of bins.


def cosines(
    pictures: Float[Tensor, "B T K H W"], templates: Float[Tensor, "B T S H W"]
) -> Float[Tensor, "B T K S"]:
    """C[i, j], the similarity of machine i's image and sprite j alone: the cosine of the angle between their pixels.

    Args:
        pictures: probabilities of each machine's own image.
        templates: sprites alone, where they were in the stored image.
    """
    a, b = pictures.flatten(3), templates.flatten(3).to(pictures)
    return torch.einsum("btkp,btsp->btks", a, b) / (
        a.norm(dim=3)[..., None] * b.norm(dim=3)[:, :, None]
    ).clamp(min=1e-12)


def separation(
    pictures: Float[Tensor, "B T K H W"], templates: Float[Tensor, "B T S H W"]
) -> dict[str, float]:
    """Whether single machines show single sprites (Figure 3B).

    Returns:
        ``contrast``: the mean of ``|C[i, 1] - C[i, 2]|`` over machines and items.
        ``one_sprite``: share of machines' images that are 1.5 times more alike to one sprite than to the other.
        Both with ``_shuffled``: with the templates of another episode; of one episode, of the same. Both with
        ``_fixed``: each machine shows its mean image always.
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
    """Each machine's mean image in place of every one: a control whose tuning has nothing to do with the items."""
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
    """Mean cosine of each machine's image and each sprite where the sprite's property is in bin J (Figures 3D, 7).

    Bins without a sprite are NaN.
    """
    which = F.one_hot(factor.bins, factor.number).to(similarity)
    number = which.sum(dim=(0, 1))
    return torch.einsum("btks,btsj->kjs", similarity, which) / number.T


def modulation(similarity: Float[Tensor, "B T K S"], factor: Factor) -> float:
    """How much a property moves machines apart: Var over (machine, bin) of the mean cosine without what all share.

    From the mean cosine of both sprites its mean over machines and its mean over bins are taken away. What is left
    is noise too; so the variance is the product of two halves of the episodes, which share no noise, and may come
    out below 0. Bins that one half does not fill are left out.
    """
    halves = []
    for part in (slice(0, None, 2), slice(1, None, 2)):
        which = F.one_hot(factor.bins[part], factor.number).to(similarity)
        halves.append(torch.einsum("btks,btsj->kj", similarity[part], which) / which.sum(dim=(0, 1, 2)))
    first, second = (_apart(half[:, ~torch.stack(halves).isnan().any(dim=(0, 1))]) for half in halves)
    return (first * second).mean().item()


def _apart(mean: Float[Tensor, "K J"]) -> Float[Tensor, "K J"]:
    """Without what all machines, and all bins, have in common."""
    return mean - mean.mean(0) - mean.mean(1, keepdim=True) + mean.mean()


def diagonal(
    similarity: Float[Tensor, "B T K S"], episodes: SpriteEpisodes, sprite: int
) -> Float[Tensor, "K J"]:
    """Mean cosine along the diagonal from the lower right to the upper left (Figure 3E), for one sprite.

    Of positions with ``|x - y|`` below an eighth, in 8 bins of (x + y) / 2, the first at the lower right. Bins
    without the sprite are NaN.
    """
    x, y = episodes.place[..., sprite, :].unbind(-1)
    near = (x - y).abs() < 1 / BINS
    bins = ((1 - (x + y) / 2) * BINS).long().clamp(max=BINS - 1)
    which = F.one_hot(bins, BINS).to(similarity) * near[..., None]
    return torch.einsum("btk,btj->kj", similarity[..., sprite], which) / which.sum(dim=(0, 1))
