"""Write the book's generated pages into book/generated: `python tools/pages.py`."""

import tempfile
from pathlib import Path

from mini_lib.reproduction import ledger
from mini_lib.reproduction.cells import PAPERS
from mini_lib.reproduction.download import put
from mini_lib.reproduction.gallery import write_gallery
from mini_lib.reproduction.grid.page import write_page
from mini_lib.reproduction.pages import write_pages
from mini_lib.reproduction.records import Records

FOLDER = Path("book/generated")


def replace(folder: Path, made: Path) -> None:
    """Make the pages and pictures of a folder those of another."""
    files = [path.relative_to(made) for path in made.rglob("*.*")]
    for old in [*folder.glob("*.md"), *folder.glob("gallery/*")]:
        if old.relative_to(folder) not in files:
            old.unlink()
    for name in files:
        put(folder / name, (made / name).read_bytes())


if __name__ == "__main__":
    records = Records()
    ledgers = [(title, ledger.load(paper)) for paper, title in PAPERS.items()]
    with tempfile.TemporaryDirectory() as made:
        write_pages(Path(made), records)
        write_page(Path(made), records)
        write_gallery(Path(made), Path(), ledgers)
        replace(FOLDER, Path(made))
