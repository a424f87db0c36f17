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


def test_it_holds_what_the_repository_holds():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not in a checkout")
    tracked = {Path(each) for each in listed.stdout.split("\0") if each and (ROOT / each).is_file()}
    tracked = {path for path in tracked if not any(part.startswith(".") for part in path.parts)}
    assert tracked == {path.relative_to(ROOT) for path in sources()}


def test_unpacked_it_runs(tmp_path: Path):
    pack(tmp_path / "book.zip")
    first = (tmp_path / "book.zip").read_bytes()
    pack(tmp_path / "book.zip")
    assert (tmp_path / "book.zip").read_bytes() == first
    with zipfile.ZipFile(tmp_path / "book.zip") as packed:
        assert {name.split("/")[0] for name in packed.namelist()} == {NAME}
        packed.extractall(tmp_path)
    folder = tmp_path / NAME
    packed_parts = {each.relative_to(ROOT) for each in sources()}
    assert {each.relative_to(folder) for each in sources(folder)} == packed_parts, "unpacked, it packs itself"
    assert (folder / "Makefile").exists()
    assert (folder / "notebooks" / "start_here.ipynb").exists()
    command = [sys.executable, "-c", ONE_LINE]
    ran = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=True, env={"PYTHONPATH": str(folder)}
    )
    assert ran.stdout.split() == [str(folder / "mini_lib" / "__init__.py"), "['JUMP']", "False"]
