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

    train: Problems
    test: Problems
    train_images: Int[Tensor, "P"]
    test_images: Int[Tensor, "_"]

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
    """Draw one run's images, training problems and test problems (A.2, Tables 1-4).

    Args:
        task: a key of `TASKS`.
        m: images withheld from training and used in the test, out of 100; with m = 0 both use all 100, and no
            test problem is a training problem.
        seed: of the run.
        train_size: problems wanted; where fewer exist all of them are taken. Same/different with m = 0 always
            has the paper's 18,810 and 990.
        test_size: the same for the test.
        balance: of RMTS training problems with few images. "released": as the authors' code at the paper's m, where
            one problem in twelve has a 'same' source at m = 85; "paper": half of them, as A.2.2 says.

    Returns:
        The problems, disjoint between training and test.

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
    maker = _MAKERS[task]
    if m == 0:
        train, test = maker.jointly(rng, order, train_size, test_size)
    else:
        train = maker.train(rng, train_pool, train_size, balance)
        test = maker.sample(rng, test_pool, test_size)
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


def _draw(rng: np.random.Generator, space: int, size: int) -> np.ndarray:
    """`size` different numbers below `space` in random order; all of them where there are no more."""
    return rng.choice(space, size=min(size, space), replace=False)


def _shuffle(rng: np.random.Generator, problems: tuple, size: int | None = None) -> tuple:
    order = rng.permutation(len(problems[1]))[:size]
    return problems[0][order], problems[1][order]


def _join(*parts: tuple) -> tuple:
    return np.concatenate([ids for ids, _ in parts]), np.concatenate([answers for _, answers in parts])


def _tensors(problems: tuple) -> Problems:
    return Problems(*(torch.from_numpy(np.ascontiguousarray(part, dtype=np.int64)) for part in problems))


class _Maker:
    """How a task draws its problems; `sample` is the authors' "subsample", `train` what a training set uses."""

    def sample(self, rng, pool, size):
        raise NotImplementedError

    def train(self, rng, pool, size, balance):
        return self.sample(rng, pool, size)

    def jointly(self, rng, pool, train_size, test_size):
        ids, answers = _shuffle(rng, self.sample(rng, pool, train_size + test_size))
        cut = len(answers) * train_size // (train_size + test_size)
        return (ids[:cut], answers[:cut]), (ids[cut:], answers[cut:])


class _SameDifferent(_Maker):
    def sample(self, rng, pool, size):
        different = arrangement(np.arange(math.perm(len(pool), 2)), len(pool), 2)
        same = np.repeat(np.arange(len(pool))[:, None], 2, axis=1)
        ids, answers = _shuffle(rng, self._balanced(rng, same, different), size)
        return pool[ids], answers

    def jointly(self, rng, pool, train_size, test_size):
        different = rng.permutation(arrangement(np.arange(math.perm(len(pool), 2)), len(pool), 2))
        same = rng.permutation(np.repeat(np.arange(len(pool))[:, None], 2, axis=1))
        parts = []
        for share in (slice(0, 95), slice(95, 100)):  # percent; training and test share no pair
            pairs = different[share.start * len(different) // 100 : share.stop * len(different) // 100]
            ids, answers = _shuffle(rng, self._balanced(rng, same[share], pairs))
            parts.append((pool[ids], answers))
        return parts

    @staticmethod
    def _balanced(rng, same, different):
        """As many 'same' pairs, drawn with replacement, as there are 'different' ones. 0 is same, 1 different."""
        repeated = same[rng.integers(len(same), size=len(different))]
        return _join((repeated, np.zeros(len(repeated))), (different, np.ones(len(different))))


class _RMTS(_Maker):
    """A number holds an ordered choice of images and, in its last bit, the side of the matching pair."""

    def sample(self, rng, pool, size):
        per_kind = -(-size // 2)
        same = self.same(_draw(rng, 2 * math.perm(len(pool), 4), per_kind), pool)
        different = self.different(_draw(rng, 2 * math.perm(len(pool), 5), per_kind), pool)
        return _shuffle(rng, _join(same, different), size)

    def train(self, rng, pool, size, balance):
        if len(pool) >= ENUMERATE_BELOW or balance == "paper":
            return self.sample(rng, pool, size)
        same_space, space = (2 * math.perm(len(pool), 4), 2 * math.perm(len(pool), 5))
        number = _draw(rng, same_space + space, size)
        same, different = number[number < same_space], number[number >= same_space] - same_space
        return _shuffle(rng, _join(self.same(same, pool), self.different(different, pool)))

    @staticmethod
    def same(number, pool):
        a, b, c, d = pool[arrangement(number // 2, len(pool), 4)].T
        return _RMTS._lay_out((a, a), (b, b), (c, d), number % 2)

    @staticmethod
    def different(number, pool):
        a, b, c, d, e = pool[arrangement(number // 2, len(pool), 5)].T
        return _RMTS._lay_out((a, b), (c, d), (e, e), number % 2)

    @staticmethod
    def _lay_out(source, match, other, side):
        left = np.column_stack([*source, *match, *other])
        right = np.column_stack([*source, *other, *match])
        return np.where(side[:, None] == 0, left, right), side


class _DistributionOfThree(_Maker):
    """A number holds row 1, an ordered choice of three images, and which of its 6 permutations row 2 is."""

    def sample(self, rng, pool, size):
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


class _IdentityRules(_Maker):
    """A number holds the four choices in order, and which of them play A1, B1, A2 and B2.

    AAA problems have no B, so there are half as many: 12 ways to cast A1 and A2 against 24.
    """

    def sample(self, rng, pool, size):
        each = -(-size // 3)
        numbers = {rule: _draw(rng, self.space(rule, pool), each) for rule in PATTERNS}
        return _shuffle(rng, _join(*(self.decode(rule, n, pool) for rule, n in numbers.items())), size)

    def train(self, rng, pool, size, balance):
        if len(pool) >= ENUMERATE_BELOW:
            return self.sample(rng, pool, size)
        full, aaa = self.space("ABA", pool), self.space("AAA", pool)
        rule, number = np.divmod(_draw(rng, 3 * full, size), full)
        extra = (rule == 0) & (number >= aaa)  # AAA is filled up with repeats to the size of the other two
        number[extra] = rng.integers(aaa, size=extra.sum())
        parts = [self.decode(name, number[rule == i], pool) for i, name in enumerate(PATTERNS)]
        return _shuffle(rng, _join(*parts))

    @staticmethod
    def space(rule, pool):
        return math.perm(len(pool), 4) * math.perm(4, ROLES[rule])

    @staticmethod
    def decode(rule, number, pool):
        """Problems of one rule by their numbers."""
        four, cast = np.divmod(number, math.perm(4, ROLES[rule]))
        choices = pool[arrangement(four, len(pool), 4)]  # images, as they are offered: [N, 4]
        cast = arrangement(cast, 4, ROLES[rule])  # which choices play A1 (and B1), A2 (and B2): [N, roles]
        first, second = np.hsplit(cast, 2)
        row1, row2 = first[:, PATTERNS[rule]], second[:, PATTERNS[rule]]  # the choice at each place: [N, 3]
        matrix = np.take_along_axis(choices, np.hstack([row1, row2[:, :2]]), axis=1)
        return np.hstack([matrix, choices]), row2[:, 2]


_MAKERS = {
    "same_different": _SameDifferent(),
    "rmts": _RMTS(),
    "distribution_of_three": _DistributionOfThree(),
    "identity_rules": _IdentityRules(),
}
