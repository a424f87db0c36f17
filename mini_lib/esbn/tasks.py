"""The four tasks of the ESBN paper (section 2, A.2): problems are rows of image numbers and an answer.

Every task's problems are counted, so a problem is drawn by drawing its number: `arrangement` turns a number
into an ordered choice of distinct images, and what is left of the number says the rest (which side the match
is on, how the row is permuted). Nothing is enumerated that is not used.
"""

import math
from dataclasses import dataclass
from itertools import permutations
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from mini_lib.errors import UsageError, unknown_name_error
from mini_lib.seeding import numpy_rng

IMAGES = 100
PROBLEMS = 10_000
ENUMERATE_BELOW = 50  # with fewer images than this the authors sample from the whole space of problems


class Problems(NamedTuple):
    """A set of N problems, as rows of images' numbers; `pool[problems.ids]` are the images of a pool."""

    ids: Int[Tensor, "N T"]  #: the image, 0..99, that stands at each step.
    answers: Int[Tensor, "N"]  #: the right answer, 0..C-1.

    def to(self, device: torch.device | str) -> "Problems":
        """The same problems on a device."""
        return Problems(self.ids.to(device), self.answers.to(device))


class TaskData(NamedTuple):
    """Training and test problems of one run, and the images that each may use (sorted ids)."""

    train: Problems  #: what the network learns from.
    test: Problems  #: what it is asked in the end.
    train_images: Int[Tensor, "P"]  #: images that training problems may show.
    test_images: Int[Tensor, "_"]  #: images that test problems show.

    def to(self, device: torch.device | str) -> "TaskData":
        """The same data on a device."""
        return TaskData(*(part.to(device) for part in self))


@dataclass(frozen=True)
class Task:
    """What is fixed about a task."""

    name: str  #: as in code.
    title: str  #: as in prose.
    length: int  #: T, images in a problem.
    classes: int  #: C, possible answers.
    windows: tuple[int, ...]  #: windows of temporal context normalisation (section 3.1), as lengths.
    regimes: tuple[int, ...]  #: the paper's m, numbers of images withheld from training.
    minimum: int  #: the fewest images that make a problem.


TASKS = {
    task.name: task
    for task in (
        Task("same_different", "same/different", 2, 2, (2,), (0, 50, 85, 95, 98), 2),
        Task("rmts", "relational match-to-sample", 6, 2, (2, 2, 2), (0, 50, 85, 95), 5),
        Task("distribution_of_three", "distribution-of-three", 9, 4, (9,), (0, 50, 85, 95), 4),
        Task("identity_rules", "identity rules", 9, 4, (9,), (0, 50, 85, 95), 4),
    )
}


def get_task(name: str) -> Task:
    """The task of that name; UsageError with the nearest name otherwise."""
    if name not in TASKS:
        raise unknown_name_error("task", name, TASKS)
    return TASKS[name]


def make_problems(
    task: str,
    m: int,
    seed: int,
    *,
    train_size: int = PROBLEMS,
    test_size: int = PROBLEMS,
    balance: str = "released",
) -> TaskData:
    """Draw one run's images, and disjoint training and test problems of a task of `TASKS` (A.2, Tables 1-4).

    Of the 100 images m are withheld from training and used in the test; with m = 0 both use all of them. Where fewer
    problems exist than are wanted, all are taken. Same/different with m = 0 always has the paper's 18,810 and 990.

    `balance` is that of RMTS training problems with few images. "released": as the authors' code at the paper's m,
    where one problem in twelve has a 'same' source at m = 85; "paper": half of them, as A.2.2 says.

    >>> data = make_problems("distribution_of_three", m=95, seed=1)
    >>> data.train.ids.shape, data.train.answers.shape, data.train_images.tolist()
    (torch.Size([360, 9]), torch.Size([360]), [25, 39, 52, 65, 77])
    >>> images = torch.rand(100, 32, 32)  # of one's own
    >>> loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(*data.train), batch_size=32)
    >>> for ids, answers in loader:
    ...     problems = images[ids]
    >>> problems.shape, answers.shape
    (torch.Size([8, 9, 32, 32]), torch.Size([8]))
    """
    spec = get_task(task)
    if balance not in ("released", "paper"):
        raise unknown_name_error("balance", balance, ("released", "paper"))
    check_regime(spec, m)
    rng = numpy_rng(seed, "problems", task, m)
    order = rng.permutation(IMAGES)
    train_pool, test_pool = (order[m:], order[:m]) if m else (order, order)
    if m == 0:
        train, test = _disjoint(rng, task, order, train_size, test_size)
    else:
        few = len(train_pool) < ENUMERATE_BELOW and (task, balance) != ("rmts", "paper")
        train = (SAMPLE | OF_FEW if few else SAMPLE)[task](rng, train_pool, train_size)
        test = SAMPLE[task](rng, test_pool, test_size)
    pools = (torch.from_numpy(np.sort(pool)) for pool in (train_pool, test_pool))
    return TaskData(_tensors(train), _tensors(test), *pools)


def check_regime(task: Task, m: int) -> None:
    """Raise UsageError unless m leaves enough images to train on and to test on."""
    most = IMAGES - task.minimum
    if isinstance(m, bool) or not isinstance(m, int) or not (m == 0 or task.minimum <= m <= most):
        raise UsageError(
            f"m={m!r} does not work for {task.title}: a problem needs {task.minimum} images, so m is 0 or from "
            f"{task.minimum} to {most} of the {IMAGES} images; the paper uses {', '.join(map(str, task.regimes))}"
        )


def arrangement(number: np.ndarray, n: int, k: int) -> np.ndarray:
    """The ordered choices of k distinct items out of 0..n-1 with these numbers, 0 <= number < perm(n, k). [N, k]"""
    chosen = np.empty((len(number), 0), dtype=np.int64)
    for i in range(k):
        number, item = np.divmod(number, n - i)
        for earlier in np.sort(chosen, axis=1).T:
            item = item + (item >= earlier)
        chosen = np.column_stack([chosen, item])
    return chosen


# ------------------------------------------------------------------------------------------------ drawing
#
# Problems on their way are a pair (ids, answers) of arrays. Each task has a function of (rng, pool, size) that draws
# from the whole space of problems, the authors' "subsample".

Rng = np.random.Generator
Pairs = tuple[np.ndarray, np.ndarray]


def _draw(rng: Rng, space: int, size: int) -> np.ndarray:
    """`size` different numbers below `space` in random order; all of them where there are no more."""
    return rng.choice(space, size=min(size, space), replace=False)


def _shuffle(rng: Rng, problems: Pairs, size: int | None = None) -> Pairs:
    order = rng.permutation(len(problems[1]))[:size]
    return problems[0][order], problems[1][order]


def _join(*parts: Pairs) -> Pairs:
    return np.concatenate([ids for ids, _ in parts]), np.concatenate([answers for _, answers in parts])


def _tensors(problems: Pairs) -> Problems:
    return Problems(*(torch.from_numpy(np.ascontiguousarray(part, dtype=np.int64)) for part in problems))


def _disjoint(rng: Rng, task: str, pool: np.ndarray, train_size: int, test_size: int) -> tuple[Pairs, Pairs]:
    """Training and test problems over the same images (m = 0): one draw, cut in two."""
    if task == "same_different":
        return _same_different_disjoint(rng, pool)
    ids, answers = _shuffle(rng, SAMPLE[task](rng, pool, train_size + test_size))
    cut = len(answers) * train_size // (train_size + test_size)
    return (ids[:cut], answers[:cut]), (ids[cut:], answers[cut:])


def _same_different(rng: Rng, pool: np.ndarray, size: int) -> Pairs:
    ids, answers = _shuffle(rng, _balanced(rng, *_all_pairs(len(pool))), size)
    return pool[ids], answers


def _same_different_disjoint(rng: Rng, pool: np.ndarray) -> tuple[Pairs, Pairs]:
    same, different = _all_pairs(len(pool))
    different, same = rng.permutation(different), rng.permutation(same)
    parts = []
    for share in (slice(0, 95), slice(95, 100)):  # percent; training and test share no pair
        pairs = different[share.start * len(different) // 100 : share.stop * len(different) // 100]
        ids, answers = _shuffle(rng, _balanced(rng, same[share], pairs))
        parts.append((pool[ids], answers))
    return parts[0], parts[1]


def _all_pairs(images: int) -> tuple[np.ndarray, np.ndarray]:
    """Every pair of an image with itself, and every ordered pair of two."""
    same = np.repeat(np.arange(images)[:, None], 2, axis=1)
    return same, arrangement(np.arange(math.perm(images, 2)), images, 2)


def _balanced(rng: Rng, same: np.ndarray, different: np.ndarray) -> Pairs:
    """As many 'same' pairs, drawn with replacement, as there are 'different' ones. 0 is same, 1 different."""
    repeated = same[rng.integers(len(same), size=len(different))]
    return _join((repeated, np.zeros(len(repeated))), (different, np.ones(len(different))))


def _rmts(rng: Rng, pool: np.ndarray, size: int) -> Pairs:
    per_kind = -(-size // 2)
    same = _draw(rng, 2 * math.perm(len(pool), 4), per_kind)
    different = _draw(rng, 2 * math.perm(len(pool), 5), per_kind)
    return _shuffle(rng, _rmts_problems(same, different, pool), size)


def _rmts_of_few(rng: Rng, pool: np.ndarray, size: int) -> Pairs:
    """Both kinds as often as they exist: there are many more with a 'different' source."""
    same_space, space = (2 * math.perm(len(pool), 4), 2 * math.perm(len(pool), 5))
    number = _draw(rng, same_space + space, size)
    same, different = number[number < same_space], number[number >= same_space] - same_space
    return _shuffle(rng, _rmts_problems(same, different, pool))


def _rmts_problems(same: np.ndarray, different: np.ndarray, pool: np.ndarray) -> Pairs:
    """Problems by their numbers: an ordered choice of images and, in the last bit, the side of the matching pair."""
    a, b, c, d = pool[arrangement(same // 2, len(pool), 4)].T
    v, w, x, y, z = pool[arrangement(different // 2, len(pool), 5)].T
    return _join(_lay_out((a, a), (b, b), (c, d), same % 2), _lay_out((v, w), (x, y), (z, z), different % 2))


def _lay_out(source: tuple, match: tuple, other: tuple, side: np.ndarray) -> Pairs:
    left = np.column_stack([*source, *match, *other])
    right = np.column_stack([*source, *other, *match])
    return np.where(side[:, None] == 0, left, right), side


def _distribution_of_three(rng: Rng, pool: np.ndarray, size: int) -> Pairs:
    """A number holds row 1, an ordered choice of three images, and which of its 6 permutations row 2 is."""
    orders = np.array(list(permutations(range(3))))
    number = _draw(rng, 6 * math.perm(len(pool), 3), size)
    chosen = arrangement(number // 6, len(pool), 3)
    row2 = np.take_along_axis(chosen, orders[number % 6], axis=1)
    fourth = rng.integers(len(pool) - 3, size=len(number))
    for taken in np.sort(chosen, axis=1).T:
        fourth = fourth + (fourth >= taken)
    choices = rng.permuted(np.column_stack([chosen, fourth]), axis=1)
    answers = (choices == row2[:, 2:]).argmax(axis=1)
    return pool[np.column_stack([chosen, row2[:, :2], choices])], answers


PATTERNS = {"AAA": [0, 0, 0], "ABA": [0, 1, 0], "ABB": [0, 1, 1]}  # A is 0, B is 1
ROLES = {"AAA": 2, "ABA": 4, "ABB": 4}  # A and, if there is one, B, in both rows


def _identity_rules(rng: Rng, pool: np.ndarray, size: int) -> Pairs:
    """A number holds the four choices in order, and which of them play A1, B1, A2 and B2.

    AAA problems have no B, so there are half as many: 12 ways to cast A1 and A2 against 24.
    """
    numbers = {rule: _draw(rng, _rule_space(rule, pool), -(-size // 3)) for rule in PATTERNS}
    return _shuffle(rng, _join(*(_rule_problems(rule, n, pool) for rule, n in numbers.items())), size)


def _identity_rules_of_few(rng: Rng, pool: np.ndarray, size: int) -> Pairs:
    """AAA is filled up with repeats to the size of the other two rules."""
    full, aaa = _rule_space("ABA", pool), _rule_space("AAA", pool)
    rule, number = np.divmod(_draw(rng, 3 * full, size), full)
    extra = (rule == 0) & (number >= aaa)
    number[extra] = rng.integers(aaa, size=extra.sum())
    return _shuffle(
        rng, _join(*(_rule_problems(name, number[rule == i], pool) for i, name in enumerate(PATTERNS)))
    )


def _rule_space(rule: str, pool: np.ndarray) -> int:
    return math.perm(len(pool), 4) * math.perm(4, ROLES[rule])


def _rule_problems(rule: str, number: np.ndarray, pool: np.ndarray) -> Pairs:
    """Problems of one rule by their numbers."""
    four, cast = np.divmod(number, math.perm(4, ROLES[rule]))
    choices = pool[arrangement(four, len(pool), 4)]  # images, as they are offered: [N, 4]
    cast = arrangement(cast, 4, ROLES[rule])  # which choices play A1 (and B1), A2 (and B2): [N, roles]
    first, second = np.hsplit(cast, 2)
    row1, row2 = first[:, PATTERNS[rule]], second[:, PATTERNS[rule]]  # the choice at each place: [N, 3]
    matrix = np.take_along_axis(choices, np.hstack([row1, row2[:, :2]]), axis=1)
    return np.hstack([matrix, choices]), row2[:, 2]


SAMPLE = {
    "same_different": _same_different,
    "rmts": _rmts,
    "distribution_of_three": _distribution_of_three,
    "identity_rules": _identity_rules,
}
# How training problems are drawn from fewer than `ENUMERATE_BELOW` images, where that is another way.
OF_FEW = {"rmts": _rmts_of_few, "identity_rules": _identity_rules_of_few}
