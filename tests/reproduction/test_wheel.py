"""The package as pip installs it, used from another folder with no repository near: its data come with it."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import mini_lib

pytestmark = pytest.mark.slow

ROOT = Path(mini_lib.__file__).parents[1]
# A bare GPU machine has PyTorch and little else; what trains must import there.
IN_USE = """
import sys
absent = ("pooch", "ipywidgets", "beartype", "IPython", "nbclient", "nbformat")
sys.modules.update(dict.fromkeys(absent))
from mini_lib.reproduction import cells, cli
for words in (["--version"], ["list"], ["compare", "esbn.table11"], ["claims"]):
    sys.argv[1:] = words
    try:
        cli.main()
    except SystemExit as end:
        assert end.code == 0
assert "torch" not in sys.modules, "what trains nothing loads no PyTorch"
cells.paper_module("scan")
assert [paper for paper in cells.PAPERS if f"mini_lib.{paper}" in sys.modules] == ["scan"]
for paper in cells.PAPERS:
    cells.paper_module(paper)
import mini_lib
mini_lib.trained("esbn")
print(mini_lib.__file__)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with mini_lib in it, from a wheel; what it depends on comes from this environment."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"  # a copy: what a build leaves behind would be in the next wheel
    left_out = shutil.ignore_patterns("__pycache__", "*.lock")
    shutil.copytree(ROOT / "mini_lib", source / "mini_lib", ignore=left_out)
    for name in ("pyproject.toml", "README.md", "LICENSE", "THIRD-PARTY.md"):
        shutil.copy(ROOT / name, source)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "wheel"]
    options = ["--no-deps", "--no-build-isolation", "--wheel-dir", folder]
    subprocess.run([*pip, *options, source], check=True, cwd=folder)
    (wheel,) = folder.glob("mini_lib-*.whl")
    zipfile.ZipFile(wheel).extractall(folder / "site")
    return folder / "site"


def files(root):
    """Every file of a package."""
    found = (path for path in root.rglob("*.*") if path.suffix not in (".pyc", ".lock"))
    return {path.relative_to(root) for path in found if path.is_file()}


def test_all_of_the_package_is_installed_and_reading_loads_no_pytorch_and_writes_nothing(installed, tmp_path):
    assert files(installed / "mini_lib") == files(ROOT / "mini_lib")
    environment = {name: value for name, value in os.environ.items() if name != "MINI_LIB_DATA"}
    environment |= {"PYTHONPATH": str(installed)}
    how = {"cwd": tmp_path, "env": environment, "capture_output": True, "text": True}
    done = subprocess.run([sys.executable, "-c", IN_USE], **how)
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.splitlines()[-1]).is_relative_to(installed)
    assert not list(tmp_path.iterdir())
