"""Meta-seq2seq against slow numpy."""

import numpy as np
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
    return network, support, query


def test_meta_equals_the_numpy_forward_pass():
    network, support, query = meta_case()
    logits = network(support.padded(), query.padded()).detach().numpy()
    for row, (words, actions) in enumerate(rows_of(query)):
        expected = oracles.meta(weights(network), rows_of(support), words, actions)
        np.testing.assert_allclose(logits[row, : len(actions)], expected, atol=1e-9)


def test_meta_predicts_what_teacher_forcing_says_of_its_own_actions():
    network, support, query = meta_case()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter *= 4
    predicted = network.predict(support, query, 9)
    assert len(predicted.unique()) > 1
    logits = network(support, Examples(query.words, query.lengths, predicted))
    torch.testing.assert_close(logits.argmax(dim=-1), predicted)


def test_meta_stacked_equals_alone():
    cases = [meta_case(seed) for seed in range(2)]
    network, support, query = cases[0]

    def loss(parameters, buffers):
        logits = functional_call(network, (parameters, buffers), (support, query))
        return cross_entropy(logits, query.actions)

    stacked = vmap(grad(loss))(*stack_module_state([case[0] for case in cases]))
    for place, (each, _, _) in enumerate(cases):
        cross_entropy(each(support, query), query.actions).backward()
        for name, parameter in each.named_parameters():
            torch.testing.assert_close(stacked[name][place], parameter.grad, rtol=1e-7, atol=1e-10)
