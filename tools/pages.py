"""Write the book's generated pages into book/generated: `python tools/pages.py`."""

from pathlib import Path

from mini_lib.reproduction import ledger
from mini_lib.reproduction.cells import PAPERS
from mini_lib.reproduction.gallery import write_gallery
from mini_lib.reproduction.pages import write_pages
from mini_lib.reproduction.records import Records

FOLDER = Path("book/generated")

if __name__ == "__main__":
    pages = write_pages(FOLDER, Records())
    ledgers = [(title, ledger.load(paper)) for paper, title in PAPERS.items()]
    print(*pages, write_gallery(FOLDER, Path(), ledgers), sep="\n")
