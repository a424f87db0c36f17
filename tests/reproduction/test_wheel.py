"""The package as pip installs it, used from another folder with no repository near: its data come with it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import mini_lib
from mini_lib.reproduction import Records
from mini_lib.reproduction.esbn.cells import CELLS

pytestmark = pytest.mark.slow

ROOT = Path(mini_lib.__file__).parents[1]
IN_USE = """
import json, mini_lib, mini_lib.reproduction
from mini_lib.reproduction.cells import PAPERS
from mini_lib.reproduction import Records, ledger, load_claims, printed
network = mini_lib.trained("esbn")
about = network.about
print(json.dumps({
    "from": mini_lib.__file__,
    "classes": network.core.answer.out_features,
    "seed": about["seed"],
    "printed": len(printed("esbn.table11")),
    "claims": len(load_claims()),
    "ledgers": [paper for paper in sorted(PAPERS) if ledger.load(paper).rows],
    "records": len(list(Records())),
}))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with mini_lib in it, from a wheel; what it depends on comes from this environment."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"  # a copy: what a build leaves behind would be in the next wheel
    shutil.copytree(
        ROOT / "mini_lib", source / "mini_lib", ignore=shutil.ignore_patterns("__pycache__", "*.lock")
    )
    for name in ("pyproject.toml", "README.md", "LICENSE", "THIRD-PARTY.md"):
        shutil.copy(ROOT / name, source)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    options = ["--no-deps", "--no-build-isolation", "--wheel-dir", folder]
    subprocess.run([*pip, "wheel", *options, source], check=True, cwd=folder)
    (wheel,) = folder.glob("mini_lib-*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--target", folder / "site", wheel], check=True, cwd=folder)
    return folder / "site"


def python(installed, folder, *words):
    """What Python prints with that package, and nothing of the repository, on its path."""
    environment = {name: value for name, value in os.environ.items() if name != "MINI_LIB_DATA"}
    environment |= {"PYTHONPATH": str(installed)}
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_weights_tables_claims_ledgers_and_records_come_with_the_package(installed, tmp_path):
    found = json.loads(python(installed, tmp_path, "-c", IN_USE))
    assert Path(found["from"]).is_relative_to(installed)
    assert found["classes"] in (2, 4)
    assert found["printed"] > 50
    assert found["claims"] > 80
    assert found["ledgers"] == ["esbn", "functions", "kanerva", "scan"]
    committed = (ROOT / "mini_lib" / "reproduction" / "records").glob("*.jsonl")
    assert found["records"] == sum(len(path.read_text().splitlines()) for path in committed)


def test_every_file_of_the_package_is_in_the_wheel(installed):
    def files(root):
        return {
            path.relative_to(root)
            for path in root.rglob("*")
            if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".lock"
        }

    assert files(installed / "mini_lib") == files(ROOT / "mini_lib")


def test_the_command_lists_compares_and_writes_into_the_readers_folder(installed, tmp_path):
    def command(*words):
        return python(installed, tmp_path, "-m", "mini_lib", *words)

    def tree():
        found = (path for path in installed.rglob("*.*") if path.suffix not in (".pyc", ".lock"))
        return {path: path.stat().st_mtime for path in found}

    before = tree()
    (cell,) = (
        cell for cell in CELLS if cell.id == "esbn.table9/ESBN + TCN/m=98"
    )  # its runs are the shortest
    narrowed = ("esbn.table9", "--row", cell.row, "--column", cell.column)
    known = len(Records().of(cell.hash))
    assert f"{known} of 10" in command("list", cell.id)
    assert not list(tmp_path.iterdir()), "reading must not write"
    options = ("--seeds", str(known + 1), "--device", "cpu", "--workers", "1")
    assert "records go to records" in command("reproduce", *narrowed, *options)
    (record,) = Records(tmp_path / "records")
    assert record["seed"] == known + 1
    assert record["metrics"]["test_accuracy"] > 95
    listed, *_ = json.loads(command("compare", *narrowed, "--json"))
    assert listed["n"] == known + 1
    assert tree() == before
