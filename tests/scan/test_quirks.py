"""What Syntactic Attention in its released form does beyond the text, and what it must not do."""

import pytest
import torch

from mini_lib.scan.tasks import encode
from scan.forms import batch, double, every_form, make


@every_form
def test_there_is_no_teacher_forcing(form):
    network, (words, lengths, actions) = make(form), batch()
    others = torch.randint(1, 8, actions.shape, generator=torch.Generator().manual_seed(0))
    logits = network(words, lengths, actions)
    assert network(words, lengths, others).equal(logits)
    shorter = network(words, lengths, actions[:, :3])
    torch.testing.assert_close(shorter, logits[:, :3], rtol=0, atol=1e-6)
    assert network.predict(words, lengths, actions.shape[1]).equal(logits.argmax(dim=-1))
    assert not network.predict(words, lengths, 2).requires_grad


@every_form
def test_the_first_query_steers_the_first_step_alone(form):
    """The decoder's state starts at zero: the query changes later steps only through the first attention."""
    network, (words, lengths, _) = double(form), batch()
    trace = network.trace(words, lengths, 1)
    _, query = network.roles_and_query(words, lengths)
    scores = torch.einsum("btk,bk->bt", trace.roles, query)
    present = torch.arange(words.shape[1]) < lengths[:, None]
    expected = torch.softmax(scores.masked_fill(~present, -torch.inf), dim=-1)
    torch.testing.assert_close(trace.attention[:, 0], expected)
    assert (query >= 0).all()


@pytest.mark.parametrize("ends", ["learned", "zero"])
def test_end_vectors_stand_in_place_of_the_outer_contexts(ends):
    network, lengths = double("ends zero" if ends == "zero" else "default"), torch.tensor([5, 3, 2])
    before, after = torch.randn(2, 3, 5, 6, dtype=torch.float64)
    around = network.surround(before[..., :3], after[..., :3], lengths)
    first, last = network.ends if ends == "learned" else torch.zeros(2, 6, dtype=torch.float64)
    for row, length in enumerate(lengths.tolist()):
        assert around[row, 0].equal(first)
        assert around[row, length - 1].equal(last)
        for j in range(1, length - 1):
            assert around[row, j].equal(torch.cat([before[row, j - 1, :3], after[row, j + 1, :3]]))


def changed(place, word, command="walk opposite right twice"):
    words = command.split()
    return encode([command, " ".join([*words[:place], word, *words[place + 1 :]])])


@pytest.mark.parametrize("ends", ["learned", "zero"])
def test_a_words_own_identity_leaks_into_its_role_through_the_second_layer(ends):
    words, lengths, _ = changed(0, "jump")
    network = double("ends zero" if ends == "zero" else "default")
    one, other = network.roles_and_query(words, lengths)[0].detach()
    moved = (one - other).norm(dim=-1)
    assert moved[1] > 0.1 * moved.max()
    first, _, _ = network.neighbours(network.word(words), network.word(words), lengths)
    assert first[0, 0].equal(first[1, 0])


@pytest.mark.parametrize("form", ["top", "top, ends zero"])
@pytest.mark.parametrize(("place", "word"), [(0, "jump"), (1, "around"), (2, "left"), (3, "thrice")])
def test_with_neighbours_at_the_top_a_role_does_not_depend_on_its_word(form, place, word):
    words, lengths, _ = changed(place, word)
    one, other = double(form).roles_and_query(words, lengths)[0].detach()
    assert one[place + 1].equal(other[place + 1])
    inner = {*range(1, 5)} - {place + 1}
    assert all(not one[j].allclose(other[j]) for j in inner)


def test_a_meaning_depends_on_its_word_alone_unless_it_is_sequential():
    words, lengths, _ = changed(0, "jump")
    one, other = double().trace(words, lengths, 1).meanings.detach()
    assert [not a.equal(b) for a, b in zip(one, other, strict=True)] == [False, True] + 4 * [False]
    one, other = double("sequential").trace(words, lengths, 1).meanings.detach()
    assert not any(a.equal(b) for a, b in zip(one, other, strict=True))


def test_syntax_reaches_the_actions_through_attention_alone():
    for form, meets in (("default", False), ("nonlinear", False), ("syntax-action", True)):
        network, examples = double(form), batch()
        trace = network.trace(examples.words, examples.lengths, 5)
        said = trace.semantic
        if form == "nonlinear":
            said = torch.relu(network.hidden(torch.relu(said)))
        weight = network.action.weight[:, :4]
        same = torch.allclose(said @ weight.mT + network.action.bias, trace.logits)
        assert same is not meets
