"""The book's pages on the interface: every module that they document is there, with the names that they pick out."""

import importlib
import re
from pathlib import Path

import pytest

PAGES = sorted((Path(__file__).parents[1] / "book" / "api").glob("*.md"))
TEXT = "\n".join(page.read_text() for page in PAGES)
BLOCKS = re.findall(r"^\.\. automodule:: (\S+)\n((?:   :.*\n)*)", TEXT, re.MULTILINE)
CLASSES = re.findall(r"^\.\. autoclass:: (\S+)\.(\w+)$", TEXT, re.MULTILINE)
PICKED = [
    (module, names.split(", "))
    for module, options in BLOCKS
    for names in re.findall(r":members: (.+)", options)
]


@pytest.mark.parametrize("module", [module for module, _ in BLOCKS])
def test_every_module_of_the_pages_is_there(module: str):
    assert importlib.import_module(module).__doc__


@pytest.mark.parametrize(("module", "names"), [*PICKED, *((module, [name]) for module, name in CLASSES)])
def test_every_name_that_the_pages_pick_out_is_there(module: str, names: list[str]):
    missing = [name for name in names if not hasattr(importlib.import_module(module), name)]
    assert not missing, module
