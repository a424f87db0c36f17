"""Copies the notebooks for a class: without solutions, tests, outputs, and the text that pages fold beneath a guess.

Usage: python tools/handouts.py [FOLDER]. The code beneath a guess stays: whoever runs it sees what happened.
"""

import ast
import json
import sys
from pathlib import Path

from mini_lib.reproduction.html import GUESS

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"


def names(code: ast.AST, context: type[ast.expr_context]) -> set[str]:
    """The names that code reads (`ast.Load`) or sets (`ast.Store`)."""
    found = (each for each in ast.walk(code) if isinstance(each, ast.Name))
    return {each.id for each in found if isinstance(each.ctx, context)}


def handout(notebook: dict) -> dict:
    """The notebook as a class gets it."""
    cells, folded, used = [], False, set()
    for cell in notebook["cells"]:
        source, tags = "".join(cell["source"]), cell["metadata"].get("tags", ())
        if cell["cell_type"] == "markdown":
            kept = []
            for block in source.split("\n\n"):
                asks = block.startswith(f"**{GUESS}**")
                folded = (folded or asks) and not block.startswith(("#", "---"))
                if asks or (not folded and block.strip() != "---"):
                    kept.append(block)
            cells.append(cell | {"source": "\n\n".join(kept)})
        elif "solution" not in tags:
            cells.append(cell | {"source": source, "outputs": [], "execution_count": None})
    for cell in reversed([each for each in cells if each["cell_type"] == "code"]):
        code = ast.parse(cell["source"])
        if "tests" in cell["metadata"].get("tags", ()):  # keep what later cells need
            needed = []
            for line in reversed(
                [each for each in code.body if isinstance(each, ast.Assign | ast.FunctionDef)]
            ):
                if {getattr(line, "name", ""), *names(line, ast.Store)} & used:
                    needed.insert(0, ast.unparse(line))
                    used |= names(line, ast.Load)
            cell["source"] = "\n".join(needed)
        else:
            used |= names(code, ast.Load)
    return notebook | {"cells": [cell for cell in cells if cell["source"]]}


def main(folder: Path, notebooks: Path = NOTEBOOKS) -> None:
    """Write all chapters into a folder, in the folders of their parts."""
    for path in sorted(notebooks.rglob("*.ipynb")):
        if path.stem != "more_figures" and ".ipynb_checkpoints" not in path.parts:
            target = folder / path.relative_to(notebooks)
            target.parent.mkdir(parents=True, exist_ok=True)
            made = handout(json.loads(path.read_text(encoding="utf-8")))
            target.write_text(json.dumps(made, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    print(f"Notebooks without answers are in {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "handouts"))
