"""Records: none doubled, none lost, none damaged unnoticed. Cells: what a hash is of."""

import json
import math
import os
import threading
from importlib import import_module
from itertools import chain
from types import SimpleNamespace

import pytest
from torch import nn

from mini_lib import __version__
from mini_lib.errors import CorruptFileError
from mini_lib.esbn.runs import paper_settings
from mini_lib.hashing import complete, reduce, settings_hash
from mini_lib.reproduction import RecordConflict, Records, records
from mini_lib.reproduction.cells import PAPERS, STUDIES, cells_of, paper_module
from mini_lib.reproduction.records import COMMITTED, default_folder, read_records, record_of, to_line
from mini_lib.training import Run
from reproduction.samples import FILE, cell, record


def on_disk(folder, file=FILE):
    return read_records(folder / f"{file}.jsonl")


def seeds(records):
    return [each["seed"] for each in records]


def test_what_was_added_is_on_disk_and_read_again_by_seed_and_once(tmp_path):
    store = Records(tmp_path)
    for seed in (2, 1):
        assert store.add(record(seed), FILE)
        assert not store.add(record(seed) | {"provenance": {"device": "another"}}, "esbn.table15")
    again = Records(tmp_path)
    assert list(again) == [record(2), record(1)]
    assert seeds(again.of(record()["hash"])) == [1, 2]
    assert record(2)["key"] in again
    assert record(3)["key"] not in again


def test_finished_runs_are_those_of_the_settings_that_did_not_diverge_with_the_seeds_asked_for(tmp_path):
    store = Records(tmp_path)
    for each in (record(3), record(1), record(2, diverged=True), record(4)):
        store.add(each, FILE)
    settings = record()["settings"]
    assert seeds(store.finished(settings)) == [1, 3, 4]
    assert seeds(store.finished(settings, seeds=(1, 2, 3))) == [1, 3]
    assert store.finished(settings | {"m": 0}) == []


OTHERS = [{"metrics": {"test_accuracy": 98.0}}, {"metrics": {"another": 99.0}}, {"settings": {}}]
OTHERS += [{"diverged": True}, {"updates": 1}, {"scale": ""}]


@pytest.mark.parametrize("other", OTHERS, ids=list)
def test_a_key_with_other_results_is_a_conflict_and_stays_as_it_is(tmp_path, other):
    store = Records(tmp_path)
    store.add(record(), FILE)
    assert not store.add(record() | {"metrics": {"test_accuracy": 99.0, "only_now": 1.0}}, FILE)
    with pytest.raises(RecordConflict, match="has other results than the one on record"):
        store.add(record() | other, FILE)
    assert on_disk(tmp_path) == [record()]


def test_two_commands_that_add_the_same_runs_at_once_double_none(tmp_path):
    together = threading.Barrier(2)

    def add_all():
        store = Records(tmp_path)
        for seed in range(1, 11):
            together.wait(60)
            store.add(record(seed), FILE)

    others = [threading.Thread(target=add_all) for _ in range(2)]
    for each in others:
        each.start()
    for each in others:
        each.join()
    assert seeds(on_disk(tmp_path)) == list(range(1, 11))


@pytest.mark.parametrize("kept", [1, 100, -1, None])
def test_a_record_cut_short_by_a_kill_is_taken_back_by_the_next_one_and_a_whole_one_is_kept(tmp_path, kept):
    path = tmp_path / f"{FILE}.jsonl"
    first, second, third = (to_line(record(seed)) for seed in (1, 2, 3))
    path.write_text(f"{first}\n{second[:kept]}")
    whole = [second] if kept is None else []
    store = Records(tmp_path)
    assert seeds(store) == ([1, 2] if whole else [1])
    assert store.add(record(3), FILE)
    assert path.read_text().splitlines() == [first, *whole, third]


def test_a_conflict_merges_nothing_at_all(tmp_path):
    Records(tmp_path / "a").add(record(1), "esbn.table9")
    Records(tmp_path / "a").add(record(2, accuracy=98.0), FILE)
    here = Records(tmp_path / "here")
    here.add(record(2, accuracy=97.0), FILE)
    with pytest.raises(RecordConflict):
        here.merge(tmp_path / "a")
    assert seeds(Records(tmp_path / "here")) == [2]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"updates": 1800', '"steps": 1800', "the record lacks updates"),
        ('"m": 95', '"m": 50', "the record's key does not belong to its settings"),
        ('"seed": 2', '"seed": 3', "the record's key does not belong"),
        ("99.0", "NaN", "the record's test_accuracy is not a finite"),
        ('"seconds": 36.0', '"seconds": NaN', "the record's seconds is not a finite"),
        ('"device"', '"machine"', "the record lacks device"),
        ('"loss"', '"losses"', "the record lacks loss"),
        ('"diverged": false', '"diverged": "no"', "the record lacks diverged"),
        ('{"test_accuracy": 99.0}', "null", "the record lacks metrics"),
        ('"updates"', '"checks": [3], "updates"', "not a whole record"),
        (None, "[1, 2]", "not a whole record; if the file is one of records, delete that line"),
        (None, "[" * 100_000, "not a whole record"),
        (None, "\xff", "not a whole record"),
    ],
)
def test_damaged_lines_are_named(tmp_path, old, new, message):
    lines = [json.dumps(record(seed)) for seed in (1, 2, 3)]
    lines[1] = new if old is None else lines[1].replace(old, new, 1)
    text = "\n".join(lines) + "\n"
    (tmp_path / f"{FILE}.jsonl").write_bytes(text.encode("latin-1"))  # 0xff is no UTF-8
    with pytest.raises(CorruptFileError, match=rf"{FILE}\.jsonl, line 2: {message}"):
        Records(tmp_path)


def test_what_is_no_number_is_null_on_disk_and_nan_once_it_is_read(tmp_path):
    lost = record(diverged=True, score=(50.0, math.nan)) | {"checks": [{"loss": math.inf}, {"loss": 0.5}]}
    Records(tmp_path).add(lost, FILE)
    line = json.loads((tmp_path / f"{FILE}.jsonl").read_text(), parse_constant=pytest.fail)
    assert (line["curve"]["loss"], line["checks"]) == ([50.0, None], [{"loss": None}, {"loss": 0.5}])
    (again,) = Records(tmp_path)
    read = [*again["curve"]["loss"], *(check["loss"] for check in again["checks"])]
    assert read == pytest.approx([50.0, math.nan, math.nan, 0.5], nan_ok=True)


def test_a_record_holds_what_came_of_a_run_to_six_decimals_or_five_digits():
    values = {99.12345678: 99.123457, 0.123456789: 0.123457, -0.00123456789: -0.0012346, 0.0: 0.0}
    metrics = {f"loss {number}": value for number, value in enumerate(values)}
    entry, curve = cell(**paper_settings("same_different", 95, "rn").to_dict()), record()["curve"]
    run = Run("key", "name", True, False, metrics, curve, 1800, 1.0, nn.Identity(), [metrics] * 2)
    made = record_of(run, entry, 3)
    assert list(made["metrics"].values()) == list(values.values())
    assert made["checks"] == [made["metrics"]] * 2
    assert (made["key"], made["diverged"], made["updates"]) == (f"{entry.hash}-s3", False, 1800)
    run.metrics = {"test_accuracy": 50.0, "test_loss": math.nan}
    made = record_of(run, entry, 3)
    assert (made["metrics"], made["diverged"]) == ({"test_accuracy": 50.0}, True)
    assert record_of(Run("key", "n", True, True, {}, curve, 1, 1.0, nn.Identity()), entry, 3)["diverged"]


def test_every_run_on_record_has_a_whole_curve():
    for each in Records(COMMITTED):
        curve = each["curve"]
        assert len(curve["update"]) == len(curve["loss"]) == len(curve["score"]), each["key"]
        assert sorted(curve["update"]) == curve["update"], each["key"]
        numbers = chain(*curve.values(), *(check.values() for check in each.get("checks", ())))
        assert set(map(type, numbers)) <= {int, float}, each["key"]


@pytest.mark.parametrize("paper", [*PAPERS, *STUDIES])
def test_the_entries_are_those_that_the_papers_modules_declare(paper):
    assert list(cells_of(paper)) == paper_module(paper).CELLS, "run `python tools/entries.py`"
    for each in cells_of(paper):
        if not {"form", "looks"} & each.settings.keys():  # what is no training has settings of its own
            own = import_module(f"mini_lib.{paper}.runs").Settings.from_dict(each.settings).to_dict()
            assert settings_hash(own) == each.hash, each.id


def test_a_new_line_holds_its_settings_in_full():
    settings = paper_settings("rmts", 95, "lstm").to_dict()
    kept = json.loads(to_line(record(seed=1) | {"settings": settings}))["settings"]
    assert kept == complete(settings)
    assert (kept["batch_size"], kept["options"]) == (32, {"hidden": 512})
    assert reduce(kept) == settings


@pytest.mark.parametrize("checkout", [True, False])
def test_an_installed_package_leaves_its_own_folder_alone(tmp_path, monkeypatch, checkout):
    """Its records are read, those in the current directory too; new ones go there. A checkout is as it was."""
    package = tmp_path / "site" / "mini_lib" / "results"
    committed = package / "records"
    Records(committed).add(record(1), FILE)
    if checkout:
        (tmp_path / "site" / ".git").mkdir()
        (tmp_path / "site" / "pyproject.toml").touch()
    monkeypatch.setattr("mini_lib.reproduction.records.__file__", str(package / "records.py"))
    monkeypatch.setattr("mini_lib.reproduction.records.COMMITTED", committed)
    monkeypatch.chdir(tmp_path)
    Records().add(record(2), FILE)
    assert seeds(Records()) == [1, 2]
    assert len(on_disk(committed)) == (2 if checkout else 1)
    assert (tmp_path / "records").exists() != checkout
    assert Records().folder == default_folder()


def test_a_full_disk_leaves_whole_lines_and_the_run_can_be_added_later(tmp_path, monkeypatch):
    store = Records(tmp_path)
    store.add(record(1), FILE)

    def full(descriptor):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match=r"could not write .*No space left on device.*Free some disk space"):
            store.add(record(2), FILE)
    assert on_disk(tmp_path) == [record(1)]
    assert store.add(record(2), FILE)
    assert len(on_disk(tmp_path)) == 2


def test_code_of_which_git_says_nothing_counts_as_changed(monkeypatch):
    done = {True: SimpleNamespace(returncode=0, stdout="records.py"), False: SimpleNamespace(returncode=1)}
    monkeypatch.setattr("subprocess.run", lambda words, **how: done["ls-files" in words])
    assert records.code_version.__wrapped__() == f"{__version__}+unknown-dirty"


def test_a_hash_is_of_the_settings_alone_and_an_id_of_the_place_and_the_variant():
    assert cell(row="another").hash == cell(table="esbn.table17").hash != cell(m=50).hash
    assert settings_hash({"a": 1, "b": 2}) == settings_hash({"b": 2, "a": 1})
    assert cell(variant="released images").id == f"{cell().id}/released images"
    assert (cell().id, cell().paper) == ("esbn.table11/ESBN + TCN/m=95", "esbn")
