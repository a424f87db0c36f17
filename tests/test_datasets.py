import gzip
import hashlib
import os
import struct
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
import torch

from mini_lib import datasets

SPRITES = "dsprites/dsprites_ndarray_co1sh3sc6or40x32y32_64x64.npz"
SCAN = "scan/tasks_test_simple.txt"
IMAGES, LABELS = "mnist/train-images-idx3-ubyte.gz", "mnist/train-labels-idx1-ubyte.gz"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Give an empty data folder and an empty cache, so that nothing of this machine is found."""
    for kind in ("mnist", "scan", "esbn", "dsprites"):
        (tmp_path / "data" / kind).mkdir(parents=True)
    monkeypatch.setenv("MINI_LIB_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(datasets, "cache_folder", lambda: tmp_path / "cache")
    return tmp_path / "data"


def idx(array):
    header = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
    return gzip.compress(header + array.astype(np.uint8).tobytes(), mtime=0)


def write_mnist(folder, images, labels):
    (folder / IMAGES).write_bytes(idx(images))
    (folder / LABELS).write_bytes(idx(labels))


def status_of(name):
    return next(each[1:] for each in datasets.verify() if each[0] == name)


def test_glyphs_are_white_ground_dark_ink_in_whole_grey_levels():
    images = datasets.glyphs()
    assert (images.shape, images.dtype) == ((100, 32, 32), torch.float32)
    assert (images[:, 0, 0] == 1).all()
    pixels = (images * 255).round()
    assert torch.equal(pixels / 255, images)
    stored = hashlib.sha256(pixels.to(torch.uint8).numpy().tobytes()).hexdigest()  # of the runs on record
    assert stored.startswith("ebe6c058eebc4d9ac14caa77167970f2")
    images.zero_()  # a copy: later calls are as they were
    assert datasets.glyphs().mean() > 0.5


def test_what_is_unknown_or_missing_is_answered(folder, monkeypatch):
    for call, message in (
        (lambda: datasets.glyphs("render"), "unknown image source 'render'; did you mean 'rendered'"),
        (lambda: datasets.scan_lines("addjump", "train"), "did you mean 'add_jump'"),
        (lambda: datasets.fetch("minst"), "did you mean 'mnist'"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(FileNotFoundError, match="set MINI_LIB_DATA to a folder that holds esbn/released"):
        datasets.glyphs("released")
    monkeypatch.setenv("MINI_LIB_DATA", str(folder / "nowhere"))
    with pytest.raises(NotADirectoryError, match="correct or unset"):
        datasets.glyphs("released")


def test_arrays_are_read_and_their_damage_is_named(folder):
    draw = np.random.default_rng(0)
    released, sprites = (draw.integers(0, 256, (n, 32, 32)).astype(np.uint8) for n in (100, 4))
    sprites, factors = sprites.repeat(2, 1).repeat(2, 2), np.arange(24).reshape(4, 6)
    np.savez(folder / "esbn/released_images.npz", images=released)
    np.savez(folder / SPRITES, imgs=sprites, latents_classes=factors)
    assert torch.equal(datasets.glyphs("released") * 255, torch.from_numpy(released).float())
    assert [array.tolist() for array in datasets.dsprites()] == [sprites.tolist(), factors.tolist()]
    np.savez(folder / "esbn/released_images.npz", images=released[:50])
    with pytest.raises(ValueError, match=r"released_images.npz is damaged \(images is uint8 \(50, 32, 32\)"):
        datasets.glyphs("released")
    np.savez(folder / SPRITES, imgs=sprites, latents_classes=factors[:3])
    for said in ("do not fit", r"64x64\.npz is damaged"):
        with pytest.raises(ValueError, match=said):
            datasets.dsprites()
        (folder / SPRITES).write_bytes((folder / SPRITES).read_bytes()[:400])


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (idx(np.zeros((3, 28, 28)))[:-12], "ended before"),
        (gzip.compress(gzip.decompress(idx(np.zeros((3, 28, 28))))[:-1]), "2351 values where the header"),
        (idx(np.zeros(3)), "no idx file of bytes with 3 axes"),
        (idx(np.zeros((4, 28, 28))), "3 labels for 4 images"),
    ],
    ids=("cut", "short", "axes", "labels"),
)
def test_mnist_is_read_from_idx_files_and_damage_names_the_file_and_the_cure(folder, content, why):
    images = np.arange(3 * 784).reshape(3, 28, 28) % 251
    write_mnist(folder, images, np.array([5, 0, 4]))
    assert [part.tolist() for part in datasets.mnist()] == [images.tolist(), [5, 0, 4]]
    (folder / IMAGES).write_bytes(content)
    with pytest.raises(ValueError, match=rf"idx\d-ubyte.gz is damaged .*{why}.*mini-lib data fetch"):
        datasets.mnist()


@pytest.mark.parametrize("zipped", [True, False])
def test_scan_is_read_gzipped_or_not_and_damage_names_the_line(folder, zipped):
    path = folder / f"scan/tasks_train_addprim_turn_left.txt{'.gz' * zipped}"
    write = path.write_bytes if not zipped else lambda text: path.write_bytes(gzip.compress(text))
    write(b"IN: jump twice OUT: I_JUMP I_JUMP\nIN: turn left OUT: I_TURN_LEFT\n")
    pairs = datasets.scan_lines("add_turn_left", "train")
    assert pairs == [("jump twice", "I_JUMP I_JUMP"), ("turn left", "I_TURN_LEFT")]
    for text, line in ((b"IN: look OUT: I_LOOK\nIN: look OUT\n", 2), (b"", 1)):
        write(text)
        with pytest.raises(ValueError, match=rf"turn_left\.txt.* is damaged \(line {line} "):
            datasets.scan_lines("add_turn_left", "train")


def test_verify_tells_the_states_apart(folder, monkeypatch):
    write_mnist(folder, images := np.zeros((2, 28, 28)), np.zeros(2))
    (folder / LABELS).write_bytes(b"no gzip")
    (folder / SPRITES).write_bytes(b"sprites")
    states = [status_of(name)[0] for name in (IMAGES, LABELS, SPRITES, SCAN)]
    assert states == ["differs", "damaged", "differs", "missing"]
    digest = hashlib.md5(b"sprites", usedforsecurity=False).hexdigest()
    monkeypatch.setitem(datasets.FILES, SPRITES, {"digest": f"md5:{digest}"})
    assert status_of(SPRITES)[0] == "ok"
    digest = hashlib.sha256(gzip.decompress(idx(images))).hexdigest()
    monkeypatch.setitem(datasets.EXCERPTS, digest, "the first 2")
    assert status_of(IMAGES) == ("partial", f"the first 2: {folder / IMAGES}")


@pytest.fixture
def server(tmp_path, monkeypatch):
    """Serve a folder on this machine as the source of one SCAN file."""
    source = tmp_path / "source"
    source.mkdir()
    quiet = type("Quiet", (SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    web = ThreadingHTTPServer(("127.0.0.1", 0), partial(quiet, directory=str(source)))
    threading.Thread(target=web.serve_forever, args=(0.01,), daemon=True).start()
    url = f"http://127.0.0.1:{web.server_port}/simple.txt"
    monkeypatch.setattr(datasets, "FILES", {SCAN: {"url": url, "digest": datasets.FILES[SCAN]["digest"]}})
    yield source / "simple.txt"
    web.shutdown()
    web.server_close()


def test_missing_files_are_downloaded_checked_and_kept(folder, server):
    text = "IN: run OUT: I_RUN\n"
    with pytest.raises(FileNotFoundError, match=r"did not answer .* set MINI_LIB_DATA"):
        datasets.fetch("scan")
    server.write_text(text)
    with pytest.raises(ValueError, match="did not give the published file"):
        datasets.scan_lines("simple", "test")
    assert status_of(SCAN)[0] == "missing"
    datasets.FILES[SCAN]["digest"] = hashlib.sha256(text.encode()).hexdigest()
    (path,) = datasets.fetch("scan")
    assert path.is_relative_to(folder.parent / "cache")
    server.unlink()
    assert datasets.scan_lines("simple", "test") == [("run", "I_RUN")]
    (folder / SCAN).write_text("IN: walk OUT: I_WALK\n")  # which comes before the cache
    assert datasets.scan_lines("simple", "test") == [("walk", "I_WALK")]


SCAN_SIZES = {"simple": (16728, 4182), "length": (16990, 3920)}
SCAN_SIZES |= {"add_jump": (14670, 7706), "add_turn_left": (21890, 1208)}


@pytest.mark.skipif(not os.environ.get("MINI_LIB_DATA"), reason="MINI_LIB_DATA names no folder of originals")
def test_originals_are_the_published_files_of_the_papers_sizes(monkeypatch):
    monkeypatch.setattr(datasets, "cache_folder", lambda: None)
    states = {name: status for name, status, _ in datasets.verify()}
    assert not {"damaged", "differs"} & {*states.values()}
    here = {name.split("/")[0] for name, status in states.items() if status != "missing"}
    for split, sizes in SCAN_SIZES.items() if "scan" in here else ():
        assert tuple(len(datasets.scan_lines(split, part)) for part in ("train", "test")) == sizes
    if "mnist" in here:
        images, digits = datasets.mnist("test")
        assert (len(images), digits[:3].tolist()) == (10_000, [7, 2, 1])
