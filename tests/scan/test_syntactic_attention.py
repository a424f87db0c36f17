"""Syntactic Attention: its sizes, its streams, and what the released form does beyond the text."""

import pytest
import torch

from mini_lib.scan.syntactic_attention import SyntacticAttention, loss
from mini_lib.scan.tasks import encode
from scan.networks import COMMANDS, FORMS, count, make, noise_for

EXAMPLES = encode(COMMANDS)
every_form = pytest.mark.parametrize("form", FORMS)
# Facts, section 2.
COUNTS = {
    "default": 2_253_288,
    "sequential": 2_340_648,
    "syntax-action": 2_256_488,
    "nonlinear": 2_267_808,
}
PARTS = {
    "decoder": 1_283_200,
    "roles": 643_200,
    "neighbors": 161_600,
    "first_query": 160_400,
    "meaning": 1_920,
    "word": 1_600,
    "ends": 400,
    "action": 968,
}


def test_parameters_are_as_many_as_in_the_released_code():
    for form, expected in COUNTS.items():
        assert count(SyntacticAttention(**FORMS[form])) == expected
    counts = dict.fromkeys(PARTS, 0)
    for name, parameter in SyntacticAttention().named_parameters():
        counts[name.split(".")[0]] += parameter.numel()
    assert counts == PARTS


def test_initial_weights_are_pytorchs_own():
    torch.manual_seed(0)
    weights = dict(SyntacticAttention().named_parameters())
    for name in ("meaning.weight", "word.weight", "ends"):
        assert weights[name].std().item() == pytest.approx(1, rel=0.1)
        assert weights[name].mean().item() == pytest.approx(0, abs=0.1)
    bounds = {"neighbors": 100, "roles": 200, "decoder": 400, "first_query": 400, "action": 120}
    for name, value in weights.items():
        if (start := name.split(".")[0]) in bounds:
            bound = bounds[start] ** -0.5
            assert value.abs().max() <= bound
            if value.numel() > 500:
                assert value.std().item() == pytest.approx(bound / 3**0.5, rel=0.1)


def test_one_hot_words_have_no_dropout():
    assert list(noise_for(make("one-hot"), EXAMPLES)) == ["meaning"]
    assert list(noise_for(make("default"), EXAMPLES)) == ["meaning", "word"]


@every_form
def test_there_is_no_teacher_forcing(form):
    """Actions count by their number alone, and answers do not depend on how many are asked for."""
    network, (words, lengths, actions) = make(form), EXAMPLES.tensors
    logits = network(words, lengths, actions)
    assert network(words, lengths, torch.full_like(actions, 4)).equal(logits)
    torch.testing.assert_close(network(words, lengths, actions[:, :3]), logits[:, :3])
    assert network.predict(words, lengths, actions.shape[1]).equal(logits.argmax(dim=-1))


@pytest.mark.parametrize(
    ("form", "heard"), [("default", False), ("ends zero", False), ("ends hear", True), ("top", True)]
)
def test_a_word_that_stands_alone_is_heard_only_where_the_ends_hear_it_or_the_top_does(form, heard):
    """So on add-jump the syntax stream's vector of "jump" stays as it began, in the released form."""
    network, (words, lengths, actions) = make(form), encode(["jump"]).tensors
    loss(network(words, lengths, actions), actions).backward()
    assert bool(network.word.weight.grad[words[0, 1]].any()) == heard
    assert network.meaning.weight.grad[words[0, 1]].any()


def changed(place, word, command="walk opposite right twice"):
    """Numbers and lengths of a command, and of the same with another word at this place."""
    words = command.split()
    return encode([command, " ".join([*words[:place], word, *words[place + 1 :]])]).tensors[:2]


@pytest.mark.parametrize("form", ["default", "ends zero", "ends hear"])
def test_a_words_own_identity_leaks_into_its_role_through_the_second_layer(form):
    network, (words, lengths) = make(form), changed(0, "jump")
    one, other = network.roles_and_query(words, lengths)[0].detach()
    moved = (one - other).norm(dim=-1)
    assert moved[1] > 0.1 * moved.max()
    first, _, _ = network.neighbors(network.word(words), network.word(words), lengths)
    assert first[0, 0].equal(first[1, 0])


@pytest.mark.parametrize("form", ["top", "top, ends zero", "top, ends hear"])
@pytest.mark.parametrize(("place", "word"), [(0, "jump"), (1, "around"), (2, "left"), (3, "thrice")])
def test_with_neighbours_at_the_top_a_role_does_not_depend_on_its_word(form, place, word):
    one, other = make(form).roles_and_query(*changed(place, word))[0].detach()
    assert one[place + 1].equal(other[place + 1])
    assert all(not one[j].allclose(other[j]) for j in {*range(1, 5)} - {place + 1})


def test_a_meaning_depends_on_its_word_alone_unless_it_is_sequential():
    for form, expected in (("default", [False, True] + 4 * [False]), ("sequential", [True] * 6)):
        one, other = make(form).trace(*changed(0, "jump"), 1).meanings.detach()
        assert [not a.equal(b) for a, b in zip(one, other, strict=True)] == expected


def test_syntax_reaches_the_actions_through_attention_alone():
    for form, meets in (("default", False), ("nonlinear", False), ("syntax-action", True)):
        network = make(form)
        trace = network.trace(EXAMPLES.words, EXAMPLES.lengths, 5)
        said = trace.semantic
        if form == "nonlinear":
            said = torch.relu(network.hidden(torch.relu(said)))
        logits = said @ network.action.weight[:, :4].mT + network.action.bias
        assert torch.allclose(logits, trace.logits) is not meets
