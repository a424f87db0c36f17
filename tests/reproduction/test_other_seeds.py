"""The tool behind `make seeds`, on notebooks of a few cells."""

from importlib import import_module
from inspect import Parameter, signature
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from mini_lib.reproduction import other_seeds

BUILDS = (
    "from mini_lib.esbn import runs\n"
    "from mini_lib.esbn.runs import build, paper_settings\n"
    "from mini_lib.esbn.tasks import make_problems\n"
    "sizes = {'train_size': 8, 'test_size': 8}\n"
    "problems = make_problems('rmts', m=95, seed=1, **sizes)\n"
    "run = build(paper_settings('rmts', 95, 'lstm', **sizes), seed=1)\n"
    "seed = int(run.name.split()[-1])"
)
LINES = "\n" * 20  # an arrow at a line of two figures is shorter


def write(folder: Path, *cells: str) -> Path:
    path = folder / "chapter.ipynb"
    numbered = [new_code_cell(cell, id=f"cell-{number}") for number, cell in enumerate(cells)]
    nbformat.write(new_notebook(cells=numbered), path)
    return path


@pytest.fixture
def chapter(tmp_path: Path) -> Path:
    return write(
        tmp_path,
        BUILDS,
        "assert seed > 0",
        f"x = 1\n{LINES}assert (\n    seed\n    == 1\n)",
        "assert x == 1\nseed.missing",
        "x",
    )


@pytest.mark.slow
def test_cells_that_hold_for_one_seed_alone_are_named_and_the_file_stays(chapter, capsys):
    before = chapter.read_text()
    assert other_seeds.main(["--by", "100", str(chapter)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{chapter}: cells that fail: 2",
        "  cell-2: assert seed == 1",
        "  cell-3: AttributeError: 'int' object has no attribute 'missing'",
    ]
    assert chapter.read_text() == before


@pytest.mark.slow
def test_with_its_own_seed_a_notebook_holds_but_for_true_errors(chapter):
    assert [cell for cell, _ in other_seeds.failing_cells(chapter, 0)] == ["cell-3"]


@pytest.mark.slow
def test_problems_and_networks_are_moved_alike_and_once(tmp_path):
    compared = (
        "same = lambda a, b: bool((a.ids == b.ids).all())\n"
        "one, eight, fifteen = (runs.make_problems('rmts', m=95, seed=s, **sizes).train for s in (1, 8, 15))\n"
        "assert seed == 8\n"
        "assert same(problems.train, eight)\n"
        "assert same(run.epoch.args[0], eight)\n"  # those that it is trained on
        "assert not same(eight, one) and not same(eight, fifteen)"
    )
    assert other_seeds.failing_cells(write(tmp_path, BUILDS, compared), 7) == []


@pytest.mark.slow
def test_seeds_that_cannot_be_moved_are_no_success(tmp_path):
    with pytest.raises(RuntimeError, match="the seeds could not be moved"):
        other_seeds.failing_cells(write(tmp_path, "1"), "many")


@pytest.mark.slow
def test_a_dead_kernel_does_not_end_the_list(tmp_path, capsys):
    dead = write(tmp_path, "import os\nos._exit(1)")
    (tmp_path / "second").mkdir()
    good = write(tmp_path / "second", "1")
    assert other_seeds.main([str(dead), str(good)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{dead}: stopped: DeadKernelError",
        f"{good}: cells that fail: 0",
    ]


def test_what_is_no_notebook_is_refused(tmp_path, capsys):
    readme = tmp_path / "folder" / "README.md"
    readme.parent.mkdir()
    readme.write_text("# Title")
    for path in (readme.parent, readme):
        with pytest.raises(SystemExit) as stop:
            other_seeds.main([str(path)])
        assert stop.value.code == 2
        said = f"{path}: no notebook there; name an .ipynb file or a folder that holds some"
        assert said in capsys.readouterr().err
    damaged = tmp_path / "damaged.ipynb"
    damaged.write_text("# Title")
    with pytest.raises(SystemExit) as stop:
        other_seeds.main([str(damaged)])
    assert stop.value.code == 2
    assert f"{damaged} is damaged: it holds no JSON" in capsys.readouterr().err


@pytest.mark.parametrize("package", other_seeds.PAPERS)
def test_build_has_to_be_given_a_seed(package):
    seed = signature(import_module(f"mini_lib.{package}.runs").build).parameters["seed"]
    assert seed.default is Parameter.empty
