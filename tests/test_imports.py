"""The directions of imports that ARCHITECTURE.md states.

Files at the top of `mini_lib` and of `mini_lib/reproduction` are the core of their layer; each paper has a package
in both layers.
"""

import ast
import re
import tomllib
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import mini_lib

ROOT = Path(mini_lib.__file__).parent
PYTEST = tomllib.loads((ROOT.parent / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
STUDY = "grid"  # uses the networks of the papers; none of them knows it
PAPERS = ("esbn", "scan", "functions", "kanerva", STUDY)
FILES = sorted(path.relative_to(ROOT) for path in ROOT.rglob("*.py"))
COMMAND = (Path("__main__.py"), Path("reproduction/cli.py"))  # these may import from all
# These load a module when asked for it by name: a trained network, a paper's cells or its live figure.
BY_NAME = {"files.py", *(f"reproduction/{name}.py" for name in ("cells", "live"))}


def imported(path: Path) -> set[str]:
    """The names in mini_lib that a file imports, without that prefix: "scan.tasks.encode"."""
    names = set()
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name.removeprefix("mini_lib.") for name in names if name.startswith("mini_lib.")}


def place(parts: tuple[str, ...]) -> tuple[str, str]:
    """The layer ("library" or "reproduction") and the paper, or "" for the layer's core."""
    upper = parts[0] == "reproduction"
    inner = parts[1:] if upper else parts
    return "reproduction" if upper else "library", inner[0] if inner and inner[0] in PAPERS else ""


@pytest.mark.parametrize("path", FILES, ids=str)
def test_the_library_does_not_import_the_reproduction_nor_a_paper_another(path: Path):
    layer, paper = place(path.parts)
    for name in imported(path):
        other_layer, other_paper = place(tuple(name.split(".")))
        if path not in COMMAND:
            assert layer == "reproduction" or other_layer == "library", f"{path}: {name}"
            assert other_paper in ("", paper) or paper == STUDY, f"{path}: {name}"


def test_no_file_imports_itself_through_others():
    """What a function imports comes later, such as `files` in `module`."""
    modules = {".".join(path.with_suffix("").parts): path for path in FILES}
    graph = {}
    for name, path in modules.items():
        body = ast.parse((ROOT / path).read_text()).body
        froms = [node for node in body if isinstance(node, ast.ImportFrom)]
        named = {
            f"{node.module}.{alias.name}".removeprefix("mini_lib.") for node in froms for alias in node.names
        }
        graph[name] = {
            other for other in modules if other in named | {each.rpartition(".")[0] for each in named}
        }
    order = [*TopologicalSorter(graph).static_order()]  # CycleError names the files
    assert order.index("errors") < order.index("hashing") < order.index("reproduction.records")


def test_only_the_files_that_are_named_load_by_name():
    """An import that no `import` line shows would get past the tests above."""
    by_name = set()
    for path in FILES:
        nodes = ast.walk(ast.parse((ROOT / path).read_text()))
        if {"import_module", "__import__"} & {
            getattr(node, "id", getattr(node, "attr", "")) for node in nodes
        }:
            by_name.add(path.as_posix())
    assert by_name == BY_NAME


def test_no_private_module_of_pytorch_is_used():
    lines = re.compile(r"^\s*(from|import) torch[\w.]*\._|\btorch\._(?!_)", re.MULTILINE)
    private = {path.as_posix() for path in FILES if lines.search((ROOT / path).read_text())}
    assert not private


def test_shapes_are_checked_wherever_they_are_written():
    (option,) = [each for each in PYTEST["addopts"] if each.startswith("--jaxtyping-packages=")]
    checked = option.partition("=")[2].split(",")
    for path in FILES:
        module = ".".join(("mini_lib", *path.with_suffix("").parts))
        if "from jaxtyping import" in (ROOT / path).read_text():
            assert any(f"{module}.".startswith(f"{each}.") for each in checked), (
                f"{module}: add it to {option}"
            )
