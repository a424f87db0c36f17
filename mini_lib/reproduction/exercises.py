"""Exercises with a check: a reader writes a function, and `check` compares what it returns with what is expected."""

import copy
import re
from collections.abc import Callable, ItemsView, Iterable, Iterator, KeysView, Mapping, Set, ValuesView
from typing import Any

import numpy as np
import torch

LONG = 90  # characters of a value that are shown at most
RIGHT = "✓ Right."
MUTABLE = (list, dict, set, np.ndarray, torch.Tensor, torch.nn.Module)  # a function must not change these

Cases = Mapping[Any, Any] | Iterable[tuple[Any, Any]]


def check(function: Callable, cases: Cases, atol: float = 1e-5) -> None:
    """Print whether a function returns what is expected, or what is missing; it never raises for a wrong answer.

    Args:
        function: the reader's. It receives copies, and must not change what it is given.
        cases: what it is given, and what it should then return, as a dict or as pairs. Several arguments are a
            tuple. Numbers are compared with a tolerance, whether they are tensors, arrays, or in lists; networks by
            their parameters. Where many answers are right, a function takes the place of the expected value: it
            receives what was returned, and returns a sentence that says what is missing, or None.
        atol: absolute tolerance of numbers.
    """
    print(verdict(function, cases, atol))


def verdict(function: Callable, cases: Cases, atol: float = 1e-5) -> str:
    """What `check` prints."""
    if not callable(function) or isinstance(function, torch.nn.Module):
        return "✗ Give the function itself, without parentheses."
    for given, expected in cases.items() if isinstance(cases, Mapping) else cases:
        arguments = given if isinstance(given, tuple) else (given,)
        passed = [_copy(each) for each in arguments]
        try:
            result = function(*passed)
            if isinstance(result, Iterator | KeysView | ValuesView | ItemsView):
                result = list(result)
        except NotImplementedError:
            return "○ Not written yet."
        except (Exception, SystemExit) as error:  # the reader's own code may raise anything
            return f"✗ Your code stopped: {type(error).__name__}: {error}"
        if result is None and expected is not None:
            return "✗ Not yet: your function returned None; return something."
        try:
            if any(map(_changed, passed, arguments)):
                return "✗ Not yet: your function changes what it is given; change a copy (copy.deepcopy)."
            wrong = expected(result) if _is_test(expected) else difference(result, expected, atol)
        except Exception as error:  # what is returned may be anything
            return f"✗ Your answer has a form that cannot be compared: {type(error).__name__}: {error}"
        if wrong:
            return f"✗ Not yet: {wrong}" if _is_test(expected) else f"✗ Not yet: {_for(arguments)}{wrong}"
    return RIGHT


def difference(given: Any, expected: Any, atol: float = 0.0) -> str | None:
    """Say how a value differs from the expected one; None where it does not."""
    if isinstance(expected, torch.nn.Module):
        return difference(dict(given.state_dict()), dict(expected.state_dict()), atol)
    if isinstance(expected, Mapping):
        if not isinstance(given, Mapping) or given.keys() != expected.keys():
            return f"the keys should be {_short(list(expected))}; yours is {_short(given)}."
        return _first(((name, given[name], each) for name, each in expected.items()), atol)
    numbers = _numbers(expected)
    if numbers is not None:
        own = _numbers(given)
        if own is not None and own.shape != numbers.shape:
            return f"the shape should be {list(numbers.shape)}; yours is {list(own.shape)}."
        counts = torch.equal(numbers, numbers.round())  # whole numbers are compared exactly, however large
        rtol = 0.0 if counts else min(atol, 1e-5)
        same = own is not None and torch.allclose(own, numbers, rtol=rtol, atol=atol, equal_nan=True)
    elif isinstance(expected, list | tuple) and not isinstance(given, str | Set | Mapping):
        given = list(given)
        if len(given) != len(expected):
            return f"there should be {len(expected)} values; yours has {len(given)}: {_short(given)}."
        return _first(zip(range(len(given)), given, expected, strict=True), atol)
    else:
        same = given is expected or bool(given == expected)
    return None if same else f"it should be {_short(expected)}; yours gives {_short(given)}."


def _first(parts: Iterable[tuple[Any, Any, Any]], atol: float) -> str | None:
    """The first part that differs, of places, given values and expected ones."""
    wrong = ((place, difference(given, expected, atol)) for place, given, expected in parts)
    return next((f"at {place!r} {why}" for place, why in wrong if why), None)


def _numbers(value: Any) -> torch.Tensor | None:
    """Numbers of any form as doubles; None for what is none, such as a string or True."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):  # of tensors, too
        value = [each.tolist() if isinstance(each, np.ndarray | torch.Tensor) else each for each in value]
    if isinstance(value, bool | str | Set | Mapping) or value is None:
        return None
    try:
        return torch.as_tensor(value, dtype=torch.float64).detach()
    except (TypeError, ValueError, RuntimeError):
        return None


def _is_test(expected: Any) -> bool:
    return callable(expected) and not isinstance(expected, torch.nn.Module | type)


def _changed(value: Any, before: Any) -> bool:
    """Whether a value differs from what it was, if copies of it do not differ anyway."""
    return (
        isinstance(value, MUTABLE)
        and bool(difference(value, before))
        and not difference(_copy(before), before)
    )


def _copy(value: Any) -> Any:
    return value.clone_state() if isinstance(value, torch.Generator) else copy.deepcopy(value)


def _short(value: Any) -> str:
    text = " ".join(repr(value.tolist() if hasattr(value, "tolist") else value).split())
    text = re.sub(r"\d+\.\d{6,}", lambda number: f"{float(number[0]):.6g}", text)
    return text if len(text) <= LONG else f"{text[:LONG]}…"


def _for(arguments: tuple) -> str:
    """The arguments in words, where they are short."""
    text = ", ".join(map(_short, arguments))
    text = f"({text})" if len(arguments) > 1 else text
    return f"for {text} " if text and len(text) <= LONG else ""
