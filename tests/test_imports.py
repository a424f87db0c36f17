"""The directions of imports that ARCHITECTURE.md states.

Files at the top of `mini_lib` and of `mini_lib/reproduction` are the core of their layer; each paper has a package
in both layers.
"""

import ast
import re
from collections.abc import Iterable
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path

import mini_lib
from mini_lib.reproduction.cells import PAPERS, STUDIES

ROOT = Path(mini_lib.__file__).parent
TEXTS = {path.relative_to(ROOT).as_posix(): path.read_text() for path in sorted(ROOT.rglob("*.py"))}
TREES = {path: ast.parse(text) for path, text in TEXTS.items()}
MODULES = {path.removesuffix(".py").replace("/", "."): path for path in TEXTS}
COMMAND = {"__main__", "reproduction.cli"}  # these may import from all
# These load a module when asked for it by name: a trained network, a paper's cells or its live figure.
BY_NAME = {"reproduction/doctor.py", "files.py", *(f"reproduction/{name}.py" for name in ("cells", "live"))}


def imported(nodes: Iterable[ast.AST]) -> set[str]:
    """The names in mini_lib that lines of a file import, without that prefix: "scan.tasks.encode"."""
    plain = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    froms = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    names = plain + [f"{'.' * each.level}{each.module}.{one.name}" for each in froms for one in each.names]
    assert not [name for name in names if name.startswith(".")], "a relative import"
    return {name.removeprefix("mini_lib.") for name in names if name.startswith("mini_lib.")}


def place(name: str) -> tuple[str, str]:
    """The layer ("library" or "reproduction") of a module, and its paper, or "" for the layer's core."""
    upper, inner = name.startswith("reproduction"), name.removeprefix("reproduction.").split(".")[0]
    return "reproduction" if upper else "library", inner if inner in {*PAPERS, *STUDIES} else ""


def test_the_library_does_not_import_the_reproduction_nor_a_paper_another():
    for module in MODULES.keys() - COMMAND:
        layer, paper = place(module)
        for name in imported([*ast.walk(TREES[MODULES[module]])]):
            other_layer, other_paper = place(name)
            assert layer == "reproduction" or other_layer == "library", f"{module}: {name}"
            assert other_paper in ("", paper) or paper in STUDIES, f"{module}: {name}"


def test_no_file_imports_itself_through_others():
    """What a function imports comes later, such as `files` in `module`."""
    graph = {}
    for module, path in MODULES.items():
        named = imported(TREES[path].body)
        graph[module] = MODULES.keys() & (named | {each.rpartition(".")[0] for each in named})
    order = [*TopologicalSorter(graph).static_order()]  # CycleError names the files
    assert order.index("errors") < order.index("hashing") < order.index("reproduction.records")


def test_only_the_files_that_are_named_load_by_name_and_none_uses_pytorchs_private_modules():
    """An import that no `import` line shows would get past the tests above."""
    by_name = re.compile(r"\bimport_module\(|\b__import__\(")
    assert {path for path, text in TEXTS.items() if by_name.search(text)} == BY_NAME
    private = re.compile(r"^\s*(from|import) torch[\w.]*\._|\btorch\._(?!_)", re.MULTILINE)
    assert not [path for path, text in TEXTS.items() if private.search(text)]


def test_shapes_are_checked_wherever_they_are_written():
    shaped = [f"mini_lib.{name}" for name, path in MODULES.items() if "from jaxtyping import" in TEXTS[path]]
    loaders = {name: type(import_module(name).__spec__.loader).__module__ for name in shaped}
    unchecked = [name for name, loader in loaders.items() if not loader.startswith("jaxtyping")]
    assert not unchecked, "see conftest.py"
