"""Splits by brute force and against the released files; commands and actions as numbers."""

import hashlib
import os
from collections import Counter
from functools import cache

import pytest

from mini_lib import datasets
from mini_lib.errors import UsageError
from mini_lib.scan.grammar import commands, interpret
from mini_lib.scan.tasks import FEW_SHOT, SPLITS, action_count, get_split, has, simple_order
from scan import oracles
from scan.oracles import actions_of

# Of the commands in order, a line each.
SIMPLE_SHA256 = "780b87f879e28cba8f7307c09b61417be607be33c510b65da7a557e955fcdf39"


# Facts, 1.1 to 1.4.
SIZES = {
    "simple": (16_728, 4_182),
    "length": (16_990, 3_920),
    "add_jump": (14_670, 7_706),
    "add_turn_left": (21_890, 1_208),
    "add_dax": (20_910 + 2_323, 30_381 - 20_910 - 1),
    "template_right": (15_225, 4_476),
    "template_opposite_right": (15_225, 4_476),
    "template_around_right": (15_225, 4_476),
    "template_jump_around_right": (18_528, 1_173),
    **{f"filler_{n}": (size, 1_173) for n, size in enumerate((15_225, 16_290, 17_391, 18_528))},
    **{
        f"size_{percent}": (size, 20_910 - size)
        for percent, size in zip(
            (1, 2, 4, 8, 16, 32, 64), (209, 418, 836, 1_672, 3_345, 6_691, 13_382), strict=True
        )
    },
    **{f"few_shot_{2**power}_1": (15_225 + 2**power, 1_173) for power in range(11)},
}


HISTOGRAM = dict(
    zip(
        [*range(1, 23), 24, 25, 26, 27, 28, 30, 32, 33, 36, 40, 48],
        [
            *(6, 88, 398, 860, 1184, 1178, 1104, 1450, 1256, 1696, 1072, 1578, 432, 848, 688, 304, 512, 784),
            *(448, 464, 64, 576, 336, 448, 512, 448, 448, 576, 448, 256, 64, 256, 128),
        ],
        strict=True,
    )
)


# Primitive and its copies among the training commands.
SHOWN = {"add_jump": ("jump", 1_467), "add_turn_left": ("turn left", 2_189), "add_dax": ("dax", 2_323)}


@cache
def beside(command, *words):
    """Whether the words follow each other in the command, found by trying every place."""
    all_words = command.split()
    return any(all_words[i : i + len(words)] == list(words) for i in range(len(all_words)))


@pytest.mark.parametrize("name", SIZES)
def test_splits_have_their_sizes_and_no_command_in_both_parts(name):
    train, test = get_split(name)
    assert (len(train), len(test)) == SIZES[name]
    assert not set(train) & set(test)
    assert len(set(test)) == len(test)
    copies = {command: n for command, n in Counter(train).items() if n > 1}
    assert copies == dict([SHOWN[name]] if name in SHOWN else [])


def test_every_split_that_is_declared_has_been_checked():
    assert SIZES.keys() - {f"few_shot_{count}_1" for count in FEW_SHOT} == SPLITS.keys()


def test_simple_order_is_the_stored_one_of_all_commands():
    order = simple_order()
    assert sorted(order) == sorted(commands())
    assert hashlib.sha256("\n".join(order).encode()).hexdigest() == SIMPLE_SHA256
    assert get_split("simple").train + get_split("simple").test == order
    for percent in (1, 16, 64):
        train, test = get_split(f"size_{percent}")
        assert train + test == order


def test_lengths_are_those_of_the_facts():
    assert Counter(map(action_count, commands())) == HISTOGRAM
    assert all(action_count(command) == len(actions_of(command)) for command in simple_order()[::7])


def test_length_split_is_sorted_and_cut_at_22_actions():
    train, test = get_split("length")
    lengths = [len(actions_of(command)) for command in (*train, *test)]
    assert lengths == sorted(lengths)
    assert max(lengths[: len(train)]) == 22
    assert min(lengths[len(train) :]) == 24
    assert list(train + test) == sorted(simple_order(), key=lambda command: len(actions_of(command)))
    kept = lengths[: int(0.8 * len(train))]
    assert (max(kept), lengths[len(kept)]) == (15, 15)


@pytest.mark.parametrize("primitive", ["jump", "turn left"])
def test_added_primitives_are_tested_in_all_but_themselves(primitive):
    train, test = get_split(f"add_{primitive.replace(' ', '_')}")
    held_out = {c for c in commands() if beside(c, *primitive.split()) and c != primitive}
    assert set(test) == held_out
    assert set(train) == set(commands()) - held_out
    assert 10 * train.count(primitive) == len(train)
    places = [place for place, command in enumerate(train) if command == primitive]
    assert sum(places) / len(places) == pytest.approx(len(train) / 2, rel=0.05)  # spread over the file
    assert list(test) == [command for command in simple_order() if command in held_out]


def test_the_fifth_verb_is_tested_in_all_constructions():
    train, test = get_split("add_dax")
    every = oracles.all_commands(("walk", "look", "run", "jump", "dax"))
    assert set(test) == {command for command in every if "dax" in command.split()} - {"dax"}
    assert set(train) == {*commands(), "dax"}


@pytest.mark.parametrize(
    ("name", "template", "verbs"),
    [
        ("template_right", ("right",), ("walk", "look", "run", "jump")),
        ("template_opposite_right", ("opposite", "right"), ("walk", "look", "run", "jump")),
        ("template_around_right", ("around", "right"), ("walk", "look", "run", "jump")),
        ("template_jump_around_right", ("around", "right"), ("jump",)),
        ("filler_0", ("around", "right"), ("look", "walk", "run", "jump")),
        ("filler_1", ("around", "right"), ("walk", "run", "jump")),
        ("filler_2", ("around", "right"), ("run", "jump")),
        ("filler_3", ("around", "right"), ("jump",)),
    ],
)
def test_templates_are_held_out_and_turn_with_them_is_in_neither_part(name, template, verbs):
    train, test = get_split(name)
    known = {command for command in commands() if not beside(command, "turn", *template)}
    unseen = {command for command in known if any(beside(command, verb, *template) for verb in verbs)}
    tested = {c for c in known if beside(c, "jump", *template)} if name.startswith("filler") else unseen
    assert set(train) == known - unseen
    assert set(test) == tested
    assert len(known) == 19_701


@pytest.mark.parametrize("count", [1, 32, 1024])
def test_few_shots_are_drawn_by_their_seed_from_other_verbs_around_right(count):
    none = get_split("filler_0")
    first, again, other = (get_split(f"few_shot_{count}_{seed}").train for seed in (1, 1, 2))
    added = set(first) - set(none.train)
    assert first == again
    assert set(first) != set(other)
    assert set(none.train) < set(first)
    assert len(added) == count
    for command in added:
        assert any(beside(command, verb, "around", "right") for verb in ("walk", "look", "run"))
        assert not beside(command, "jump", "around", "right")
        assert not beside(command, "turn", "around", "right")
    assert get_split(f"few_shot_{count}_2").test == none.test


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("addjump", "unknown split 'addjump'; did you mean 'add_jump'"),
        ("lenght", "did you mean 'length'"),
        ("few_shot_3_1", "few-shot splits have 1, 2, 4, .*1024 examples, not 3"),
        ("few_shot_2048_1", "not 2048"),
        ("few_shot_4", "did you mean 'few_shot_N_SEED'"),
        ("", "unknown split ''"),
    ],
)
def test_splits_that_are_not_there_are_answered_with_the_nearest(name, message):
    with pytest.raises(UsageError, match=message):
        get_split(name)


@pytest.mark.parametrize("words", ["left", "turn left", "jump"])
def test_having_words_side_by_side(words):
    assert all(has(command, words) == beside(command, *words.split()) for command in commands()[::5])
    assert not has("jumps", "jump")
    assert not has("turn opposite left", "turn left")


# ------------------------------------------------------------------------------------------ released files


@pytest.fixture
def released(monkeypatch):
    """Skip where no folder of originals is given; else keep the cache out of it."""
    if not os.environ.get("MINI_LIB_DATA"):
        pytest.skip("MINI_LIB_DATA is not set: the splits are not compared with the released files")
    monkeypatch.setattr(datasets, "cache_folder", lambda: None)
    return lambda split, part: datasets.scan_lines(split, part)


@pytest.mark.parametrize("part", ["train", "test"])
@pytest.mark.parametrize("name", ["simple", "length", "add_jump", "add_turn_left"])
def test_splits_are_those_of_the_released_files(name, part, released):
    lines = released(name, part)
    ours, theirs = list(getattr(get_split(name), part)), [command for command, _ in lines]
    assert Counter(ours) == Counter(theirs)
    if part == "test" or name in ("simple", "length"):
        assert ours == theirs
    for command, actions in lines:
        turns = {"LEFT": "I_TURN_LEFT", "RIGHT": "I_TURN_RIGHT"}
        assert actions.split() == [turns.get(action, f"I_{action}") for action in interpret(command)]
