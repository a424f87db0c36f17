"""Runs in every kernel of the stored notebooks: where an exercise's check says "Right", wrong answers are tried too.

Each check has to refuse a function that returns None, one that returns nonsense, one that changes what it is given,
and one whose answer is a little off (where the expected values are data, and not a test of many right answers).
"""

import copy

import numpy as np
import torch

from mini_lib.reproduction import exercises


def spoiled(value):
    """A value that differs a little."""
    if isinstance(value, torch.nn.Module):
        other = copy.deepcopy(value)
        next(each for each in other.state_dict().values() if each.is_floating_point()).add_(0.01)
        return other
    if isinstance(value, torch.Tensor | np.ndarray):
        return ~value if value.dtype in (torch.bool, bool) else value + 1
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float | complex | np.number):
        return value + 1
    if isinstance(value, str):
        return value + "x"
    if isinstance(value, dict):
        name = next(reversed(value))
        return value | {name: spoiled(value[name])}
    if isinstance(value, set | frozenset):
        return value | {"x"}
    return [*value[:-1], spoiled(value[-1])] if len(value) else ["x"]


def change(value):
    """Change a value in place, if that can be done."""
    if isinstance(value, torch.nn.Module):
        next(each for each in value.state_dict().values() if each.is_floating_point()).add_(1)
    elif isinstance(value, torch.Tensor | np.ndarray):
        value[...] = spoiled(value)
    elif isinstance(value, list):
        value.append(1)
    elif isinstance(value, dict):
        value["x"] = 1
    elif isinstance(value, set):
        value.add("x")


def prove(function, cases, atol) -> None:
    """AssertionError for a check that accepts a wrong answer."""
    cases = list(cases.items() if isinstance(cases, dict) else cases)
    all_given = [each for given, _ in cases for each in (given if isinstance(given, tuple) else (given,))]

    def answers_none(*given):
        return None

    def answers_nonsense(*given):
        return "nonsense"

    def changes(*given):
        result = copy.deepcopy(function(*given))
        with torch.no_grad():
            list(map(change, given))
        return result

    def is_off(*given):
        result = function(*given)
        return spoiled(list(result) if hasattr(result, "__next__") else result)

    wrong = [answers_none, answers_nonsense]
    wrong += [changes] * any(isinstance(each, exercises.MUTABLE) for each in all_given)
    wrong += [is_off] * (not all(exercises._is_test(expected) for _, expected in cases))
    for answer in wrong:
        said = exercises.verdict(answer, cases, atol)
        assert said.startswith("✗"), f"the check of {function.__name__} accepts {answer.__name__}: {said}"


def proving(function, cases, atol=1e-5):
    """As `check`, which is proved where it accepts an answer."""
    cases = cases if isinstance(cases, dict) else list(cases)
    said = exercises.verdict(function, cases, atol)
    print(said)
    if said == exercises.RIGHT:
        prove(function, cases, atol)


exercises.check = proving
