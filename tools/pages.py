"""Write the book's generated pages into book/generated: `python tools/pages.py`."""

from pathlib import Path

from mini_lib.reproduction import ledger
from mini_lib.reproduction.capacity import what_it_costs
from mini_lib.reproduction.cells import PAPERS, cells_of
from mini_lib.reproduction.gallery import write_gallery
from mini_lib.reproduction.grid.page import write_page
from mini_lib.reproduction.pages import write_pages
from mini_lib.reproduction.records import Records

FOLDER = Path("book/generated")

if __name__ == "__main__":
    records = Records()
    for old in FOLDER.glob("*.md"):
        old.unlink()
    pages = write_pages(FOLDER, records)
    costs = what_it_costs({title: cells_of(paper) for paper, title in PAPERS.items()}, records)
    (FOLDER / "what_it_costs.md").write_text(costs + "\n", encoding="utf-8")
    ledgers = [(title, ledger.load(paper)) for paper, title in PAPERS.items()]
    print(*pages, write_page(FOLDER, records), write_gallery(FOLDER, Path(), ledgers), sep="\n")
