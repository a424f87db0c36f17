"""The file that readers download: all of the book's folder, and a package that runs from it."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from mini_lib.reproduction.download import NAME, ROOT, pack, sources

ONE_LINE = (
    "import mini_lib; print(mini_lib.__file__, mini_lib.interpret('jump'), mini_lib.trained('esbn').training)"
)


@pytest.mark.slow
def test_unpacked_it_is_the_folder_that_it_was_packed_from_and_runs(tmp_path: Path):
    files = {each.relative_to(ROOT) for each in sources()}
    assert {Path("Makefile"), Path("notebooks/start_here.ipynb"), Path("mini_lib/__init__.py")} <= files
    assert not [path for path in files if path.parts[0].startswith((".", "_build"))]
    pack(tmp_path / "book.zip")
    for name in ("tools.zip", "again.zip"):
        pack(tmp_path / name, ROOT / "tools")
    assert (tmp_path / "again.zip").read_bytes() == (tmp_path / "tools.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "book.zip") as packed:
        packed.extractall(tmp_path)
    folder = tmp_path / NAME
    assert {each.relative_to(folder) for each in folder.rglob("*") if each.is_file()} == files
    assert {each.relative_to(folder) for each in sources(folder)} == files, "outside git, it packs the same"
    how = {"cwd": folder, "env": {"PYTHONPATH": str(folder)}, "capture_output": True, "text": True}
    ran = subprocess.run([sys.executable, "-c", ONE_LINE], check=True, **how)
    assert ran.stdout.split() == [str(folder / "mini_lib" / "__init__.py"), "['JUMP']", "False"]
