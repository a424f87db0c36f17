"""The tool behind `make notebooks`, on notebooks of three cells; and how nbval compares what is stored."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

import notebooks

ROOT = Path(__file__).parents[2]
CHECKS = ROOT / "notebooks"

TRAINED = """from mini_lib.esbn import runs
seed = 1
run = runs.build(runs.paper_settings('rmts', 95, 'lstm', train_size=50, test_size=10), seed)
first = next(run.model.parameters()).flatten()[0].item()"""


def write(path: Path, *sources: str) -> Path:
    cells = [new_markdown_cell("# Title"), *map(new_code_cell, sources)]
    cells[-1].metadata.update({"tags": ["hide-input"], "ExecuteTime": {"start": "now"}})
    nbformat.write(new_notebook(cells=cells, metadata={"colab": {"name": "x"}}), path)
    return path


def code(path: Path) -> list[dict]:
    return [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]


@pytest.mark.slow
def test_outputs_are_stored_with_nothing_that_changes_from_run_to_run(tmp_path):
    threads = "import os\nprint(os.environ['OMP_NUM_THREADS'])\n6 * 7"
    path = write(tmp_path / "a.ipynb", "print(1)", "", threads)
    assert notebooks.main([str(path)]) == 0
    stored = path.read_bytes()
    one, empty, last = code(path)
    assert [each["execution_count"] for each in (one, empty, last)] == [1, None, 2]
    stream, result = last["outputs"]
    assert ("".join(stream["text"]), "".join(result["data"]["text/plain"])) == ("1\n", "42")
    assert result["execution_count"] == 2
    assert last["metadata"] == {"tags": ["hide-input"], "jupyter": {"source_hidden": True}}
    metadata = json.loads(stored)["metadata"]
    assert set(metadata) == {"kernelspec", "language_info", "cpu_seconds"}
    assert isinstance(metadata["cpu_seconds"], int)
    assert notebooks.main([str(tmp_path)]) == 0
    seconds = re.compile(rb'"cpu_seconds": \d+')
    assert seconds.sub(b"", path.read_bytes()) == seconds.sub(b"", stored)


@pytest.mark.slow
def test_a_failing_notebook_keeps_its_file_and_is_named(tmp_path, capsys):
    bad = write(tmp_path / "bad.ipynb", "raise RuntimeError('the memory is full')")
    before = bad.read_bytes()
    assert notebooks.main([str(tmp_path)]) == 1
    assert "the memory is full" in capsys.readouterr().err
    assert bad.read_bytes() == before
    assert list(tmp_path.iterdir()) == [bad]
    bad.unlink()
    with pytest.raises(SystemExit, match="no notebook there"):
        notebooks.main([str(tmp_path)])


@pytest.mark.slow
def test_with_other_seeds_networks_are_others_and_only_statements_about_one_fail(tmp_path, capsys):
    here = {}
    exec(TRAINED, here)
    about_one = f"assert first == {here['first']!r}"
    path = write(tmp_path / "a.ipynb", TRAINED, f"assert run.model is not None\n{about_one}", "1 / 0")
    before = path.read_bytes()
    assert notebooks.failing_cells(path, 0) == [(code(path)[2]["id"], "ZeroDivisionError: division by zero")]
    assert notebooks.main(["--seeds-by", "7", str(path)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == f"{path}: cells that fail: 2"
    assert said[1].endswith(f"AssertionError: {about_one}")
    assert path.read_bytes() == before


@pytest.mark.slow
def test_every_word_and_number_is_compared_and_pictures_are_not(tmp_path):
    """Each cell shows again what it has in store, except for one change."""
    trained = {"tolerance": {"relative": 0.2, "because": "a network is trained here"}}
    picture = '<img src="data:image/png;base64,{}" alt="x"><strong>There are {} runs.</strong>'.format
    cases = [  # what the cell shows now, what is in store, metadata, and whether that is a failure
        (picture("iVBO", 12), picture("iVBA", 12), {}, False),
        (picture("iVBO", 12), picture("iVBO", 11), {}, True),
        ("error 0.62 of 1,200", "error 0.63 of 1,200", {}, False),
        ("error 0.62 of 1,200", "error 0.64 of 1,200", {}, True),
        ("error 0.62 of 1,200", "error 0.62 of 1,201", {}, True),
        ("loss 0.123456789", "loss 0.123456999", {}, False),
        ("loss 0.123456789", "loss 0.123466999", {}, True),
        ("error 6.2 after 3 goes", "error 7.4 after 4 goes", trained, False),
        ("error 6.2 after 3 goes", "error 7.9 after 3 goes", trained, True),
        ("error 6.2 after 3 goes", "error 6.2", trained, True),
        ("6.2", None, trained, True),
    ]
    cells = []
    for number, (now, stored, metadata, _) in enumerate(cases, start=1):
        source, outputs = f"print({now!r})", [new_output("stream", text=f"{stored}\n")] if stored else []
        if now.startswith("<img"):
            source = f"from IPython.display import HTML, display\ndisplay(HTML({now!r}))"
            data = {"text/html": stored, "text/plain": "<IPython.core.display.HTML object>"}
            outputs = [new_output("display_data", data=data)]
        cells.append(new_code_cell(source, outputs=outputs, execution_count=number, metadata=metadata))
    nbformat.write(new_notebook(cells=cells), tmp_path / "cells.ipynb")
    shutil.copy(CHECKS / "conftest.py", tmp_path)
    checks = ["--nbval", "--nbval-current-env", "--nbval-sanitize-with", CHECKS / "nbval_sanitize.cfg"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *checks, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    failed = set(map(int, re.findall(r"^FAILED .*cells\.ipynb::Cell (\d+)", done.stdout, re.MULTILINE)))
    assert failed == {number for number, (*_, fails) in enumerate(cases) if fails}, done.stdout
