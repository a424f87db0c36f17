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


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Give an empty data folder and an empty cache, so that nothing of this machine is found."""
    for kind in ("mnist", "scan", "esbn", "dsprites"):
        (tmp_path / "data" / kind).mkdir(parents=True)
    monkeypatch.setenv("MINI_LIB_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(datasets, "cache_folder", lambda: tmp_path / "cache")
    return tmp_path / "data"


@pytest.fixture
def original(monkeypatch):
    """Skip where no folder of originals is given; else keep the cache out of it."""
    if not os.environ.get("MINI_LIB_DATA"):
        pytest.skip("MINI_LIB_DATA is not set")
    monkeypatch.setattr(datasets, "cache_folder", lambda: None)
    return datasets.data_folder()


def idx(array):
    header = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
    return gzip.compress(header + array.astype(np.uint8).tobytes())


def write_mnist(folder, images, labels, stem="train"):
    (folder / f"mnist/{stem}-images-idx3-ubyte.gz").write_bytes(idx(images))
    (folder / f"mnist/{stem}-labels-idx1-ubyte.gz").write_bytes(idx(labels))


def row(name):
    return next(each[1:] for each in datasets.verify() if each[0] == name)


def test_glyphs_are_white_ground_dark_ink_in_whole_grey_levels():
    images = datasets.glyphs()
    assert images.shape == (100, 32, 32)
    assert images.dtype == torch.float32
    assert images.min() == 0
    assert 0.75 < images.mean() < 0.85
    assert (images[:, [0, 0, -1, -1], [0, -1, 0, -1]] == 1).all()
    assert torch.equal((images * 255).round() / 255, images)
    images.zero_()  # a copy: later calls are as they were
    assert datasets.glyphs().mean() > 0.5


def test_glyphs_fill_the_picture_are_centred_and_unlike_each_other():
    flat = datasets.glyphs().flatten(1) * 255
    assert (torch.cdist(flat, flat) / 32 + 1e9 * torch.eye(100)).min() > 69
    for ink in datasets.glyphs() < 0.9:
        rows, columns = ink.any(1).nonzero(), ink.any(0).nonzero()
        edges = [rows.min(), 31 - rows.max(), columns.min(), 31 - columns.max()]
        assert min(edges) in (3, 4)
        assert abs(edges[0] - edges[1]) <= 2
        assert abs(edges[2] - edges[3]) <= 2


def test_glyphs_are_the_pixels_of_the_stored_runs():
    pixels = (datasets.glyphs() * 255).round().to(torch.uint8).numpy().tobytes()
    assert hashlib.sha256(pixels).hexdigest().startswith("ebe6c058eebc4d9ac14caa77167970f2")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: datasets.glyphs("render"), "unknown image source 'render'; did you mean 'rendered'"),
        (
            lambda: datasets.glyphs("released"),
            "set MINI_LIB_DATA to a folder that holds esbn/released_images",
        ),
        (lambda: datasets.mnist("training"), "did you mean 'train'"),
        (lambda: datasets.scan_lines("addjump", "train"), "did you mean 'add_jump'"),
        (lambda: datasets.scan_lines("simple", "valid"), "unknown part of a SCAN split 'valid'"),
        (lambda: datasets.fetch("minst"), "did you mean 'mnist'"),
    ],
)
def test_what_is_unknown_or_missing_is_answered(folder, call, message):
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        call()


def test_data_folder_is_what_the_variable_says(tmp_path, monkeypatch):
    monkeypatch.delenv("MINI_LIB_DATA", raising=False)
    assert datasets.data_folder() is None
    monkeypatch.setenv("MINI_LIB_DATA", str(tmp_path))
    assert datasets.data_folder() == tmp_path
    monkeypatch.setenv("MINI_LIB_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(NotADirectoryError, match="correct or unset"):
        datasets.glyphs("released")


def test_released_images_are_read(folder):
    images = np.random.default_rng(0).integers(0, 256, (100, 32, 32)).astype(np.uint8)
    np.savez(folder / "esbn/released_images.npz", images=images)
    assert torch.equal(datasets.glyphs("released") * 255, torch.from_numpy(images).float())
    np.savez(folder / "esbn/released_images.npz", images=images[:50])
    with pytest.raises(ValueError, match=r"released_images.npz is damaged \(images is uint8 \(50, 32, 32\)"):
        datasets.glyphs("released")


def test_mnist_is_read_from_idx_files(folder):
    images, labels = np.arange(3 * 784).reshape(3, 28, 28) % 251, np.array([5, 0, 4])
    write_mnist(folder, images, labels, "t10k")
    read, digits = datasets.mnist("test")
    assert read.dtype == torch.uint8
    assert read.tolist() == images.tolist()
    assert digits.tolist() == [5, 0, 4]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"no gzip", "gzip"),
        (idx(np.zeros((3, 28, 28)))[:-12], "damaged"),
        (gzip.compress(gzip.decompress(idx(np.zeros((3, 28, 28))))[:-1]), "2351 values where the header"),
        (idx(np.zeros(3)), "no idx file of bytes with 3 axes"),
        (idx(np.zeros((4, 28, 28))), "3 labels for 4 images"),
    ],
    ids=["no gzip", "cut gzip", "a byte short", "other axes", "labels of fewer"],
)
def test_damaged_mnist_names_the_file_and_the_cure(folder, content, why):
    write_mnist(folder, np.zeros((3, 28, 28)), np.zeros(3))
    (folder / "mnist/train-images-idx3-ubyte.gz").write_bytes(content)
    named = r"train-\w+-idx\d-ubyte.gz is damaged .*mini-lib data fetch"
    with pytest.raises(ValueError, match=named) as error:
        datasets.mnist()
    assert why.lower() in str(error.value).lower()


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


def test_dsprites_are_read_and_their_damage_is_named(folder):
    images, factors = np.eye(64, dtype=np.uint8)[None].repeat(4, 0), np.arange(24).reshape(4, 6)
    np.savez(folder / SPRITES, imgs=images, latents_classes=factors)
    read, classes = datasets.dsprites()
    assert read.tolist() == images.tolist()
    assert classes.tolist() == factors.tolist()
    np.savez(folder / SPRITES, imgs=images, latents_classes=factors[:3])
    with pytest.raises(ValueError, match="do not fit"):
        datasets.dsprites()
    (folder / SPRITES).write_bytes((folder / SPRITES).read_bytes()[:400])
    with pytest.raises(ValueError, match=r"64x64\.npz is damaged"):
        datasets.dsprites()


def test_verify_tells_the_states_apart(folder, monkeypatch):
    write_mnist(folder, np.zeros((2, 28, 28)), np.zeros(2))
    (folder / "mnist/t10k-labels-idx1-ubyte.gz").write_bytes(b"no gzip")
    np.savez(folder / SPRITES, imgs=np.zeros(1))
    assert row("mnist/train-images-idx3-ubyte.gz")[0] == "differs"
    assert row("mnist/t10k-labels-idx1-ubyte.gz")[0] == "damaged"
    assert row("mnist/t10k-images-idx3-ubyte.gz")[0] == "missing"
    status, detail = row(SPRITES)
    assert status == "differs"
    monkeypatch.setitem(datasets.FILES, SPRITES, {"digest": "md5:" + detail.split()[-1]})
    assert row(SPRITES)[0] == "ok"
    start = row("mnist/train-images-idx3-ubyte.gz")[1].split()[-1]
    monkeypatch.setitem(datasets.EXCERPTS, start, "the first 2")
    assert row("mnist/train-images-idx3-ubyte.gz")[1].startswith("the first 2: ")


@pytest.fixture
def server(tmp_path, monkeypatch):
    """Serve a folder on this machine as the source of the SCAN files."""
    source = tmp_path / "source" / "simple_split"
    source.mkdir(parents=True)
    quiet = type("Quiet", (SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    web = ThreadingHTTPServer(("127.0.0.1", 0), partial(quiet, directory=str(source.parent)))
    threading.Thread(target=web.serve_forever, args=(0.01,), daemon=True).start()
    for name in [name for name in datasets.FILES if name.startswith("scan/")]:
        file = name.removeprefix("scan/")
        local = {"url": f"http://127.0.0.1:{web.server_port}/simple_split/{file}"}
        monkeypatch.setitem(datasets.FILES, name, datasets.FILES[name] | local)
    yield source
    web.shutdown()
    web.server_close()


def test_missing_files_are_downloaded_checked_and_kept(folder, server, monkeypatch):
    name = "scan/tasks_test_simple.txt"
    (server / "tasks_test_simple.txt").write_text("IN: run OUT: I_RUN\n")
    with pytest.raises(ValueError, match="did not give the published file"):
        datasets.scan_lines("simple", "test")
    assert row(name)[0] == "missing"
    digest = "492549e4e6495270b9b0ccdb73c43ba9785dc4d8165cd7fc9f5e353afbc1c716"
    monkeypatch.setattr(datasets, "FILES", {name: datasets.FILES[name] | {"digest": digest}})
    (path,) = datasets.fetch("scan")
    assert path.is_relative_to(folder.parent / "cache")
    assert not list((folder / "scan").iterdir())
    (server / "tasks_test_simple.txt").unlink()
    assert datasets.scan_lines("simple", "test") == [("run", "I_RUN")]


def test_a_source_that_does_not_answer_says_what_to_set(folder, server):
    with pytest.raises(FileNotFoundError, match=r"did not answer .* set MINI_LIB_DATA"):
        datasets.fetch("scan")


def test_the_data_folder_comes_before_the_cache(folder):
    for place, word in ((folder, "run"), (folder.parent / "cache", "walk")):
        (place / "scan").mkdir(parents=True, exist_ok=True)
        (place / "scan/tasks_test_simple.txt").write_text(f"IN: {word} OUT: I_{word.upper()}\n")
    assert datasets.scan_lines("simple", "test") == [("run", "I_RUN")]


def test_originals_are_the_published_files(original):
    states = {name: (status, detail) for name, status, detail in datasets.verify()}
    assert not [name for name, (status, _) in states.items() if status in ("damaged", "differs")]
    train = states["mnist/train-images-idx3-ubyte.gz"]
    assert train[0] in ("ok", "missing") or train[1].startswith("the first 18,000 of 60,000 images")


@pytest.mark.parametrize(
    ("kind", "measure", "expected"),
    [
        (
            "scan",
            lambda: [len(datasets.scan_lines(s, p)) for s in datasets.SCAN_SPLITS for p in ("train", "test")],
            [16728, 4182, 16990, 3920, 14670, 7706, 21890, 1208],
        ),
        (
            "mnist",
            lambda: [len(datasets.mnist("test")[0]), *datasets.mnist("test")[1][:3]],
            [10_000, 7, 2, 1],
        ),
        ("mnist", lambda: len(datasets.mnist("train")[1]) in (18_000, 60_000), True),
        ("esbn", lambda: round(datasets.glyphs("released").mean().item(), 3), 0.814),
    ],
)
def test_originals_have_the_papers_sizes(original, kind, measure, expected):
    if not (original / kind).is_dir():
        pytest.skip(f"no {kind} files there")
    assert measure() == expected
