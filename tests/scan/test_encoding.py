"""Commands and actions as numbers, there and back."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mini_lib.errors import UsageError
from mini_lib.scan.grammar import commands
from mini_lib.scan.tasks import (
    ACTION_COUNT,
    ACTION_IDS,
    EOS,
    MOST_ACTIONS,
    MOST_WORDS,
    NO_ACTION,
    PAD,
    SOS,
    WORD_COUNT,
    WORD_IDS,
    decode,
    encode,
    exactly_right,
    padded,
    simple_order,
)
from scan.oracles import actions_of


def test_numbers_are_those_of_the_released_code():
    words = {
        **{
            SOS: 0,
            "jump": 1,
            "opposite": 2,
            "right": 3,
            "twice": 4,
            "and": 5,
            "turn": 6,
            "thrice": 7,
            EOS: 8,
        },
        **{"run": 9, "left": 10, "after": 11, "walk": 12, "around": 13, "look": 14, PAD: 15, "dax": 16},
    }
    actions = {SOS: 0, "RIGHT": 1, "JUMP": 2, EOS: 3, "WALK": 4, "LEFT": 5, "RUN": 6, "LOOK": 7, "DAX": 8}
    assert words == WORD_IDS
    assert actions == ACTION_IDS
    assert (WORD_COUNT, ACTION_COUNT, NO_ACTION) == (16, 8, 0)


def test_encoding_by_hand():
    words, lengths, actions = encode(["jump", "walk left twice"])
    assert words.tolist() == [[0, 1, 8, 15, 15], [0, 12, 10, 4, 8]]
    assert lengths.tolist() == [3, 5]
    assert actions.tolist() == [[2, 3, 0, 0, 0], [5, 4, 5, 4, 3]]


def test_the_longest_command_has_the_greatest_size():
    words, lengths, actions = encode(simple_order())
    assert words.shape == (20_910, MOST_WORDS)
    assert actions.shape == (20_910, MOST_ACTIONS)
    assert lengths.max() == 11
    for row, command in enumerate(simple_order()):
        tagged_words = [SOS, *command.split(), EOS]
        pads = MOST_WORDS - len(tagged_words)
        assert words[row].tolist() == [WORD_IDS[word] for word in tagged_words] + [15] * pads
        expected = [ACTION_IDS[action] for action in actions_of(command)] + [3]
        assert actions[row].tolist() == expected + [0] * (MOST_ACTIONS - len(expected))


SOME = st.lists(st.sampled_from(commands()), min_size=1, max_size=4)


@settings(deadline=None, max_examples=30)
@given(SOME)
def test_decoding_undoes_encoding_and_padding_is_undone(texts):
    examples = encode(texts)
    for actions, text in zip(examples.actions, texts, strict=True):
        assert decode(actions) == actions_of(text)
    whole = padded(examples)
    assert whole.words.shape == (len(texts), MOST_WORDS)
    assert whole.actions.shape == (len(texts), MOST_ACTIONS)
    assert (whole.words[:, examples.words.shape[1] :] == WORD_IDS[PAD]).all()
    assert (whole.actions[:, examples.actions.shape[1] :] == NO_ACTION).all()
    for one, other in zip(whole.trimmed(), examples, strict=True):
        assert one.equal(other)
    row = whole[len(texts) - 1 :].trimmed()
    for one, other in zip(row, encode(texts[-1:]), strict=True):
        assert one.equal(other)


def test_decoding_without_an_end():
    assert decode(torch.tensor([2, 1, 7])) == ["JUMP", "RIGHT", "LOOK"]
    assert decode(torch.tensor([3, 2])) == []
    assert decode(torch.tensor([5, 3, 0, 0])) == ["LEFT"]


@pytest.mark.parametrize("number", [-1, -9, len(ACTION_IDS), 100])
def test_numbers_that_are_no_actions_are_not_decoded(number):
    with pytest.raises(UsageError, match=f"^{number} is no action; give .* numbers from 0 to 8$"):
        decode(torch.tensor([2, number, 3]))
    assert decode(torch.tensor([2, 3, number])) == ["JUMP"]  # what stands after the end is not read
    assert [decode(torch.tensor([each])) for each in (0, 8)] == [[SOS], ["DAX"]]


def test_wrong_commands_are_not_encoded():
    with pytest.raises(UsageError, match="'twice' is word 1"):
        encode(["jump", "twice"])
    with pytest.raises(UsageError, match="unknown word 'hop'"):
        encode(["jump", "hop"])
    with pytest.raises(UsageError, match="there is no command to encode"):
        encode([])


def test_exactly_right_by_hand():
    actions = torch.tensor([[2, 3, 0, 0]] * 5)
    predicted = torch.tensor([[2, 3, 7, 7], [2, 3, 0, 0], [2, 2, 3, 0], [4, 3, 0, 0], [3, 2, 0, 0]])
    assert exactly_right(predicted, actions).tolist() == [True, True, False, False, False]


@settings(deadline=None)
@given(st.sampled_from(commands()), st.data())
def test_any_wrong_action_makes_a_command_wrong_and_none_after_its_end(command, data):
    right = padded(encode([command])).actions
    place = data.draw(st.integers(0, MOST_ACTIONS - 1))
    predicted = right.clone()
    predicted[0, place] = data.draw(st.integers(0, 7).filter(lambda action: action != right[0, place]))
    assert exactly_right(predicted, right).tolist() == [place > len(actions_of(command))]


def test_one_command_is_no_list_of_commands():
    with pytest.raises(UsageError, match=r"give a list of commands, such as \['jump twice'\]"):
        encode("jump twice")
