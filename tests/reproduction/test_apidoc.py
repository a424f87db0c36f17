"""What the API pages leave out of docstrings, and what they keep."""

from typing import NamedTuple

from mini_lib.reproduction.apidoc import mend, parameters, shorten
from mini_lib.scan import SyntacticAttention

DOC = """Write codes.

    More, which is in the source.

    Letters: B memories.

    Args:
        dim, columns: D and M
            of each machine.
        seed: of the start.

    >>> 1 + 1
    2"""


class Pair(NamedTuple):
    one: int
    other: str


def test_first_paragraph_letters_examples_and_parameters_stay():
    lines = [line.removeprefix("    ") for line in DOC.split("\n")]
    shorten(None, "function", "f", None, None, lines)
    assert lines == [
        "Write codes.",
        "",
        "Letters: B memories.",
        "",
        ">>> 1 + 1",
        "2",
        "",
        "* ``dim``, ``columns``: D and M of each machine.",
        "* ``seed``: of the start.",
        "",
    ]
    assert parameters([]) == []
    alias = ["Alias for field number 4"]
    shorten(None, "attribute", "f", None, None, alias)
    assert not any(alias)


def test_a_class_shows_its_own_signature_and_a_record_its_names():
    shown, _ = mend(None, "class", "C", SyntacticAttention, None, "(*args: object, **kwargs: object)", None)
    assert shown.startswith("(words: int = 16, actions: int = 8")
    assert mend(None, "class", "C", Pair, None, "(one: int, other: str)", None) == ("(one, other)", None)
    assert mend(None, "function", "f", None, None, "(x: int)", "int") == ("(x: int)", "int")
