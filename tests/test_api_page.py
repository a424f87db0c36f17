"""The pages on the interface: their examples run, and what they pick out is there, as is every public name."""

import importlib
import re
from pathlib import Path

import pytest

PAGES = sorted((Path(__file__).parents[1] / "book" / "api").glob("*.md"))
TEXT = "\n".join(page.read_text() for page in PAGES)
BLOCKS = re.findall(r"^\.\. automodule:: (\S+)\n((?:   :.*\n)*)", TEXT, re.MULTILINE)
CLASSES = re.findall(r"^\.\. autoclass:: (\S+)\.(\w+)$", TEXT, re.MULTILINE)
PICKED = [
    *((module, options.partition(":members: ")[2].strip().split(", ")) for module, options in BLOCKS),
    *((module, [name]) for module, name in CLASSES),
]
PACKAGES = ("esbn", "scan", "functions", "kanerva", "grid")


@pytest.mark.parametrize(("module", "names"), PICKED)
def test_every_name_that_the_pages_pick_out_is_there(module: str, names: list[str]):
    missing = [name for name in names if not hasattr(importlib.import_module(module), name)]
    assert not missing, module


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_class_and_function_is_on_a_page(package: str):
    paper = importlib.import_module(f"mini_lib.{package}")
    documented = {name for _, names in PICKED for name in names}
    public = {name for name in paper.__all__ if hasattr(getattr(paper, name), "__qualname__")}
    assert public <= documented


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_opens_with_an_example_that_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    first, example = page.read_text().split("```python\n")[:2]
    assert "automodule" not in first
    exec(example.partition("```")[0], {})
