"""Meta-seq2seq and its episodes, against the facts and slow numpy."""

import numpy as np
import pytest
import torch
from torch.func import functional_call, grad, stack_module_state, vmap

from mini_lib.errors import UsageError
from mini_lib.scan import meta_tasks
from mini_lib.scan.models.calls import cross_entropy
from mini_lib.scan.models.meta_seq2seq import MetaSeq2Seq
from mini_lib.scan.tasks import WORD_IDS, Examples, Split, encode, padded
from scan import oracles
from scan.networks import COMMANDS, rows_of, weights


def meta_case(seed=0):
    torch.manual_seed(seed)
    network = MetaSeq2Seq(size=6).double().eval()
    support, query = encode(["jump twice", "look right", "walk"]), encode(COMMANDS)
    noise = network.noise(3, 4, 11, 49, torch.Generator().manual_seed(seed))
    return network, support, query, {name: each.double() for name, each in noise.items()}


@pytest.mark.parametrize("noisy", [False, True])
def test_meta_equals_the_numpy_forward_pass(noisy):
    network, support, query, noise = meta_case()
    noise = noise if noisy else {}
    logits = network(padded(support), query, noise).detach().numpy()

    def of(row, shown):
        return {k: each[row].numpy() for k, each in noise.items() if k.startswith("support") == shown}

    masks = [of(row, True) for row in range(3)]
    for row, (words, actions) in enumerate(rows_of(query)):
        (expected,) = oracles.meta(weights(network), rows_of(support), words, actions, of(row, False), masks)
        np.testing.assert_allclose(logits[row, : len(actions)], expected, atol=1e-9)


def test_meta_queries_see_neither_each_other_nor_padding():
    network, support, query, _ = meta_case()
    together = network(padded(support), padded(query))
    other = meta_tasks.with_meaning(support, meta_tasks.meanings()[0])
    assert not network(other, query).allclose(network(support, query))  # but they see the support set
    for row in range(4):
        one = query[row : row + 1].trimmed()
        torch.testing.assert_close(network(support, one)[0], together[row, : one.actions.shape[1]])


def test_meta_predicts_what_teacher_forcing_says_of_its_own_actions():
    network, support, query, _ = meta_case()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter *= 4
    predicted = network.predict(support, query.words, query.lengths, 9)
    assert len(predicted.unique()) > 1
    logits = network(support, Examples(query.words, query.lengths, predicted))
    torch.testing.assert_close(logits.argmax(dim=-1), predicted)


def test_meta_stacked_equals_alone():
    cases = [meta_case(seed) for seed in range(2)]
    network, support, query, _ = cases[0]

    def loss(parameters, buffers, noise):
        logits = functional_call(network, (parameters, buffers), (support, query, noise))
        return cross_entropy(logits, query.actions)

    stacked = vmap(grad(loss))(
        *stack_module_state([case[0] for case in cases]),
        {name: torch.stack([case[3][name] for case in cases]) for name in cases[0][3]},
    )
    for place, (each, _, _, noise) in enumerate(cases):
        cross_entropy(each(support, query, noise), query.actions).backward()
        for name, parameter in each.named_parameters():
            torch.testing.assert_close(stacked[name][place], parameter.grad, rtol=1e-7, atol=1e-10)


def test_a_meaning_changes_actions_and_nothing_else():
    meanings = meta_tasks.meanings()
    assert len({tuple(each.items()) for each in meanings}) == 23
    assert all(any(action != verb.upper() for verb, action in each.items()) for each in meanings)
    examples = encode(["jump left twice", "walk and run"])
    swapped = {"jump": "WALK", "walk": "JUMP", "run": "RUN", "look": "LOOK"}
    changed = meta_tasks.with_meaning(examples, swapped)
    assert torch.equal(changed.words, examples.words)
    expected = encode(["walk left twice", "jump and run"]).actions
    assert torch.equal(changed.actions, expected)


def test_episodes_have_twenty_commands_to_show_and_twenty_more_to_ask():
    support, query = meta_tasks.training_episode(1, 5)
    assert support.words.shape == (20, 11)
    assert query.actions.shape == (40, 49)
    for asked, shown in zip(query, support, strict=True):
        assert torch.equal(asked[20:], shown)
    assert len({tuple(words) for words in query.words.tolist()}) == 40
    again, other = meta_tasks.training_episode(1, 5), meta_tasks.training_episode(1, 6)
    assert torch.equal(again.query.actions, query.actions)
    assert not torch.equal(other.query.words, query.words)


def test_an_episode_has_one_meaning_and_it_is_wrong():
    _, query = meta_tasks.training_episode(0, 0, shown=50, asked=50)
    names = {number: word for word, number in WORD_IDS.items()}
    texts = [" ".join(names[word] for word in words[1:-1]) for words, _ in rows_of(query)]
    right = padded(encode(texts)).actions
    pairs = set(zip(right.flatten().tolist(), query.actions.flatten().tolist(), strict=True))
    assert len(pairs) == 8
    assert any(a != b for a, b in pairs)


def test_the_last_episode_is_the_add_jump_test(monkeypatch):
    asked = []
    monkeypatch.setattr(
        meta_tasks, "get_split", lambda name: asked.append(name) or Split(("run",), ("jump left",))
    )
    support, query = meta_tasks.add_jump_episode()
    assert asked == ["add_jump"]
    assert rows_of(support) == rows_of(encode(["walk", "look", "run", "jump"]))
    assert rows_of(query) == rows_of(encode(["jump left"]))


def test_wrong_use_is_refused():
    for meaning in ({"jump": "WALK"}, dict.fromkeys(("walk", "look", "run", "jump"), "WALK")):
        with pytest.raises(UsageError, match="an action of its own"):
            meta_tasks.with_meaning(encode(["jump"]), meaning)
    with pytest.raises(UsageError, match="20910"):
        meta_tasks.training_episode(0, 0, shown=20_000, asked=2_000)
