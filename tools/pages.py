"""Write the book's generated pages into book/generated: `python tools/pages.py`."""

from pathlib import Path

from mini_lib.reproduction import ledger
from mini_lib.reproduction.cells import PAPERS
from mini_lib.reproduction.gallery import write_gallery
from mini_lib.reproduction.grid.page import write_page
from mini_lib.reproduction.pages import write_pages
from mini_lib.reproduction.records import Records

FOLDER = Path("book/generated")

if __name__ == "__main__":
    records = Records()
    ledgers = [(title, ledger.load(paper)) for paper, title in PAPERS.items()]
    pages = [*write_pages(FOLDER, records), write_page(FOLDER, records)]
    pages.append(write_gallery(FOLDER, Path(), ledgers))
    for old in {*FOLDER.glob("*.md")} - {*pages}:
        old.unlink()
    print(*pages, sep="\n")
