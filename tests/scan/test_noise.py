"""Who draws a network's noise: whoever passes it, the network itself in training, nobody in evaluation."""

import pytest
import torch

from mini_lib.scan.meta_tasks import training_episode
from mini_lib.scan.models.meta_seq2seq import MetaSeq2Seq
from mini_lib.scan.models.syntactic_attention import SyntacticAttention
from mini_lib.scan.tasks import encode
from scan.small import COMMANDS, NETWORKS


def cases():
    """Each network in training, and what it is called with."""
    examples = encode(COMMANDS)
    yield "syntactic_attention", SyntacticAttention(syntax=6, semantics=4), tuple(examples)
    for name, make in NETWORKS.items():
        yield name, make(), tuple(examples)
    yield "meta_seq2seq", MetaSeq2Seq(size=6), training_episode(1, 0, shown=3, asked=2)


def passed(network, inputs, seed):
    """The noise that such a call draws for itself from torch's generator at this seed."""
    rng = torch.Generator().manual_seed(seed)
    if isinstance(network, MetaSeq2Seq):
        support, query = inputs
        return network.noise(len(support.lengths), len(query.lengths), 11, 49, rng)
    words, _, actions = inputs
    return network.noise(*words.shape, actions.shape[1], rng)


@pytest.mark.parametrize(
    ("network", "inputs"), [case[1:] for case in cases()], ids=[case[0] for case in cases()]
)
def test_noise_is_drawn_in_training_where_none_is_passed(network, inputs):
    torch.manual_seed(5)
    drawn = network(*inputs)
    assert drawn.equal(network(*inputs, passed(network, inputs, 5)))
    assert not drawn.allclose(network(*inputs))
    assert not drawn.allclose(network(*inputs, {}))  # none at all, if the caller says so
    quiet = network.eval()(*inputs)
    assert quiet.equal(network(*inputs, {}))
    assert not quiet.allclose(
        network(*inputs, passed(network, inputs, 5))
    )  # what is passed counts in any mode
    network.train()


def test_a_network_without_dropout_draws_nothing():
    network, examples = SyntacticAttention(syntax=6, semantics=4, dropout=0.0), encode(COMMANDS)
    before = torch.get_rng_state()
    network(*examples)
    assert torch.get_rng_state().equal(before)
