"""Exercises: what a check says to a reader."""

from copy import deepcopy

import numpy as np
import pytest
import torch

from mini_lib.reproduction import exercises
from mini_lib.reproduction.exercises import RIGHT, verdict

NOT_YET = "✗ Not yet: "


def layer(bias: float) -> torch.nn.Linear:
    made = torch.nn.Linear(2, 1)
    torch.nn.init.constant_(made.weight, 1.0)
    torch.nn.init.constant_(made.bias, bias)
    return made


def unwritten(_):
    raise NotImplementedError


def positive(result):
    return None if result > 0 else "return a positive number."


@pytest.mark.parametrize(
    ("function", "cases"),
    [
        (lambda a, b: a + b, [((1, 2), 3), (([1], [2]), [1, 2])]),
        (lambda: 0.3 - 0.1, {(): 0.2}),
        (lambda n: np.float32(n / 3), {1: 1 / 3}),
        (lambda n: torch.tensor([n, 2 * n]), {1: [1, 2], 2: np.array([2.0, 4.0])}),
        (lambda n: (each for each in range(n)), {3: [0, 1, 2], 0: []}),
        (lambda n: None, {1: None}),
        (lambda n: {"a": [n, "b"]}, {1: {"a": [1, "b"]}}),
        (lambda n: 1e6 + 1, {1: 1e6 + 0.5}),  # equal in its last digits
        (lambda network: layer(2), [(layer(1), layer(2))]),
        (lambda n: n, {1: positive, 2: positive}),
        (lambda rng: torch.rand(1, generator=rng), 2 * [(torch.Generator().manual_seed(1), [0.75763154])]),
    ],
)
def test_a_right_answer_passes_in_whatever_type_its_numbers_are_kept(function, cases):
    assert verdict(function, cases) == RIGHT


def test_the_tolerance_is_absolute():
    assert [verdict(lambda n: n, {80.4: 80.1}, atol) == RIGHT for atol in (0.5, 0.2)] == [True, False]


@pytest.mark.parametrize(
    ("function", "cases", "said"),
    [
        (unwritten, {1: 1}, "○ Not written yet."),
        (lambda n: 1 / 0, {1: 1}, "✗ Your code stopped: ZeroDivisionError: division by zero"),
        (lambda n: None, {1: 1}, f"{NOT_YET}your function returned None; return something."),
        (lambda a, b: a, {(1, 2): 2}, f"{NOT_YET}for (1, 2) it should be 2; yours gives 1."),
        (lambda n: [1, 2], {1: [1]}, f"{NOT_YET}for 1 the shape should be [1]; yours is [2]."),
        (lambda n: "ab", {1: ["a", "b"]}, f"{NOT_YET}for 1 it should be ['a', 'b']; yours gives 'ab'."),
        (lambda n: ["a", "c"], {1: ["a", "b"]}, f"{NOT_YET}for 1 at 1 it should be 'b'; yours gives 'c'."),
        (
            lambda network, _: network,
            [((layer(1), "x" * 90), layer(2))],
            f"{NOT_YET}at 'bias' it should be [2.0]; yours gives [1.0].",
        ),
        (lambda n: -n, {1: positive}, f"{NOT_YET}return a positive number."),
        (lambda n: 80.4, {1: 80.1}, f"{NOT_YET}for 1 it should be 80.1; yours gives 80.4."),
    ],
)
def test_what_is_missing_is_said(function, cases, said, capsys):
    exercises.check(function, cases)
    assert capsys.readouterr().out.startswith(said)


@pytest.mark.parametrize(
    ("given", "change"),
    [
        ([1, 2], lambda given: given.append(3)),
        (np.zeros(2), lambda given: given.fill(1)),
        (torch.zeros(2), lambda given: given.add_(1)),
        (layer(1), lambda given: given.bias.data.add_(1e-4)),
    ],
)
def test_what_is_given_must_not_be_changed_and_is_a_copy(given, change):
    def in_place(given):
        result = deepcopy(given)
        change(given)
        return result

    cases = [(given, deepcopy(given))]
    assert verdict(in_place, cases).startswith(f"{NOT_YET}your function changes what it is given")
    assert verdict(deepcopy, cases) == RIGHT  # the next answer gets it unchanged
