"""Where attention is, for networks that are written by hand, and where the stored networks go wrong."""

import pytest
import torch

from mini_lib.files import trained
from mini_lib.scan import analysis
from mini_lib.scan.runs import accuracy, answers
from mini_lib.scan.tasks import encode, exactly_right, get_split
from scan.by_hand import ACTIONS, COMMANDS, network


def test_attend_names_words_actions_and_the_own_word_of_each():
    model = network()
    found = analysis.attend(model, "jump opposite left after walk")
    assert found.words == ("<SOS>", "jump", "opposite", "left", "after", "walk", "<EOS>")
    assert found.right == ("WALK", "LEFT", "LEFT", "JUMP", "<EOS>")
    assert found.source.tolist() == [5, 3, 3, 1, 6]
    examples = encode([found.command])
    with torch.no_grad():
        trace = model.trace(examples.words, examples.lengths, 5)
    torch.testing.assert_close(found.attention, trace.attention[0])
    assert found.predicted == tuple(ACTIONS[i] for i in answers(model, examples)[0])


def test_steps_are_those_of_each_command_alone(monkeypatch):
    monkeypatch.setattr("mini_lib.scan.tasks.EVAL_BATCH", 2)
    model = network()
    steps = analysis.follow(model, COMMANDS)
    for row, command in enumerate(COMMANDS):
        alone = analysis.attend(model, command)
        count = len(alone.right)
        assert (steps.source[row, :count] == alone.source).all()
        assert (steps.attended[row, :count] == alone.attention.argmax(dim=1)).all()
        assert [ACTIONS[i] for i in steps.predicted[row, :count]] == list(alone.predicted)
        on_own = alone.attention.gather(1, alone.source[:, None]).squeeze(1)
        torch.testing.assert_close(steps.weight[row, :count], on_own)
        for part in (steps.source, steps.attended, steps.predicted, steps.weight):
            assert (part[row, count:] == -1).all()
    expected = exactly_right(answers(model, encode(COMMANDS)), encode(COMMANDS).actions)
    assert torch.equal(steps.right, expected)


@pytest.mark.parametrize(
    ("name", "meaning", "looks"),
    [
        ("syntactic_attention", True, True),
        ("syntactic_attention_wrong_meaning", False, True),
        ("syntactic_attention_wrong_looks", True, False),
    ],
)
def test_each_stored_network_is_at_fault_where_its_name_says(name, meaning, looks):
    """Four in five of the commands whose words mean what they should, and likewise of those looked up right."""
    model = trained(name)
    commands = get_split("add_jump").test[::64]
    known_meaning = analysis.accuracy_swapping(model, commands, "semantics")
    new_meaning = analysis.accuracy_swapping(model, commands, "syntax")
    same = accuracy(model, encode([command.replace("jump", "walk") for command in commands]))
    assert (known_meaning > 80) == looks
    assert (new_meaning > same - 10) == meaning
    said = analysis.dictionary(model)
    assert (said.probabilities[said.words.index("jump")][said.actions.index("JUMP")] > 0.9) == meaning


def test_one_stored_network_uses_dax_and_the_baseline_does_not_use_jump():
    """Each knows its new verb from one command alone, and gets the rest of the language right."""
    for name, split, word, right in (
        ("syntactic_attention_dax", "add_dax", "dax", True),
        ("gru_attention", "add_jump", "jump", False),
    ):
        commands = get_split(split).test[::100]
        known = [command.replace(word, "walk") for command in commands]
        assert accuracy(trained(name), encode(known)) > 95
        assert (accuracy(trained(name), encode(commands)) > 90) == right
