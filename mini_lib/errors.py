"""Error messages that say what to do next.

Constructors and public functions validate their arguments, and `forward` its tensors, with `UsageError`.
"""

import difflib
import math
import sys
from collections.abc import Iterable
from numbers import Integral, Real


class UsageError(ValueError):
    """Invalid input; the message says what is valid. The command exits with 2."""


class CorruptFileError(ValueError):
    """A file is not what it should be; the message names it and says what to do. The command exits with 1."""


INTERRUPTED = "mini-lib: interrupted; `mini-lib reproduce` goes on where it was when it is run again"
INTERRUPTED_STATUS = 130  # the exit status that typer gives an interrupt
MAX_LISTED = 20  # names in a message; of a longer list only the nearest are shown


def unknown_name_error(kind: str, name: object, known: Iterable[str]) -> UsageError:
    """Build the error for a name that does not exist; the caller raises it.

    >>> unknown_name_error("model", "lsmt", known=["esbn", "lstm"])
    UsageError("unknown model 'lsmt'; did you mean 'lstm'? known: esbn, lstm")
    """
    by_lower = {str(each).lower(): str(each) for each in known}
    close = difflib.get_close_matches(str(name).lower(), by_lower, n=1)
    hint = f"; did you mean {by_lower[close[0]]!r}?" if close else ";"
    many = len(by_lower) > MAX_LISTED
    nearest = difflib.get_close_matches(str(name).lower(), by_lower, n=6, cutoff=0) if many else by_lower
    shown = [by_lower[each] for each in nearest]
    rest = f", and {len(by_lower) - len(shown)} more" if len(by_lower) > len(shown) else ""
    listed = ("; " if any("," in each for each in shown) else ", ").join(shown) or "none"
    return UsageError(f"unknown {kind} {str(name)!r}{hint} known: {listed}{rest}")


def check_names(kind: str, names: Iterable[object], known: Iterable[str]) -> None:
    """Raise the error of `unknown_name_error` for the first of the names that is not known."""
    known = list(known)
    for name in names:
        if name not in known:
            raise unknown_name_error(kind, name, known)


def check_positive_int(**numbers: object) -> None:
    """UsageError unless every keyword is a positive integer; NumPy's integers count, booleans do not."""
    for name, value in numbers.items():
        if not is_int(value) or value < 1:
            raise UsageError(f"{name} has to be a positive integer, got {value!r}")


def check_positive(**numbers: object) -> None:
    """UsageError unless every keyword is a finite number above 0; NumPy's numbers count, booleans do not."""
    for name, value in numbers.items():
        if not isinstance(value, Real) or isinstance(value, bool) or not 0 < value < math.inf:
            raise UsageError(f"{name} has to be a finite number above 0, got {value!r}")


def is_int(value: object) -> bool:
    """Whether this is an integer, Python's or NumPy's, and no boolean."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_finite(value: object) -> bool:
    """True for integers and finite floats, False for booleans and all else."""
    return (is_int(value) or isinstance(value, float)) and abs(value) <= sys.float_info.max
