"""Syntactic Attention: its streams, and what the released form does beyond the text."""

import pytest
import torch

from mini_lib.scan.syntactic_attention import loss
from mini_lib.scan.tasks import encode
from scan.networks import COMMANDS, make, noise_for

EXAMPLES = encode(COMMANDS)


def test_one_hot_words_have_no_dropout():
    assert list(noise_for(make("one-hot"), EXAMPLES)) == ["meaning"]
    assert list(noise_for(make("default"), EXAMPLES)) == ["meaning", "word"]


@pytest.mark.parametrize("form", ["default", "sequential", "everything"])
def test_there_is_no_teacher_forcing(form):
    """Actions count by their number alone, and predictions do not depend on how many are asked for."""
    network, (words, lengths, actions) = make(form), EXAMPLES.tensors
    logits = network(words, lengths, actions)
    assert network(words, lengths, torch.full_like(actions, 4)).equal(logits)
    torch.testing.assert_close(network(words, lengths, actions[:, :3]), logits[:, :3])
    assert network.predict(words, lengths, actions.shape[1]).equal(logits.argmax(dim=-1))


@pytest.mark.parametrize(
    ("form", "learns"), [("default", False), ("ends zero", False), ("ends hear", True), ("top", True)]
)
def test_one_word_trains_its_syntax_vector_only_with_neighbors_at_the_ends_or_the_top(form, learns):
    """So on add-jump the syntax stream's vector of "jump" stays as it began, in the released form."""
    network, (words, lengths, actions) = make(form), encode(["jump"]).tensors
    loss(network(words, lengths, actions), actions).backward()
    assert bool(network.word.weight.grad[words[0, 1]].any()) == learns
    assert network.meaning.weight.grad[words[0, 1]].any()


def changed(place, word, command="walk opposite right twice"):
    """Numbers and lengths of a command, and of the same with another word at this place."""
    words = command.split()
    return encode([command, " ".join([*words[:place], word, *words[place + 1 :]])]).tensors[:2]


@pytest.mark.parametrize("form", ["top", "everything", "top, ends hear"])
@pytest.mark.parametrize(("place", "word"), [(0, "jump"), (1, "around"), (3, "thrice")])
def test_with_neighbors_at_the_top_a_role_does_not_depend_on_its_word(form, place, word):
    one, other = make(form).roles_and_query(*changed(place, word))[0].detach()
    assert one[place + 1].equal(other[place + 1])
    assert all(not one[j].allclose(other[j]) for j in {*range(1, 5)} - {place + 1})


def test_a_meaning_depends_on_its_word_alone_unless_it_is_sequential():
    for form, expected in (("default", [False, True] + 4 * [False]), ("sequential", [True] * 6)):
        one, other = make(form).trace(*changed(0, "jump"), 1).meanings.detach()
        assert [not a.equal(b) for a, b in zip(one, other, strict=True)] == expected


@pytest.mark.parametrize(
    ("form", "reaches"), [("default", False), ("nonlinear", False), ("syntax-action", True)]
)
def test_syntax_reaches_the_actions_through_attention_alone(form, reaches):
    network = make(form)
    trace = network.trace(EXAMPLES.words, EXAMPLES.lengths, 5)
    other = network.logits(trace.attention, trace.meanings, trace.roles + 1)
    torch.testing.assert_close(network.logits(trace.attention, trace.meanings, trace.roles), trace.logits)
    assert other.allclose(trace.logits) is not reaches
