"""The four tasks of the ESBN paper (section 2, A.2): problems are rows of image ids and an answer.

A problem is drawn by drawing its number: `unrank_permutation` turns it into an ordered choice of distinct images,
and the rest of the number is the rest of the problem (the side of the match, the permutation of a row).
"""

import math
from dataclasses import dataclass
from functools import partial
from itertools import permutations

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from mini_lib.errors import UsageError, check_names, check_positive_int, is_int
from mini_lib.seeding import numpy_rng

IMAGES = 100
PROBLEMS = 10_000
MAX_PROBLEMS = 1_000_000  # drawing more would take minutes and gigabytes
ENUMERATE_BELOW = 50  # with fewer images than this the authors sample from the whole space of problems
BALANCES = ("released", "paper")


@dataclass(frozen=True, eq=False)
class Problems:
    """N problems as rows of image ids, a data set for a `DataLoader`; `pool[problems.ids]` are images of a pool."""

    ids: Int[Tensor, "N T *parts"]  #: the image, 0..99, at each step.
    answers: Int[Tensor, "N"]  #: the right answer, 0..C-1.

    def __len__(self) -> int:
        return len(self.answers)

    def __getitem__(self, which: int | slice | Tensor) -> tuple[Tensor, Tensor]:
        return self.ids[which], self.answers[which]


@dataclass(frozen=True, eq=False)
class TaskData:
    """Training and test problems of one run."""

    train: Problems
    test: Problems
    train_images: Int[Tensor, "P"]  #: ids of the images that training problems use, sorted.
    test_images: Int[Tensor, "Q"]  #: the same of test problems.


@dataclass(frozen=True)
class Task:
    """What is fixed about a task."""

    name: str
    title: str  #: as in prose.
    length: int  #: T, images in a problem.
    classes: int  #: C, possible answers.
    windows: tuple[int, ...]  #: windows of temporal context normalization (section 3.1), as lengths.
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


def get_task(name: object) -> Task:
    """The task of that name; UsageError with the nearest name otherwise."""
    check_names("task", [name], TASKS)
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
    """Draw one run's images, and disjoint training and test problems of a task (A.2, Tables 1-4 of the paper).

    Of the 100 images m are withheld from training and used in the test; with m = 0 both use all of them. Where fewer
    problems exist than are wanted, all are taken. Same/different with m = 0 always has the paper's 18,810 and 990.
    The seed draws which images are withheld: another seed withholds others.

    `balance` is that of RMTS training problems with few images: half of them have a 'same' source ("paper", A.2.2),
    or as in the authors' code one in twelve at m = 85 ("released").

    >>> data = make_problems("distribution_of_three", m=95, seed=1)
    >>> data.train.ids.shape, data.train.answers.shape, data.train_images.tolist()
    (torch.Size([360, 9]), torch.Size([360]), [25, 39, 52, 65, 77])
    """
    check_regime(get_task(task), m)
    check_names("balance", [balance], BALANCES)
    check_positive_int(train_size=train_size, test_size=test_size)
    if max(train_size, test_size) > MAX_PROBLEMS:
        raise UsageError(f"at most {MAX_PROBLEMS:,} problems are drawn, got {max(train_size, test_size):,}")
    m, train_size, test_size = int(m), int(train_size), int(test_size)  # which may be NumPy's
    rng = numpy_rng(seed, "problems", task, m)
    order = rng.permutation(IMAGES)
    if m:
        pools = order[m:], order[:m]
        few = IMAGES - m < ENUMERATE_BELOW and (task, balance) != ("rmts", "paper")
        train = (SAMPLE | OF_FEW if few else SAMPLE)[task](rng, IMAGES - m, train_size)
        test = SAMPLE[task](rng, m, test_size)
    else:
        pools = order, order
        train, test = _disjoint(rng, task, train_size, test_size)
    sets = (
        Problems(torch.from_numpy(pool[rows[:, :-1]]), torch.from_numpy(rows[:, -1].copy()))
        for pool, rows in zip(pools, (train, test), strict=True)
    )
    return TaskData(*sets, *(torch.from_numpy(np.sort(pool)) for pool in pools))


def check_regime(task: Task, m: object) -> None:
    """Raise UsageError unless m leaves enough images to train on and to test on."""
    most = IMAGES - task.minimum
    if not is_int(m) or not (m == 0 or task.minimum <= m <= most):
        raise UsageError(f"m is 0 or from {task.minimum} to {most}, as in {task.regimes}; got {m!r}")


def unrank_permutation(rank: np.ndarray, n: int, k: int) -> np.ndarray:
    """The ordered choices of k distinct items out of 0..n-1 with these ranks, 0 <= rank < perm(n, k). [N, k]"""
    chosen = np.empty((len(rank), 0), dtype=np.int64)
    for i in range(k):
        rank, item = np.divmod(rank, n - i)
        for earlier in np.sort(chosen, axis=1).T:
            item = item + (item >= earlier)
        chosen = np.column_stack([chosen, item])
    return chosen


# A function for each task draws `size` problems of n images from the whole space of them, the authors' "subsample":
# rows of image numbers below n, the answer last, [N, T + 1]. With `few` every kind is drawn as often as it exists.
Rng = np.random.Generator


def _draw(rng: Rng, space: int, size: int) -> np.ndarray:
    """`size` different numbers below `space` in random order; all of them where there are no more."""
    return rng.choice(space, size=min(size, space), replace=False)


def _shuffle(rng: Rng, rows: np.ndarray, size: int | None = None) -> np.ndarray:
    return rows[rng.permutation(len(rows))[:size]]


def _disjoint(rng: Rng, task: str, train_size: int, test_size: int) -> tuple[np.ndarray, np.ndarray]:
    """Training and test problems over the same images (m = 0): one draw, cut in two."""
    if task != "same_different":
        rows = _shuffle(rng, SAMPLE[task](rng, IMAGES, train_size + test_size))
        train, test = np.split(rows, [len(rows) * train_size // (train_size + test_size)])
        return train, test
    same, different = _all_pairs(IMAGES)
    different, same = rng.permutation(different), rng.permutation(same)
    shares = (np.split(pairs, [95 * len(pairs) // 100]) for pairs in (same, different))  # 95 and 5 percent
    train, test = (_shuffle(rng, _balanced(rng, *pairs)) for pairs in zip(*shares, strict=True))
    return train, test


def _same_different(rng: Rng, n: int, size: int) -> np.ndarray:
    return _shuffle(rng, _balanced(rng, *_all_pairs(n)), size)


def _all_pairs(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Every pair of an image with itself, and every ordered pair of two."""
    return np.repeat(np.arange(n)[:, None], 2, axis=1), unrank_permutation(np.arange(n * (n - 1)), n, 2)


def _balanced(rng: Rng, same: np.ndarray, different: np.ndarray) -> np.ndarray:
    """As many 'same' pairs, drawn with replacement, as there are 'different' ones. 0 is same, 1 different."""
    repeated = same[rng.integers(len(same), size=len(different))]
    return np.column_stack([np.concatenate([repeated, different]), np.repeat([0, 1], len(different))])


def _rmts(rng: Rng, n: int, size: int, few: bool = False) -> np.ndarray:
    """A number stands for an ordered choice of images and, in its last bit, the side of the matching pair."""
    same_space, space = 2 * math.perm(n, 4), 2 * math.perm(n, 5)
    if few:  # there are many more with a 'different' source
        number = _draw(rng, same_space + space, size)
        same, different = number[number < same_space], number[number >= same_space] - same_space
    else:
        same, different = (_draw(rng, each, -(-size // 2)) for each in (same_space, space))
    a, b, c, d = unrank_permutation(same // 2, n, 4).T
    v, w, x, y, z = unrank_permutation(different // 2, n, 5).T
    source_match_other = np.column_stack([np.stack([a, a, b, b, c, d]), np.stack([v, w, x, y, z, z])]).T
    side = np.concatenate([same % 2, different % 2])[:, None]
    rows = np.where(side == 0, source_match_other, source_match_other[:, [0, 1, 4, 5, 2, 3]])
    return _shuffle(rng, np.column_stack([rows, side]), size)


def _distribution_of_three(rng: Rng, n: int, size: int) -> np.ndarray:
    """A number stands for row 1, an ordered choice of three images, and for which permutation of it row 2 is."""
    orders = np.array(list(permutations(range(3))))
    number = _draw(rng, 6 * math.perm(n, 3), size)
    row1 = unrank_permutation(number // 6, n, 3)
    row2 = np.take_along_axis(row1, orders[number % 6], axis=1)
    fourth = rng.integers(n - 3, size=len(number))
    for taken in np.sort(row1, axis=1).T:
        fourth = fourth + (fourth >= taken)
    choices = rng.permuted(np.column_stack([row1, fourth]), axis=1)
    answers = (choices == row2[:, 2:]).argmax(axis=1)
    return np.column_stack([row1, row2[:, :2], choices, answers])


def _identity_rules(rng: Rng, n: int, size: int, few: bool = False) -> np.ndarray:
    """As many problems of each rule. With `few` AAA, which has no B and so fewer problems, is filled with repeats.

    A problem's number stands for its four choices, in order, and for which of them fill the slots A1, B1, A2, B2.
    """
    patterns = ([0, 0, 0], [0, 1, 0], [0, 1, 1])  # AAA, ABA, ABB
    slots = [2 * len({*pattern}) for pattern in patterns]
    aaa, full, _ = spaces = [math.perm(n, 4) * math.perm(4, each) for each in slots]
    if few:
        rule, number = np.divmod(_draw(rng, 3 * full, size), full)
        extra = (rule == 0) & (number >= aaa)
        number[extra] = rng.integers(aaa, size=extra.sum())
        numbers = [number[rule == i] for i in range(3)]
    else:
        numbers = [_draw(rng, space, -(-size // 3)) for space in spaces]
    parts = []
    for pattern, count, number in zip(patterns, slots, numbers, strict=True):
        four, assignment = np.divmod(number, math.perm(4, count))
        choices = unrank_permutation(four, n, 4)  # images: [N, 4]
        # Choices that are A1 (B1), and A2 (B2).
        first, second = np.hsplit(unrank_permutation(assignment, 4, count), 2)
        row1, row2 = first[:, pattern], second[:, pattern]  # the choice at each step: [N, 3]
        matrix = np.take_along_axis(choices, np.hstack([row1, row2[:, :2]]), axis=1)
        parts.append(np.hstack([matrix, choices, row2[:, 2:]]))
    return _shuffle(rng, np.concatenate(parts), size)


SAMPLE = {
    "same_different": _same_different,
    "rmts": _rmts,
    "distribution_of_three": _distribution_of_three,
    "identity_rules": _identity_rules,
}
# The same from fewer than `ENUMERATE_BELOW` images, where that is another way.
OF_FEW = {"rmts": partial(_rmts, few=True), "identity_rules": partial(_identity_rules, few=True)}
