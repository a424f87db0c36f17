"""The exercises of the last part: what a right answer has to do."""

import math

import numpy as np
import torch
from scipy import stats

from mini_lib.esbn.tasks import make_problems
from mini_lib.grid.mechanisms import CoRelNet
from mini_lib.grid.networks import build_core
from mini_lib.reproduction.exercises import (
    Exercises,
    changed_copy,
    near,
    number,
    numbers,
    pair,
    require,
    same_but,
)
from mini_lib.reproduction.grid.contrasts import centred_ranks
from mini_lib.seeding import numpy_rng, seeded, torch_rng

EXERCISES = Exercises()


@EXERCISES.add("grid 1.1")
def same_relations(answer) -> None:
    """Other vectors with the same products."""
    for seed, shape in ((1, (9, 16)), (2, (4, 3))):
        z = torch.randn(shape, generator=torch_rng(seed, "vectors"))
        given = numbers(answer(z.clone()))
        require(given.shape == z.shape, "return as many vectors, of the same size.")
        require(not torch.allclose(given, z.double(), atol=0.05), "these are the same vectors.")
        off = (given @ given.T - z.double() @ z.double().T).abs().max()
        require(off < 1e-3, f"a product of two of them has changed by {off:.2f}.")


@EXERCISES.add("grid 1.2")
def relation(answer) -> None:
    """The relation of CoRelNet."""
    for length, features in ((9, 4), (3, 2)):
        z = torch.randn(length, features, generator=torch_rng(length, "vectors"))
        expected = CoRelNet(features=features, classes=2, length=length).relate(z[None])[0].detach()
        given = numbers(answer(z.clone()))
        require(given.shape == expected.shape, "return one row and one column for each vector.")
        require(near(given.sum(dim=1), torch.ones(length), 1e-4), "every row sums to 1.")
        hint = "a row compares its vector with itself and those before it; what comes later gets 0."
        require(near(given.triu(1), torch.zeros(length, length), 1e-4), hint)
        require(near(given, expected, 1e-4), "the softmax is over the products as they are, none divided.")


@EXERCISES.add("grid 1.3")
def by_the_relation(answer) -> None:
    """RMTS, answered from the relation alone."""
    problems = make_problems("rmts", m=95, seed=1, test_size=100).test
    codes = 4 * torch.randn(100, 128, generator=torch_rng(1, "codes"))
    relations = CoRelNet(features=128, classes=2, length=6).relate(codes[problems.ids]).detach()
    right = [
        int(number(answer(each.clone()))) == place
        for each, place in zip(relations, problems.answers.tolist(), strict=True)
    ]
    require(
        all(right),
        f"{sum(right)} of {len(right)} problems are right; look below the diagonal for pairs that are the same.",
    )


@EXERCISES.add("grid 1.4")
def even_start(answer) -> None:
    """Two maps that start as one."""
    with seeded(1, "even start"):
        network = build_core("abstractor learned", "rmts", features=128, classes=2, length=6)
    copy, before = changed_copy(answer, network)
    require(getattr(copy, "key", None) is not None, "keep both maps: query and key.")
    require(near(copy.key.weight, copy.query.weight, 1e-6), "both maps start with the same numbers.")
    require(copy.key is not copy.query, "they have to be free to part: two layers, not one.")
    same_but(before, copy, "key")


@EXERCISES.add("grid 2.1")
def score_of_curves(answer) -> None:
    """The protocol's score of curves."""
    for last, fitted in ((0.4, 0.01), (0.075, 0.071)):
        require(near(number(answer(last, last, fitted)), 0, 1e-6), "the error of the last value scores 0.")
        require(near(number(answer(fitted, last, fitted)), 1, 1e-6), "that of the fitted curve scores 1.")
        for error in (2 * last, last / 3, fitted / 2):
            given = number(answer(error, last, fitted))
            expected = math.log(last / error) / math.log(last / fitted)
            hint = "S goes evenly with the logarithm of the error, and is not clipped"
            require(near(given, expected, 1e-4), f"{hint}: {expected:.2f} here, not {given:.2f}.")


@EXERCISES.add("grid 2.2")
def kept(answer) -> None:
    """How much of a signal an exchange leaves."""
    before = 3 + torch.randn(300, 5, generator=torch_rng(1, "signals"))
    fresh = 3 + 2 * torch.randn(300, 5, generator=torch_rng(2, "signals"))
    for share in (0.0, 0.3, 1.0):
        after = (1 - share) * before + share * fresh
        expected = 1 - float((after - before).square().sum(1).mean() / apart(before, after))
        given = float(answer(before.clone(), after.clone()))
        require(
            abs(given - expected) < 0.05,
            f"where {share:.0%} of each signal is new, {expected:.2f} is kept, not {given:.2f}.",
        )


def apart(before: torch.Tensor, after: torch.Tensor) -> torch.Tensor:
    """Mean squared distance of a problem before from any problem after."""
    return torch.cdist(before, after).square().mean()


@EXERCISES.add("grid 2.3")
def paired_interval(answer) -> None:
    """An interval for what a wall brings, seed by seed."""
    rng = numpy_rng(1, "scores")
    for seeds in (5, 8):
        level = rng.normal(0.5, 0.2, seeds)  # seeds that are hard are hard for both
        one = {seed: float(level[seed - 1] + rng.normal(0.2, 0.05)) for seed in range(1, seeds + 1)}
        other = {seed: float(level[seed - 1]) for seed in range(2, seeds + 1)}
        low, high = pair(answer(dict(one), dict(other)), "return two numbers, the lower and the upper end.")
        expected = student(np.array([one[seed] - other[seed] for seed in other]))
        middle, hint = (number(low) + number(high)) / 2, ""
        if near(middle, -sum(expected) / 2, 2e-3):
            hint = "take the score with the wall less the one without."
        elif not near(middle, sum(expected) / 2, 2e-3):
            hint = "pair the seeds that both have, and take the mean of their differences."
        elif not near([low, high], expected, 2e-3):
            hint = (
                "the middle is right; half the width is Student's t for n - 1 degrees of freedom, times the "
            )
            hint += "standard deviation with n - 1 below, over the root of n."
        said = (
            f"from {expected[0]:.3f} to {expected[1]:.3f}, not from {number(low):.3f} to {number(high):.3f}"
        )
        require(not hint, f"{said}: {hint}")


def student(values: np.ndarray) -> tuple[float, float]:
    """The ends of a 95 % interval for a mean."""
    return stats.t.interval(0.95, len(values) - 1, values.mean(), stats.sem(values))


@EXERCISES.add("grid 2.4")
def ranks_within(answer) -> None:
    """A correlation of ranks within tasks."""
    rng = numpy_rng(1, "kinds of networks")
    for sizes in ((4, 9), (5, 7, 12)):
        tasks = {}
        for place, size in enumerate(sizes):
            signal = rng.normal(3 * place, 1, size)
            noisy = (-1) ** place * signal + rng.normal(0, 0.7, size) + 5 * place
            tasks[f"task {place + 1}"] = [(float(x), float(y)) for x, y in zip(signal, noisy, strict=True)]
        given = number(answer({name: list(own) for name, own in tasks.items()}))
        ranks = np.concatenate([centred_ranks(np.array(own)) for own in tasks.values()])
        expected = float(np.corrcoef(ranks.T)[0, 1])
        hint = (
            "rank within each task, take off the task's mean rank, divide by how many it has, then join all"
        )
        require(near(given, expected, 2e-3), f"{hint}: {expected:.2f}, not {given:.2f}.")
