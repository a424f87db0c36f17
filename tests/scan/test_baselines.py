"""What is particular to the networks that Syntactic Attention is compared with: sizes, losses, first weights."""

import math
from functools import partial

import pytest
import torch
from torch.nn import functional as F

from mini_lib.scan import cnn, gru_attention, li, recipes, syntactic_attention
from mini_lib.scan.cnn import CNN
from mini_lib.scan.gru_attention import GRUAttention
from mini_lib.scan.li import LiNetwork
from mini_lib.scan.meta_seq2seq import MetaSeq2Seq
from mini_lib.scan.tasks import encode
from scan import oracles
from scan.networks import COMMANDS, END, count, make, noise_for, rows_of, weights

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
    assert count(network()) == expected


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
    """Logits are 2 for the action that the network says and 0 for the others."""
    actions = torch.tensor([[4, 4, END, 0], [5, END, 0, 0]])
    logits = 2.0 * F.one_hot(torch.tensor([[4, END, END, 1], [4, 4, END, 1]]), 8)
    assert loss(logits, actions).item() == pytest.approx(expected)


def test_gru_starts_uniform():
    torch.manual_seed(0)
    network = GRUAttention(hidden=64)
    assert network.decoder.weight_hh.abs().max() <= 1 / 8
    assert network.decoder.weight_hh.std().item() == pytest.approx(1 / 8 / math.sqrt(3), rel=0.02)
    assert network.word.weight.std().item() == pytest.approx(1, rel=0.1)


@pytest.mark.parametrize("block", [1, 4, 512])
def test_li_in_blocks_of_sorted_commands_is_the_same(monkeypatch, block):
    """Loss, score and gradients."""
    monkeypatch.setattr(recipes, "BLOCK", block)
    network = make("li")
    examples = encode([*COMMANDS, "turn left", "look around right thrice and jump"])
    batch = recipes.batch_of(examples) | {"noise": noise_for(network, examples)}
    in_blocks, outcomes = recipes.longest_first(batch), []
    for each in (batch, in_blocks):
        network.zero_grad()
        loss, score = recipes.li_loss(network, each)
        loss.backward()
        outcomes.append([loss.detach(), score, *(parameter.grad for parameter in network.parameters())])
    torch.testing.assert_close(outcomes[1], outcomes[0], rtol=1e-7, atol=1e-10)
    assert len(in_blocks["steps"]) == -(-len(examples) // block)


def test_li_penalty_and_noise_are_of_both_representations():
    network, examples = make("li", strength=0.3), encode(COMMANDS).padded()
    words = [command for command, _ in rows_of(examples)]
    expected = oracles.li_penalty(weights(network), words, 0.3)
    assert network.penalty(examples.words, examples.lengths).item() == pytest.approx(expected, abs=1e-12)
    assert list(noise_for(network, examples)) == ["primitive", "function"]


def test_li_starts_glorot_uniform():
    torch.manual_seed(0)
    network = LiNetwork()
    bound = math.sqrt(6 / (129 + 256))
    assert 0.99 * bound < network.decoder_kernel.abs().max() <= bound
    assert 0.99 * math.sqrt(6 / (40 + 128)) < network.encoder_kernel.abs().max() <= math.sqrt(6 / (40 + 128))
    assert network.decoder_bias.abs().max() == 0
    assert 0.95 < network.primitive.abs().max() <= 1


def test_cnn_divides_by_twice_its_attention_layers(monkeypatch):
    network, grads, lerp = make("cnn"), [], torch.lerp
    for scaled in (lerp, lambda start, end, weight: end):
        monkeypatch.setattr(torch, "lerp", scaled)
        network.zero_grad()
        cnn.loss(network(*EXAMPLES.tensors), EXAMPLES.actions).backward()
        grads.append(network.encoder_last.bias.grad)
    torch.testing.assert_close(4 * grads[0], grads[1])  # two layers


def test_cnn_starts_with_the_stated_variances():
    torch.manual_seed(0)
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
        assert normed.bias.abs().max() == 0
    assert network.action_place.weight.std().item() == pytest.approx(0.1, rel=0.05)
