"""The exercises of the Kanerva chapters: what a right answer has to do."""

import torch

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
