"""What is particular to the network of Li et al. and to the CNN."""

import math
from collections import Counter

import numpy as np
import pytest
import torch

from mini_lib.errors import UsageError
from mini_lib.scan import recipes
from mini_lib.scan.models import cnn
from mini_lib.scan.models.cnn import CNN
from mini_lib.scan.models.li import LiNetwork
from mini_lib.scan.tasks import WORD_COUNT, encode, padded
from scan import oracles_baselines as oracles
from scan.small import COMMANDS, counted, make, noise_for, weights

# ----------------------------------------------------------------------------------------------- Li


@pytest.mark.parametrize("block", [1, 4, 512])
@pytest.mark.parametrize("decoder_input", ["none", "gold"])
def test_li_in_blocks_of_sorted_commands_is_the_same(monkeypatch, block, decoder_input):
    """Loss, gradients and logits; behind the end of a block's longest command logits are 0."""
    monkeypatch.setattr(recipes, "BLOCK", block)
    network = make("li", decoder_input=decoder_input)
    examples = encode([*COMMANDS, "turn left", "look around right thrice and jump"])
    batch = recipes.batch_of(examples) | {"noise": noise_for(network, examples)}
    in_blocks, outcomes = recipes.longest_first(batch), []
    for each in (batch, in_blocks):
        network.zero_grad()
        loss, _ = recipes.li_loss(network, each)
        loss.backward()
        outcomes.append([loss.detach(), *(parameter.grad for parameter in network.parameters())])
    torch.testing.assert_close(outcomes[1], outcomes[0], rtol=1e-7, atol=1e-10)
    logits, _ = recipes.li_in_blocks(network, in_blocks)
    everywhere = network(*recipes.examples_of(in_blocks), in_blocks["noise"])
    ends = counted(recipes.examples_of(in_blocks)).sum(dim=1)
    assert ends.tolist() == sorted(ends.tolist(), reverse=True)
    first_of_block = torch.arange(len(ends)) // block * block
    reached = torch.arange(logits.shape[1]) < ends[first_of_block][:, None]
    assert reached.all() == (block == 512)
    torch.testing.assert_close(logits[reached], everywhere[reached], rtol=0, atol=1e-9)
    assert (logits[~reached] == 0).all()
    assert (everywhere[~reached] != 0).all()


def test_li_shows_which_word_each_action_is_taken_from():
    network, examples = make("li"), encode(COMMANDS)
    weights = network.attention(*examples)
    places = torch.arange(weights.shape[2]) < examples.lengths[:, None, None] - 1
    torch.testing.assert_close(weights.sum(dim=2), torch.ones_like(weights[..., 0]))
    assert torch.equal(weights > 0, places.expand(weights.shape))
    primitives = network.primitive[network.word_rows[examples.words[:, 1:]]]
    logits = weights @ primitives @ network.action.mT + network.action_bias
    torch.testing.assert_close(logits, network(*examples)[..., 1:])


def test_li_exchanges_h_and_c_between_encoder_and_decoder():
    network, examples = make("li"), encode(COMMANDS[:1])
    words, actions = examples.words[0].tolist(), examples.actions[0].tolist()
    ours = network(*examples)[0].detach().numpy()
    exchanged, not_exchanged = (
        oracles.li(weights(network), words, actions, {}, swapped=s) for s in (True, False)
    )
    np.testing.assert_allclose(ours, exchanged, atol=1e-9)
    assert np.abs(ours - not_exchanged).max() > 1e-3


@pytest.mark.parametrize(
    ("options", "free"),
    [
        ({}, ()),
        ({"primitive_noise": False}, ("primitive",)),
        ({"function_noise": False}, ("function",)),
        ({"primitive_noise": False, "function_noise": False}, ("primitive", "function")),
        ({"representations": "one"}, ()),
    ],
)
def test_li_penalty_and_noise_belong_together(options, free):
    network, examples = make("li", strength=0.3, **options), padded(encode(COMMANDS))
    noisy = [name for name in ("primitive", "function") if name not in free]
    commands = [
        words[:length] for words, length in zip(examples.words.tolist(), examples.lengths, strict=True)
    ]
    expected = oracles.li_penalty(weights(network), commands, 0.3, noisy)
    assert network.penalty(examples.words, examples.lengths).item() == pytest.approx(expected, abs=1e-12)
    assert list(noise_for(network, examples)) == noisy
    strange = {name: torch.ones(4, 11, network._tables()[name].shape[1]).double() for name in free}
    torch.testing.assert_close(network(*examples, strange), network(*examples))
    logits, penalty = network(*examples, noise_for(network, examples), with_penalty=True)
    torch.testing.assert_close(logits, network(*examples, noise_for(network, examples)))
    assert penalty.item() == pytest.approx(expected, abs=1e-12)


def test_li_has_a_row_for_each_word_and_one_for_the_end():
    rows = make("li").word_rows.tolist()
    assert len(rows) == WORD_COUNT
    assert Counter(rows) == {0: 3, **dict.fromkeys(range(1, 14), 1)}
    assert len(LiNetwork(words=17, actions=9).primitive) == 15


def test_li_never_says_the_start():
    logits = make("li")(*encode(COMMANDS))
    assert (logits[..., 0] == -1e9).all()
    assert (logits[..., 1:] > -100).all()


def test_li_starts_glorot_uniform():
    torch.manual_seed(0)
    network = LiNetwork()
    bound = math.sqrt(6 / (129 + 256))
    assert 0.99 * bound < network.decoder_kernel.abs().max() <= bound
    assert 0.99 * math.sqrt(6 / (40 + 128)) < network.encoder_kernel.abs().max() <= math.sqrt(6 / (40 + 128))
    assert network.decoder_bias.abs().max() == 0
    assert 0.95 < network.primitive.abs().max() <= 1


@pytest.mark.parametrize("option", [{"representations": "two "}, {"decoder_input": "golden"}, {"units": 7}])
def test_li_says_what_is_wrong_with_an_option(option):
    with pytest.raises(UsageError, match=r"did you mean|take an even number"):
        LiNetwork(**option)


def test_li_refuses_more_places_than_it_knows():
    words = torch.full((1, 12), 1)
    with pytest.raises(UsageError, match="knows 10 places"):
        make("li")(words, torch.tensor([12]), torch.ones(1, 3, dtype=torch.int64))


# ---------------------------------------------------------------------------------------------- CNN


def test_cnn_scales_the_gradient_that_comes_back_through_its_keys():
    x = torch.randn(3, requires_grad=True)
    scaled = cnn._scale_gradient(x, 0.25)
    torch.testing.assert_close(scaled, x)
    scaled.sum().backward()
    torch.testing.assert_close(x.grad, torch.full((3,), 0.25))


def test_cnn_divides_by_twice_its_attention_layers(monkeypatch):
    network, examples, grads = make("cnn"), encode(COMMANDS), {}
    kept = cnn._scale_gradient
    for scaled in (True, False):
        monkeypatch.setattr(cnn, "_scale_gradient", kept if scaled else lambda x, factor: x)
        network.zero_grad()
        cnn.loss(network(*examples), examples.actions).backward()
        grads[scaled] = network.encoder_last.bias.grad
    torch.testing.assert_close(4 * grads[True], grads[False])  # two layers


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


def test_cnn_refuses_empty_sizes():
    with pytest.raises(UsageError, match="from 1"):
        CNN(kernel=0)
