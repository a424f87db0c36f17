"""The house's one rule of direction: wings import no wing, the ground floor imports none but in cli."""

import ast
from pathlib import Path

import pytest

import mini_lib

ROOT = Path(mini_lib.__file__).parent
WINGS = {path.parent.name for path in ROOT.glob("*/experiments.py")}


def imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_one_way(path):
    place = path.relative_to(ROOT).parts[0]
    allowed = WINGS if place == "cli.py" else {place} & WINGS
    wings = {name.split(".")[1] for name in imported(path) if name.startswith("mini_lib.")} & WINGS
    assert wings <= allowed


def test_there_are_wings():
    assert {"esbn", "scan", "functions"} <= WINGS
