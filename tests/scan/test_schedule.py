"""The released code's schedule, and which commands are for training, validation and test."""

import os

import pytest

from mini_lib import datasets
from mini_lib.scan.runs import build, make_parts, paper_settings
from mini_lib.scan.tasks import encode, get_split
from scan.runs import SMALL, rows, small


@pytest.mark.parametrize(
    ("split", "epochs", "updates", "checks"),
    [
        ("simple", 15, 200_730, (5, 10)),
        ("length", 15, 203_880, (5, 10)),
        ("add_jump", 18, 211_248, (5, 10, 15)),
        ("add_turn_left", 12, 210_144, (5, 10)),
    ],
)
def test_updates_and_checks_are_those_of_the_released_code(split, epochs, updates, checks):
    settings = paper_settings(split)
    assert (settings.epochs, settings.checks) == (epochs, checks)
    assert (settings.lr, settings.batch_size, settings.validation, settings.clip) == (1e-3, 1, "tail", None)
    replica = build(paper_settings(split, options=SMALL), 1)
    assert replica.updates == updates
    assert replica.updates - replica.updates_per_epoch < 200_000 <= replica.updates
    assert (replica.checks, replica.clip, replica.schedule) == (checks, None, None)


@pytest.mark.parametrize(
    ("split", "kept", "left"),
    [
        ("simple", 13_382, 3_346),
        ("length", 13_592, 3_398),
        ("add_jump", 11_736, 2_934),
        ("add_turn_left", 17_512, 4_378),
    ],
)
def test_the_last_fifth_is_for_validation(split, kept, left):
    parts = make_parts(paper_settings(split), 1)
    assert (len(parts.train.lengths), len(parts.validation.lengths)) == (kept, left)
    train, test = (encode(part) for part in get_split(split))
    assert parts.train.words.equal(train.words[:kept])
    assert parts.validation.actions.equal(train.actions[kept:])
    assert parts.test.words.equal(test.words)


def test_validation_at_random_is_a_fifth_of_the_commands_and_the_seeds(few):
    every = rows(encode(few.train))
    parts = {seed: make_parts(small(validation="random"), seed) for seed in (1, 2)}
    again = make_parts(small(validation="random"), 1)
    for part in parts.values():
        assert (len(part.train.lengths), len(part.validation.lengths)) == (40, 10)
        assert rows(part.train, part.validation) == every
    assert again.validation.words.equal(parts[1].validation.words)
    assert not parts[1].validation.words.equal(parts[2].validation.words)
    assert not parts[1].validation.words.equal(make_parts(small(), 1).validation.words)


def test_without_validation_all_is_for_training(few):
    parts = make_parts(small(validation="none"), 1)
    assert parts.validation is None
    assert rows(parts.train) == rows(encode(few.train))
    assert make_parts(small(validation="none"), 2).train.words.equal(parts.train.words)


def test_released_files_take_the_place_of_the_generated(monkeypatch):
    if not os.environ.get("MINI_LIB_DATA"):
        pytest.skip("MINI_LIB_DATA is not set: no run is made of the released files")
    monkeypatch.setattr(datasets, "cache_folder", lambda: None)
    parts = make_parts(paper_settings("add_jump", source="released"), 1)
    assert [len(part.lengths) for part in parts] == [11_736, 2_934, 7_706]
    bare = [int((part.lengths == 3).logical_and(part.words[:, 1] == 1).sum()) for part in parts]
    assert bare == [1_194, 273, 0]
