"""The gallery shows every figure of the papers that a chapter draws, and no other."""

import base64
import io
import json
from pathlib import Path

import pytest
from PIL import Image

from mini_lib.reproduction import gallery, ledger
from mini_lib.reproduction.cells import PAPERS
from mini_lib.reproduction.html import name_figures

ROOT = Path(__file__).parents[2]
LEDGERS = [(title, ledger.load(paper)) for paper, title in PAPERS.items()]


def png(width: int, height: int = 10) -> str:
    made = io.BytesIO()
    Image.new("RGB", (width, height), "red").save(made, "PNG")
    return base64.b64encode(made.getvalue()).decode()


def cell(*tags: str, html: str = "") -> dict:
    outputs = [{"output_type": "display_data", "data": {"text/html": [html]}}] if html else []
    return {"cell_type": "code", "metadata": {"tags": list(tags)}, "source": [], "outputs": outputs}


def figure(width: int, finding: str) -> str:
    return f'<img src="data:image/png;base64,{png(width)}" alt="x"><strong>{finding}</strong>'


@pytest.fixture
def store(tmp_path):
    """Write a notebook of these cells as a chapter of the ESBN."""
    (tmp_path / "notebooks" / "esbn").mkdir(parents=True)

    def write(*cells: dict, name: str = "1_a") -> Path:
        made = {"cells": list(cells), "metadata": {}}
        path = tmp_path / "notebooks" / "esbn" / f"{name}.ipynb"
        path.write_text(json.dumps(made), encoding="utf-8")
        return path

    return write


def width(picture: bytes) -> int:
    return Image.open(io.BytesIO(picture)).width


def test_a_figure_is_what_its_cell_shows_last_with_all_panels_side_by_side(store):
    panels = [figure(each, "").split("<strong>")[0] for each in (40, 50)]
    dark = panels[1].replace('alt="x"', """alt="x" width="50" class='dark'""")
    last = cell("figure-9", html="".join([*panels, dark, "<strong><em>last</em></strong>"]))
    last["outputs"].insert(0, cell(html=figure(30, "first"))["outputs"][0])
    drawn = gallery.drawn_in(store(last, cell("hide-input")), "p.ipynb")
    assert list(drawn) == ["figure-9"]
    assert (width(drawn["figure-9"].picture), drawn["figure-9"].finding) == (
        40 + gallery.GAP + 50,
        "<em>last</em>",
    )


def test_four_panels_are_two_to_a_row():
    four = gallery._side_by_side([base64.b64decode(png(size)) for size in (40, 50, 60, 30)])
    assert width(four) == 60 + gallery.GAP + 30


def test_a_cell_that_was_not_run_is_named(store):
    with pytest.raises(ValueError, match=r"p.ipynb.*figure-9.*run the notebook"):
        gallery.drawn_in(store(cell("figure-9")), "p.ipynb")


def test_two_cells_for_one_figure_are_refused(store):
    path = store(cell("figure-9", html=figure(9, "a")), cell("figure-9", html=figure(9, "b")))
    with pytest.raises(ValueError, match="two cells"):
        gallery.drawn_in(path, "p.ipynb")


def test_the_page_links_to_the_cell_and_its_picture_can_be_enlarged(store, tmp_path):
    store(cell("figure-9", html=figure(2000, "Keys come back.")), name="4_keys")
    page = gallery.write_gallery(tmp_path / "made", tmp_path, LEDGERS).read_text(encoding="utf-8")
    assert page.count("gallery-entry") == 1
    assert "../../notebooks/esbn/4_keys.html#figure-9" in page
    assert "<p>Keys come back.</p>" in page
    small = (tmp_path / "made" / "gallery" / "esbn-figure-9.png").read_bytes()
    assert width(small) == gallery.WIDTH
    assert "](gallery/esbn-figure-9.png)</button>" in page


def test_a_cell_that_draws_two_figures_has_one_card_with_both_names(store, tmp_path):
    store(cell("figure-4", "figure-5", html=figure(2000, "All learn.")))
    page = gallery.write_gallery(tmp_path / "made", tmp_path, LEDGERS).read_text(encoding="utf-8")
    assert page.count(":::{div} gallery-entry") == 1
    assert ">Figures 4 and 5. Training accuracy" in page
    assert page.count("*With five objects") == 1


def test_what_is_no_figure_of_the_paper_says_what_is_drawn():
    row = ledger.Row("Results, error", "A formula.", "", "", drawn="A curve.", differs="Ours.")
    drawn = gallery.Drawn("p.ipynb", "figure-9", 1, b"", "So it is.")
    card = gallery._card([row], drawn, "p.png")
    assert ">A curve.</a>**\n\n*Ours.*\n\n<p>So it is.</p>\n" in card


def test_a_drawing_of_our_own_is_called_by_what_it_shows(store, tmp_path):
    store(cell("figure-own-sure", html=figure(9, "So it is.")))
    page = gallery.write_gallery(tmp_path / "made", tmp_path, LEDGERS).read_text(encoding="utf-8")
    assert page.count("So it is.") == 2, "title and description of the picture"
    assert '#figure-own-sure">So it is.</a>' in page


def test_two_chapters_for_one_figure_are_refused(store, tmp_path):
    for name in ("1_a", "2_b"):
        store(cell("figure-9", html=figure(9, "a")), name=name)
    with pytest.raises(ValueError, match="two chapters draw figure-9"):
        gallery.write_gallery(tmp_path / "made", tmp_path, LEDGERS)


def test_what_is_not_drawn_is_told_with_the_reason(store, tmp_path):
    store(cell("figure-9", html=figure(9, "a")))
    page = gallery.write_gallery(tmp_path / "made", tmp_path, LEDGERS).read_text(encoding="utf-8")
    lacking = [row for _, book in LEDGERS for row in book.rows if row.undrawn]
    assert lacking
    assert all(f"- {row.number}. {row.what} {row.undrawn}" in page for row in lacking)


def test_each_figure_of_a_cell_has_a_place_on_the_page():
    context = {
        "body": '<div class="cell tag_figure-3D tag_figure-own-map tag_hide-output docutils container">x</div>'
    }
    name_figures(None, "", "", context, None)
    assert '<div id="figure-3D" class="cell' in context["body"]
    assert '<span id="figure-own-map"></span>x' in context["body"]


def test_panels_stand_for_their_figure():
    rows = {row.number for row in gallery.figure_rows(ledger.load("kanerva"))}
    assert {"Figure 1C", "Figure 7A", "Figure 8"} <= rows
    assert not {"Figure 1", "Figure 7"} & rows


@pytest.mark.parametrize(("title", "book"), LEDGERS, ids=[book.paper for _, book in LEDGERS])
def test_every_figure_of_a_paper_is_drawn_or_its_lack_explained(title, book):
    drawn = set()
    for path in (ROOT / "notebooks" / book.paper).glob("*.ipynb"):
        tags = set(gallery.drawn_in(path, path.name))
        assert not tags & drawn, f"{title}: a second cell for {tags & drawn}"
        drawn |= tags
    rows = gallery.figure_rows(book)
    own = {tag for tag in drawn if tag.startswith(gallery.OWN)}
    assert drawn - own == {gallery.tag_of(row) for row in rows if not row.undrawn}
