"""Sizes, losses and first weights of all networks, and what is particular to those that are compared with."""

import math
from functools import partial

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from mini_lib.scan import cnn, gru_attention, li, syntactic_attention
from mini_lib.scan.cnn import CNN
from mini_lib.scan.gru_attention import GRUAttention
from mini_lib.scan.li import LiNetwork
from mini_lib.scan.meta_seq2seq import MetaSeq2Seq
from mini_lib.scan.syntactic_attention import SyntacticAttention
from mini_lib.scan.tasks import Examples, encode
from scan import oracles
from scan.networks import COMMANDS, END, make, rows_of, weights

EXAMPLES = encode(COMMANDS)


@pytest.mark.parametrize(
    ("network", "expected"),
    [
        (GRUAttention, 1_679_872),
        # Loses the embeddings of actions and 64 columns of the decoder's gates and of the output.
        (partial(GRUAttention, dependency=False), 1_679_872 - 8 * 64 - 64 * 3 * 256 - 64 * 256),
        (LiNetwork, 57_183 - 14),  # without a switch that is not used
        (CNN, 2_504_720),
        (MetaSeq2Seq, 3_297_800 + 726_608),
    ],
)
def test_parameters_are_as_many_as_in_the_facts(network, expected):
    assert sum(each.numel() for each in network().parameters()) == expected


RIGHT, WRONG = -math.log(math.exp(2) / (math.exp(2) + 7)), -math.log(1 / (math.exp(2) + 7))


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        (syntactic_attention.loss, ((2 * RIGHT + WRONG) / 3 + WRONG) / 2),
        # The first command is ended one action too early: that counts, and what follows does not.
        (gru_attention.loss, (RIGHT + WRONG + WRONG + WRONG) / 2),
        (li.loss, (2 * RIGHT + WRONG + 2 * WRONG) / 2),
        (cnn.loss, (2 * RIGHT + WRONG + 2 * WRONG) / 5),
    ],
    ids=["syntactic attention", "gru", "li", "cnn"],
)
def test_losses_of_two_commands_by_hand(loss, expected):
    """Logits are 2 for the action that the network predicts and 0 for the others."""
    actions = torch.tensor([[4, 4, END, 0], [5, END, 0, 0]])
    logits = 2.0 * F.one_hot(torch.tensor([[4, END, END, 1], [4, 4, END, 1]]), 8)
    assert loss(logits, actions).item() == pytest.approx(expected)


def assert_uniform(weight, bound):
    assert 0.97 * bound < weight.abs().max() <= bound
    assert weight.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.05)


def test_first_weights_have_the_distributions_of_the_authors_codes():
    torch.manual_seed(0)
    network = SyntacticAttention()
    for normal in (network.meaning.weight, network.word.weight, network.ends):
        assert normal.std().item() == pytest.approx(1, rel=0.1)
    assert_uniform(network.neighbors.weight_hh, 0.1)
    assert_uniform(network.roles.weight_ih, 200**-0.5)
    assert_uniform(network.decoder.weight_ih, 1 / 20)
    assert_uniform(network.first_query.weight, 1 / 20)
    network = GRUAttention(hidden=64)
    assert_uniform(network.decoder.weight_hh, 1 / 8)
    assert_uniform(network.encoder.weight_ih, 1 / 8)
    network = LiNetwork()  # Glorot's
    assert_uniform(network.decoder_kernel, math.sqrt(6 / (129 + 256)))
    assert_uniform(network.encoder_kernel, math.sqrt(6 / (40 + 128)))
    assert_uniform(network.primitive, 1)
    assert not network.decoder_bias.any()
    network = CNN(dim=64, kernel=5, layers=1)
    layer = network.decoder[0]
    for normed, variance in (
        (network.encoder_first, 0.75 / 64),
        (network.encoder_last, 1 / 64),
        (layer.query, 1 / 64),
        (layer.convolution, 4 * 0.75 / (5 * 64)),
    ):
        assert normed.v.var().item() == pytest.approx(variance, rel=0.1)
        torch.testing.assert_close(normed.g, normed.v.norm(dim=1))
        assert not normed.bias.any()
    assert network.action_place.weight.std().item() == pytest.approx(0.1, rel=0.05)


def test_li_penalty_is_of_both_representations():
    network, examples = make("li", strength=0.3), encode(COMMANDS).padded()
    words = [command for command, _ in rows_of(examples)]
    expected = oracles.li_penalty(weights(network), words, 0.3)
    assert network.penalty(examples.words, examples.lengths).item() == pytest.approx(expected, abs=1e-12)


def test_cnn_divides_the_keys_gradient_by_twice_its_attention_layers(monkeypatch):
    network, grads, lerp = make("cnn"), [], torch.lerp
    for scaled in (lerp, lambda start, end, weight: end):
        monkeypatch.setattr(torch, "lerp", scaled)
        network.zero_grad()
        cnn.loss(network(*EXAMPLES.tensors), EXAMPLES.actions).backward()
        grads.append(network.encoder_last.bias.grad)
    torch.testing.assert_close(4 * grads[0], grads[1])  # two layers


SUPPORT = encode(["jump twice", "look right", "walk"])


def meta():
    torch.manual_seed(0)
    return MetaSeq2Seq(size=6).double().eval()


def test_meta_equals_the_numpy_forward_pass():
    network = meta()
    logits = network(SUPPORT.padded(), EXAMPLES.padded()).detach().numpy()
    for row, (words, actions) in enumerate(rows_of(EXAMPLES)):
        expected = oracles.meta(weights(network), rows_of(SUPPORT), words, actions)
        np.testing.assert_allclose(logits[row, : len(actions)], expected, atol=1e-9)


def test_meta_predicts_what_teacher_forcing_gives_for_its_own_actions():
    network = meta()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter *= 4
    predicted = network.predict(SUPPORT, EXAMPLES, 9)
    assert len(predicted.unique()) > 1
    logits = network(SUPPORT, Examples(EXAMPLES.words, EXAMPLES.lengths, predicted))
    torch.testing.assert_close(logits.argmax(dim=-1), predicted)
