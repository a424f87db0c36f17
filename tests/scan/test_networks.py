"""What holds for every network in every form: it equals slow numpy, its gradients are slopes, noise is drawn as it
is said. That networks in a stack learn as each alone: see `test_runs.py`.
"""

import numpy as np
import pytest
import torch
from other_device import OTHER, OtherDevice
from slopes import slopes

from mini_lib.scan import attention_fast
from mini_lib.scan.cnn import loss
from mini_lib.scan.runs import MODELS
from mini_lib.scan.tasks import MAX_WORDS, encode
from scan.networks import COMMANDS, KINDS, NETWORKS, ORACLES, OTHERS, make, noise_for, rows_of, weights

EXAMPLES = encode(COMMANDS)
every_network = pytest.mark.parametrize("name", NETWORKS)
every_kind = pytest.mark.parametrize("name", KINDS)


@pytest.mark.parametrize(
    ("name", "noisy", "is_fast"),
    [
        *((name, noisy, True) for name in NETWORKS for noisy in (False, True)),
        *((name, True, False) for name in ("default", "sequential", "top")),
    ],
)
def test_equals_the_numpy_forward_pass(name, noisy, is_fast, monkeypatch):
    """Logits; of Syntactic Attention its attention weights, roles and meanings too, with fast and plain loops."""
    if not is_fast:
        monkeypatch.setattr(attention_fast, "applies", lambda *tensors: False)
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
def test_gradients_are_slopes_and_padding_is_of_no_effect(name, monkeypatch):
    """The slope along a random direction, by central differences."""
    monkeypatch.setattr(torch, "lerp", lambda start, end, weight: end)  # where the CNN scales a gradient
    network, (words, lengths, actions) = make(name), EXAMPLES.tensors
    noise = noise_for(network, EXAMPLES)
    inside = torch.arange(MAX_WORDS) < lengths[:, None]
    filled = torch.where(inside, EXAMPLES.padded().words, 5), lengths, actions, noise
    logits = network(*filled)
    torch.testing.assert_close(network(words, lengths, actions, noise), logits, rtol=0, atol=1e-9)
    learned = [each for each in network.parameters() if each.requires_grad]
    gradients, along, expected = slopes(lambda: loss(network(*filled), actions), learned)
    assert all(each.abs().max() > 1e-14 for each in gradients)  # every parameter is of effect
    torch.testing.assert_close(along, expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", OTHERS)
def test_predicts_what_teacher_forcing_gives_for_its_own_actions(name):
    network = make(name, spread=1.0)
    predicted = network.predict(EXAMPLES.words, EXAMPLES.lengths, 12)
    assert predicted.shape == (len(COMMANDS), 12)
    assert not predicted.requires_grad
    assert len(predicted.unique()) > 1
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


@every_kind
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


@every_kind
def test_a_network_draws_noise_and_predicts_on_its_own_device(name):
    """Updates on another device: see `tests/test_gpu_ready.py`."""
    with OtherDevice():
        network, examples = NETWORKS[name]().to(OTHER), EXAMPLES[:2].trimmed().to(OTHER)
        assert network(*examples.tensors).device == OTHER
        assert network.predict(examples.words, examples.lengths, 2).device == OTHER


def test_a_fifth_verb_has_a_row_of_its_own_when_asked_for():
    for model in MODELS:
        network = MODELS[model](words=17, actions=9)
        assert network(*encode(["dax twice", "walk"]).tensors).shape == (2, 3, 9)
