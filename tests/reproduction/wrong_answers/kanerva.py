"""Answers to the exercises of the Kanerva chapters that a reader might give, and that must not pass."""

import math

import torch

from mini_lib.kanerva.evaluation import NEW, RETRIEVED, nearest
from mini_lib.kanerva.memory import RIDGE
from mini_lib.reproduction.kanerva.exercises import (
    apart,
    one_memory,
    own_less_another,
    own_parts,
    without_means,
)
from mini_lib.reproduction.kanerva.scaling import error_ratios


def of_all_rows_known(
    R: torch.Tensor, codes: torch.Tensor, known: torch.Tensor, ridge: float
) -> torch.Tensor:
    """The mistake of exercise 1.4: unknown features count as zeros."""
    gram = R.mT @ R + ridge * torch.eye(R.shape[1])
    return torch.linalg.solve(gram, R.mT @ (codes * known).mT).mT @ R.mT


def normed(columns: torch.Tensor) -> torch.Tensor:
    """A mistake of exercise 2.3: all columns get a length of 1."""
    return torch.linalg.qr(columns).Q


def all_at_once(R: torch.Tensor, codes: torch.Tensor, rounds: int) -> torch.Tensor:
    """The mistake of exercise 2.4: all machines look at the round before."""
    parts = torch.zeros(len(R), *codes.shape)
    for _ in range(rounds):
        left = codes - parts.sum(dim=0) + parts
        gram = R.mT @ R + RIDGE * torch.eye(R.shape[2])
        parts = torch.linalg.solve(gram, R.mT @ left.mT).mT @ R.mT
    return parts.sum(dim=0)


def largest_of_means(written: torch.Tensor, asked: torch.Tensor) -> list:
    """The mistake of exercise 3.1: even use makes the largest mean small, however sparse items are."""
    means = written.mean(dim=(0, 1))
    return [means.max(), means.min(), (written.argmax(-1) == asked.argmax(-1)).float().mean()]


def of_means(values: torch.Tensor, labels: torch.Tensor) -> float:
    """The mistake of exercise 3.3: classes count alike, however many items they have."""
    means = torch.stack([values[labels == c].mean() for c in labels.unique()])
    return (means.var(correction=0) / values.var(correction=0)).item()


def wiped_in_place(images: torch.Tensor, channel: int) -> torch.Tensor:
    """The mistake of exercise 3.4: what was given is changed."""
    images[:, :, channel] = 0
    return images


def as_before(s: torch.Tensor, eta: torch.Tensor) -> torch.Tensor:
    """The mistake of exercise 3.6: the second time is taken for another first time."""
    return s / (s + eta.square())


def unscaled(pictures: torch.Tensor, sprites: torch.Tensor) -> torch.Tensor:
    """The mistake of exercise 4.1: products that are not divided by lengths."""
    return pictures.flatten(1) @ sprites.flatten(1).T


def of_all_rows(values: torch.Tensor, bins: torch.Tensor, number: int) -> float:
    """The mistake of exercise 4.4: the square of one interaction, noise and all."""
    table = torch.stack([values[bins == j].mean(dim=0) for j in range(number)], dim=1)
    return without_means(table).square().mean().item()


def unframed(pictures: torch.Tensor) -> torch.Tensor:
    """The mistake of exercise 4.5: means along rows alone."""
    return torch.nn.functional.avg_pool2d(pictures.flatten(0, 2), (1, 5), 1, (0, 2)).view(pictures.shape)


def here_and_there(pictures: torch.Tensor) -> torch.Tensor:
    """An answer to exercise 4.5 that is right at two pixels and nowhere else."""
    right = torch.nn.functional.avg_pool2d(pictures.flatten(0, 2), 5, 1, 2).view(pictures.shape)
    for i, j in ((3, 4), (0, 0)):
        pictures[..., i, j] = right[..., i, j]
    return pictures


def means_of_machines(choices: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """The mistake of exercise 5.5: shares of a machine's items, not of a class's."""
    which = torch.nn.functional.one_hot(labels, 10).to(choices)
    return which.T @ choices / choices.sum(dim=0)


def to_the_pixel(pictures: torch.Tensor, kept: torch.Tensor) -> list[torch.Tensor]:
    """The mistake of exercise 6.1: only what is stored to the pixel counts as retrieved."""
    best, blank = nearest(pictures, kept), pictures.sum(dim=(2, 3, 4)) == 0
    return [share.float().mean() for share in (best > 0.9999, (best < NEW) & ~blank, blank)]


def all_others_new(pictures: torch.Tensor, kept: torch.Tensor) -> list[torch.Tensor]:
    """The mistake of exercise 6.1: what is not retrieved counts as new."""
    best, blank = nearest(pictures, kept), pictures.sum(dim=(2, 3, 4)) == 0
    return [share.float().mean() for share in (best >= RETRIEVED, (best < RETRIEVED) & ~blank, blank)]


def ends_in_turn(path: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The mistake of exercise 6.3: the two shares have changed places."""
    still, back = ((path[:, :, -1] == path[:, :, place]).flatten(2).all(dim=2) for place in (-2, -3))
    return (back & ~still).float().mean(), still.float().mean()


def variances(machines: list[int], m: int) -> tuple[float, float]:
    """The mistake of exercise 7.3: ratios of variances, not of errors."""
    constant, slope = error_ratios(machines, m)
    return constant**2, slope**2


def moved_alone(R, V, w, sigma, z) -> torch.Tensor:
    """Each machine by its own error."""
    return R + V * w * (z - R * w) / (V * w**2 + sigma**2)


WRONG = {
    "kanerva 1.1": (lambda c, D: (c, 1, 1, D * math.log(c)), lambda c, D: (1, 1, 1, math.log(c))),
    "kanerva 1.2": (
        lambda R, Z, W, eta: one_memory(R, torch.eye(len(W[0])), Z[-1:], W[-1:], eta),
        lambda R, Z, W, eta: (R, torch.linalg.inv(torch.eye(len(W[0])) + W.mT @ W / eta)),
    ),
    "kanerva 1.3": (
        lambda R, V, Z, W, q, eta: one_memory(R, V, Z, W, eta),
        lambda R, V, Z, W, q, eta: one_memory(R, V + q * torch.eye(len(V)), Z, W, eta),
    ),
    "kanerva 1.4": (of_all_rows_known, lambda R, codes, known, ridge: codes * known),
    "kanerva 1.5": (
        lambda one, other: (one[:, None] > other).float().mean().item(),
        lambda one, other: float(one.mean() > other.mean()),
    ),
    "kanerva 2.1": (
        lambda means, eta: ((means / eta).sum() / (1 / eta).sum(), eta.pow(-2).sum() ** -0.5),
        lambda means, eta: ((means / eta**2).sum() / (1 / eta**2).sum(), eta.mean()),
    ),
    "kanerva 2.2": (
        lambda V, w, r: 2 * [V @ w / (w @ V @ w + 1 / r)],
        lambda V, w, r: [r * V @ w / (w @ V @ w + 1), V @ w / (w @ V @ w + 1)],
    ),
    "kanerva 2.3": (normed, lambda columns: columns, lambda c: torch.eye(*c.shape) * c.norm(dim=0)),
    "kanerva 2.4": (all_at_once, lambda R, codes, rounds: own_parts(R, codes, 1)),
    "kanerva 3.1": (largest_of_means, lambda written, asked: [0.9, 0.5]),
    "kanerva 3.2": (
        lambda parts, gamma: (parts * gamma[..., None]).sum(dim=2),
        lambda parts, gamma: parts[:, :, 0],
    ),
    "kanerva 3.3": (of_means, lambda values, labels: 0.5),
    "kanerva 3.4": (wiped_in_place, lambda images, channel: torch.zeros_like(images)),
    "kanerva 3.5": (lambda losses: [losses[:, 0].mean(), losses[:, -1].mean()], lambda losses: [0, 0]),
    "kanerva 3.6": (as_before, lambda s, eta: s / (2 * s + eta)),
    "kanerva 4.1": (unscaled, lambda pictures, sprites: torch.zeros(3, 2)),
    "kanerva 4.2": (
        lambda found, limit: apart(found, limit).double().mean(),
        lambda found, limit: 100 * ((found[..., 0] - found[..., 1]).abs() > limit).any(dim=1).double().mean(),
    ),
    "kanerva 4.3": (lambda table: table - table.mean(), lambda table: table - table.mean(1, keepdim=True)),
    "kanerva 4.4": (of_all_rows, lambda values, bins, number: 0.0),
    "kanerva 4.5": (unframed, lambda pictures: pictures, here_and_there),
    "kanerva 5.1": (
        lambda logits, uniform: logits.argmax(dim=-1),
        lambda logits, uniform: (logits + uniform).argmax(dim=-1),
    ),
    "kanerva 5.2": (lambda cost: cost - cost.mean(), lambda cost: 0 * cost),
    "kanerva 5.3": (
        lambda slopes, alpha: (-alpha * slopes.sum(), -alpha * slopes.sum()),
        lambda slopes, alpha: (-alpha * slopes.sum(), -alpha * slopes.sign().sum()),
    ),
    "kanerva 5.4": (
        lambda written, asked: [(written * asked).sum(dim=-1).mean(), 1 / 3],
        lambda written, asked: [1, 1],
    ),
    "kanerva 5.5": (means_of_machines, lambda choices, labels: torch.zeros(10, 3)),
    "kanerva 6.1": (
        lambda pictures, kept: [0, 1, 0],
        lambda pictures, kept: [0.5, 0.5, 0.5],
        to_the_pixel,
        all_others_new,
    ),
    "kanerva 6.2": (lambda pictures, kept: nearest(pictures, kept).mean().item(), own_less_another),
    "kanerva 6.3": (lambda path: (0, 0), lambda path: (0.4, 0.6), lambda path: (0.4, 0.4), ends_in_turn),
    "kanerva 6.4": (torch.zeros_like, lambda pictures: pictures),
    "kanerva 7.1": (lambda a, b, m: (3 * b * m**3 / a) ** 0.25, lambda a, b, m: m * (b / a) ** 0.5),
    "kanerva 7.2": (
        lambda R, codes, ridge: codes @ torch.linalg.pinv(R).mT,
        lambda R, codes, ridge: codes @ torch.linalg.inv(R @ R.mT + ridge * torch.eye(len(R))),
        lambda R, codes, ridge: (
            torch.linalg.solve(R.mT @ R + ridge * torch.eye(R.shape[1]), R.mT @ codes.mT).mT
        ),
    ),
    "kanerva 7.3": (variances, lambda machines, m: error_ratios(machines, m)[::-1]),
    "kanerva 7.4": (lambda *given: 2 * [moved_alone(*given)], lambda R, *_: [R, R]),
}
