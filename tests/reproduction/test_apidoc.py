"""How the API pages lay out docstrings and signatures."""

from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor

from mini_lib.kanerva.memory import ReadResult, write_item
from mini_lib.reproduction.apidoc import call, entries, fields, lay_out, mend, parameters, typed
from mini_lib.scan import Split

DOC = """Write codes to `Split`.

    More, which is in the source.

    Letters: B memories.

    Args:
        dim, columns: D and M
            of each machine. They do not change.
        seed: of the start.

    >>> 1 + 1
    2"""


class Pair(NamedTuple):
    one: int
    other: str


def test_a_docstring_stays_whole_its_parameters_are_a_list_and_names_with_an_entry_are_links():
    lines = [line.removeprefix("    ") for line in DOC.split("\n")]
    lay_out(None, "function", "mini_lib.scan.f", None, {}, lines)
    assert lines == [
        "Write codes to :py:obj:`~mini_lib.scan.Split`.",
        "",
        "More, which is in the source.",
        "",
        "Letters: B memories.",
        "",
        "* ``dim``, ``columns``: D and M of each machine. They do not change.",
        "* ``seed``: of the start.",
        "",
        ">>> 1 + 1",
        "2",
        "",
    ]
    assert parameters([]) == []


def test_a_record_is_a_line_for_each_field():
    assert fields(ReadResult, {})[0] == "* ``codes`` [B, N, D]: mu_z = sum_i gamma_i R_i w_i."
    assert fields(ReadResult, {}, {"codes", "w"}) == [
        "* ``parts`` [B, N, K, D]: R_i w_i, the answer of each machine."
    ]
    assert mend(None, "class", "C", Pair, {}, "(one: int, other: str)", None) == ("", None)
    assert mend(None, "attribute", "a", 1, {}, None, None) == (None, None)


def test_a_signature_shows_shapes_defaults_and_classes_that_have_an_entry():
    known = {ReadResult: "mini_lib.ReadResult"}
    assert typed(Float[Tensor, "*B K"] | None, known) == "[..., K]"
    assert typed(tuple[ReadResult, ...], known) == "tuple[mini_lib.ReadResult, ...]"
    assert typed(int | str, known) == ""
    arguments, returned = call(write_item, known)
    assert arguments.startswith(
        "(state, z: [B, D], w: [B, K, M], weights, coupling='product', psi: [..., K] = None"
    )
    assert returned is None or returned.startswith("tuple")


def test_the_pages_have_entries_by_the_names_that_they_are_imported_by():
    assert entries()[Split] == "mini_lib.scan.Split"
