"""The gallery shows every figure of the papers that a chapter draws, and no other."""

import base64
import io
import json
from pathlib import Path

import pytest
from PIL import Image

from mini_lib.reproduction import gallery, ledger
from mini_lib.reproduction.cells import PAPERS

ROOT = Path(__file__).parents[2]
LEDGERS = [(title, ledger.load(paper)) for paper, title in PAPERS.items()]


def png(width: int) -> str:
    made = io.BytesIO()
    Image.new("RGB", (width, 10), "red").save(made, "PNG")
    return base64.b64encode(made.getvalue()).decode()


def figure(*widths: int, finding: str = "So it is.") -> str:
    panels = (f'<img src="data:image/png;base64,{png(width)}" alt="x">' for width in widths)
    return "".join([*panels, f"<strong>{finding}</strong>"])


def cell(*tags: str, shows: tuple[str, ...] = ()) -> dict:
    outputs = [{"output_type": "display_data", "data": {"text/html": [html]}} for html in shows]
    return {"cell_type": "code", "metadata": {"tags": list(tags)}, "source": [], "outputs": outputs}


@pytest.fixture
def chapter(tmp_path):
    """Write a notebook of these cells as a chapter of the ESBN."""
    (tmp_path / "notebooks" / "esbn").mkdir(parents=True)

    def write(*cells: dict, name: str = "1_a") -> Path:
        path = tmp_path / "notebooks" / "esbn" / f"{name}.ipynb"
        path.write_text(json.dumps({"cells": list(cells), "metadata": {}}), encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize(("panels", "wide"), [((40, 50), 90), ((40, 50, 60, 30), 90), ((70,), 70)])
def test_a_figure_is_what_its_cell_shows_last_with_its_light_panels_side_by_side(chapter, panels, wide):
    dark = f"""<img src="data:image/png;base64,{png(99)}" alt="" width="50" class='dark'"""
    last = cell(
        "figure-9", shows=(figure(30, finding="first"), dark + figure(*panels, finding="<em>last</em>"))
    )
    drawn = gallery.drawn_in(chapter(last, cell("hide-input")), "p.ipynb")
    assert list(drawn) == ["figure-9"]
    picture = drawn["figure-9"].picture
    assert picture.getpixel((0, picture.height - 1)) == (255, 0, 0, 255)  # the last row is at the bottom
    assert picture.width == wide + gallery.GAP * (len(panels) > 1)
    assert drawn["figure-9"].finding == "<em>last</em>"


def test_a_figure_that_is_drawn_twice_is_refused(chapter, tmp_path):
    for name in ("1_a", "2_b"):
        chapter(cell("figure-9", shows=(figure(9),)), name=name)
    with pytest.raises(ValueError, match="two chapters draw figure-9"):
        gallery.write_gallery(tmp_path / "made", tmp_path, LEDGERS)


def test_a_card_has_its_picture_its_finding_and_a_link_to_its_cell(chapter, tmp_path):
    papers = cell("figure-4", "figure-5", shows=(figure(2000, finding="All learn."),))
    chapter(papers, cell("figure-own-sure", shows=(figure(9),)), name="4_keys")
    page = gallery.write_gallery(tmp_path / "made", tmp_path, LEDGERS).read_text(encoding="utf-8")
    assert page.count(":::{div} gallery-entry") == 2  # one of them for both figures
    assert ">Figures 4 and 5. Training accuracy" in page
    assert "../../notebooks/esbn/4_keys.html#figure-4" in page
    assert "<p>All learn.</p>" in page
    assert '#figure-own-sure">So it is.</a>' in page
    with Image.open(tmp_path / "made" / "gallery" / "esbn-figure-4.png") as small:
        assert small.width == gallery.WIDTH
    lacking = [row for _, book in LEDGERS for row in book.rows if row.undrawn]
    assert lacking
    assert all(f"- {row.number}. {row.what} {row.undrawn}" in page for row in lacking)


@pytest.mark.parametrize("book", [book for _, book in LEDGERS], ids=lambda book: book.paper)
def test_every_figure_or_panel_of_a_paper_is_drawn_by_one_cell_or_its_lack_explained(book):
    paths = (ROOT / "notebooks" / book.paper).glob("*.ipynb")
    drawn = [tag for path in paths for tag in gallery.drawn_in(path, path.name)]
    assert len(set(drawn)) == len(drawn)
    papers = {tag for tag in drawn if not tag.startswith(gallery.OWN)}
    assert papers == {gallery.tag_of(row) for row in gallery.figure_rows(book) if not row.undrawn}
