"""The gallery: every figure of the papers as the chapters draw it, and where.

The cell of a notebook that draws the paper's "Figure 2A" has the tag "figure-2A", and so has its place on the page.
"""

import base64
import io
import json
import re
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from mini_lib.reproduction.ledger import Ledger, Row

MARK = "figure-"
OWN = "figure-own-"  # of a drawing that the paper does not have
WIDTH = 1200  # pixels of a picture, at most
GAP = 24  # pixels between panels
# Of the two pictures of a panel, that for a light page.
PICTURE = re.compile(r"""<img src="data:image/png;base64,([^"]+)"(?! alt="[^"]*" width="\d+" class='dark')""")
FINDING = re.compile(r"<strong>(.*?)</strong>", re.DOTALL)


@dataclass(frozen=True)
class Drawn:
    """A figure of a paper as a chapter draws it: of which notebook, which cell; and what it shows, as HTML."""

    page: str
    tag: str
    place: int
    picture: Image.Image
    finding: str


def figure_rows(ledger: Ledger) -> list[Row]:
    """The rows of a ledger that are drawn; of a figure with panels, the panels."""
    rows = [row for row in ledger.rows if tag_of(row)]
    tags = [tag_of(row) for row in rows]
    return [row for row in rows if not any(re.fullmatch(f"{tag_of(row)}[A-Z]", tag) for tag in tags)]


def tag_of(row: Row) -> str:
    """The tag of the cell that draws it; empty for what nobody draws."""
    found = re.fullmatch(r"Figure (\w+)", row.number)
    return MARK + found[1] if found else row.figure


def drawn_in(path: Path, page: str) -> Iterator[Drawn]:
    """The figures that a notebook draws, each with its tag."""
    for place, cell in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"]):
        for tag in cell["metadata"].get("tags", ()):
            if tag.startswith(MARK):
                yield Drawn(page, tag, place, *_last_picture(cell))


def _last_picture(cell: dict) -> tuple[Image.Image, str]:
    """The figure that a cell shows last, its panels side by side, and the finding beneath it."""
    for output in reversed(cell["outputs"]):
        shown = "".join(output.get("data", {}).get("text/html", ""))
        if pictures := PICTURE.findall(shown):
            return _side_by_side([base64.b64decode(each) for each in pictures]), FINDING.findall(shown)[-1]
    raise ValueError(f"a cell that should show a figure shows none; run the notebook: {cell['source']}")


def _side_by_side(panels: list[bytes]) -> Image.Image:
    """Panels, each a PNG, as one picture, in one row, or two to a row if there are four or more."""
    images = [Image.open(io.BytesIO(each)).convert("RGBA") for each in panels]
    columns = len(images) if len(images) < 4 else 2
    rows = [images[start : start + columns] for start in range(0, len(images), columns)]
    wide = max(sum(each.width + GAP for each in row) for row in rows) - GAP
    heights = [max(each.height for each in row) for row in rows]
    whole = Image.new("RGBA", (wide, sum(heights) + GAP * (len(rows) - 1)))
    top = 0
    for row, height in zip(rows, heights, strict=True):
        left = 0
        for each in row:
            whole.paste(each, (left, top + (height - each.height) // 2))
            left += each.width + GAP
        top += height + GAP
    return whole


def write_gallery(folder: Path, root: Path, ledgers: Iterable[tuple[str, Ledger]]) -> Path:
    """Write gallery.md and its pictures, from the repository `root`, into a folder, of each (title, ledger)."""
    shutil.rmtree(folder / "gallery", ignore_errors=True)
    (folder / "gallery").mkdir(parents=True)
    parts = [
        "# Gallery",
        "The figures of the four papers as this book draws them, under the papers' numbers, and then some of its"
        " own. Click a picture to enlarge or save it, or its title to see it in its chapter. The MIT license allows"
        " you to use them, in slides for example. The paper on function learning has no figures, so all of its"
        " drawings are ours.",
    ]
    for title, ledger in ledgers:
        rows = figure_rows(ledger)
        drawn: dict[str, Drawn] = {}
        for path in sorted((root / "notebooks" / ledger.paper).glob("*.ipynb")):
            for each in drawn_in(path, str(path.relative_to(root))):
                if drawn.setdefault(each.tag, each) is not each:
                    raise ValueError(f"two cells draw {each.tag}")
        cells: dict[tuple[str, int], list[Row]] = {}  # a card for each cell, also where it draws two figures
        for row in rows:
            if each := drawn.get(tag_of(row)):
                cells.setdefault((each.page, each.place), []).append(row)
        shown = [(drawn[tag_of(own[0])], own) for own in cells.values()]
        shown += [(each, []) for tag, each in drawn.items() if tag.startswith(OWN)]
        cards = []
        for each, own in shown:
            name = f"gallery/{ledger.paper}-{each.tag}.png"
            each.picture.thumbnail((WIDTH, WIDTH))  # no wider than a page shows it when it is enlarged
            each.picture.save(folder / name)
            cards.append(_card(own, each, name))
        if cards:
            parts += [f"## {title}", "::::{div} gallery", *cards, "::::"]
        if undrawn := [f"- {row.number}. {row.what} {row.undrawn}" for row in rows if row.undrawn]:
            parts += ["Not drawn:", "\n".join(undrawn)]
    page = folder / "gallery.md"
    page.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return page


def _card(rows: list[Row], drawn: Drawn, picture: str) -> str:
    """A picture, what is drawn with the paper's number, and what it shows; of our own drawings, the last alone."""
    link = f"../../{Path(drawn.page).with_suffix('.html')}#{drawn.tag}"
    numbers = [row.number.removeprefix("Figure ") for row in rows if row.number.startswith("Figure")]
    named = [f"Figure{'s' * (len(numbers) > 1)} {' and '.join(numbers)}."] if numbers else []
    what = rows and (rows[0].drawn or " ".join(row.what for row in rows))
    title = " ".join([*named, what or drawn.finding])
    alt = re.sub("<.*?>", "", title).replace("$", "")
    parts = [f'<button type="button" title="Enlarge">![{alt}]({picture})</button>']
    parts.append(f'**<a href="{link}">{title}</a>**')
    parts += dict.fromkeys(f"*{row.differs}*" for row in rows if row.differs)
    if rows:
        parts.append(f"<p>{drawn.finding}</p>")
    return ":::{div} gallery-entry\n" + "\n\n".join(parts) + "\n:::"
