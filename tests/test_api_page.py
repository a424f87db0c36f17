"""The pages on the interface: examples run, links lead to entries, and whatever a chapter shows a reader has one."""

import ast
import importlib
import json
import re
from pathlib import Path

import pytest

import mini_lib
from mini_lib.reproduction.apidoc import entries

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "book" / "api").glob("*.md"))
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
CHAPTERS = sorted(path for path in (ROOT / "notebooks").glob("*/*.ipynb") if path.stem != "more_figures")
FENCED = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
TOOLS = ("mini_lib.reproduction.plotting", "mini_lib.reproduction.exercises")


def names_in(cells: list[tuple[str, bool]]) -> set[str]:
    """Full names of what code takes from mini_lib, where it is shown; imports may be in cells that are not."""
    known: dict[str, str] = {}

    def full(node: ast.AST) -> str | None:
        if isinstance(node, ast.Name):
            return known.get(node.id)
        owner = full(node.value) if isinstance(node, ast.Attribute) else None
        return f"{owner}.{node.attr}" if owner else None

    found = set()
    for source, shown in cells:
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("mini_lib"):
                known |= {each.asname or each.name: f"{node.module}.{each.name}" for each in node.names}
            elif isinstance(node, ast.Import):
                known |= {each.name: each.name for each in node.names if each.name == "mini_lib"}
            elif shown and isinstance(node, ast.Name | ast.Attribute) and (name := full(node)):
                found.add(name)
    return found


def resolve(name: str) -> object:
    """The object of a dotted name, or None for a method or field of one."""
    module, _, last = name.rpartition(".")
    try:
        return getattr(importlib.import_module(module), last) if module else mini_lib
    except (ImportError, AttributeError):
        return None


def has_entry(name: str) -> bool:
    """A class or function needs one of its own; a constant has to be named on a page."""
    found, internal = resolve(name), name.startswith("mini_lib.reproduction.")
    if found is None or isinstance(found, type(ast)) or (internal and not name.startswith(TOOLS)):
        return True
    last = name.rpartition(".")[2]
    return found in entries() if callable(found) else bool(re.search(rf"\b{last}\b", TEXT))


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_what_a_chapter_shows_has_an_entry(chapter: Path):
    cells = json.loads(chapter.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    hidden = ["remove-cell" in cell["metadata"].get("tags", []) for cell in code]
    shown = names_in([("".join(cell["source"]), not h) for cell, h in zip(code, hidden, strict=True)])
    assert not [name for name in sorted(shown) if not name.startswith(TOOLS) and not has_entry(name)]


def test_what_examples_use_and_all_public_names_and_links_have_an_entry():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    used = set().union(*(names_in([(code, True)]) for code in FENCED.findall(f"{TEXT}\n{readme}")))
    assert len(used) > len(PAGES)
    assert not [name for name in sorted(used) if not has_entry(name)]
    assert not [name for name in mini_lib.__all__ if not re.search(rf"\b{name}\b", TEXT)]
    members = re.findall(r":: (\S+)\n   :members: (.*)", TEXT)
    methods = {f"{name}.{method}" for name, named in members for method in named.split(", ")}
    assert set(re.findall(r"\{py:obj\}`~([\w.]+)`", TEXT)) <= {*entries().values(), *methods}
    assert all(resolve(name.rpartition(".")[0]) for name in methods)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_opens_with_an_example_and_all_of_them_run(page: Path, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    examples = FENCED.findall(text)
    assert text.index("```python") < text.find(".. auto") % len(text)
    assert max(map(len, "\n".join(examples).splitlines())) <= 88  # a longer one is cut on a laptop
    for example in examples:
        few = '"epochs": 1, "train_size": 64, "test_size": 50'
        exec(example.replace('"epochs": 8, "test_size": 500', few), {})
