"""The two streams pulled apart, and what words say alone: by hand and by brute force."""

from inspect import unwrap

import pytest
import torch
from other_device import OTHER, OtherDevice
from torch.utils._pytree import tree_leaves

from mini_lib.errors import UsageError
from mini_lib.scan import analysis
from mini_lib.scan.runs import accuracy
from mini_lib.scan.tasks import ACTION_IDS, MAX_ACTIONS, WORD_IDS, decode, encode
from scan.by_hand import COMMANDS, SPOKEN, ByHand, Looks, network


@pytest.mark.parametrize("options", [{}, {"nonlinear_semantics": True}, {"words": 17, "actions": 9}])
def test_a_dictionary_is_what_full_attention_on_a_word_says(options):
    model = network(**options)
    found = analysis.dictionary(model)
    assert ("dax" in found.words) == ("words" in options)
    for word, row in zip(found.words, found.probabilities, strict=True):
        said = model.meaning.weight[WORD_IDS[word]]
        if model.hidden is not None:
            said = model.hidden(said.clamp(min=0)).clamp(min=0)
        logits = model.action(said)
        expected = logits.exp() / logits.exp().sum()
        expected = torch.stack([expected[ACTION_IDS[action]] for action in found.actions])
        torch.testing.assert_close(row, expected.detach())


FORMS = [{}, {"sequential_semantics": True}, {"syntax_action": True}, {"nonlinear_semantics": True}]


@pytest.mark.parametrize("options", FORMS)
def test_two_equal_commands_are_one(options):
    model = network(**options)
    words, lengths, actions = encode(COMMANDS).tensors
    with torch.no_grad():
        trace = model.trace(words, lengths, actions.shape[1])
        roles, query = model.roles_and_query(words, lengths)
        attention = model.attend(roles, query, lengths, actions.shape[1])
    torch.testing.assert_close(attention, trace.attention)
    torch.testing.assert_close(model.logits(attention, trace.meanings, roles), trace.logits)
    predicted = model.predict(words, lengths, MAX_ACTIONS)
    assert len(predicted.unique(dim=0)) > 1  # commands are told apart
    found = [analysis.two_commands(model, command, command) for command in COMMANDS]
    assert found == [decode(row) for row in predicted]


def test_attention_of_one_command_lies_on_the_words_of_another(perfect):
    assert analysis.two_commands(perfect, "walk twice", "jump thrice") == ["JUMP", "JUMP"]
    assert analysis.two_commands(perfect, "walk and look", "look after run") == ["LOOK", "RUN"]
    assert analysis.two_commands(perfect, "walk after look", "look and run") == ["RUN", "LOOK"]


def test_bad_steering_is_told_from_a_bad_meaning():
    jumps = [command for command in COMMANDS if "jump" in command]
    lost, mute = ByHand(Looks({}, fails_with="jump")), ByHand(Looks({}), SPOKEN | {"jump": "WALK"})
    no_steps = ByHand(Looks({}), SPOKEN | {"walk": "RUN"})
    for model, plain, syntax, semantics in (
        (lost, 0, 100, 0),  # the syntax stream is lost where it hears jump
        (mute, 0, 0, 100),  # the semantic stream says something else
        (no_steps, 60, 60, 0),  # where the stand-in has no meaning either
    ):
        assert accuracy(model, encode(jumps)) == pytest.approx(plain)
        assert analysis.accuracy_swapping(model, jumps, "syntax") == pytest.approx(syntax)
        assert analysis.accuracy_swapping(model, jumps, "semantics") == pytest.approx(semantics)
    assert analysis.accuracy_swapping(lost, jumps, "syntax", "jump", "look") == 100


ASKED = {
    "attend": lambda model: analysis.attend(model, "jump left and walk"),
    "dictionary": analysis.dictionary,
    "follow": lambda model: list(vars(analysis.follow(model, COMMANDS)).values())[1:],
    "two_commands": lambda model: analysis.two_commands(model, "walk and look", "look after run"),
    "accuracy_swapping": lambda model: analysis.accuracy_swapping(model, COMMANDS, "syntax"),
}


@pytest.mark.parametrize("name", ASKED)
def test_a_network_on_another_device_is_measured_and_results_come_back(name):
    here = ASKED[name](network(nonlinear_semantics=True))
    with OtherDevice():
        there = ASKED[name](network(nonlinear_semantics=True).to(OTHER))
    for one, other in zip(tree_leaves(here), tree_leaves(there), strict=True):
        assert type(other) is type(one)  # a tensor of the other device has a type of its own
        if isinstance(one, torch.Tensor):
            torch.testing.assert_close(other, one)
        else:
            assert other == pytest.approx(one, nan_ok=True) if isinstance(one, float) else other == one


@pytest.mark.parametrize(
    ("measure", "arguments", "message"),
    [
        (analysis.attend, (torch.nn.Linear(2, 2), "jump"), "only a SyntacticAttention"),
        (analysis.follow, (network(), ["dax twice", "jump"]), "does not know 'dax'; trained"),
        (analysis.accuracy_swapping, (network(), ["jump"], "semantic"), "did you mean 'semantics'"),
        (analysis.dictionary, (network(syntax_action=True),), "has a dictionary"),
        (analysis.two_commands, (network(), "walk", "walk twice"), "as many words"),
    ],
)
def test_what_cannot_be_measured_is_refused(measure, arguments, message):
    with pytest.raises(UsageError, match=message):
        unwrap(measure)(*arguments)  # past the check of types, which only tests make
