"""What holds for every network in every form: it equals slow numpy, commands do not disturb each other, noise is
drawn as it is said, and networks side by side learn as each alone.
"""

import numpy as np
import pytest
import torch
from torch.func import functional_call, grad, stack_module_state, vmap
from torch.nn import functional as F

from mini_lib.scan.runs import MODELS
from mini_lib.scan.syntactic_attention import SyntacticAttention
from mini_lib.scan.tasks import MAX_WORDS, NO_ACTION, encode
from scan.networks import (
    COMMANDS,
    LOSSES,
    NETWORKS,
    ORACLES,
    OTHERS,
    make,
    noise_for,
    rows_of,
    weights,
)

EXAMPLES = encode(COMMANDS)
LEARNED = {"rtol": 1e-7, "atol": 1e-10}  # how near gradients are
every_network = pytest.mark.parametrize("name", NETWORKS)


def summed(logits, actions):
    return F.cross_entropy(logits.mT, actions, ignore_index=NO_ACTION, reduction="sum")


@every_network
@pytest.mark.parametrize("noisy", [False, True])
def test_equals_the_numpy_forward_pass(name, noisy):
    """Logits; of Syntactic Attention its attention weights, roles and meanings too."""
    network = make(name)
    noise = noise_for(network, EXAMPLES) if noisy else {}
    logits = network(*EXAMPLES.tensors, noise or None).detach().numpy()
    for row, (words, actions) in enumerate(rows_of(EXAMPLES)):
        drawn = {key: each[row].numpy() for key, each in noise.items()}
        expected, *inside = ORACLES[name](weights(network), words, actions, drawn)
        np.testing.assert_allclose(logits[row, : len(actions)], expected, rtol=0, atol=1e-9)
        if inside:
            mine = {key: each[row : row + 1] for key, each in noise.items()}
            own = EXAMPLES[row : row + 1].trimmed()
            trace = network.trace(own.words, own.lengths, len(actions), mine)
            for ours, right in zip((trace.attention, trace.roles, trace.meanings), inside, strict=True):
                np.testing.assert_allclose(ours[0].detach().numpy(), right, rtol=0, atol=1e-9)
    assert np.ptp(logits, axis=1).max() > 1e-4  # it matters which step it is


@every_network
def test_commands_disturb_neither_each_others_logits_nor_gradients_and_padding_is_nothing(name):
    network, examples = make(name), EXAMPLES.padded()
    noise = noise_for(network, examples)
    inside = torch.arange(MAX_WORDS) < examples.lengths[:, None]
    together = network(torch.where(inside, examples.words, 5), examples.lengths, examples.actions, noise)
    torch.testing.assert_close(network(*examples.tensors, noise), together, rtol=0, atol=1e-9)
    learned = [each for each in network.parameters() if each.requires_grad]
    expected = torch.autograd.grad(summed(together, examples.actions), learned)
    found = [torch.zeros_like(each) for each in learned]
    for row in range(len(COMMANDS)):
        own = examples[row : row + 1].trimmed()
        alone = network(*own.tensors, {key: each[row : row + 1] for key, each in noise.items()})
        torch.testing.assert_close(alone[0], together[row, : own.actions.shape[1]], rtol=0, atol=1e-9)
        for total, part in zip(found, torch.autograd.grad(summed(alone, own.actions), learned), strict=True):
            total += part
    torch.testing.assert_close(found, list(expected), **LEARNED)
    assert all(each.abs().max() > 1e-14 for each in expected)  # every parameter is of effect


@pytest.mark.parametrize("name", OTHERS)
def test_predicts_what_is_said_when_its_own_actions_are_the_right_ones(name):
    network = make(name, spread=1.0)
    predicted = network.predict(EXAMPLES.words, EXAMPLES.lengths, 12)
    assert predicted.shape == (len(COMMANDS), 12)
    assert not predicted.requires_grad
    assert len(predicted.unique()) > 1
    if name.startswith("li"):  # its own <SOS> cannot be said, so nothing is taken for padding
        assert (predicted != NO_ACTION).all()
    logits = network(EXAMPLES.words, EXAMPLES.lengths, predicted)
    assert logits.argmax(dim=-1).equal(predicted)


@every_network
def test_noise_is_drawn_from_its_generator_and_all_of_it_is_of_effect(name):
    network = make(name)
    noise, again, other = (noise_for(network, EXAMPLES, seed) for seed in (3, 3, 4))
    gaussian = name.startswith("li")
    neutral = {key: torch.full_like(each, 0.0 if gaussian else 1.0) for key, each in noise.items()}
    quiet = network(*EXAMPLES.tensors, {})
    torch.testing.assert_close(network(*EXAMPLES.tensors, neutral), quiet)
    assert noise
    for key, mask in noise.items():
        assert mask.shape[0] == len(COMMANDS)
        assert mask.equal(again[key])
        assert not mask.equal(other[key])
        assert not network(*EXAMPLES.tensors, {key: mask}).allclose(quiet)
        if not gaussian:
            kept = torch.tensor([0, 1 / (1 - network.dropout)]).double()
            torch.testing.assert_close(mask.unique(), kept)


@every_network
def test_stacked_networks_learn_as_each_alone(name):
    networks, orders = [make(name, seed) for seed in range(2)], ([0, 1, 2], [3, 2, 1])
    parts = [EXAMPLES.padded()[torch.tensor(order)] for order in orders]
    noises = [
        noise_for(network, part, seed)
        for seed, (network, part) in enumerate(zip(networks, parts, strict=True))
    ]

    def loss(parameters, buffers, words, lengths, actions, noise):
        logits = functional_call(networks[0], (parameters, buffers), (words, lengths, actions, noise))
        return LOSSES[name](logits, actions)

    batches = [torch.stack(each) for each in zip(*(part.tensors for part in parts), strict=True)]
    noise = {key: torch.stack([each[key] for each in noises]) for key in noises[0]}
    stacked = vmap(grad(loss))(*stack_module_state(networks), *batches, noise)
    for place, (network, part) in enumerate(zip(networks, parts, strict=True)):
        LOSSES[name](network(*part.tensors, noises[place]), part.actions).backward()
        for key, parameter in network.named_parameters():
            if parameter.requires_grad:
                torch.testing.assert_close(stacked[key][place], parameter.grad, **LEARNED)


@pytest.mark.parametrize("name", ["default", *OTHERS])
def test_noise_is_drawn_in_training_where_none_is_passed(name):
    """As much as the call needs, from torch's generator; what is passed counts in any mode, and {} is none."""
    network, inputs = NETWORKS[name](), EXAMPLES.tensors
    torch.manual_seed(5)
    noise = network.draw_noise(*inputs[0].shape, inputs[2].shape[1], torch.default_generator)
    torch.manual_seed(5)
    drawn, quiet = network(*inputs), network(*inputs, {})
    assert drawn.equal(network(*inputs, noise))
    assert not drawn.allclose(network(*inputs))
    assert not drawn.allclose(quiet)
    network.eval()
    assert network(*inputs).equal(quiet)
    assert network(*inputs, noise).equal(drawn)


def test_a_network_without_dropout_draws_nothing():
    network, before = SyntacticAttention(syntax=6, semantics=4, dropout=0.0), torch.get_rng_state()
    network(*EXAMPLES.tensors)
    assert torch.get_rng_state().equal(before)


def test_a_fifth_verb_has_a_row_of_its_own_when_asked_for():
    for model in MODELS:
        network = MODELS[model](words=17, actions=9)
        assert network(*encode(["dax twice", "walk"]).tensors).shape == (2, 3, 9)
