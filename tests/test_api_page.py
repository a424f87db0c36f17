"""The book's page on the interface: every module that it documents is there, with the names that it picks out."""

import importlib
import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[1] / "book" / "api.md").read_text()
BLOCKS = re.findall(r"^\.\. automodule:: (\S+)\n((?:   :.*\n)*)", PAGE, re.MULTILINE)
CLASSES = re.findall(r"^\.\. autoclass:: (\S+)\.(\w+)$", PAGE, re.MULTILINE)
PICKED = [
    (module, names.split(", "))
    for module, options in BLOCKS
    for names in re.findall(r":members: (.+)", options)
]


@pytest.mark.parametrize("module", [module for module, _ in BLOCKS])
def test_every_module_of_the_page_is_there(module: str):
    assert importlib.import_module(module).__doc__


@pytest.mark.parametrize(("module", "names"), [*PICKED, *((module, [name]) for module, name in CLASSES)])
def test_every_name_that_the_page_picks_out_is_there(module: str, names: list[str]):
    missing = [name for name in names if not hasattr(importlib.import_module(module), name)]
    assert not missing, module
