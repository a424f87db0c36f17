"""Packs the folder that a reader needs to run the notebooks into one file, which "Where to run it" offers."""

import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAME = "structure-apart-from-content-notebooks"
FILE = ROOT / "book" / "generated" / f"{NAME}.zip"
FOLDERS = ("book", "mini_lib", "notebooks", "tests", "tools")
MADE = ("generated", "vendor", "__pycache__", "checkpoints", "jupyter_execute")  # by make or by Python
ENDINGS = (".pyc", ".lock", ".log")


def sources(root: Path = ROOT) -> Iterator[Path]:
    """The files of the book's folder, without hidden ones and without what is made from others."""
    yield from sorted(path for path in root.iterdir() if path.is_file() and path.name[0] != ".")
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            parts = path.relative_to(root).parts
            made = any(part[0] == "." or part in MADE or part.endswith(".egg-info") for part in parts)
            if path.is_file() and not made and path.suffix not in ENDINGS:
                yield path


def pack(file: Path = FILE, root: Path = ROOT) -> None:
    """Write the file, all in one folder, unless it is newer than each of its parts."""
    paths = list(sources(root))
    if file.exists() and file.stat().st_mtime > max(path.stat().st_mtime for path in paths):
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in paths:
            packed.write(path, Path(NAME) / path.relative_to(root))


def setup(app) -> dict:
    """Register with Sphinx: the file is there before pages are read, and is copied where a page links to it."""
    app.connect("builder-inited", lambda app: pack())
    return {"parallel_read_safe": True, "parallel_write_safe": True}
