"""Exercises with a check: a reader writes an answer, and `check` says whether it is right, or what is missing.

Each paper has its exercises in a file of that name. `check("scan 4.1", answer)` finds exercise 1 of chapter 4 there.
"""

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from types import GeneratorType
from typing import Any

import numpy as np
import torch

from mini_lib.errors import check_names

NOTHING = "return something; your function returned None."


class NotYet(Exception):
    """What is missing in an answer, in a sentence for the reader."""


def require(holds: Any, hint: str) -> None:
    """NotYet with the hint, unless it holds."""
    if not holds:
        raise NotYet(hint)


class Stopped(Exception):
    """The reader's own code raised an error, the cause of this one."""


def guarded(answer: Callable) -> Callable:
    """The reader's function, whose own errors become Stopped, so that they are told from the examiner's."""

    @wraps(answer, updated=())
    def call(*given: Any) -> Any:
        try:
            result = answer(*given)
            return list(result) if isinstance(result, GeneratorType) else result
        except Exception as error:  # the reader's own code may raise anything
            raise Stopped from error

    return call


def numbers(given: Any) -> torch.Tensor:
    """Numbers as a tensor of doubles, whether they are given as a tensor, an array, a list or one number."""
    require(given is not None, NOTHING)
    if isinstance(given, np.ndarray):
        given = given.copy()  # torch knows no negative strides
    return torch.as_tensor(given, dtype=torch.float64).detach()


def near(given: Any, expected: Any, atol: float = 1e-5) -> bool:
    """Whether numbers have the expected shape and values; they may be of any type."""
    given, expected = numbers(given), numbers(expected)
    return given.shape == expected.shape and torch.allclose(given, expected, atol=atol)


def number(given: Any) -> float:
    """One number of any type; NotYet for something else."""
    try:
        return float(given)
    except (TypeError, ValueError, RuntimeError):
        raise NotYet("return one number.") from None


def pair(given: Any, hint: str) -> tuple[Any, Any]:
    """Two values, of a tuple, a list or an array; NotYet with the hint for something else."""
    try:
        one, other = given
    except (TypeError, ValueError):
        raise NotYet(hint) from None
    return one, other


def state_of(network: torch.nn.Module) -> dict[str, torch.Tensor]:
    """A copy of what a network holds, by name."""
    return {name: value.clone() for name, value in network.state_dict().items()}


def same_but(before: dict[str, torch.Tensor], network: torch.nn.Module, *names: str) -> None:
    """NotYet, unless a network holds what it did before, but for what begins with one of the names.

    Without names it is the network given to the reader, of which nothing may change.
    """
    now = network.state_dict()
    for name, value in before.items():
        if not name.startswith(names):
            same = name in now and torch.equal(numbers(now[name]), numbers(value))
            hint = (
                f"{name} has changed too." if names else "change a copy (copy.deepcopy), not what is given."
            )
            require(same, hint)


def changed_copy(answer: Callable, network: torch.nn.Module) -> tuple[Any, dict[str, torch.Tensor]]:
    """What the reader makes of a network, and what that held; NotYet if the given one was changed, or for None."""
    before = state_of(network)
    copy = answer(network)
    same_but(before, network)
    require(copy is not None, NOTHING)
    return copy, before


class Exercises(dict[str, Callable[[Any], None]]):
    """What examines the answers to a paper's exercises, by name: "scan 4.1" is exercise 1 of chapter 4.

    Each function raises NotYet for an answer that is not right; the right answer it finds out by itself.
    """

    def add(self, name: str) -> Callable:
        """Decorate the function that examines an answer."""

        def keep(examine: Callable[[Any], None]) -> Callable[[Any], None]:
            self[name] = examine
            return examine

        return keep


def find(name: str) -> Callable[[Any], None]:
    """What examines the answers to the exercise of that name; UsageError for none."""
    paper = name.partition(" ")[0]
    check_names("part", [paper], ("esbn", "scan", "functions", "kanerva", "grid"))
    exercises = import_module(f"mini_lib.reproduction.{paper}.exercises").EXERCISES
    check_names("exercise", [name], exercises)
    return exercises[name]


def check(name: str, answer: Any) -> None:
    """Print whether the answer to an exercise is right, or what is missing. It never raises for a wrong answer."""
    examine = find(name)
    try:
        called = isinstance(answer, torch.nn.Module)  # a network can be called, and is no answer
        require(callable(answer) and not called, "give the function itself, without parentheses.")
        examine(guarded(answer))
    except Stopped as stopped:
        error = stopped.__cause__
        if isinstance(error, NotImplementedError):
            print("○ Not written yet.")
        else:
            print(f"✗ Your code stopped: {type(error).__name__}: {error}")
    except NotYet as hint:
        print(f"✗ Not yet: {hint}")
    except Exception as error:  # what is returned may be anything
        print(
            f"✗ Your answer has a form that I cannot read: {type(error).__name__}: {error}\n"
            "  Look again at what is asked for."
        )
    else:
        print("✓ Right.")
