"""The exercises of the ESBN chapters: what a right answer has to do."""

import math
from functools import cache
from itertools import combinations

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression

from mini_lib.datasets import glyphs
from mini_lib.esbn import analysis
from mini_lib.esbn.evaluation import predict
from mini_lib.esbn.tasks import Problems, TaskData, make_problems
from mini_lib.reproduction.exercises import Exercises, require
from mini_lib.weights import trained

EXERCISES = Exercises()


@cache
def some_problems(size: int = 60) -> TaskData:
    """Some of the problems of the stored network, as many of training as of the test."""
    made = make_problems("distribution_of_three", m=95, seed=1)
    train, test = (Problems(part.ids[:size], part.answers[:size]) for part in made[:2])
    return made._replace(train=train, test=test)


@cache
def some_keys() -> tuple[analysis.Keys, analysis.Keys]:
    """The stored network's keys for these problems."""
    network, _ = trained("esbn")
    return tuple(analysis.collect_keys(network, glyphs(), part) for part in some_problems()[:2])


def near(value, expected: float, what: str, within: float = 5e-4) -> None:
    """The answer is a number, and that number."""
    require(isinstance(value, float), "return one number, a float.")
    require(abs(value - expected) < within, f"{value:.3f} is not {what}.")


# ------------------------------------------------------------------------------------------------ chapter 1


@EXERCISES.add("esbn 1.1", lambda row2, choices: 0, lambda row2, choices: choices.index(row2[0]))
def half(answer) -> None:
    """A choice by row 2 alone."""
    test = some_problems(300).test
    hits = 0
    for problem, right in zip(test.ids.tolist(), test.answers.tolist(), strict=True):
        place = answer(problem[3:5], problem[5:])
        require(place in range(4), "return the place of a choice, 0, 1, 2 or 3.")
        require(
            problem[5 + place] not in problem[3:5],
            "you chose an object that stands in row 2; it cannot be the one that is missing there.",
        )
        hits += place == right
    require(
        0.4 < hits / len(test.answers) < 0.6, "about one in two should be right; choose among what is left."
    )


def ink(ids: torch.Tensor) -> np.ndarray:
    """How dark each image of a problem is: one number an image."""
    return (1 - glyphs()).mean(dim=(1, 2))[ids].numpy()


@cache
def matches() -> TaskData:
    """RMTS with five images in training, and 1,000 test problems."""
    return make_problems("rmts", m=95, seed=1, test_size=1000)


@EXERCISES.add(
    "esbn 1.2", lambda amounts: np.zeros(len(amounts), int), lambda amounts: amounts[:, 0] != amounts[:, 1]
)
def from_ink(answer) -> None:
    """RMTS from one number an image."""
    test = matches().test
    given = np.asarray(answer(ink(test.ids)))
    require(given.shape == (1000,), "return one answer a problem, [N].")
    right = 100 * np.mean(given == test.answers.numpy())
    require(right > 99, f"{right:.0f} % of the answers are right.")


@EXERCISES.add(
    "esbn 1.3",
    lambda n: dict.fromkeys(("AAA", "ABA", "ABB"), math.perm(n, 4) * 24),
    lambda n: {"AAA": 1440, "ABA": 2880, "ABB": 2880},
    lambda n: math.perm(n, 4) * 60,
)
def count(answer) -> None:
    """How many problems of identity rules there are."""
    given = {n: answer(n) for n in (4, 5, 6)}
    require(
        all(isinstance(each, dict) for each in given.values()), "return a dictionary, a number by pattern."
    )
    five = make_problems("identity_rules", m=95, seed=1, test_size=1).train.ids.unique(dim=0)
    pattern = torch.where(five[:, 0] != five[:, 2], 2, (five[:, 0] != five[:, 1]).int())
    for place, name in enumerate(("AAA", "ABA", "ABB")):
        there = (pattern == place).sum().item()
        for n, counts in given.items():
            expected = there * math.perm(n, 4) // math.perm(5, 4)
            require(
                counts.get(name) == expected, f"{n} images: {counts.get(name)} is not the number for {name}."
            )


def equal(ids: torch.Tensor) -> np.ndarray:
    """Which two images of a problem are equal, for every two steps."""
    return (
        np.stack([(ids[:, a] == ids[:, b]).numpy() for a, b in combinations(range(ids.shape[1]), 2)], 1) * 1.0
    )


@EXERCISES.add(
    "esbn 1.4", lambda table: table[:, 0], lambda table: table[:, 0] + table[:, 9], lambda table: table
)
def column(answer) -> None:
    """A column with which RMTS is a weighted sum."""
    scored = []
    for part in matches()[:2]:
        table = equal(part.ids)
        more = np.asarray(answer(table.copy()), dtype=float)
        require(more.shape == (len(table),), "return one number a problem, [N].")
        scored.append((np.column_stack([table, more]), part.answers.numpy()))
    right = 100 * LogisticRegression(max_iter=2000, C=100.0).fit(*scored[0]).score(*scored[1])
    require(right > 99, f"with your column the weighted sum has {right:.0f} % of new problems right.")


@EXERCISES.add(
    "esbn 1.5", lambda train, test, neighbours: (1.0, 0.25), lambda train, test, neighbours: (0.07, 0.32)
)
def same_relations(answer) -> None:
    """What a neighbour by pixels knows of relations."""
    made = make_problems("distribution_of_three", m=95, seed=1, test_size=400)
    train, test = made[:2]
    seen, asked = (glyphs()[part.ids][..., ::2, ::2].flatten(1) for part in (train, test))
    neighbours = torch.cdist(asked, seen).argmin(dim=1)
    given = answer(train, test, neighbours)
    require(isinstance(given, tuple) and len(given) == 2, "return a pair of numbers.")
    alike = torch.from_numpy((equal(test.ids) == equal(train.ids)[neighbours]).all(axis=1))
    near(given[0], alike.double().mean().item(), "the share of neighbours with the same relations")
    right = (train.answers[neighbours] == test.answers)[~alike]
    near(given[1], right.double().mean().item(), "the share of the others that is answered right")


# ------------------------------------------------------------------------------------------------ chapter 4


@EXERCISES.add("esbn 4.1", lambda *given: 1.0, lambda *given: 1 / 9 + 0.2)
def from_embeddings(answer) -> None:
    """The step, told from the values in memory."""
    network, images, data = trained("esbn")[0], glyphs(), some_problems()
    value = answer(network, images, *data[:2])
    with torch.no_grad():
        z, test_z = (network.embed(images, part.ids) for part in data[:2])
    expected = float(analysis.decode_steps(z, test_z)[0].mean())
    near(value, expected, "the share of test embeddings whose step is told right")


@EXERCISES.add("esbn 4.2", lambda keys, test_keys: 0.1, lambda keys, test_keys: 1.0)
def tenth(answer) -> None:
    """The step, told from the key that no object belongs to."""
    keys, test_keys = some_keys()
    value = answer(keys, test_keys)
    shares, _ = analysis.decode_steps(keys.written, test_keys.written)
    nine, _ = analysis.decode_steps(keys.written[:, :-1], test_keys.written[:, :-1])
    require(value != float(nine[-1]), "that is the ninth key; decode all ten.")
    near(value, float(shares[-1]), "the share of tenth keys told right")


@EXERCISES.add("esbn 4.3", lambda keys, test_keys: 1.0, lambda keys, test_keys: 0.0)
def largest_angle(answer) -> None:
    """How far the planes of the paper's text and code are apart."""
    value = answer(*some_keys())
    u, v = (analysis.fit_plane(*some_keys(), retrieved=flag).components_ for flag in (False, True))
    near(value, float(np.linalg.svd(u @ v.T)[1].min()), "the cosine of the largest angle", within=5e-6)


@EXERCISES.add("esbn 4.4", lambda *given: (1.0, 0.25), lambda *given: (3 / 5, 1.0), lambda *given: 0.6)
def three_of_a_kind(answer) -> None:
    """One object at all five places."""
    network, images = trained("esbn")[0], glyphs()
    triples = analysis.doubled_problems(some_problems().test_images, (0, 0, 0), size=60, seed=1)
    given = answer(network, images, triples)
    require(isinstance(given, tuple) and len(given) == 2, "return a pair of numbers.")
    early, right = map(float, given)
    require(
        abs(early - 3 / 5) < 0.01,
        f"the early share is not {early:.2f}: count the entries that hold A, and the early.",
    )
    expected = (predict(network, images, triples).argmax(dim=1) == triples.answers).double().mean().item()
    near(right, expected, "the share of problems answered right")


@EXERCISES.add(
    "esbn 4.5", lambda ids: lambda t, keys: keys, lambda ids: lambda t, keys: [keys[0] for _ in keys]
)
def counting(answer) -> None:
    """An edit of memory with which the network solves problems with an object that stands twice."""
    network, images, pool = trained("esbn")[0], glyphs(), some_problems().test_images
    for name, row in {"A B C": (0, 1, 2), "A A B": (0, 0, 1), "A B A": (0, 1, 0), "B A A": (1, 0, 0)}.items():
        given = analysis.doubled_problems(pool, row, size=50, seed=3)
        edit = answer(given.ids[:, :5].clone())
        with torch.no_grad():
            chosen = network.core.algorithm_1(network.embed(images, given.ids), edit).argmax(dim=1)
        right = 100 * (chosen == given.answers).double().mean().item()
        require(right > 90, f"with your edit the network solves {right:.0f} % of the problems {name}.")
