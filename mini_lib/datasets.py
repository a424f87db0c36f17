"""Data sets: images that need no download, and the public originals when they are wanted.

The glyphs of the ESBN chapters come along, so everything runs without a network. The originals (MNIST, SCAN,
dSprites) are looked for in the folder that `MINI_LIB_DATA` names, then in the user's cache, and are otherwise
fetched into the cache. A missing file that cannot be fetched raises FileNotFoundError, a damaged one ValueError;
both say what to do.
"""

import gzip
import hashlib
import math
import os
import re
import tomllib
import zipfile
import zlib
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Int64, UInt8
from torch import Tensor

from mini_lib.errors import check_names

SIDE = 32  # pixels of a glyph's picture, each way

# Published files, with their address and the digest of their contents (unpacked where they are gzipped); beginnings
# that may stand in for a whole file, by digest.
FILES, EXCERPTS = tomllib.loads((Path(__file__).parent / "datasets.toml").read_text()).values()
SCAN_SPLITS = {
    "simple": "simple",
    "length": "length",
    "add_jump": "addprim_jump",
    "add_turn_left": "addprim_turn_left",
}
SCAN_LINE = re.compile(r"IN: ([a-z ]+) OUT: ([A-Z_ ]+)")


def glyphs(source: str = "rendered") -> Float[Tensor, "100 32 32"]:
    """Return the 100 pictures that the ESBN tasks draw on: white ground 1.0, dark glyph towards 0.0.

    Source "rendered" are characters of DejaVu Sans, which come along, each drawn once, large, and averaged down to a
    longer side of 26 pixels; "released" are the images that the ESBN authors published, from
    `MINI_LIB_DATA`/esbn/released_images.npz. Values are k / 255 for integers k, in float32.

    >>> glyphs().shape
    torch.Size([100, 32, 32])
    """
    check_names("image source", [source], ("rendered", "released"))
    come_along = Path(__file__).parent / "glyphs.npz"
    path = come_along if source == "rendered" else _locate("esbn/released_images.npz")
    (images,) = _arrays(path, "images")
    if images.shape != (100, SIDE, SIDE) or images.dtype != np.uint8:
        raise _damaged(path, f"images is {images.dtype} {images.shape}, not uint8 (100, 32, 32)")
    return torch.from_numpy(images).float() / 255


def mnist(split: str = "train") -> tuple[UInt8[Tensor, "N 28 28"], UInt8[Tensor, " N"]]:
    """Return the handwritten digits of a split ("train" or "test") and their labels, 0 to 9.

    A folder may hold only a beginning of the training part, so N is what the file says; `verify` names it.
    """
    stems = {"train": "train", "test": "t10k"}
    check_names("MNIST split", [split], stems)
    images = _idx(_locate(f"mnist/{stems[split]}-images-idx3-ubyte.gz"), axes=3)
    labels_path = _locate(f"mnist/{stems[split]}-labels-idx1-ubyte.gz")
    labels = _idx(labels_path, axes=1)
    if len(images) != len(labels):
        raise _damaged(labels_path, f"{len(labels)} labels for {len(images)} images")
    return images, labels


def _idx(path: Path, axes: int) -> UInt8[Tensor, "..."]:
    """Parse an idx file of bytes: 0 0 8 axes, each axis as a big-endian int32, then the values."""
    content = _unpacked(path)
    start = 4 + 4 * axes
    if content[:4] != bytes([0, 0, 8, axes]) or len(content) < start:
        raise _damaged(path, f"no idx file of bytes with {axes} axes")
    shape = np.frombuffer(content[4:start], ">i4").tolist()
    if len(content) - start != math.prod(shape):
        raise _damaged(path, f"{len(content) - start} values where the header says {shape}")
    return torch.frombuffer(bytearray(content), dtype=torch.uint8, offset=start).view(shape)


def scan_lines(split: str, part: str) -> list[tuple[str, str]]:
    """Return the (command, actions) pairs of a released SCAN file, in its order, words parted by spaces.

    Splits are those of `SCAN_SPLITS`; a part is "train" or "test".
    """
    check_names("SCAN split", [split], SCAN_SPLITS)
    check_names("part of a SCAN split", [part], ("train", "test"))
    path = _locate(f"scan/tasks_{part}_{SCAN_SPLITS[split]}.txt")
    matches = [SCAN_LINE.fullmatch(line) for line in _unpacked(path).decode("ascii", "replace").splitlines()]
    if None in matches or not matches:
        wrong = matches.index(None) + 1 if matches else 1
        raise _damaged(path, f"line {wrong} does not read 'IN: command OUT: actions'")
    return [match.groups() for match in matches]


def dsprites() -> tuple[UInt8[Tensor, "N 64 64"], Int64[Tensor, "N 6"]]:
    """Return all sprites (0 or 1; 3 GB) and their factors: color, shape, scale, orientation, x, y."""
    path = _locate(next(name for name in FILES if name.startswith("dsprites/")))
    images, factors = _arrays(path, "imgs", "latents_classes")
    if images.shape != (len(factors), 64, 64) or factors.shape[1:] != (6,):
        raise _damaged(path, f"imgs {images.shape} and latents_classes {factors.shape} do not fit")
    return torch.from_numpy(images), torch.from_numpy(factors)


def data_folder() -> Path | None:
    """Return the read-only folder `MINI_LIB_DATA`, laid out {scan,mnist,esbn,dsprites}, or None."""
    named = os.environ.get("MINI_LIB_DATA", "")
    if named and not Path(named).is_dir():
        raise NotADirectoryError(f"MINI_LIB_DATA names {named}, which is not a folder: correct or unset it")
    return Path(named) if named else None


def cache_folder() -> Path:
    """Return the folder of the user's cache that downloads go to."""
    import pooch

    return Path(pooch.os_cache("mini_lib"))


def fetch(name: str) -> list[Path]:
    """Find or download the files of "mnist", "scan", "dsprites" or "esbn", and return where they lie."""
    check_names("data set", [name], dict.fromkeys(each.split("/")[0] for each in FILES))
    return [_locate(each) for each in FILES if each.startswith(f"{name}/")]


def verify() -> list[tuple[str, str, str]]:
    """Check every file at hand: (file, status, detail) for each; nothing is downloaded.

    Status: "ok"; "partial", a known beginning of the file; "differs", not the published contents; "damaged", cannot
    be unpacked; "missing".
    """
    return [(name, *_check(name)) for name in FILES]


def _check(name: str) -> tuple[str, str]:
    """Return status and detail of one file of the registry."""
    path = _at_hand(name)
    if path is None:
        return "missing", "in neither MINI_LIB_DATA nor the cache"
    try:
        content = _unpacked(path)
    except ValueError as error:
        return "damaged", str(error)
    algorithm, _, published = FILES[name]["digest"].rpartition(":")
    digest = hashlib.new(algorithm or "sha256", content, usedforsecurity=False).hexdigest()
    if digest == published:
        return "ok", str(path)
    if digest in EXCERPTS:
        return "partial", f"{EXCERPTS[digest]}: {path}"
    return "differs", f"{path} hashes to {digest}"


def _unpacked(path: Path) -> bytes:
    """Read a file, through gzip where its name says so; a damaged archive raises ValueError."""
    if path.suffix != ".gz":
        return path.read_bytes()
    try:
        return gzip.decompress(path.read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise _damaged(path, error) from error


def _arrays(path: Path, *keys: str) -> list[np.ndarray]:
    """Read arrays of an npz archive."""
    try:
        with path.open("rb") as file, np.load(file) as archive:
            return [archive[key] for key in keys]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, why: object) -> ValueError:
    return ValueError(f"{path} is damaged ({why}): delete it, then fetch it again with `mini-lib data fetch`")


def _locate(name: str) -> Path:
    """Return where a file of the registry lies, downloading it first if need be."""
    return _at_hand(name) or _download(name)


def _at_hand(name: str) -> Path | None:
    """Return where a file lies, gzipped or not: the data folder is looked in first, then the cache."""
    for find in (data_folder, cache_folder):  # the cache is asked last: it imports pooch
        folder = find()
        for path in (folder / name, folder / f"{name}.gz") if folder else ():
            if path.is_file():
                return path
    return None


def _download(name: str) -> Path:
    """Download a file of the registry into the cache and check it."""
    import pooch

    kind, file = name.split("/")
    hint = f"set MINI_LIB_DATA to a folder that holds {name}"
    if (url := FILES[name].get("url")) is None:
        raise FileNotFoundError(f"{name} is not there and cannot be downloaded: {hint}")
    try:
        path = Path(pooch.retrieve(url, None, fname=file, path=cache_folder() / kind))
    except OSError as error:
        why = f"{url} did not answer ({type(error).__name__})"
        raise FileNotFoundError(f"{name} is not there and {why}: {hint}") from error
    status, detail = _check(name)
    if status != "ok":
        path.unlink()
        raise ValueError(f"{url} did not give the published file ({status}, {detail}): try again, or {hint}")
    return path
