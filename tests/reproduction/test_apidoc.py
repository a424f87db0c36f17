"""How the API pages lay out docstrings and signatures, and what is mended in the HTML of all pages."""

from jaxtyping import Float
from torch import Tensor

from mini_lib.kanerva.memory import ReadResult, write_item
from mini_lib.reproduction.apidoc import call, entries, fields, lay_out, mend, typed
from mini_lib.reproduction.html import mend as mend_html
from mini_lib.scan import Split

DOC = """Write codes to `Split`.

    Args:
        dim, columns: D and M
            of each machine: fixed.
        seed: of the start.

    >>> len("ab")
    2"""
LAID_OUT = """Write codes to :py:obj:`~mini_lib.scan.Split`.

* ``dim``, ``columns``: D and M of each machine: fixed.
* ``seed``: of the start.

>>> len("ab")
2
"""


def test_a_docstring_stays_whole_its_parameters_are_a_list_and_names_with_an_entry_are_links():
    assert entries()[Split] == "mini_lib.scan.Split"  # the name that it is imported by
    lines = [line.removeprefix("    ") for line in DOC.split("\n")]
    lay_out(None, "function", "mini_lib.scan.f", None, {}, lines)
    assert "\n".join(lines) == LAID_OUT


def test_a_record_is_a_line_for_each_field_and_has_no_signature():
    first, *_ = fields(ReadResult, {}, {"w"})
    assert first == "* ``codes`` [B, N, D]: mu_z = sum_i gamma_i R_i w_i."
    assert "``codes``" not in "".join(fields(ReadResult, {}, {"codes"}))
    assert mend(None, "class", "C", ReadResult, {}, "(codes, w)", None) == ("", None)


def test_a_signature_shows_shapes_defaults_and_classes_that_have_an_entry():
    known = {ReadResult: "mini_lib.ReadResult"}
    assert typed(Float[Tensor, "*B K"] | None, known) == "[..., K]"
    assert typed(tuple[ReadResult, ...], known) == "tuple[mini_lib.ReadResult, ...]"
    assert typed(int | str, known) == ""
    arguments, _ = call(write_item, known)
    assert arguments.startswith("(state, z: [B, D], w: [B, K, M], weights, coupling='product', psi: [..., K]")


def test_signatures_are_no_lists_citations_have_no_labels_and_figures_have_a_place():
    bracket = '<span class="fn-bracket">{}</span>'.format
    label = f'<span class="label">{bracket("[")}<a href="#id3">BBW+18</a>{bracket("]")}</span>'
    mended = {
        "<dl>\n<dd>a,</dd>\n</dl>": '<span class="sig-line">a,</span>\n',
        f'<div role="list" class="citation">\n{label}\n<p>Jasmijn': '<div class="citation">\n<p>Jasmijn',
        '<div class="cell tag_figure-3D tag_figure-own-map docutils">x</div>': '<div id="figure-3D" class="cell'
        ' tag_figure-3D tag_figure-own-map docutils"><span id="figure-own-map"></span>x</div>',
    }
    for written, expected in mended.items():
        context = {"body": written}
        mend_html(None, None, None, context, None)
        assert context["body"] == expected
