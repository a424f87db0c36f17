"""Records: none doubled, none lost, none damaged unnoticed. Cells: what a hash is of."""

import json
import math
import multiprocessing
import os
from importlib import import_module

import pytest
from torch import nn

from mini_lib.errors import CorruptFileError
from mini_lib.esbn.runs import paper_settings
from mini_lib.hashing import complete, reduce, settings_hash
from mini_lib.reproduction import RecordConflict, Records
from mini_lib.reproduction.cells import PAPERS, STUDIES, cells_of, paper_module
from mini_lib.reproduction.records import COMMITTED, default_folder, read_records, record_of, to_line
from mini_lib.training import Run
from reproduction.samples import FILE, cell, record


def test_what_was_added_is_on_disk_and_read_again(tmp_path):
    store = Records(tmp_path)
    assert store.add(record(seed=2), FILE)
    assert store.add(record(seed=1), FILE)
    again = Records(tmp_path)
    assert len(again) == 2
    assert [each["seed"] for each in again.of(record()["hash"])] == [1, 2]
    assert record(seed=2)["key"] in again
    assert list(again) == [record(seed=2), record(seed=1)]


def test_finished_runs_are_those_of_the_settings_that_did_not_diverge_with_the_seeds_asked_for(tmp_path):
    store = Records(tmp_path)
    for each in (record(seed=3), record(seed=1), record(seed=2, diverged=True), record(seed=4)):
        store.add(each, FILE)
    settings = record()["settings"]
    assert [each["seed"] for each in store.finished(settings)] == [1, 3, 4]
    assert [each["seed"] for each in store.finished(settings, seeds=(1, 2, 3))] == [1, 3]
    assert store.finished(settings | {"m": 0}) == []


def test_a_key_is_never_doubled(tmp_path):
    store = Records(tmp_path)
    store.add(record(), FILE)
    assert not store.add(record() | {"provenance": {"device": "another"}}, FILE)
    assert not store.add(record(), "esbn.table15")
    assert sum(len(read_records(path)) for path in tmp_path.glob("*.jsonl")) == 1


def test_a_key_with_other_results_is_a_conflict(tmp_path):
    store = Records(tmp_path)
    store.add(record(accuracy=99.0), FILE)
    with pytest.raises(RecordConflict, match="has other results than the one on record"):
        store.add(record(accuracy=98.0), FILE)
    assert read_records(tmp_path / f"{FILE}.jsonl") == [record(accuracy=99.0)]


@pytest.mark.parametrize(
    "other", [{"settings": {"m": 95}}, {"diverged": True}, {"updates": 1801}, {"scale": "tutorial"}], ids=list
)
def test_it_is_a_conflict_whatever_differs(tmp_path, other):
    store = Records(tmp_path)
    store.add(record(), FILE)
    with pytest.raises(RecordConflict):
        store.add(record() | other, FILE)


def test_a_store_sees_what_another_one_wrote(tmp_path):
    first, second = Records(tmp_path), Records(tmp_path)
    first.add(record(), FILE)
    assert not second.add(record(), FILE)
    assert len(read_records(tmp_path / f"{FILE}.jsonl")) == 1


def _add_all(folder, seeds, ready):
    store = Records(folder)
    ready.wait(120)
    for seed in seeds:
        store.add(record(seed=seed), FILE)


@pytest.mark.slow
def test_two_processes_may_add_at_once(tmp_path):
    context = multiprocessing.get_context("spawn")
    ready = context.Barrier(2)
    seeds = range(1, 60)  # the same for both, in the same order, so that they meet
    other = context.Process(target=_add_all, args=(tmp_path, seeds, ready))
    other.start()
    _add_all(tmp_path, seeds, ready)
    other.join(120)
    assert other.exitcode == 0
    assert [each["seed"] for each in read_records(tmp_path / f"{FILE}.jsonl")] == list(seeds)


@pytest.mark.parametrize("kept", [1, 100, -1])
def test_a_record_cut_short_by_a_kill_is_passed_over_and_taken_back_by_the_next_one(tmp_path, kept):
    path = tmp_path / f"{FILE}.jsonl"
    first, second, third = (to_line(record(seed=seed)) for seed in (1, 2, 3))
    path.write_text(f"{first}\n{second[:kept]}")
    store = Records(tmp_path)
    assert [each["seed"] for each in store] == [1]
    assert store.add(record(seed=3), FILE)
    assert path.read_text() == f"{first}\n{third}\n"
    assert len(Records(tmp_path)) == 2


def test_a_whole_last_line_without_its_end_is_kept(tmp_path):
    path = tmp_path / f"{FILE}.jsonl"
    first, second = (to_line(record(seed=seed)) for seed in (1, 2))
    path.write_text(first)
    assert Records(tmp_path).add(record(seed=2), FILE)
    assert path.read_text() == f"{first}\n{second}\n"


def test_a_cut_line_before_the_last_one_is_a_fault(tmp_path):
    path = tmp_path / f"{FILE}.jsonl"
    line = to_line(record())
    path.write_text(f"{line[:50]}\n{line}\n")
    with pytest.raises(CorruptFileError, match="line 1: not a whole record"):
        Records(tmp_path)


def test_merging_doubles_nothing(tmp_path):
    elsewhere = Records(tmp_path / "elsewhere" / "deeper")
    for seed in (1, 2, 3):
        elsewhere.add(record(seed=seed), FILE)
    here = Records(tmp_path / "here")
    here.add(record(seed=2), FILE)
    assert here.merge(tmp_path / "elsewhere") == (2, 1)
    assert here.merge(tmp_path / "elsewhere") == (0, 3)
    assert len(read_records(tmp_path / "here" / f"{FILE}.jsonl")) == 3


def test_what_is_merged_goes_to_the_file_that_its_settings_belong_to(tmp_path):
    elsewhere = Records(tmp_path / "elsewhere")
    for m in (85, 95):
        elsewhere.add(record(m=m), "made")
    Records(tmp_path / "here").merge(tmp_path / "elsewhere", {record(m=85)["hash"]: FILE})
    assert read_records(tmp_path / "here" / f"{FILE}.jsonl") == [record(m=85)]
    assert read_records(tmp_path / "here" / "made.jsonl") == [record(m=95)]


@pytest.mark.parametrize("with_whom", ["ours", "each other"])
def test_a_conflict_merges_nothing_at_all(tmp_path, with_whom):
    Records(tmp_path / "a").add(record(seed=1), "esbn.table9")
    Records(tmp_path / "a").add(record(seed=2, accuracy=98.0), FILE)
    here = Records(tmp_path / "here")
    other = here if with_whom == "ours" else Records(tmp_path / "a" / "b")
    other.add(record(seed=2, accuracy=97.0), FILE)
    with pytest.raises(RecordConflict):
        here.merge(tmp_path / "a")
    assert len(Records(tmp_path / "here")) == (1 if with_whom == "ours" else 0)


def test_a_folder_without_records_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"no record files \(\*\.jsonl\) in"):
        Records(tmp_path).merge(tmp_path)
    with pytest.raises(ValueError, match=r"no folder of records at .*nowhere"):
        Records(tmp_path).merge(tmp_path / "nowhere")


METRICS = '{"test_accuracy": 99.0}'


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"updates": 1800', '"steps": 1800', "the record lacks updates"),
        ('"m": 95', '"m": 50', "the record's key does not belong to its settings"),
        ('"seed": 2', '"seed": 3', "the record's key does not belong"),
        ("99.0", "NaN", "the record's metric test_accuracy is not a finite"),
        ("99.0", "1e999", "the record's metric test_accuracy is not a finite"),
        ("99.0", '"99"', "the record's metric test_accuracy is not a finite"),
        ("99.0", "true", "the record's metric test_accuracy is not a finite"),
        (METRICS, "null", "the record's metrics is not of type dict"),
        ('"updates"', '"checks": [3], "updates"', "not a whole record"),
        ('"updates"', '"checks": 3, "updates"', "not a whole record"),
        (None, "[1, 2]", "not a whole record; if the file is one of records, delete that line"),
        (None, '{"key": "half', "not a whole record"),
        (None, "[" * 100_000, "not a whole record"),
        (None, "\xff", "not a whole record"),
    ],
)
def test_damaged_lines_are_named(tmp_path, old, new, message):
    lines = [json.dumps(record(seed=seed)) for seed in (1, 2, 3)]
    lines[1] = new if old is None else lines[1].replace(old, new, 1)
    text = "\n".join(lines) + "\n"
    (tmp_path / f"{FILE}.jsonl").write_bytes(text.encode("latin-1"))  # 0xff is no UTF-8
    with pytest.raises(CorruptFileError, match=rf"{FILE}\.jsonl, line 2: {message}"):
        Records(tmp_path)


def test_a_merge_takes_no_record_without_its_numbers(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / f"{FILE}.jsonl").write_text(json.dumps(record() | {"metrics": None}))
    here = Records(tmp_path / "here")
    with pytest.raises(CorruptFileError, match="metrics is not of type dict"):
        here.merge(tmp_path / "there")
    assert not (tmp_path / "here").exists()


def refuse_constant(name):
    raise AssertionError(f"{name} is not JSON")


def test_a_diverged_run_is_json_on_disk_and_nan_once_it_is_read(tmp_path):
    lost = record(diverged=True, score=(50.0, math.nan))
    store = Records(tmp_path)
    store.add(lost, FILE)
    (line,) = (tmp_path / f"{FILE}.jsonl").read_text().splitlines()
    assert json.loads(line, parse_constant=refuse_constant)["curve"]["loss"] == [50.0, None]
    (again,) = Records(tmp_path)
    assert math.isnan(again["curve"]["loss"][1])
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / f"{FILE}.jsonl").write_text(json.dumps(lost))  # with NaN, as it used to be written
    assert store.merge(tmp_path / "old") == (0, 1)
    assert Records(tmp_path / "merged").merge(tmp_path / "old") == (1, 0)
    text = (tmp_path / "merged" / f"{FILE}.jsonl").read_text()
    assert json.loads(text, parse_constant=refuse_constant)["curve"]["score"] == [50.0, None]


def test_a_run_whose_metric_is_no_number_counts_as_diverged(tmp_path):
    settings, curve = record()["settings"], record()["curve"]
    metrics = {"test_accuracy": 50.0, "test_loss": math.nan}
    run = Run("key", "name", True, False, metrics, curve, 1800, 1.0, nn.Identity())
    made = record_of(run, settings, 1, paper="esbn", scale="paper", data="rendered", device="cpu: x")
    assert (made["metrics"], made["diverged"]) == ({"test_accuracy": 50.0}, True)
    Records(tmp_path).add(made, FILE)
    assert len(Records(tmp_path)) == 1


def test_a_check_that_is_no_number_is_nan_once_it_is_read(tmp_path):
    Records(tmp_path).add(record() | {"checks": [{"loss": math.nan}, {"loss": 0.5}]}, FILE)
    (again,) = Records(tmp_path)
    first, second = again["checks"]
    assert (math.isnan(first["loss"]), second) == (True, {"loss": 0.5})


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (99.12345678, 99.123457),
        (0.123456789, 0.123457),
        (0.0123456789, 0.012346),
        (-0.00123456789, -0.0012346),
        (0.000123456789, 0.00012346),
    ],
)
def test_metrics_and_checks_keep_six_decimals_or_five_digits(value, kept):
    metrics, checks = {"loss": value}, [{"epoch": epoch, "loss": value} for epoch in (1, 2)]
    run = Run("key", "name", True, False, metrics, record()["curve"], 1800, 1.0, nn.Identity(), checks)
    made = record_of(run, {}, 1, paper="esbn", scale="paper", data="rendered", device="cpu: x")
    assert made["metrics"] == {"loss": kept}
    assert made["checks"] == [{"epoch": epoch, "loss": kept} for epoch in (1, 2)]


def own_form(settings):
    """Settings as their paper writes them; what is no training (a timing, first updates) has settings of its own."""
    if {"form", "looks"} & settings.keys():
        return settings
    return import_module(f"mini_lib.{settings['paper']}.runs").Settings.from_dict(settings).to_dict()


def test_every_run_on_record_has_the_hash_that_its_settings_have_today():
    """Else it would be trained again: a default that is dropped or a number of another type gives another hash."""
    for each in Records(COMMITTED):
        digest = settings_hash(own_form(each["settings"]))
        assert (each["hash"], each["key"]) == (digest, f"{digest}-s{each['seed']}"), each["settings"]


@pytest.mark.parametrize("paper", [*PAPERS, *STUDIES])
def test_the_entries_are_those_that_the_papers_modules_declare(paper):
    """`python tools/entries.py` writes the file anew."""
    assert list(cells_of(paper)) == paper_module(paper).CELLS
    for each in cells_of(paper):
        assert settings_hash(own_form(each.settings)) == each.hash, each.id


def test_curves_on_record_are_whole():
    for each in Records(COMMITTED):
        curve = each["curve"]
        assert curve.keys() == {"update", "loss", "score"}, each["key"]
        assert len(curve["update"]) == len(curve["loss"]) == len(curve["score"]), each["key"]
        parts = [*curve.values(), *(check.values() for check in each.get("checks", ()))]
        numbers = [number for part in parts for number in part]
        assert all(type(number) in (int, float) for number in numbers), each["key"]
        assert sorted(curve["update"]) == curve["update"], each["key"]


def test_committed_records_are_as_their_lines_say():
    for path in COMMITTED.glob("*.jsonl"):
        stored = [json.loads(line) for line in path.read_text().splitlines()]
        # Newer lines hold settings in full; read are those that differ from the frozen defaults.
        assert read_records(path) == [each | {"settings": reduce(each["settings"])} for each in stored]


def test_a_new_line_holds_its_settings_in_full():
    settings = paper_settings("rmts", 95, "lstm").to_dict()
    kept = json.loads(to_line(record(seed=1) | {"settings": settings}))["settings"]
    assert kept == complete(settings)
    assert kept["batch_size"] == 32
    assert kept["options"] == {"hidden": 512}
    assert reduce(kept) == settings


@pytest.mark.parametrize("checkout", [True, False])
def test_an_installed_package_leaves_its_own_folder_alone(tmp_path, monkeypatch, checkout):
    """Its records are read, those in the current directory too; new ones go there. A checkout is as it was."""
    package = tmp_path / "site" / "mini_lib" / "results"
    committed = package / "records"
    Records(committed).add(record(seed=1), FILE)
    if checkout:
        (tmp_path / "site" / ".git").mkdir()
        (tmp_path / "site" / "pyproject.toml").touch()
    monkeypatch.setattr("mini_lib.reproduction.records.__file__", str(package / "records.py"))
    monkeypatch.setattr("mini_lib.reproduction.records.COMMITTED", committed)
    monkeypatch.chdir(tmp_path)
    Records().add(record(seed=2), FILE)
    assert len(Records()) == 2
    assert len(read_records(committed / f"{FILE}.jsonl")) == (2 if checkout else 1)
    assert (tmp_path / "records").exists() != checkout
    assert Records().folder == default_folder()
    assert len(Records(committed)) == (2 if checkout else 1)


def test_a_full_disk_leaves_whole_lines_and_the_run_can_be_added_later(tmp_path, monkeypatch):
    store = Records(tmp_path)
    store.add(record(seed=1), FILE)

    def full(descriptor):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match=r"could not write .*No space left on device.*Free some disk space"):
            store.add(record(seed=2), FILE)
    assert read_records(tmp_path / f"{FILE}.jsonl") == [record(seed=1)]
    assert store.add(record(seed=2), FILE)
    assert len(read_records(tmp_path / f"{FILE}.jsonl")) == 2


# ----------------------------------------------------------------------------------------- cells


def test_a_hash_is_of_the_settings_alone():
    assert cell(row="another").hash == cell(table="esbn.table17").hash
    assert cell(m=50).hash != cell().hash
    assert settings_hash({"a": 1, "b": 2}) == settings_hash({"b": 2, "a": 1})
    assert cell().id == "esbn.table11/ESBN + TCN/m=95"
    assert cell(variant="released images").id == "esbn.table11/ESBN + TCN/m=95/released images"
    assert cell().paper == "esbn"
