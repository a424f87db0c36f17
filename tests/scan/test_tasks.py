"""Splits by brute force and against the released files; commands and actions as numbers."""

import hashlib
import os
from collections import Counter
from inspect import unwrap

import pytest
import torch
from hypothesis import given, settings, strategies as st

from mini_lib import datasets
from mini_lib.errors import UsageError
from mini_lib.scan import tasks
from mini_lib.scan.grammar import VERBS, commands, interpret
from scan import oracles
from scan.oracles import actions_of

# Of the commands in order, a line each.
SIMPLE_SHA256 = "780b87f879e28cba8f7307c09b61417be607be33c510b65da7a557e955fcdf39"
# Facts, 1.1 to 1.4: commands for training and test, and each primitive's copies among those for training.
SIZES = {
    "simple": (16_728, 4_182, {}),
    "length": (16_990, 3_920, {}),
    "add_jump": (14_670, 7_706, {"jump": 1_467}),
    "add_turn_left": (21_890, 1_208, {"turn left": 2_189}),
    "add_dax": (20_910 + 2_323, 30_381 - 20_910 - 1, {"dax": 2_323}),
    "add_jump_and_dax": (13_203 + 2 * 1_467, 7_706 + 7_706, {"jump": 1_467, "dax": 1_467}),
}


def test_splits_have_their_sizes_and_no_command_in_both_parts():
    assert SIZES.keys() == tasks.SPLITS.keys()
    for name, (for_training, for_test, copies) in SIZES.items():
        train, test = tasks.get_split(name)
        assert (len(train), len(test)) == (for_training, for_test), name
        assert not set(train) & set(test)
        assert len(set(test)) == len(test)
        assert {command: n for command, n in Counter(train).items() if n > 1} == copies


def test_simple_order_is_the_stored_one_of_all_commands():
    order = tasks.simple_order()
    assert sorted(order) == sorted(commands())
    assert hashlib.sha256("\n".join(order).encode()).hexdigest() == SIMPLE_SHA256
    assert tasks.get_split("simple").train + tasks.get_split("simple").test == order
    assert max(map(tasks.action_count, order)) == tasks.MAX_ACTIONS - 1
    assert max(len(command.split()) for command in order) == tasks.MAX_WORDS - 2


def test_length_split_is_sorted_and_cut_at_22_actions():
    train, test = tasks.get_split("length")
    assert (len(actions_of(train[-1])), len(actions_of(test[0]))) == (22, 24)
    assert list(train + test) == sorted(tasks.simple_order(), key=lambda command: len(actions_of(command)))


def contains(command, phrase):
    """Whether the words follow each other in the command, found by trying every place."""
    words, wanted = command.split(), phrase.split()
    return any(words[i : i + len(wanted)] == wanted for i in range(len(words)))


@pytest.mark.parametrize("primitive", ["jump", "turn left", "dax"])
def test_added_primitives_are_tested_in_all_but_themselves(primitive):
    train, test = tasks.get_split(f"add_{primitive.replace(' ', '_')}")
    language = oracles.all_commands((*VERBS, "dax") if primitive == "dax" else VERBS)
    held_out = {command for command in language if contains(command, primitive)} - {primitive}
    assert set(test) == held_out
    assert set(train) == language - held_out
    assert train.count(primitive) == len(set(train) - {primitive}) // 9
    places = [place for place, command in enumerate(train) if command == primitive]
    assert sum(places) / len(places) == pytest.approx(len(train) / 2, rel=0.05)  # spread over the file
    if primitive != "dax":
        assert list(test) == [command for command in tasks.simple_order() if command in held_out]


def test_splits_are_those_of_the_released_files(monkeypatch):
    if not os.environ.get("MINI_LIB_DATA"):
        pytest.skip("MINI_LIB_DATA is not set: the splits are not compared with the released files")
    monkeypatch.setattr(datasets, "cache_folder", lambda: None)
    turns = {"LEFT": "I_TURN_LEFT", "RIGHT": "I_TURN_RIGHT"}
    for name in ("simple", "length", "add_jump", "add_turn_left"):
        for part, ours in tasks.get_split(name)._asdict().items():
            lines = datasets.scan_lines(name, part)
            theirs = [command for command, _ in lines]
            assert Counter(ours) == Counter(theirs)
            if part == "test" or name in ("simple", "length"):
                assert [*ours] == theirs
            for command, actions in lines[::7]:
                assert actions.split() == [turns.get(each, f"I_{each}") for each in interpret(command)]


@settings(max_examples=30)
@given(st.lists(st.sampled_from(commands()), min_size=1, max_size=4))
def test_decoding_undoes_encoding_and_trimming_undoes_padding(texts):
    examples = tasks.encode(texts)
    for actions, text in zip(examples.actions, texts, strict=True):
        assert tasks.decode(actions) == actions_of(text)
        ended = torch.tensor([*actions.tolist(), 100])  # what comes after the end is not read
        assert tasks.decode(ended) == actions_of(text)
    whole = examples.padded()
    assert whole.words.shape == (len(texts), tasks.MAX_WORDS)
    assert whole.actions.shape == (len(texts), tasks.MAX_ACTIONS)
    assert (whole.words[:, examples.words.shape[1] :] == tasks.WORD_IDS[tasks.PAD]).all()
    assert (whole.actions[:, examples.actions.shape[1] :] == tasks.NO_ACTION).all()
    last = whole[len(texts) - 1 :]
    assert (len(whole), len(last), len(whole[torch.zeros(len(texts)) > 0])) == (len(texts), 1, 0)
    assert all(one.equal(every[0]) for one, every in zip(whole[0], whole.tensors, strict=True))
    for padded, expected in ((whole, examples), (last, tasks.encode(texts[-1:]))):
        for one, other in zip(padded.trimmed().tensors, expected.tensors, strict=True):
            assert one.equal(other)


@pytest.mark.parametrize(
    ("call", "argument"),
    [(tasks.decode, torch.tensor([2, 9, 3])), (tasks.encode, "walk"), (tasks.get_split, "jump")],
)
def test_what_is_no_command_action_or_split_is_refused(call, argument):
    with pytest.raises(UsageError):
        unwrap(call)(argument)  # past the check of types, which only tests make


def test_a_command_is_right_if_all_its_actions_and_its_end_are():
    actions = torch.tensor([[2, 3, 0, 0]] * 5)
    predicted = torch.tensor([[2, 3, 7, 7], [2, 3, 0, 0], [2, 2, 3, 0], [4, 3, 0, 0], [3, 2, 0, 0]])
    assert tasks.exactly_right(predicted, actions).tolist() == [True, True, False, False, False]
