"""Writing that leaves the old file whole, and says what to do."""

import os
from pathlib import Path

import pytest

from mini_lib.storage import check_target, write_atomically


def test_a_full_disk_is_reported_and_leaves_the_old_file(tmp_path):
    path = tmp_path / "run.pt"
    path.write_text("old")

    def fails(temporary):
        temporary.write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="Free some disk space and run the same command again"):
        write_atomically(path, fails)
    assert [p.name for p in tmp_path.iterdir()] == ["run.pt"]
    assert path.read_text() == "old"


def test_what_is_no_file_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "link", "folder", "../" + tmp_path.name):
        for attempt in (check_target, lambda path: write_atomically(path, Path.touch)):
            with pytest.raises(OSError, match=r"could not write .*is no file .*Name another place"):
                attempt(tmp_path / name)
    assert (tmp_path / "pipe").is_fifo()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["folder", "link", "pipe"]


def test_a_target_is_tried_before_it_is_needed(tmp_path):
    (tmp_path / "file").touch()
    check_target(tmp_path / "new" / "file")
    assert list((tmp_path / "new").iterdir()) == []
    for path in (tmp_path / "file" / "below", tmp_path / ("x" * 300)):
        with pytest.raises(OSError, match=r"could not write .*Name another place"):
            check_target(path)
