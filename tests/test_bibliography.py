"""What the book cites can be found by a reader."""

import re
from pathlib import Path

import pytest

from mini_lib.reproduction.html import mend_bibliography

ROOT = Path(__file__).parents[1]
ENTRIES = re.split(r"(?m)^(?=@)", (ROOT / "book/references.bib").read_text())[1:]
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


def test_every_entry_is_cited():
    places = [
        "book/*.md",
        "book/parts/*.md",
        "notebooks/**/*.ipynb",
        "mini_lib/**/*.j2",
        "mini_lib/**/*.toml",
    ]
    text = "\n".join(path.read_text(encoding="utf-8") for place in places for path in ROOT.glob(place))
    cited = {
        each for keys in re.findall(r"\{cite:\w+\}`([^`]+)`", text) for each in re.split(r"[,\s]+", keys)
    }
    assert {key(entry) for entry in ENTRIES} == cited


def test_no_entry_stands_twice():
    keys = [key(entry) for entry in ENTRIES]
    dois = [found.lower() for entry in ENTRIES for found in re.findall(r"\bdoi\s*= \{(\S+)\}", entry)]
    assert len(set(keys)) == len(keys)
    assert len(set(dois)) == len(dois)


def test_labels_that_no_chapter_shows_are_left_out():
    bracket = '<span class="fn-bracket">{}</span>'.format
    label = f'<span class="label">{bracket("[")}<a href="#id3">BBW+18</a>{bracket("]")}</span>'
    context = {"body": f'<div role="list" class="citation">\n{label}\n<p>Jasmijn'}
    mend_bibliography(None, None, None, context, None)
    assert context["body"] == '<div class="citation">\n<p>Jasmijn'
