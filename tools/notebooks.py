"""Execute the notebooks in place, so that what they store was made by one command: `make notebooks`.

Every notebook runs from top to bottom in a fresh kernel with one thread, and nothing
that changes from run to run (kernel ids, the name of an editor) stays in the file, but for
`cpu_seconds`, what all of it took of one core: a test bounds it.

With `--seeds-by N` (`make seeds`) all seeds are moved by N, and the files stay as they are: the cells that then fail
are listed. That is right for the numbers of one network, and wrong for a conclusion, so a person reads the list.
Networks that come trained stay as they are. Later cells may fail because of earlier ones.
"""

import argparse
import os
import re
import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError, DeadKernelError

KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
KEPT_CELL_METADATA = ("tags", "mystnb", "editable", "tolerance", "uncompared")
FOLDED = {"hide-input", "hide-cell", "remove-cell", "remove-input"}  # in JupyterLab, too
SECONDS_PER_CELL = 600
MOVE_SEEDS = """from mini_lib import seeding
usual = seeding.stream_seed
seeding.stream_seed = lambda seed, *purpose: usual(seed + {by}, *purpose)"""


def find(paths: list[str]) -> list[Path]:
    """Every notebook that is named, or in a folder that is named; each path must give some."""
    found: list[Path] = []
    for path in map(Path, paths):
        below = sorted(p for p in path.rglob("*.ipynb") if ".ipynb_checkpoints" not in p.parts)
        files = below if path.is_dir() else [path] * (path.is_file() and path.suffix == ".ipynb")
        if not files:
            raise SystemExit(f"{path}: no notebook there; name an .ipynb file or a folder with some")
        found += files
    return found


def execute(notebook: nbformat.NotebookNode, folder: Path, **options) -> None:
    """Run the cells in a fresh kernel with one thread, in this folder; outputs go into the notebook."""
    how = {"timeout": SECONDS_PER_CELL, "record_timing": False, "coalesce_streams": True}
    where = {"kernel_name": KERNEL["name"], "resources": {"metadata": {"path": str(folder)}}}
    client = NotebookClient(notebook, **how, **where, **options)
    client.execute(env={**os.environ, "OMP_NUM_THREADS": "1", "TQDM_DISABLE": "1"})


def store(path: Path) -> None:
    """Execute one notebook and write it back; the file changes only if every cell succeeded."""
    notebook = nbformat.read(path, as_version=4)
    notebook.metadata = nbformat.from_dict({"kernelspec": KERNEL})
    notebook.cells.append(nbformat.v4.new_code_cell("import time\nprint(time.process_time())"))
    execute(notebook, path.parent, store_widget_state=False)
    seconds = float(notebook.cells.pop().outputs[0].text)
    tidy(notebook).metadata["cpu_seconds"] = round(seconds)
    scratch = path.with_suffix(".ipynb.part")
    nbformat.write(notebook, scratch)
    os.replace(scratch, path)


def tidy(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Drop what changes from run to run, and number cells."""
    notebook.metadata = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    count = 0
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number:02d}"
        cell.metadata = {name: value for name, value in cell.metadata.items() if name in KEPT_CELL_METADATA}
        if FOLDED & set(cell.metadata.get("tags", ())):
            cell.metadata["jupyter"] = {"source_hidden": True}
        if cell.cell_type == "code":
            count += bool(cell.source.strip())
            cell.execution_count = count if cell.source.strip() else None
            for output in cell.outputs:
                if output.output_type == "execute_result":
                    output.execution_count = count
    return notebook


def failing_cells(path: Path, by: int) -> list[tuple[str, str]]:
    """The code cells, by id, that fail with all seeds moved, and the line or the error of each."""
    notebook = nbformat.read(path, as_version=4)
    first = nbformat.v4.new_code_cell(MOVE_SEEDS.format(by=by))
    notebook.cells = [first, *(cell for cell in notebook.cells if cell.cell_type == "code")]
    execute(notebook, path.parent, allow_errors=True)
    failed = []
    for cell in notebook.cells:
        for output in (each for each in cell.outputs if each.output_type == "error"):
            plain = re.sub(r"\x1b\[[\d;]*m", "", "\n".join(output.traceback))
            lines = re.findall(r"^-+> *\d+ +(.*)", plain, re.MULTILINE)
            failed.append((cell.id, f"{output.ename}: {output.evalue.partition(chr(10))[0] or lines[0]}"))
    return failed


def main(arguments: list[str] | None = None) -> int:
    """Return the exit status: 1 if a notebook could not be executed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "paths", nargs="*", default=["notebooks"], metavar="PATH", help="notebooks or folders"
    )
    parser.add_argument(
        "--seeds-by", type=int, metavar="N", help="move all seeds, and list the cells that fail"
    )
    given, status = parser.parse_args(arguments), 0
    for path in find(given.paths):
        started = time.perf_counter()
        try:
            if given.seeds_by is None:
                store(path)
                print(f"{path}: {time.perf_counter() - started:.0f} s", flush=True)
            else:
                failed = failing_cells(path, given.seeds_by)
                lines = [
                    f"{path}: cells that fail: {len(failed)}",
                    *(f"  {cell}: {why}" for cell, why in failed),
                ]
                print("\n".join(lines), flush=True)
        except (CellTimeoutError, DeadKernelError) as error:
            status = print(f"{path}: stopped: {type(error).__name__}", file=sys.stderr, flush=True) or 1
        except Exception as error:
            status = print(f"{path}: failed\n{error}", file=sys.stderr, flush=True) or 1
    return status


if __name__ == "__main__":
    sys.exit(main())
