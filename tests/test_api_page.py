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
CHAPTERS = sorted(
    path
    for path in (ROOT / "notebooks").rglob("*.ipynb")
    if path.stem != "more_figures" and ".ipynb_checkpoints" not in path.parts
)
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


def cells_of(path: Path) -> list[tuple[str, bool]]:
    """The code cells of a notebook, and whether the page shows them."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    return [("".join(c["source"]), "remove-cell" not in c["metadata"].get("tags", [])) for c in code]


def resolve(name: str) -> object:
    """The object of a dotted name, or None for a method or field of one."""
    module, _, last = name.rpartition(".")
    try:
        return getattr(importlib.import_module(module), last) if module else mini_lib
    except (ImportError, AttributeError):
        return None


def missing(names: set[str]) -> list[str]:
    """Those without an entry: a class or function needs its own, a constant has to be named on a page."""
    known, lost = entries(), []
    for name in sorted(names):
        found, last = resolve(name), name.rpartition(".")[2]
        internal = name.startswith("mini_lib.reproduction.") and not name.startswith(TOOLS)
        if found is None or internal or isinstance(found, type(ast)):
            continue
        has = found in known if callable(found) else re.search(rf"\b{last}\b", TEXT)
        if not has:
            lost.append(name)
    return lost


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_what_a_chapter_shows_has_an_entry(chapter: Path):
    shown = {each for each in names_in(cells_of(chapter)) if not each.startswith(TOOLS)}
    assert not missing(shown)


def test_what_examples_use_has_an_entry():
    texts = [*PAGES, ROOT / "README.md"]
    examples = [code for path in texts for code in FENCED.findall(path.read_text(encoding="utf-8"))]
    assert len(examples) >= len(texts)
    assert not missing(set().union(*(names_in([(code, True)]) for code in examples)))


def test_links_lead_to_entries():
    linked = set(re.findall(r"\{py:obj\}`~([\w.]+)`", TEXT))
    known = set(entries().values())
    methods = {
        f"{name}.{method}"
        for name, members in re.findall(r":: (\S+)\n   :members: (.*)", TEXT)
        for method in members.split(", ")
    }
    assert linked <= known | methods
    assert all(resolve(name.rpartition(".")[0]) for name in methods)


def test_public_names_are_on_a_page():
    assert not [name for name in mini_lib.__all__ if not re.search(rf"\b{name}\b", TEXT)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_opens_with_an_example_and_all_of_them_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    examples = FENCED.findall(text)
    assert text.index("```python") < text.find(".. auto") % len(text)
    for example in examples:
        exec(example, {})
    lines = [
        line for line in examples[0].splitlines() if line and not line.startswith(("import", "from", "#"))
    ]
    assert page.stem == "index" or 5 <= len(lines) <= 13
    assert max(map(len, "\n".join(examples).splitlines())) <= 88  # a longer one is cut on a laptop
