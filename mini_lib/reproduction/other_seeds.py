"""Execute the notebooks with other seeds, to see which of their statements hold for one network alone.

A chapter that trains a network says what this network does, and holds it true with asserts. With another seed some
of them fail. That is right for the numbers of one network, and wrong for a conclusion. So a person reads the list.

Networks that come trained stay as they are, and a cell that sets a new network beside one of these fails, too. Of a
cell only the first failure is shown, and later cells may fail because of it.
"""

import argparse
import ast
import functools
import importlib
import inspect
import re
import sys
from collections.abc import Callable
from pathlib import Path

import nbformat
from nbclient.exceptions import CellTimeoutError, DeadKernelError

from mini_lib.reproduction.notebooks import execute_cells, with_paths

PAPERS = ("esbn", "scan", "functions", "kanerva", "grid")
COLOUR = re.compile(r"\x1b\[[\d;]*m")
ARROW = re.compile(r"^-+> *(\d+) ", re.MULTILINE)  # at the line that raised


def shift_seeds(by: int) -> None:
    """From now on `build` of every paper and the ESBN's `make_problems` add `by` to the seed that they are given."""
    makers = [(f"mini_lib.{paper}.runs", "build") for paper in PAPERS]
    # Last, when every `build` has its own `make_problems`, unmoved: its seed must be moved once.
    makers.append(("mini_lib.esbn.tasks", "make_problems"))
    for module, name in makers:
        home = importlib.import_module(module)
        setattr(home, name, _shifted(getattr(home, name), int(by)))


def _shifted(make: Callable, by: int) -> Callable:
    signature = inspect.signature(make)

    @functools.wraps(make)
    def with_other_seed(*args, **kwargs):
        given = signature.bind(*args, **kwargs)
        given.arguments["seed"] += by
        return make(*given.args, **given.kwargs)

    return with_other_seed


def failing_cells(path: Path, by: int) -> list[tuple[str, str]]:
    """The code cells, by id, that fail with every seed moved `by`, and the statement; the file stays as it is."""
    notebook = nbformat.read(path, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    first = nbformat.v4.new_code_cell(
        f"from mini_lib.reproduction.other_seeds import shift_seeds\nshift_seeds({by!r})"
    )
    notebook.cells = [first, *code]
    execute_cells(notebook, path.parent, allow_errors=True)
    failed = [(cell.id, failure) for cell in notebook.cells if (failure := _failure(cell))]
    if failed and failed[0][0] == first.id:
        raise RuntimeError(f"{path}: the seeds could not be moved: {failed[0][1]}")
    return failed


def _failure(cell: nbformat.NotebookNode) -> str | None:
    """The assert that did not hold, on one line, or the error; None if the cell ran through."""
    errors = [output for output in cell.outputs if output.output_type == "error"]
    if not errors:
        return None
    (error,) = errors
    first_line, _, _ = error.evalue.partition("\n")
    arrows = [int(line) for line in ARROW.findall(COLOUR.sub("", "\n".join(error.traceback)))]
    for statement in ast.walk(ast.parse(cell.source)):
        if isinstance(statement, ast.Assert) and error.ename == "AssertionError":
            if any(statement.lineno <= line <= statement.end_lineno for line in arrows):
                return ast.unparse(statement)
    return f"{error.ename}: {first_line}"


def main(arguments: list[str] | None = None) -> int:
    """Entry point of `python -m mini_lib.reproduction.other_seeds [--by N] [PATH ...]`.

    Exit status: 0 done, whatever was found; 2 wrong use.
    """
    parser = argparse.ArgumentParser(
        prog="python -m mini_lib.reproduction.other_seeds", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--by", type=int, default=100, help="what is added to every seed (default: 100)")
    given = with_paths(parser, arguments)
    for path in given.paths:
        try:
            failed = failing_cells(path, given.by)
        except (CellTimeoutError, DeadKernelError) as error:
            print(f"{path}: stopped: {type(error).__name__}", flush=True)
            continue
        except nbformat.reader.NotJSONError:
            parser.error(f"{path} is damaged: it holds no JSON; `git checkout {path}` brings it back")
        print(f"{path}: cells that fail: {len(failed)}", flush=True)
        for cell, failure in failed:
            print(f"  {cell}: {failure}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
