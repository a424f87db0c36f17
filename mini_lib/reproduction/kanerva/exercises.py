"""The exercises of the Kanerva chapters: what a right answer has to do."""

import torch

from mini_lib.kanerva.analysis import explained, sharing
from mini_lib.kanerva.evaluation import NEW, RETRIEVED, nearest
from mini_lib.reproduction.exercises import Exercises, require
from mini_lib.seeding import torch_rng

EXERCISES = Exercises()


def some_pictures(*shape: int) -> torch.Tensor:
    """Random pictures of black and white, [*shape, 1, 6, 6]."""
    return (torch.rand(*shape, 1, 6, 6, generator=torch_rng(0, "exercise")) < 0.4).float()


def near(given, expected) -> bool:
    """Whether numbers are those expected."""
    given = torch.as_tensor(given, dtype=torch.float32)
    expected = torch.as_tensor(expected, dtype=torch.float32)
    return given.shape == expected.shape and torch.allclose(given, expected, atol=1e-5)


def some_numbers(*shape: int, seed: int = 0) -> torch.Tensor:
    """Random normal numbers."""
    return torch.randn(*shape, generator=torch_rng(seed, "exercise"))


def some_weights(*shape: int, seed: int = 0) -> torch.Tensor:
    """Random weights of machines, which sum to 1 over the last axis."""
    return torch.softmax(3 * some_numbers(*shape, seed=seed), dim=-1)


# ------------------------------------------------------------------------------------------------ binding


def largest_of_means(written: torch.Tensor, asked: torch.Tensor) -> list:
    """The mistake of exercise 3.1: even use makes the largest mean small, however sparse items are."""
    means = written.mean(dim=(0, 1))
    return [means.max(), means.min(), (written.argmax(-1) == asked.argmax(-1)).float().mean()]


@EXERCISES.add("kanerva 3.1", largest_of_means, lambda written, asked: [0.9, 0.5])
def three_numbers(answer) -> None:
    """How sparse weights are, how even, and whether items are asked for where they were written."""
    written, asked = some_weights(3, 7, 4), some_weights(3, 7, 4, seed=1)
    given = answer(written.clone(), asked.clone())
    require(len(given) == 3, "return three numbers.")
    expected = sharing(written)
    require(near(given[0], expected["largest"]), "the first is each item's largest weight, then their mean.")
    require(
        near(given[1], expected["least_used"]), "the second is the smallest of the machines' mean weights."
    )
    same = (written.argmax(dim=2) == asked.argmax(dim=2)).float().mean()
    require(near(given[2], same), "the third is a share of items: the same machine has most both times.")


@EXERCISES.add(
    "kanerva 3.2",
    lambda parts, gamma: (parts * gamma[..., None]).sum(dim=2),
    lambda parts, gamma: parts[:, :, 0],
)
def winner(answer) -> None:
    """The code of the machine that counts most."""
    parts, gamma = some_numbers(2, 5, 3, 4), some_weights(2, 5, 3)
    given = answer(parts.clone(), gamma.clone())
    require(given.shape == (2, 5, 4), "return codes [B, T, C].")
    top = gamma.argmax(dim=2)
    expected = torch.stack([torch.stack([parts[b, t, top[b, t]] for t in range(5)]) for b in range(2)])
    require(
        near(given, expected), "take what the machine with the largest weight says, and with a weight of 1."
    )


def of_means(values: torch.Tensor, labels: torch.Tensor) -> float:
    """The mistake of exercise 3.3: classes count alike, however many items they have."""
    means = torch.stack([values[labels == c].mean() for c in labels.unique()])
    return (means.var(correction=0) / values.var(correction=0)).item()


@EXERCISES.add("kanerva 3.3", of_means, lambda values, labels: 0.5)
def eta_squared(answer) -> None:
    """The share of variance that classes explain."""
    labels = torch.tensor([0] * 30 + [1] * 5 + [4] * 3)
    values = some_numbers(38) + labels
    given = torch.as_tensor(answer(values.clone(), labels.clone()))
    require(given.ndim == 0, "return one number.")
    expected = explained(values[:, None], labels)
    require(
        abs(float(given) - expected) < 1e-4,
        f"{float(given):.3f} is not it; each class counts with its number of items.",
    )


def wiped_in_place(images: torch.Tensor, channel: int) -> torch.Tensor:
    """The mistake of exercise 3.4: what was given is changed."""
    images[:, :, channel] = 0
    return images


@EXERCISES.add("kanerva 3.4", wiped_in_place, lambda images, channel: torch.zeros_like(images))
def hide(answer) -> None:
    """Pictures without a channel."""
    images = some_numbers(2, 3, 3, 4, 4)
    for channel in range(3):
        given = answer(images, channel)
        require(given.shape == images.shape, "return pictures of the same shape.")
        require(torch.equal(images, some_numbers(2, 3, 3, 4, 4)), "hide in a copy, and leave what was given.")
        require(not given[:, :, channel].any(), "something of that channel is left.")
        kept = [c for c in range(3) if c != channel]
        require(torch.equal(given[:, :, kept], images[:, :, kept]), "the other channels have changed.")


@EXERCISES.add(
    "kanerva 3.5", lambda losses: [losses[:, 0].mean(), losses[:, -1].mean()], lambda losses: [0, 0]
)
def quarters(answer) -> None:
    """Losses of the first items and of the last ones."""
    losses = some_numbers(3, 12)
    given = answer(losses.clone())
    require(len(given) == 2, "return two numbers: the first quarter, the last.")
    require(near(given[0], losses[:, :3].mean()), "the first quarter of 12 items are three items.")
    require(near(given[1], losses[:, 9:].mean()), "the last quarter of 12 items are the last three.")


def without_square(w: torch.Tensor, V: torch.Tensor, eta: torch.Tensor) -> torch.Tensor:
    """The mistake of exercise 3.6: the noise is not squared."""
    s = torch.einsum("km,kmn,kn->k", w, V, w)
    return s / (s + eta)


@EXERCISES.add("kanerva 3.6", without_square, lambda w, V, eta: torch.ones(len(w)))
def kappa_of(answer) -> None:
    """What machines learn of an item."""
    w, root, eta = some_numbers(3, 4), some_numbers(3, 4, 4), some_numbers(3).abs() + 0.5
    V = root @ root.mT
    given = torch.as_tensor(answer(w, V, eta))
    require(given.shape == (3,), "return one number for each machine.")
    expected = torch.stack([w[i] @ V[i] @ w[i] / (w[i] @ V[i] @ w[i] + eta[i].square()) for i in range(3)])
    require(near(given, expected), "kappa is s / (s + eta squared), with s = w V w of the same machine.")


# ------------------------------------------------------------------------------------------------ generation


@EXERCISES.add("kanerva 6.1", lambda pictures, kept: [0, 1, 0], lambda pictures, kept: [0.5, 0.5, 0.5])
def count(answer) -> None:
    """Retrieved, new and blank."""
    kept = some_pictures(3, 4)
    pictures = torch.cat([kept[:, :2], some_pictures(3, 9)[:, 4:], torch.zeros(3, 2, 1, 6, 6)], dim=1)
    given = answer(pictures.clone(), kept.clone())
    require(len(given) == 3, "return three shares: retrieved, new, blank.")
    blank = pictures.sum(dim=(2, 3, 4)) == 0
    require(near(given[2], blank.float().mean()), "the share of blank images is not that.")
    best = nearest(pictures, kept)
    require(near(given[0], (best >= RETRIEVED).float().mean()), "the share of retrieved images is not that.")
    new = ((best < NEW) & ~blank).float().mean()
    require(near(given[1], new), "the share of new images is not that; blank ones are not new.")


def own_less_another(pictures: torch.Tensor, kept: torch.Tensor) -> torch.Tensor:
    """Cosines with the nearest image of the own memory, less those with that of the next."""
    return nearest(pictures, kept) - nearest(pictures, kept.roll(1, dims=0))


@EXERCISES.add("kanerva 6.2", lambda pictures, kept: nearest(pictures, kept).mean().item(), own_less_another)
def surplus(answer) -> None:
    """How much nearer images are to their own memory's."""
    kept = some_pictures(5, 4)
    pictures = (kept != some_pictures(5, 4).roll(1, dims=1)).float()
    given = torch.as_tensor(answer(pictures.clone(), kept.clone()))
    require(given.ndim == 0, "return one number, the mean over all images.")
    expected = own_less_another(pictures, kept).mean()
    other = (nearest(pictures, kept) - nearest(pictures, kept.roll(-1, dims=0))).mean()
    require(
        near(given, expected) or near(given, other), f"{given:.3f} is not the difference of the two means."
    )


@EXERCISES.add("kanerva 6.3", lambda path: (0, 0), lambda path: (0.4, 0.6))
def ends_of(answer) -> None:
    """Images that have stopped, and those that go round in a circle of two."""
    a, b, c = some_pictures(3)
    paths = [[a, b, b, b], [a, b, a, b], [a, b, c, a], [c, a, b, b], [b, c, b, c]]
    path = torch.stack([torch.stack(each) for each in paths])[None]
    given = answer(path.clone())
    require(len(given) == 2, "return two shares: stopped, and circles of two.")
    require(near(given[0], 0.4), "two of five paths have stopped in this test.")
    require(near(given[1], 0.4), "two of five go round in a circle of two; those that stopped do not count.")


@EXERCISES.add("kanerva 6.4", torch.zeros_like, lambda pictures: pictures)
def wiped(answer) -> None:
    """The lower half is gone."""
    pictures = some_pictures(2, 3)
    given = answer(pictures)
    require(given.shape == pictures.shape, "return images of the same shape.")
    require(torch.equal(pictures, some_pictures(2, 3)), "wipe a copy, and leave what was given as it is.")
    require(torch.equal(given[..., :3, :], pictures[..., :3, :]), "the upper half has changed.")
    require(not given[..., 3:, :].any(), "something is left in the lower half.")
