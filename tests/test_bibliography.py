"""What the book cites can be found by a reader."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ENTRIES = re.split(r"(?m)^(?=@)", (ROOT / "book/references.bib").read_text())[1:]
PLACES = ("book/*.md", "book/parts/*.md", "notebooks/**/*.ipynb", "mini_lib/**/*.j2", "mini_lib/**/*.toml")
# Of these we know no lasting address: printed books and chapters, proceedings without one.
WITHOUT = {
    "raven1938progressive",
    "segert2022maximum",
    "kanerva1988sparse",
    "bishop2006pattern",
    "bartlett1932remembering",
    "chomsky1957syntactic",
}


def key(entry: str) -> str:
    return entry[entry.index("{") + 1 : entry.index(",")]


@pytest.mark.parametrize("entry", ENTRIES, ids=key)
def test_an_entry_says_where_to_find_it(entry):
    has_doi = re.search(r"\bdoi\s*= \{10\.\d{4,}/\S+\}", entry)
    assert bool(has_doi or re.search(r"\burl\s*= \{https://", entry)) != (key(entry) in WITHOUT)


def test_every_entry_is_cited_and_there_once():
    text = "\n".join(path.read_text(encoding="utf-8") for place in PLACES for path in ROOT.glob(place))
    cited = " ".join(re.findall(r"\{cite:\w+\}`([^`]+)`", text))
    keys = [key(entry) for entry in ENTRIES]
    assert set(re.split(r"[,\s]+", cited)) == set(keys)
    dois = [found.lower() for entry in ENTRIES for found in re.findall(r"\bdoi\s*= \{(\S+)\}", entry)]
    assert len(set(keys)) + len(set(dois)) == len(keys) + len(dois)
