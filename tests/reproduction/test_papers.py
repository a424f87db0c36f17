"""What a paper needs in the rest of the repository: the list for whoever adds one."""

from pathlib import Path

import pytest

from mini_lib.reproduction.cells import PAPERS

ROOT = Path(__file__).parents[2]
FILES = (
    *(f"mini_lib/{{}}/{name}" for name in ("__init__.py", "__init__.pyi", "tasks.py", "runs.py")),
    *(f"mini_lib/reproduction/{{}}/{name}" for name in ("__init__.py", "cells.py", "paper.toml")),
    *(f"mini_lib/reproduction/templates/{{}}.{kind}" for kind in ("toml", "md.j2")),
    *("mini_lib/reproduction/{}/tiny.json", "mini_lib/reproduction/records/{}.*"),
    *("tests/{}/__init__.py", "tests/{}/oracles.py"),
    *("notebooks/{}/1_*.ipynb", "book/parts/{}.md", "book/api/{}.md"),
)
MENTIONS = {  # which file has to say what; the title is the one in `PAPERS`
    "mini_lib/__init__.pyi": "{paper} as {paper}",
    "mini_lib/hash_defaults.json": '"paper": "{paper}"',
    "mini_lib/reproduction/entries.json": '"{paper}": ',
    "book/_toc.yml": "file: book/generated/replication_{paper}",
    "README.md": "{title}",
    "CITATION.cff": "{title}",
}


@pytest.mark.parametrize("paper", PAPERS)
def test_everything_that_a_paper_needs_is_there(paper):
    missing = [each.format(paper) for each in FILES if not [*ROOT.glob(each.format(paper))]]
    for file, words in MENTIONS.items():
        said = words.format(paper=paper, title=PAPERS[paper])
        if said not in (ROOT / file).read_text(encoding="utf-8"):
            missing.append(f"{file}: {said}")
    assert not missing
