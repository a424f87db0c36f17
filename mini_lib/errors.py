"""Error messages that say what to do next.

A name that is not there, a number that cannot be, input of the wrong kind raise `UsageError`, and the message says
what would be right. So a docstring has `Raises` only where there is more to know. What a network's `forward` gets
is not looked at, since that would take time in every update: a tensor of another shape or type ends in PyTorch's own
error. Every name that a user can mistype (a table, a model, an image source) is answered by `unknown_name_error`, so
that all parts of the library speak of a wrong name in the same words.
"""

import difflib
from collections.abc import Iterable
from numbers import Integral


class UsageError(ValueError):
    """Invalid input; the message says what is valid. The command exits with 2."""


class CorruptFileError(ValueError):
    """A file is not what it should be; the message names it and says what to do. The command exits with 1."""


INTERRUPTED = "mini-lib: interrupted; `mini-lib reproduce` goes on where it was when it is run again"
INTERRUPTED_STATUS = 130  # the exit status that typer gives an interrupt
LISTED = 20  # so many names are all printed
MOST_ALIKE = 6  # of a longer list, since a wall of names hides the suggestion


def unknown_name_error(kind: str, name: object, known: Iterable[str]) -> UsageError:
    """Build the error for a name that does not exist; the caller raises it.

    >>> unknown_name_error("model", "lsmt", known=["esbn", "lstm"])
    UsageError("unknown model 'lsmt'; did you mean 'lstm'? known: esbn, lstm")
    """
    names = [str(each) for each in known]
    nearest = _most_alike(str(name), names, n=1, cutoff=0.6)
    hint = f"; did you mean {nearest[0]!r}?" if nearest else ";"
    rest = f", and {len(names) - MOST_ALIKE} more" if len(names) > LISTED else ""
    shown = _most_alike(str(name), names, n=MOST_ALIKE, cutoff=0) if rest else names
    listed = ("; " if any("," in each for each in shown) else ", ").join(shown) or "none"
    return UsageError(f"unknown {kind} {str(name)!r}{hint} known: {listed}{rest}")


def check_names(kind: str, names: Iterable[object], known: Iterable[str]) -> None:
    """Raise the error of `unknown_name_error` for the first of the names that is not known."""
    known = list(known)
    for name in names:
        if name not in known:
            raise unknown_name_error(kind, name, known)


def check_whole(**numbers: object) -> None:
    """UsageError unless all of these, given by name, are whole numbers from 1; NumPy's are as good as Python's."""
    for name, value in numbers.items():
        if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
            raise UsageError(f"{name} has to be a whole number from 1, got {value!r}")


def _most_alike(name: str, names: list[str], n: int, cutoff: float) -> list[str]:
    """The known names that look most like `name`, upper and lower case aside, the nearest first; `n` at most."""
    by_lower = {each.lower(): each for each in names}
    return [by_lower[each] for each in difflib.get_close_matches(name.lower(), by_lower, n, cutoff)]
