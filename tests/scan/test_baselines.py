"""The networks that Syntactic Attention is compared with, against the facts and slow numpy."""

import math

import numpy as np
import pytest
import torch
from torch.func import functional_call, grad, stack_module_state, vmap
from torch.nn import functional as F

from mini_lib.scan.models import cnn, gru_attention, li, meta_seq2seq
from mini_lib.scan.models.cnn import CNN
from mini_lib.scan.models.gru_attention import GRUAttention, GRUCell
from mini_lib.scan.models.li import LiNetwork
from mini_lib.scan.models.meta_seq2seq import MetaSeq2Seq
from mini_lib.scan.tasks import encode, padded
from scan import oracles_baselines as oracles
from scan.small import COMMANDS, END, NETWORKS, counted, make, noise_for, weights

ORACLES = {"gru": oracles.gru, "li": oracles.li, "cnn": oracles.cnn}
MODULES = {"gru": gru_attention, "li": li, "cnn": cnn}
every_network = pytest.mark.parametrize("name", NETWORKS)


def loss_of(name, logits, actions):
    return MODULES[name.split("_")[0]].loss(logits, actions)


# ----------------------------------------------------------------------------------------- all of them


@every_network
@pytest.mark.parametrize("noisy", [False, True])
def test_equals_the_numpy_forward_pass(name, noisy):
    network, examples = make(name), encode(COMMANDS)
    noise = noise_for(network, examples) if noisy else {}
    logits = network(*examples, noise or None).detach().numpy()
    for row, (words, length, actions) in enumerate(
        zip(*(part.tolist() for part in tuple(examples)), strict=True)
    ):
        steps = actions.index(END) + 1
        drawn = {key: each[row].numpy() for key, each in noise.items()}
        expected = ORACLES[name.split("_")[0]](weights(network), words[:length], actions[:steps], drawn)
        np.testing.assert_allclose(logits[row, :steps], expected, rtol=0, atol=1e-9)


@every_network
def test_a_command_sees_neither_its_batch_nor_padding(name):
    network, examples = make(name), encode(COMMANDS)
    noise = noise_for(network, examples)
    together = network(*padded(examples), noise)
    for row in range(len(COMMANDS)):
        one = examples[row : row + 1].trimmed()
        mine = {key: each[row : row + 1] for key, each in noise.items()}
        alone = network(*one, mine)
        torch.testing.assert_close(alone[0], together[row, : one.actions.shape[1]], rtol=0, atol=1e-9)


@every_network
def test_what_stands_at_padding_is_of_no_meaning(name):
    network, examples = make(name), padded(encode(COMMANDS))
    places = torch.arange(examples.words.shape[1])
    other = examples._replace(words=torch.where(places < examples.lengths[:, None], examples.words, 5))
    assert (other.words != examples.words).any()
    torch.testing.assert_close(network(*other), network(*examples), rtol=0, atol=1e-9)


@every_network
def test_the_first_word_of_the_command_is_read_but_not_its_start(name):
    network, examples = make(name), encode(COMMANDS)
    for place, same in ((0, True), (1, False)):
        words = examples.words.clone()
        words[:, place] = (words[:, place] + 1) % 8
        assert torch.equal(network(*examples._replace(words=words)), network(*examples)) == same


@every_network
def test_no_noise_is_ones_for_dropout_and_zeros_for_gaussian_noise(name):
    network, examples = make(name), encode(COMMANDS)
    noise = noise_for(network, examples)
    assert noise
    neutral = {
        key: torch.full_like(each, 0.0 if name.startswith("li") else 1.0) for key, each in noise.items()
    }
    torch.testing.assert_close(network(*examples, neutral), network(*examples))
    for key, each in noise.items():  # each of them is used
        assert (network(*examples, {key: each}) - network(*examples)).abs().max() > 1e-6


@every_network
def test_noise_is_drawn_from_the_generator_alone(name):
    network, examples = make(name), encode(COMMANDS)
    first, again, other = (noise_for(network, examples, seed) for seed in (3, 3, 4))
    for key, each in first.items():
        assert each.shape[0] == len(COMMANDS)
        assert torch.equal(each, again[key])
        assert not torch.equal(each, other[key])
        if name.startswith(("gru", "cnn")):
            kept = 1 / (0.8 if name.startswith("gru") else 0.75)
            torch.testing.assert_close(each.unique(), torch.tensor([0, kept]).double())


@every_network
def test_predicts_what_teacher_forcing_says_of_its_own_actions(name):
    network, examples = make(name, spread=1.0), encode(COMMANDS)
    predicted = network.predict(examples.words, examples.lengths, 12)
    assert predicted.shape == (len(COMMANDS), 12)
    assert not predicted.requires_grad
    assert len(predicted.unique()) > 1
    if name == "li_gold":  # its own <SOS> cannot be said, so nothing is taken for padding
        assert (predicted != 0).all()
    logits = network(examples.words, examples.lengths, predicted)
    torch.testing.assert_close(logits.argmax(dim=-1), predicted)


@every_network
def test_which_networks_read_the_right_actions(name):
    network, examples = make(name), encode(COMMANDS)
    other = examples._replace(actions=torch.where(counted(examples), 8 - examples.actions, 0))
    same = torch.equal(network(*other), network(*examples))
    assert same == (name in ("gru_no_dependency", "li", "li_one"))


@every_network
def test_no_step_sees_its_own_action_or_later_ones(name):
    network, examples = make(name), encode(COMMANDS)
    actions = examples.actions.clone()
    actions[:, 2:] = 5
    torch.testing.assert_close(network(*examples)[:, :3], network(*examples._replace(actions=actions))[:, :3])


@every_network
def test_stacked_replicas_equal_each_alone(name):
    networks, examples = [make(name, seed) for seed in range(3)], encode(COMMANDS)
    noises = [noise_for(networks[0], examples, seed) for seed in range(3)]

    def loss(parameters, buffers, noise):
        logits = functional_call(networks[0], (parameters, buffers), (*examples, noise))
        return loss_of(name, logits, examples.actions)

    noise = {key: torch.stack([each[key] for each in noises]) for key in noises[0]}
    stacked = vmap(grad(loss))(*stack_module_state(networks), noise)
    for replica, network in enumerate(networks):
        loss_of(name, network(*examples, noises[replica]), examples.actions).backward()
        for key, parameter in network.named_parameters():
            assert torch.isfinite(stacked[key]).all()
            torch.testing.assert_close(stacked[key][replica], parameter.grad, rtol=1e-7, atol=1e-10)


@every_network
def test_gradient_reaches_every_parameter_but_those_without_an_effect(name):
    network, examples = make(name, seed=1), encode([*COMMANDS, "look around right thrice and jump"])
    logits = network(*examples, noise_for(network, examples))
    F.cross_entropy(logits.flatten(0, 1), examples.actions.flatten(), ignore_index=0).backward()
    without = {key for key, each in network.named_parameters() if each.grad.abs().max() < 1e-14}
    assert not without


@every_network
def test_learns_a_few_commands_by_heart(name):
    torch.manual_seed(0)
    # Without its noise, Li's network finds its way slowly.
    kind, enough = name.split("_")[0], 0.7 if name.startswith("li") else 0.05
    sizes = {"gru": {"hidden": 16}, "li": {"primitive": 8, "function": 8, "units": 32}, "cnn": {"dim": 16}}
    network = NETWORKS[name](**sizes[kind]).eval()
    examples = encode(["jump", "walk twice", "turn left", "look right"])
    optimiser, losses = torch.optim.Adam(network.parameters(), 0.005), []
    for _update in range(60):
        optimiser.zero_grad()
        logits = network(*examples)
        loss = F.cross_entropy(logits.flatten(0, 1), examples.actions.flatten(), ignore_index=0)
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < enough * losses[0]


# ------------------------------------------------------------------------------------ counts and losses


def count(network):
    return sum(each.numel() for each in network.parameters())


def test_parameters_of_the_gru():
    encoder = 2 * 3 * (256 * (64 + 256) + 2 * 256)
    bridge_and_attention = 512 * 256 + 256 + 256 * 256 + 512 * 256 + 256
    decoder = 3 * (256 * (64 + 512 + 256) + 2 * 256)
    output = (64 + 256 + 512) * 256 + 256 * 8
    assert 16 * 64 + 8 * 64 + encoder + bridge_and_attention + decoder + output == 1_679_872  # facts: 1.68 M
    assert count(GRUAttention()) == 1_679_872
    # "- dep" loses the embeddings of actions and 64 columns of the decoder's gates and of the output.
    assert count(GRUAttention(dependency=False)) == 1_679_872 - 8 * 64 - 64 * 3 * 256 - 64 * 256


def test_parameters_of_li_are_those_of_the_facts_without_the_unused_switch():
    tables = 14 * 16 + 14 * 8  # 13 words and the end
    encoder = 2 * (4 * 32 * (8 + 32) + 4 * 32)
    decoder = 4 * 64 * (1 + 64 + 64) + 4 * 64
    attention = 64 * 64 + 128 * 64 + 64 * 10 + 10
    output = 16 * 7 + 7  # 6 actions and the end
    assert tables + encoder + decoder + attention + output == 57_183 - 14
    assert count(LiNetwork()) == 57_183 - 14


def test_parameters_of_the_cnn():
    def normed(inputs, outputs):
        return inputs * outputs + 2 * outputs

    tables = (16 + 8 + 2 * 1024) * 128
    convolutions = 2 * 6 * normed(5 * 128, 2 * 128)
    others = (4 + 2 * 6) * normed(128, 128) + normed(128, 8)
    assert tables + convolutions + others == count(CNN()) == 2_504_720  # facts: 2.5 M


def test_parameters_of_meta_seq2seq():
    def bilstm(inputs):
        return 2 * 4 * (200 * (inputs + 200) + 2 * 200)

    encoders = (16 + 8) * 200 + 2 * (bilstm(200) + bilstm(400)) + 400 * 200 + 200
    decoder = (
        8 * 200 + bilstm(200) + 400 * 200 + 200 + 200 * 8 + 8
    )  # two layers one way, as many as one both ways
    assert encoders == 3_297_800  # facts: 3.3 M
    assert decoder == 726_608  # facts: 0.73 M
    assert count(MetaSeq2Seq()) == encoders + decoder


def hand_made(rows, classes=8):
    """Logits of 2 for the action that the network says, 0 for the others."""
    return 2.0 * F.one_hot(torch.tensor(rows), classes)


RIGHT, WRONG = -math.log(math.exp(2) / (math.exp(2) + 7)), -math.log(1 / (math.exp(2) + 7))


def test_loss_of_the_gru_ends_where_the_network_says_so():
    actions = torch.tensor([[4, 4, END, 0], [5, END, 0, 0]])
    # The first command is ended one action too early: that counts, and what follows does not.
    logits = hand_made([[4, END, END, 1], [4, 4, END, 1]])
    assert gru_attention.loss(logits, actions).item() == pytest.approx((RIGHT + WRONG + WRONG + WRONG) / 2)


def test_loss_of_li_is_summed_over_actions_and_averaged_over_commands():
    actions = torch.tensor([[4, 4, END, 0], [5, END, 0, 0]])
    logits = hand_made([[4, END, END, 1], [4, 4, END, 1]])
    expected = (2 * RIGHT + WRONG + 2 * WRONG) / 2
    assert li.loss(logits, actions).item() == pytest.approx(expected)
    assert li.loss(logits, actions, torch.tensor(0.25)).item() == pytest.approx(expected + 0.25)


@pytest.mark.parametrize("module", [cnn, meta_seq2seq])
def test_loss_is_averaged_over_actions(module):
    actions = torch.tensor([[4, 4, END, 0], [5, END, 0, 0]])
    logits = hand_made([[4, END, END, 1], [4, 4, END, 1]])
    assert module.loss(logits, actions).item() == pytest.approx((2 * RIGHT + WRONG + 2 * WRONG) / 5)


# ---------------------------------------------------------------------------------------------- GRU


def test_gru_cell_is_that_of_torch():
    torch.manual_seed(0)
    ours, theirs = GRUCell(3, 4), torch.nn.GRUCell(3, 4)
    theirs.load_state_dict({name: each.squeeze(0) for name, each in ours.state_dict().items()})
    x, h = torch.randn(5, 3), torch.randn(5, 4)
    torch.testing.assert_close(ours(x, h), theirs(x, h))


def test_gru_starts_uniform():
    torch.manual_seed(0)
    network = GRUAttention(hidden=64)
    assert network.decoder.weight_hh.abs().max() <= 1 / 8
    assert network.decoder.weight_hh.std().item() == pytest.approx(1 / 8 / math.sqrt(3), rel=0.02)
    assert network.word.weight.std().item() == pytest.approx(1, rel=0.1)
