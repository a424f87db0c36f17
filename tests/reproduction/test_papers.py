"""What a paper needs in the rest of the repository: the list for whoever adds one."""

from pathlib import Path

import pytest

from mini_lib.reproduction.cells import PAPERS, cells_of
from mini_lib.reproduction.tables import about

ROOT = Path(__file__).parents[2]
FILES = (
    *(f"mini_lib/{{}}/{name}" for name in ("__init__.py", "__init__.pyi", "tasks.py", "runs.py")),
    *(f"mini_lib/reproduction/{{}}/{name}" for name in ("__init__.py", "cells.py", "paper.toml")),
    *(f"mini_lib/reproduction/templates/{{}}.{kind}" for kind in ("toml", "md.j2")),
    *("mini_lib/reproduction/{}/tiny.json", "mini_lib/reproduction/records/{}.*"),
    *("tests/{}/__init__.py", "tests/{}/oracles.py"),
    *("notebooks/{}/1_*.ipynb", "book/parts/{}.md", "book/api/{}.md"),
)
MENTIONS = (  # what a file has to say; the title is the one in `PAPERS`
    ("mini_lib/__init__.pyi", "{paper} as {paper}"),
    ("mini_lib/hash_defaults.json", '"paper": "{paper}"'),
    ("mini_lib/reproduction/claims.json", '"id": "{paper}.'),
    ("mini_lib/reproduction/entries.json", '"{paper}": '),
    *(("mini_lib/reproduction/{paper}/paper.toml", each) for each in ("[numbered]", "[[row]]", "[[detail]]")),
    *(("book/_toc.yml", each) for each in ("generated/replication_{paper}", "parts/{paper}", "api/{paper}")),
    ("book/intro.md", "parts/{paper}.html"),
    ("book/glossary.md", "notebooks/{paper}/"),
    ("book/bibliography.md", "parts/{paper}.md"),
    ("Makefile", "{paper}/"),
    ("README.md", "{title}"),
    ("CITATION.cff", "{title}"),
)


@pytest.mark.parametrize("paper", PAPERS)
def test_everything_that_a_paper_needs_is_there(paper):
    missing = [each.format(paper) for each in FILES if not [*ROOT.glob(each.format(paper))]]
    for file, words in MENTIONS:
        path, said = ROOT / file.format(paper=paper), words.format(paper=paper, title=PAPERS[paper])
        if not path.is_file() or said not in path.read_text(encoding="utf-8"):
            missing.append(f"{path.relative_to(ROOT)}: {said}")
    assert not missing, "\n".join(missing)
    assert not [each.id for each in cells_of(paper) if ".table" in each.table and not about(each.table)]
