"""Splits by brute force and against the released files; commands and actions as numbers."""

import hashlib
import os
from collections import Counter
from functools import cache
from inspect import unwrap

import pytest
import torch
from hypothesis import given, settings, strategies as st
from torch.utils.data import DataLoader

from mini_lib import datasets
from mini_lib.errors import UsageError
from mini_lib.scan.grammar import commands, interpret
from mini_lib.scan.tasks import (
    ACTION_COUNT,
    ACTION_IDS,
    MAX_ACTIONS,
    MAX_WORDS,
    NO_ACTION,
    PAD,
    SPLITS,
    WORD_COUNT,
    WORD_IDS,
    action_count,
    decode,
    encode,
    exactly_right,
    get_split,
    simple_order,
)
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
    "add_jump_and_dax": (13_203 + 2 * 1_467, 7_706 + 7_706),
}
# Commands of 1 action, of 2 and so on, where there are any.
HISTOGRAM = [6, 88, 398, 860, 1184, 1178, 1104, 1450, 1256, 1696, 1072, 1578, 432, 848, 688, 304, 512, 784]
HISTOGRAM += [448, 464, 64, 576, 336, 448, 512, 448, 448, 576, 448, 256, 64, 256, 128]
# Primitive and its copies among the training commands.
SHOWN = {
    "add_jump": {"jump": 1_467},
    "add_turn_left": {"turn left": 2_189},
    "add_dax": {"dax": 2_323},
    "add_jump_and_dax": {"jump": 1_467, "dax": 1_467},
}


@cache
def beside(command, *words):
    """Whether the words follow each other in the command, found by trying every place."""
    all_words = command.split()
    return any(all_words[i : i + len(words)] == list(words) for i in range(len(all_words)))


@pytest.mark.parametrize("name", SIZES)
def test_splits_have_their_sizes_and_no_command_in_both_parts(name):
    assert SIZES.keys() == SPLITS.keys()
    train, test = get_split(name)
    assert (len(train), len(test)) == SIZES[name]
    assert not set(train) & set(test)
    assert len(set(test)) == len(test)
    copies = {command: n for command, n in Counter(train).items() if n > 1}
    assert copies == SHOWN.get(name, {})


def test_simple_order_is_the_stored_one_of_all_commands():
    order = simple_order()
    assert sorted(order) == sorted(commands())
    assert hashlib.sha256("\n".join(order).encode()).hexdigest() == SIMPLE_SHA256
    assert get_split("simple").train + get_split("simple").test == order


def test_lengths_are_those_of_the_facts():
    assert [count for _, count in sorted(Counter(map(action_count, commands())).items())] == HISTOGRAM
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


def test_splits_are_those_of_the_released_files(monkeypatch):
    if not os.environ.get("MINI_LIB_DATA"):
        pytest.skip("MINI_LIB_DATA is not set: the splits are not compared with the released files")
    monkeypatch.setattr(datasets, "cache_folder", lambda: None)
    turns = {"LEFT": "I_TURN_LEFT", "RIGHT": "I_TURN_RIGHT"}
    meanings = {
        command: " ".join(turns.get(action, f"I_{action}") for action in interpret(command))
        for command in simple_order()
    }
    for name in ("simple", "length", "add_jump", "add_turn_left"):
        for part, ours in get_split(name)._asdict().items():
            lines = datasets.scan_lines(name, part)
            theirs = [command for command, _ in lines]
            assert Counter(ours) == Counter(theirs)
            if part == "test" or name in ("simple", "length"):
                assert [*ours] == theirs
            assert all(actions.strip() == meanings[command] for command, actions in lines)


def test_numbers_are_those_of_the_released_code():
    words = "<SOS> jump opposite right twice and turn thrice <EOS> run left after walk around look <NULL> dax"
    assert list(WORD_IDS) == words.split()
    assert list(WORD_IDS.values()) == list(range(17))
    actions = "<SOS> RIGHT JUMP <EOS> WALK LEFT RUN LOOK DAX"
    assert {action: number for number, action in enumerate(actions.split())} == ACTION_IDS
    assert (WORD_COUNT, ACTION_COUNT, NO_ACTION) == (16, 8, 0)


def test_the_longest_command_has_the_greatest_size():
    assert max(map(action_count, simple_order())) == MAX_ACTIONS - 1
    assert max(len(command.split()) for command in simple_order()) == MAX_WORDS - 2


SOME = st.lists(st.sampled_from(commands()), min_size=1, max_size=4)


@settings(deadline=None, max_examples=30)
@given(SOME)
def test_decoding_undoes_encoding_and_padding_is_undone(texts):
    examples = encode(texts)
    for actions, text in zip(examples.actions, texts, strict=True):
        assert decode(actions) == actions_of(text)
    whole = examples.padded()
    assert whole.words.shape == (len(texts), MAX_WORDS)
    assert whole.actions.shape == (len(texts), MAX_ACTIONS)
    assert (whole.words[:, examples.words.shape[1] :] == WORD_IDS[PAD]).all()
    assert (whole.actions[:, examples.actions.shape[1] :] == NO_ACTION).all()
    for one, other in zip(whole.trimmed().tensors, examples.tensors, strict=True):
        assert one.equal(other)
    row = whole[len(texts) - 1 :].trimmed()
    for one, other in zip(row.tensors, encode(texts[-1:]).tensors, strict=True):
        assert one.equal(other)


def test_decoding_ends_at_the_end():
    assert decode(torch.tensor([2, 1, 7])) == ["JUMP", "RIGHT", "LOOK"]
    assert decode(torch.tensor([3, 2])) == []
    assert decode(torch.tensor([2, 3, 100])) == ["JUMP"]  # what comes after the end is not read


@pytest.mark.parametrize(
    ("call", "given"),
    [
        (decode, torch.tensor([2, 9, 3])),
        (encode, []),
        (encode, "walk"),
        (encode, [["walk"]]),
        (get_split, "jump"),
    ],
)
def test_what_is_no_command_action_or_split_is_refused(call, given):
    with pytest.raises(UsageError):
        unwrap(call)(given)  # past the check of types, which only tests make


def test_examples_are_a_data_set_of_commands():
    examples = encode(["jump", "walk left twice", "run", "look and run"])
    some = torch.tensor([True, False, False, True])
    assert (len(examples), len(examples[1:3]), len(examples[some])) == (4, 2, 2)
    words, length, actions = examples[1]
    assert (words.tolist(), int(length), decode(actions)) == ([0, 12, 10, 4, 8], 5, ["LEFT", "WALK"] * 2)
    batches = list(DataLoader(examples, batch_size=3))
    for part, whole in zip(zip(*batches, strict=True), examples.tensors, strict=True):
        assert torch.cat(part).equal(whole)


def test_exactly_right_by_hand():
    actions = torch.tensor([[2, 3, 0, 0]] * 5)
    predicted = torch.tensor([[2, 3, 7, 7], [2, 3, 0, 0], [2, 2, 3, 0], [4, 3, 0, 0], [3, 2, 0, 0]])
    assert exactly_right(predicted, actions).tolist() == [True, True, False, False, False]
