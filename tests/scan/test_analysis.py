"""What is measured inside a network: by hand, by brute force, and in the networks that come trained."""

from inspect import unwrap

import pytest
import torch
from other_device import OTHER, OtherDevice
from torch.utils._pytree import tree_leaves

from mini_lib.errors import UsageError
from mini_lib.files import trained
from mini_lib.scan import analysis
from mini_lib.scan.runs import accuracy, answers
from mini_lib.scan.syntactic_attention import SyntacticAttention
from mini_lib.scan.tasks import ACTION_IDS, MAX_ACTIONS, WORD_IDS, decode, encode, exactly_right, get_split
from mini_lib.seeding import seeded
from scan.by_hand import ACTIONS, COMMANDS, MEANINGS, ByHand
from scan.networks import FORMS, make


def test_attend_gives_words_actions_sources_and_attention_of_a_command():
    model = make("default", spread=1.0)
    found = analysis.attend(model, "jump opposite left after walk")
    assert found.words == ("<SOS>", "jump", "opposite", "left", "after", "walk", "<EOS>")
    assert found.right == ("WALK", "LEFT", "LEFT", "JUMP", "<EOS>")
    assert found.source.tolist() == [5, 3, 3, 1, 6]
    examples = encode([found.command])
    with torch.no_grad():
        trace = model.trace(examples.words, examples.lengths, 5)
    torch.testing.assert_close(found.attention, trace.attention[0])
    assert found.predicted == tuple(ACTIONS[i] for i in answers(model, examples)[0])


def test_follow_measures_each_command_as_if_alone(monkeypatch):
    monkeypatch.setattr("mini_lib.scan.tasks.EVAL_BATCH", 2)
    model = make("default", spread=1.0)
    steps = analysis.follow(model, COMMANDS)
    for row, command in enumerate(COMMANDS):
        alone = analysis.attend(model, command)
        count = len(alone.right)
        assert steps.source[row, :count].equal(alone.source)
        assert steps.attended[row, :count].equal(alone.attention.argmax(dim=1))
        assert [ACTIONS[i] for i in steps.predicted[row, :count]] == list(alone.predicted)
        on_source = alone.attention.gather(1, alone.source[:, None]).squeeze(1)
        torch.testing.assert_close(steps.weight[row, :count], on_source.float())
        assert steps.exists[row].sum() == count
        assert steps.of("JUMP")[row, :count].tolist() == [action == "JUMP" for action in alone.right]
        for part in (steps.source, steps.attended, steps.predicted, steps.weight):
            assert (part[row, count:] == -1).all()
    expected = exactly_right(answers(model, encode(COMMANDS)), encode(COMMANDS).actions)
    assert steps.right.equal(expected)


@pytest.mark.parametrize(("form", "options"), [("default", {"words": 17, "actions": 9}), ("nonlinear", {})])
def test_a_dictionary_is_the_output_with_all_attention_on_one_word(form, options):
    model = make(form, **options)
    found = analysis.dictionary(model)
    assert ("dax" in found.words) == ("words" in options)
    for word, row in zip(found.words, found.probabilities, strict=True):
        d = model.meaning.weight[WORD_IDS[word]]
        if model.hidden is not None:
            d = model.hidden(d.clamp(min=0)).clamp(min=0)
        expected = model.action(d).exp()
        expected = torch.stack([expected[ACTION_IDS[action]] for action in found.actions]) / expected.sum()
        torch.testing.assert_close(row, expected.detach())
        assert found.best()[word] == found.actions[expected.argmax()]


@pytest.mark.parametrize("form", ["default", "sequential", "syntax-action", "nonlinear"])
def test_both_streams_on_one_command_give_what_the_network_predicts(form):
    with seeded(0, "test"):
        model = SyntacticAttention(syntax=8, semantics=6, **FORMS[form]).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter *= 4  # with its first weights it gives one action throughout
    words, lengths, _ = encode(COMMANDS).tensors
    predicted = model.predict(words, lengths, MAX_ACTIONS)
    assert len(predicted.unique(dim=0)) > 1  # commands are told apart
    found = [analysis.two_commands(model, command, command) for command in COMMANDS]
    assert found == [decode(row) for row in predicted]


def test_syntax_of_one_command_places_attention_on_the_words_of_another():
    perfect = ByHand()
    assert analysis.two_commands(perfect, "walk twice", "jump thrice") == ["JUMP", "JUMP"]
    assert analysis.two_commands(perfect, "walk and look", "look after run") == ["LOOK", "RUN"]
    assert analysis.two_commands(perfect, "walk after look", "look and run") == ["RUN", "LOOK"]


def test_swapping_tells_misplaced_attention_from_a_wrong_meaning():
    jumps = [command for command in COMMANDS if "jump" in command]
    lost, mute = ByHand(lost="jump"), ByHand(MEANINGS | {"jump": "WALK"})
    no_walk = ByHand(MEANINGS | {"walk": "RUN"})
    for model, plain, syntax, semantics in (
        (lost, 0, 100, 0),  # attention is misplaced where the syntax stream reads jump
        (mute, 0, 0, 100),  # the meaning is wrong where the semantic stream does
        (no_walk, 60, 60, 0),  # where the replacement has no meaning either
    ):
        assert accuracy(model, encode(jumps)) == pytest.approx(plain)
        assert analysis.accuracy_swapping(model, jumps, "syntax") == pytest.approx(syntax)
        assert analysis.accuracy_swapping(model, jumps, "semantics") == pytest.approx(semantics)
    assert analysis.accuracy_swapping(lost, jumps, "syntax", "jump", "look") == 100


MEASURES = {
    "attend": lambda model: analysis.attend(model, "jump left and walk"),
    "dictionary": analysis.dictionary,
    "follow": lambda model: list(vars(analysis.follow(model, COMMANDS)).values())[1:],
    "two_commands": lambda model: analysis.two_commands(model, "walk and look", "look after run"),
    "accuracy_swapping": lambda model: analysis.accuracy_swapping(model, COMMANDS, "syntax"),
}


@pytest.mark.parametrize("name", MEASURES)
def test_a_network_on_another_device_gives_the_same_on_the_cpu(name):
    here = MEASURES[name](make("nonlinear").float())
    with OtherDevice():
        there = MEASURES[name](make("nonlinear").float().to(OTHER))
    for one, other in zip(tree_leaves(here), tree_leaves(there), strict=True):
        assert type(other) is type(one)  # a tensor of the other device has a type of its own
        if isinstance(one, torch.Tensor):
            torch.testing.assert_close(other, one)
        else:
            assert other == one


@pytest.mark.parametrize(
    ("name", "knows_meaning", "places_attention"),
    [
        ("syntactic_attention", True, True),
        ("syntactic_attention_wrong_meaning", False, True),
        ("syntactic_attention_wrong_looks", True, False),
    ],
)
def test_each_stored_network_fails_where_its_name_says(name, knows_meaning, places_attention):
    model, commands = trained(name), get_split("add_jump").test[::128]
    as_walk = accuracy(model, encode([command.replace("jump", "walk") for command in commands]))
    assert (analysis.accuracy_swapping(model, commands, "semantics") > 80) == places_attention
    assert (analysis.accuracy_swapping(model, commands, "syntax") > as_walk - 10) == knows_meaning
    assert (analysis.dictionary(model).best()["jump"] == "JUMP") == knows_meaning


@pytest.mark.parametrize(
    ("name", "split", "word", "is_right"),
    [("syntactic_attention_dax", "add_dax", "dax", True), ("gru_attention", "add_jump", "jump", False)],
)
def test_a_stored_network_uses_dax_and_the_baseline_does_not_use_jump(name, split, word, is_right):
    commands = get_split(split).test[::200]
    known = [command.replace(word, "walk") for command in commands]
    assert accuracy(trained(name), encode(known)) > 95
    assert (accuracy(trained(name), encode(commands)) > 90) == is_right


@pytest.mark.parametrize(
    ("measure", "arguments", "message"),
    [
        (analysis.attend, (torch.nn.Linear(2, 2), "jump"), "only a SyntacticAttention"),
        (analysis.follow, (make("default"), ["dax twice", "jump"]), "does not know 'dax'; trained"),
        (analysis.accuracy_swapping, (make("default"), ["jump"], "semantic"), "did you mean 'semantics'"),
        (analysis.dictionary, (make("syntax-action"),), "has a dictionary"),
        (analysis.two_commands, (make("default"), "walk", "walk twice"), "as many words"),
    ],
)
def test_what_cannot_be_measured_is_refused(measure, arguments, message):
    with pytest.raises(UsageError, match=message):
        unwrap(measure)(*arguments)  # past the check of types, which only tests make
