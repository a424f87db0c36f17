"""Meta-seq2seq against slow numpy."""

import numpy as np
import pytest
import torch
from torch.func import functional_call, grad, stack_module_state, vmap

from mini_lib.scan.cnn import loss as cross_entropy
from mini_lib.scan.meta_seq2seq import MetaSeq2Seq
from mini_lib.scan.tasks import Examples, encode
from scan import oracles
from scan.networks import COMMANDS, rows_of, weights


def meta_case(seed=0):
    torch.manual_seed(seed)
    network = MetaSeq2Seq(size=6).double().eval()
    support, query = encode(["jump twice", "look right", "walk"]), encode(COMMANDS)
    noise = network.draw_noise(3, 4, 11, 49, torch.Generator().manual_seed(seed))
    return network, support, query, {name: each.double() for name, each in noise.items()}


@pytest.mark.parametrize("noisy", [False, True])
def test_meta_equals_the_numpy_forward_pass(noisy):
    network, support, query, noise = meta_case()
    noise = noise if noisy else {}
    logits = network(support.padded(), query, noise).detach().numpy()

    def of(row, shown):
        return {k: each[row].numpy() for k, each in noise.items() if k.startswith("support") == shown}

    masks = [of(row, True) for row in range(3)]
    for row, (words, actions) in enumerate(rows_of(query)):
        (expected,) = oracles.meta(weights(network), rows_of(support), words, actions, of(row, False), masks)
        np.testing.assert_allclose(logits[row, : len(actions)], expected, atol=1e-9)


def test_meta_queries_see_neither_each_other_nor_padding():
    network, support, query, _ = meta_case()
    together = network(support.padded(), query.padded())
    other = Examples(support.words, support.lengths, support.actions.flip(0))
    assert not network(other, query).allclose(network(support, query))  # but they see the support set
    for row in range(4):
        one = query[row : row + 1].trimmed()
        torch.testing.assert_close(network(support, one)[0], together[row, : one.actions.shape[1]])


def test_meta_predicts_what_teacher_forcing_says_of_its_own_actions():
    network, support, query, _ = meta_case()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter *= 4
    predicted = network.predict(support, query, 9)
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
