"""Execute the notebooks with other seeds, to see which of their statements hold for one network alone.

A chapter that trains a network says what this network does, and holds it true with asserts. With another seed some
of them fail. That is right for the numbers of one network, and wrong for a conclusion. So a person reads the list.
A cell also fails if it builds the network of a stored seed once more, or sets the network beside stored numbers.
"""

import argparse
import functools
import importlib
import inspect
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from mini_lib.reproduction.notebooks import KERNEL, SECONDS_PER_CELL, find

COLOUR = re.compile(r"\x1b\[[\d;]*m")
PAPERS = ("esbn", "scan", "functions", "kanerva", "grid")


def shift_seeds(by: int) -> None:
    """From now on `build` of every paper and the ESBN's `make_problems` add `by` to the seed that they are given."""
    makers = [(f"mini_lib.{paper}.runs", "build") for paper in PAPERS] + [
        ("mini_lib.esbn.tasks", "make_problems")
    ]
    for module, name in makers:
        home = importlib.import_module(module)
        setattr(home, name, _shifted(getattr(home, name), by))


def _shifted(make: Callable, by: int) -> Callable:
    signature = inspect.signature(make)

    @functools.wraps(make)
    def with_other_seed(*args, **kwargs):
        given = signature.bind(*args, **kwargs)
        given.arguments["seed"] += by
        return make(*given.args, **given.kwargs)

    return with_other_seed


def failing_cells(path: Path, by: int) -> list[tuple[int, str]]:
    """The code cells, counted from 0, that fail with every seed moved `by`, and how; the file stays as it is."""
    notebook = nbformat.read(path, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    first = f"from mini_lib.reproduction.other_seeds import shift_seeds\nshift_seeds({by})"
    notebook.cells = [nbformat.v4.new_code_cell(first), *code]
    client = NotebookClient(
        notebook,
        kernel_name=KERNEL["name"],
        timeout=SECONDS_PER_CELL,
        allow_errors=True,
        resources={"metadata": {"path": str(path.parent)}},
    )
    client.execute(env={**os.environ, "OMP_NUM_THREADS": "1", "TQDM_DISABLE": "1"})
    return [
        (number, _line_of(output))
        for number, cell in enumerate(code)
        for output in cell.outputs
        if output.output_type == "error"
    ]


def _line_of(error: nbformat.NotebookNode) -> str:
    """The assert that did not hold, or what was raised."""
    shown = COLOUR.sub("", "\n".join(error.traceback))
    lines = re.findall(r"^-+> *\d+ +(.*)", shown, flags=re.MULTILINE)  # the arrows point at lines that raised
    held = [line for line in lines if line.startswith("assert")]
    return held[0] if held else f"{error.ename}: {error.evalue}"


def main(arguments: list[str] | None = None) -> int:
    """Entry point of `python -m mini_lib.reproduction.other_seeds [--by N] [PATH ...]`.

    Exit status: 0 done, whatever was found; 2 wrong use.
    """
    parser = argparse.ArgumentParser(
        prog="python -m mini_lib.reproduction.other_seeds", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--by", type=int, default=100, help="what is added to every seed (default: 100)")
    parser.add_argument(
        "paths", nargs="*", default=["notebooks"], metavar="PATH", help="notebooks or folders"
    )
    given = parser.parse_args(arguments)
    try:
        paths = find(given.paths)
    except FileNotFoundError as error:
        parser.error(str(error))
    for path in paths:
        failed = failing_cells(path, given.by)
        print(f"{path}: {len(failed)} cells fail" if failed else f"{path}: every cell holds", flush=True)
        for number, line in failed:
            print(f"  cell {number}: {line}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
