"""Exercises with a check: a reader writes an answer, and `check` says whether it is right, or what is missing.

Each wing has its exercises in a file of that name. `check("scan 4.1", answer)` finds exercise 1 of chapter 4 there.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from mini_lib.errors import check_names


class NotYet(Exception):
    """What is missing in an answer, in a sentence for the reader."""


def require(holds: Any, hint: str) -> None:
    """NotYet with the hint, unless it holds."""
    if not holds:
        raise NotYet(hint)


@dataclass(frozen=True)
class Exercise:
    """One exercise.

    Attributes:
        examine: raises NotYet for an answer that is not right; also finds the right answer out by itself.
        wrong: answers that a reader might give and that must not pass; a test gives them.
    """

    examine: Callable[[Any], None]
    wrong: tuple = ()


class Exercises(dict):
    """The exercises of a wing by name, "scan 4.1": chapter 4, exercise 1."""

    def add(self, name: str, *wrong: Any) -> Callable:
        """Decorate the function that examines an answer."""

        def keep(examine: Callable[[Any], None]) -> Callable[[Any], None]:
            self[name] = Exercise(examine, wrong)
            return examine

        return keep


def find(name: str) -> Exercise:
    """The exercise of that name; UsageError for none."""
    wing = name.split()[0] if name else ""
    check_names("paper", [wing], ("esbn", "scan", "functions", "kanerva"))
    exercises = import_module(f"mini_lib.reproduction.{wing}.exercises").EXERCISES
    check_names("exercise", [name], exercises)
    return exercises[name]


def check(name: str, answer: Any) -> None:
    """Print whether the answer to an exercise is right, or what is missing. It never raises for a wrong answer."""
    exercise = find(name)
    try:
        exercise.examine(answer)
    except NotImplementedError:
        print("○ Not written yet.")
    except NotYet as hint:
        print(f"✗ Not yet: {hint}")
    except Exception as error:  # the reader's own code may raise anything
        print(f"✗ Your code stopped: {type(error).__name__}: {error}")
    else:
        print("✓ Right.")
