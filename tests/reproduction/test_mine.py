"""A reader's own runs: where they may go, and how they are shown beside stored ones."""

import pytest

from mini_lib.errors import UsageError
from mini_lib.reproduction import Records, mine
from mini_lib.reproduction.records import COMMITTED, READERS
from reproduction.samples import HOME, cell, record


@pytest.fixture
def stored(tmp_path, monkeypatch):
    """Five stored runs, from 10 to 50, one of which diverged, in the place of those that come along."""
    monkeypatch.setattr(mine, "COMMITTED", tmp_path / "stored")
    records = Records(tmp_path / "stored")
    for seed, value in enumerate((10.0, 20.0, 30.0, 50.0), start=1):
        records.add(record(seed, value), HOME)
    records.add(record(5, 0.0, diverged=True), HOME)
    return records


def shown(folder, stored, *runs, cells=None):
    own = Records(folder / "own")
    for run in runs:
        own.add(run, HOME)
    rows = mine.beside_stored(cells or [cell()], own, stored)
    return [dict(zip(mine.PARTS, map(str, row), strict=True)) for row in rows]


@pytest.mark.parametrize(
    ("value", "below", "place"),
    [
        (5.0, "0", "below"),
        (10.0, "0", "within"),
        (35.0, "3", "within"),
        (50.0, "3", "within"),
        (51.0, "4", "above"),
    ],
)
def test_a_run_is_placed_in_the_band_of_the_stored_ones(tmp_path, stored, value, below, place):
    (row,) = shown(tmp_path, stored, record(101, value))
    assert row == {
        "id": "esbn.table11/ESBN + TCN/m=95",
        "seed": "101",
        "mine": f"{value:g}",
        "stored runs": "4",
        "mean": "27.5",
        "SD": "17.08",
        "smallest": "10",
        "largest": "50",
        "below mine": below,
        "mine is": place,
    }


def test_two_stored_runs_have_no_spread_and_none_have_no_band(tmp_path, stored):
    stored.add(record(1, 10.0, x=2), HOME)
    stored.add(record(2, 20.0, x=2), HOME)
    cells = [
        cell(x=2),
        cell(column="m=85", x=3),
        cell(column="m=50", x=4),
        cell(column="m=50", variant="small", x=2),
    ]
    own = [record(101, 15.0, x=x) for x in (2, 3, 4)]
    two, none, beside, _ = shown(tmp_path, stored, *own, cells=cells)
    assert (two["stored runs"], two["SD"], two["smallest"], two["mine is"]) == ("2", "-", "10", "within")
    assert (none["stored runs"], none["mean"], none["below mine"]) == ("0", "-", "0")
    assert none["mine is"] == "no stored runs"
    assert beside["mine is"] == "no stored runs, but @small"


def test_a_diverged_run_is_said_to_be(tmp_path, stored):
    (row,) = shown(tmp_path, stored, record(101, diverged=True))
    assert (row["mine"], row["below mine"], row["mine is"]) == ("-", "-", "diverged")


def test_a_run_that_is_stored_too_and_one_of_another_scale_are_left_out(tmp_path, stored):
    other = record(102, 1.0, scale="tutorial")
    assert shown(tmp_path, stored, record(1, 10.0), other) == []


def test_own_runs_never_go_to_the_stored_ones(tmp_path, monkeypatch):
    """Nor, where the package is installed, to the folder that its runs are added to."""
    assert mine.own_folder(None) == mine.OWN
    assert mine.own_folder(tmp_path) == tmp_path
    monkeypatch.setattr("mini_lib.reproduction.records.home_folder", lambda: READERS)
    monkeypatch.chdir(tmp_path)
    for folder in (COMMITTED, READERS, tmp_path / "records"):
        with pytest.raises(UsageError, match=r"verdicts are judged on .*; name another folder for your own"):
            mine.own_folder(folder)


def test_verdicts_are_not_judged_on_own_runs(tmp_path, monkeypatch):
    monkeypatch.setattr("mini_lib.reproduction.records.home_folder", lambda: READERS)
    monkeypatch.chdir(tmp_path)
    key = record(101, 30.0)["key"]
    Records(mine.own_folder(None)).add(record(101, 30.0), HOME)
    assert key not in Records()
    Records(READERS).add(record(101, 30.0), HOME)
    assert key in Records()


def test_seeds_of_stored_runs_are_refused(tmp_path):
    with pytest.raises(UsageError, match="seeds below 101 are kept for the stored runs, got 100; take one"):
        mine.own_records([101, 100], tmp_path / "own")
    assert mine.own_records([101, 7000], tmp_path / "own").folder == tmp_path / "own"


def test_a_list_without_own_runs_says_how_to_make_one(tmp_path, stored):
    folder = tmp_path / "own"
    with pytest.raises(
        UsageError,
        match=r"no runs of your own in \S+own; `mini-lib reproduce TABLE --seed 101 --records \S+own` makes",
    ):
        mine.listing([cell()], folder)
    Records(folder).add(record(101, 30.0), HOME)
    with pytest.raises(UsageError, match=r"in \S+own of what you ask for; `mini-lib reproduce"):
        mine.listing([cell(x=2)], folder)
    head, line = mine.listing([cell()], folder).splitlines()
    assert head.split("  ")[0] == "id"
    assert line.endswith("within")
