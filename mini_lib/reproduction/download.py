"""Packs the folder that a reader needs to run the notebooks into one file, which "Where to run it" offers."""

import io
import re
import shutil
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAME = "structure-apart-from-content-notebooks"
FILE = ROOT / "book" / "generated" / f"{NAME}.zip"
FOLDERS = ("book", "mini_lib", "notebooks", "tests", "tools")
MADE = ("generated", "vendor", "__pycache__", "checkpoints", "jupyter_execute")  # by make or by Python
HIDDEN = re.compile(r"(^|/)\.")
ENDINGS = (".pyc", ".sqlite", ".lock", ".log")


def sources(root: Path = ROOT) -> Iterator[Path]:
    """The files of the folder, but hidden ones: those under git; outside a checkout, all that make did not make."""
    listed = ""
    if shutil.which("git"):
        command = ["git", "ls-files", "-z"]
        listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False).stdout
    if tracked := sorted(filter(None, listed.split("\0"))):
        yield from (root / each for each in tracked if (root / each).is_file() and not HIDDEN.search(each))
        return
    yield from sorted(path for path in root.iterdir() if path.is_file() and path.name[0] != ".")
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            parts = path.relative_to(root).parts
            made = any(part[0] == "." or part in MADE or part.endswith(".egg-info") for part in parts)
            if path.is_file() and not made and path.suffix not in ENDINGS:
                yield path


def pack(file: Path = FILE, root: Path = ROOT) -> None:
    """Write the file, all in one folder; the same parts make the same file."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sources(root):
            part = zipfile.ZipInfo(str(Path(NAME) / path.relative_to(root)))
            part.external_attr = path.stat().st_mode << 16
            packed.writestr(part, path.read_bytes(), zipfile.ZIP_DEFLATED)
    put(file, made.getvalue())


def put(file: Path, content: bytes) -> None:
    """Write a file of the book. One of this content is left as it is: no page is built again for it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    if not file.exists() or file.read_bytes() != content:
        file.write_bytes(content)


def setup(app) -> dict:
    """Register with Sphinx: the file is there before pages are read, and is copied where a page links to it."""
    app.connect("builder-inited", lambda app: pack())
    return {"parallel_read_safe": True, "parallel_write_safe": True}
