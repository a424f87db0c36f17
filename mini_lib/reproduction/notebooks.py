"""Execute the notebooks in place, so that what they store was made by one command.

The outputs are what the book shows and what the tests compare, so they must not depend on an editor's
settings: every notebook runs from top to bottom in a fresh kernel with one thread, its widgets' state is
stored, and nothing that changes from run to run (times, kernel ids, the name of an editor) stays in the file.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import nbformat
from nbclient import NotebookClient

KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
KEPT_CELL_METADATA = ("tags", "mystnb", "jupyter", "editable", "tolerance", "uncompared")
SECONDS_PER_CELL = 600
STATE = "application/vnd.jupyter.widget-state+json"
VIEW = "application/vnd.jupyter.widget-view+json"


def find(paths: Iterable[Path | str] = ("notebooks",)) -> list[Path]:
    """Every notebook named by the paths, or lying below those that are folders, in order; each must give some."""
    found: list[Path] = []
    for path in map(Path, paths):
        below = sorted(p for p in path.rglob("*.ipynb") if ".ipynb_checkpoints" not in p.parts)
        files = below if path.is_dir() else [path] * (path.is_file() and path.suffix == ".ipynb")
        if not files:
            raise FileNotFoundError(
                f"{path}: no notebook there; name an .ipynb file or a folder that holds some"
            )
        found += files
    return found


def execute(paths: Iterable[Path | str] = ("notebooks",)) -> list[Path]:
    """Run each notebook in a fresh kernel and store its outputs, widgets included, in the file itself.

    A notebook whose cell raises keeps its old file, and is returned; the others still run.
    """
    failed = []
    for path in find(paths):
        start = time.perf_counter()
        try:
            run(path)
        except Exception as error:
            failed.append(path)
            print(f"{path}: failed\n{error}", file=sys.stderr, flush=True)
        else:
            print(f"{path}: {time.perf_counter() - start:.0f} s", flush=True)
    return failed


def run(path: Path) -> None:
    """Execute one notebook and write it back; the file changes only if every cell succeeded."""
    notebook = nbformat.read(path, as_version=4)
    notebook.metadata = nbformat.from_dict({"kernelspec": KERNEL})
    execute_cells(notebook, path.parent, store_widget_state=True)
    tidy(notebook)
    scratch = path.with_suffix(".ipynb.part")
    nbformat.write(notebook, scratch)
    os.replace(scratch, path)


def execute_cells(notebook: nbformat.NotebookNode, folder: Path, **options) -> None:
    """Run the cells in a fresh kernel with one thread, in this folder; outputs go into the notebook."""
    client = NotebookClient(
        notebook,
        kernel_name=KERNEL["name"],
        timeout=SECONDS_PER_CELL,
        record_timing=False,
        resources={"metadata": {"path": str(folder)}},
        **options,
    )
    client.execute(env={**os.environ, "OMP_NUM_THREADS": "1", "TQDM_DISABLE": "1"})


def tidy(notebook: nbformat.NotebookNode) -> None:
    """Drop what changes from run to run, merge split streams and number the cells 1, 2, 3, ... in place."""
    widgets = notebook.metadata.get("widgets")
    notebook.metadata = nbformat.from_dict({"kernelspec": KERNEL, "language_info": {"name": "python"}})
    if widgets:
        notebook.metadata["widgets"] = widgets
        number_widgets(notebook)
    count = 0
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number:02d}"
        cell.metadata = nbformat.from_dict(
            {k: v for k, v in cell.metadata.items() if k in KEPT_CELL_METADATA}
        )
        if cell.cell_type != "code":
            continue
        cell.outputs = merge_streams(cell.outputs)
        count += bool(cell.source.strip())
        cell.execution_count = count if cell.source.strip() else None
        for output in cell.outputs:
            if output.output_type == "execute_result":
                output.execution_count = count


def number_widgets(notebook: nbformat.NotebookNode) -> None:
    """Replace the random ids of the widgets by 0, 1, 2, ... wherever they are named, in place."""
    state = notebook.metadata["widgets"][STATE]["state"]
    text = json.dumps(
        {"metadata": notebook.metadata, "outputs": [cell.get("outputs") for cell in notebook.cells]}
    )
    for number, name in enumerate(state):
        text = text.replace(name, f"{number:032x}")
    numbered = nbformat.from_dict(json.loads(text))
    notebook.metadata = numbered.metadata
    for cell, outputs in zip(notebook.cells, numbered.outputs, strict=True):
        if outputs is not None:
            cell.outputs = outputs


def merge_streams(outputs: list) -> list:
    """Join neighbouring pieces of the same stream: where they were cut depends on the machine's speed."""
    merged: list = []
    for output in outputs:
        is_stream = output.output_type == "stream"
        if is_stream and merged and merged[-1].get("name") == output.name:
            merged[-1].text += output.text
        else:
            merged.append(output)
    return merged


def with_paths(parser: argparse.ArgumentParser, arguments: list[str] | None) -> argparse.Namespace:
    """What is given to a command over notebooks: its own options, and as `paths` the notebooks that it names.

    It ends with exit status 2 where a path has none.
    """
    parser.add_argument(
        "paths", nargs="*", default=["notebooks"], metavar="PATH", help="notebooks or folders"
    )
    given = parser.parse_args(arguments)
    try:
        given.paths = find(given.paths)
    except FileNotFoundError as error:
        parser.error(str(error))
    return given


def main(arguments: list[str] | None = None) -> int:
    """Entry point of `python -m mini_lib.reproduction.notebooks [PATH ...]`.

    Exit status: 0 done, 1 failed, 2 wrong use.
    """
    parser = argparse.ArgumentParser(
        prog="python -m mini_lib.reproduction.notebooks", description=__doc__.splitlines()[0]
    )
    return 1 if execute(with_paths(parser, arguments).paths) else 0


if __name__ == "__main__":
    sys.exit(main())
