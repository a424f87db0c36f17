"""The tool behind `make seeds`, on a notebook of a few cells."""

from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from mini_lib.reproduction import other_seeds

pytestmark = pytest.mark.slow

BUILDS = (
    "from mini_lib.esbn.runs import build, paper_settings\n"
    "from mini_lib.esbn.tasks import make_problems\n"
    "problems = make_problems('rmts', m=95, seed=1, train_size=8, test_size=8)\n"
    "run = build(paper_settings('rmts', 95, 'lstm', train_size=8, test_size=8), seed=1)\n"
    "seed = int(run.name.split()[-1])"
)


@pytest.fixture
def chapter(tmp_path: Path) -> Path:
    lines = "\n" * 20  # an arrow at a line of two figures is shorter
    cells = (BUILDS, "assert seed > 0", f"x = 1\n{lines}assert seed == 1", "assert x == 1\nseed.missing", "x")
    path = tmp_path / "chapter.ipynb"
    nbformat.write(new_notebook(cells=list(map(new_code_cell, cells))), path)
    return path


def test_cells_that_hold_for_one_seed_alone_are_named_and_the_file_stays(chapter, capsys):
    before = chapter.read_text()
    assert other_seeds.main(["--by", "100", str(chapter)]) == 0
    first, *cells = capsys.readouterr().out.splitlines()
    assert first == f"{chapter}: 2 cells fail"
    assert cells[0] == "  cell 2: assert seed == 1"
    assert cells[1].startswith("  cell 3: AttributeError: 'int' object has no attribute")
    assert chapter.read_text() == before


def test_with_its_own_seed_a_notebook_holds_but_for_true_errors(chapter):
    assert [number for number, _ in other_seeds.failing_cells(chapter, 0)] == [3]


def test_problems_and_networks_are_moved_alike(tmp_path):
    cells = (
        f"{BUILDS}\nfrom mini_lib.esbn import runs\n"
        "own = runs.make_problems('rmts', m=95, seed=8, train_size=8, test_size=8)\n"
        "assert seed == 8\nassert (problems.train.ids == own.train.ids).all()",
    )
    path = tmp_path / "chapter.ipynb"
    nbformat.write(new_notebook(cells=list(map(new_code_cell, cells))), path)
    assert other_seeds.failing_cells(path, 7) == []


def test_a_path_without_notebooks_is_refused(tmp_path):
    with pytest.raises(SystemExit) as stop:
        other_seeds.main([str(tmp_path)])
    assert stop.value.code == 2
