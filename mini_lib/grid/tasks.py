"""The tasks of the study: rules, items to be matched or named, curves, commands; with familiar and new content.

Content is *familiar* where a network has met it in training, though not this problem, and *new* where it has not.
"""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from mini_lib.errors import check_positive_int
from mini_lib.esbn.tasks import IMAGES, Problems, make_problems
from mini_lib.functions.tasks import STEPS, evaluation_curves, rows_by_kind
from mini_lib.scan.grammar import NEW_VERB, contains_phrase
from mini_lib.scan.tasks import Examples, encode, get_split
from mini_lib.seeding import numpy_rng

HIDDEN = IMAGES  # the number of the glyph that is not shown
ITEMS = 8  # to be matched, of three glyphs each
ITEM_GLYPHS = 15  # in training
HELD_OUT = 5  # one problem in 5 is kept from training, to test familiar content
RULES = ("distribution_of_three", "rmts")
OBSERVED = 12  # points of a curve that are seen
LIFT, STRETCH, SLOWER = 2.0, 2.0, 1.5  # what is done to curves in the test


class TaskData(NamedTuple):
    """Problems of a run; the ids of each are [N, T, P], P glyphs in each of T steps."""

    train: Problems  #: to learn from.
    familiar: Problems  #: other problems, of glyphs met in training.
    new: Problems  #: problems of glyphs not met in training.


def rules(task: str, m: int, seed: int) -> TaskData:
    """Problems of the ESBN paper, "distribution_of_three" or "rmts", with m of the 100 glyphs kept for the test.

    A fifth of the paper's training problems is kept from training, to ask about familiar glyphs.
    """
    data = make_problems(task, m, seed, balance="paper")
    cut = len(data.train.answers) // HELD_OUT
    every = Problems(data.train.ids[..., None], data.train.answers)
    new = Problems(data.test.ids[..., None], data.test.answers)
    return TaskData(Problems(*every[cut:]), Problems(*every[:cut]), new)


def items(count: int, pool: Int[Tensor, "P"], rng: np.random.Generator, name: bool = False) -> Problems:
    """Eight items of three glyphs, (a, b, c), and then one of them without c: which of the eight is it?

    Glyphs are drawn from the pool; no two items of a problem have the same a and b. With `name` the question is:
    which glyph of the pool is c?

    >>> problems = items(4, torch.arange(15), np.random.default_rng(0))
    >>> problems.ids.shape, problems.ids[0, 8, 2].item() == HIDDEN
    (torch.Size([4, 9, 3]), True)
    """
    check_positive_int(count=count)
    glyphs = len(pool)
    every_pair = np.tile(np.arange(glyphs**2), (count, 1))
    pairs = rng.permuted(every_pair, axis=1)[:, :ITEMS]  # all different: [N, 8]
    shown = np.stack([pairs // glyphs, pairs % glyphs, rng.integers(glyphs, size=(count, ITEMS))], axis=-1)
    places = rng.integers(ITEMS, size=count)
    asked = shown[np.arange(count), places]  # [N, 3]
    ids = pool[torch.from_numpy(np.concatenate([shown, asked[:, None]], axis=1))]
    ids[:, -1, 2] = HIDDEN
    return Problems(ids, torch.from_numpy(asked[:, 2] if name else places))


def item_pools(seed: int) -> tuple[Int[Tensor, "P"], Int[Tensor, "Q"]]:
    """The glyphs of a run's training, and the others."""
    order = torch.from_numpy(numpy_rng(seed, "glyphs of items").permutation(IMAGES))
    return order[:ITEM_GLYPHS], order[ITEM_GLYPHS:]


def item_tests(seed: int, count: int, name: bool = False) -> dict[str, Problems]:
    """A run's familiar problems and, where glyphs need not be named, new ones."""
    familiar, new = item_pools(seed)
    tests = {"familiar": items(count, familiar, numpy_rng(seed, "items, familiar"), name)}
    return tests if name else tests | {"new": items(count, new, numpy_rng(seed, "items, new"))}


class Transformed(NamedTuple):
    """B curves to go on with."""

    y: Float[Tensor, "B N"]  #: what is observed, with noise.
    truth: Float[Tensor, "B S"]  #: the ten points that follow, without.
    kinds: dict[str, Bool[Tensor, "B"]]  #: which curves are lines, sines and so on.


def transformed_curves(count: int) -> dict[str, Transformed]:
    """The test curves of the function paper as they are ("familiar"), "lifted", "stretched" and "slowed".

    Lifted: 2 is added to all values. Stretched: all values are doubled, noise included. Slowed: f(x / 1.5).
    """
    own, slow = (evaluation_curves(count, OBSERVED + STEPS, time_scale=slower) for slower in (1.0, SLOWER))
    kinds = rows_by_kind(own.kinds)
    changed = {
        "familiar": (own.y, own.truth),
        "lifted": (own.y + LIFT, own.truth + LIFT),
        "stretched": (own.y * STRETCH, own.truth * STRETCH),
        "slowed": (slow.y, slow.truth),
    }
    cut = {name: (y[:, :OBSERVED], truth[:, OBSERVED:]) for name, (y, truth) in changed.items()}
    return {name: Transformed(*part, kinds) for name, part in cut.items()}


class CommandData(NamedTuple):
    """Commands of SCAN to learn from, and those to be asked, by name."""

    train: Examples  #: *jump* and *dax* among them, alone.
    #: "familiar", of other verbs; "jump", "dax"; "training", some of those learned from.
    tests: dict[str, Examples]


def command_data(seed: int) -> CommandData:
    """Two verbs are shown alone, one training and two tests; a tenth of the other commands is kept from training.

    >>> data = command_data(seed=1)
    >>> {name: len(part.lengths) for name, part in data.tests.items()}
    {'familiar': 1320, 'jump': 7706, 'dax': 7706, 'training': 1320}
    """
    train, test = get_split("add_jump_and_dax")
    known = sorted({command for command in train if command not in ("jump", NEW_VERB)})
    drawn = numpy_rng(seed, "familiar commands").choice(len(known), len(known) // 10, replace=False)
    kept = {known[number] for number in drawn}
    tests = {verb: [c for c in test if contains_phrase(c, verb)] for verb in ("jump", NEW_VERB)}
    tests = {"familiar": sorted(kept)} | tests
    shown = [command for command in train if command not in kept]
    tests["training"] = sorted({*shown})[:: len({*shown}) // len(kept)][: len(kept)]
    return CommandData(encode(shown), {name: encode(part) for name, part in tests.items()})
