"""Syntactic Attention in all its forms against slow numpy, and what the released code does beyond the text."""

import numpy as np
import pytest
import torch
from torch.func import functional_call, grad, stack_module_state, vmap
from torch.nn import functional as F

from mini_lib.errors import UsageError
from mini_lib.scan.models import MODELS, SyntacticAttention, build_network
from mini_lib.scan.tasks import MOST_WORDS, NO_ACTION, WORD_IDS, encode, exactly_right, padded
from scan import oracles
from scan.forms import COMMANDS, FORMS, batch, double, every_form, make, noise_of, numbers

# Facts, section 2.
COUNTS = {
    "default": 2_253_288,
    "sequential": 2_340_648,
    "syntax-action": 2_256_488,
    "nonlinear": 2_267_808,
}


PARTS = {
    "steering": 1_283_200,
    "roles": 643_200,
    "neighbours": 161_600,
    "first_query": 160_400,
    "meaning": 1_920,
    "word": 1_600,
    "ends": 400,
    "action": 968,
}


def arrays(network):
    return {name: value.numpy() for name, value in network.state_dict().items()}


def loss_of(logits, actions):
    return F.cross_entropy(logits.flatten(0, 1), actions.flatten(), ignore_index=NO_ACTION)


# --------------------------------------------------------------------------------------- the function itself


@every_form
@pytest.mark.parametrize("noisy", [False, True])
def test_equals_the_numpy_forward_pass(form, noisy):
    network, examples = double(form), batch()
    noise = noise_of(network, examples) if noisy else None
    with torch.no_grad():
        trace = network.trace(examples.words, examples.lengths, examples.actions.shape[1], noise)
    for row, command in enumerate(COMMANDS):
        masks = {name: mask[row].numpy() for name, mask in (noise or {}).items()}
        steps, length = examples.actions.shape[1], int(examples.lengths[row])
        logits, attention, roles, meanings = oracles.syntactic_attention(
            arrays(network), numbers(command), steps, masks, **FORMS[form]
        )
        for ours, expected in (
            (trace.logits[row], logits),
            (trace.attention[row, :, :length], attention),
            (trace.roles[row, :length], roles),
            (trace.meanings[row, :length], meanings),
        ):
            np.testing.assert_allclose(ours.numpy(), expected, rtol=0, atol=1e-9)
    assert np.ptp(trace.logits.numpy(), axis=1).max() > 1e-4  # it matters which step it is


@pytest.mark.parametrize("form", COUNTS)
def test_parameters_are_as_many_as_in_the_released_code(form):
    network = build_network("syntactic_attention", **FORMS[form])
    assert sum(p.numel() for p in network.parameters()) == COUNTS[form]


def test_parameters_of_each_part():
    network, counts = build_network("syntactic_attention"), dict.fromkeys(PARTS, 0)
    for name, parameter in network.named_parameters():
        counts[name.split(".")[0]] += parameter.numel()
    assert counts == PARTS


def test_initial_weights_are_pytorchs_own():
    weights = dict(build_network("syntactic_attention").named_parameters())
    for name in ("meaning.weight", "word.weight", "ends"):
        assert weights[name].std().item() == pytest.approx(1, rel=0.1)
        assert weights[name].mean().item() == pytest.approx(0, abs=0.1)
    for start, bound in (
        ("neighbours", 100**-0.5),
        ("roles", 200**-0.5),
        ("steering", 400**-0.5),
        ("first_query", 400**-0.5),
        ("action", 120**-0.5),
    ):
        for name, value in weights.items():
            if name.startswith(f"{start}."):
                assert value.abs().max() <= bound
                if value.numel() > 500:
                    assert value.std().item() == pytest.approx(bound / 3**0.5, rel=0.1)


# ------------------------------------------------------------------------------------- batches, masks, noise


@every_form
@pytest.mark.parametrize("noisy", [False, True])
def test_commands_do_not_see_their_batch_mates_nor_padding(form, noisy):
    network, examples = make(form), padded(batch())
    noise = {name: mask.float() for name, mask in noise_of(network, examples).items()} if noisy else None
    together = network(*examples, noise)
    other_padding = examples.words.clone()
    other_padding[other_padding == WORD_IDS["<NULL>"]] = WORD_IDS["jump"]
    other = network(other_padding, examples.lengths, examples.actions, noise)
    torch.testing.assert_close(other, together, rtol=0, atol=1e-5)
    for row in range(len(COMMANDS)):
        own = examples[row : row + 1].trimmed()
        mine = {name: mask[row : row + 1] for name, mask in (noise or {}).items()}
        alone = network(*own, mine)
        expected = together[row : row + 1, : own.actions.shape[1]]
        torch.testing.assert_close(alone, expected, rtol=0, atol=1e-5)


@every_form
def test_gradients_do_not_see_padding(form):
    """With as many steps for each command, so that the padding of actions counts for nothing."""
    network, examples = double(form), padded(batch())
    loss_of(network(*examples), examples.actions).backward()
    together = {name: p.grad.clone() for name, p in network.named_parameters() if p.requires_grad}
    network.zero_grad()
    total = (examples.actions != NO_ACTION).sum()
    for row in range(len(COMMANDS)):
        own = examples[row : row + 1].trimmed()
        (loss_of(network(*own), own.actions) * own.actions.numel() / total).backward()
    for name, expected in together.items():
        torch.testing.assert_close(network.get_parameter(name).grad, expected, rtol=1e-8, atol=1e-10)


@every_form
def test_attention_sums_to_one_over_the_words_of_the_command(form):
    examples = padded(batch())
    attention = make(form).trace(examples.words, examples.lengths, 9).attention
    torch.testing.assert_close(attention.sum(dim=-1), torch.ones(len(COMMANDS), 9))
    absent = torch.arange(MOST_WORDS) >= examples.lengths[:, None]
    assert not attention[absent[:, None].expand(attention.shape)].any()
    assert (attention[~absent[:, None].expand(attention.shape)] > 0).all()


@every_form
def test_noise_is_dropout_on_both_embeddings_and_on_nothing_else(form):
    network = make(form, syntax=40, semantics=30)
    masks = network.noise(5, 7, 3, torch.Generator().manual_seed(1))
    sizes = {"meaning": 30} | ({} if FORMS[form].get("one_hot") else {"word": 20})
    assert {name: tuple(mask.shape) for name, mask in masks.items()} == {
        name: (5, 7, size) for name, size in sizes.items()
    }
    for mask in masks.values():
        assert set(mask.unique().tolist()) == {0.0, 2.0}
        assert mask.mean().item() == pytest.approx(1, abs=0.15)
    again, other = (network.noise(5, 7, 3, torch.Generator().manual_seed(seed)) for seed in (1, 2))
    assert all(again[name].equal(mask) and not other[name].equal(mask) for name, mask in masks.items())


def test_each_mask_reaches_its_own_stream():
    network, examples = double(), batch()
    plain, noise = network.trace(examples.words, examples.lengths, 5), noise_of(network, examples)
    meaning = network.trace(examples.words, examples.lengths, 5, {"meaning": noise["meaning"]})
    word = network.trace(examples.words, examples.lengths, 5, {"word": noise["word"]})
    assert meaning.roles.equal(plain.roles)
    assert meaning.attention.equal(plain.attention)
    assert not meaning.logits.allclose(plain.logits)
    assert word.meanings.equal(plain.meanings)
    assert not word.attention.allclose(plain.attention)


@every_form
def test_no_noise_is_noise_of_ones(form):
    network, examples = double(form), batch()
    ones = {name: torch.ones_like(mask) for name, mask in noise_of(network, examples).items()}
    assert network(*examples, ones).equal(network(*examples, {}))


# ------------------------------------------------------------------------------------- training and stacking


@every_form
def test_gradient_reaches_every_parameter(form):
    network, examples = double(form), batch()
    loss_of(network(*examples, noise_of(network, examples)), examples.actions).backward()
    without = {name for name, p in network.named_parameters() if p.grad is None or not p.grad.any()}
    assert without == ({"word.weight"} if FORMS[form].get("one_hot") else set())


@every_form
def test_stacked_networks_equal_each_alone(form):
    networks, examples = [double(form, seed) for seed in range(3)], padded(batch())
    noises = [noise_of(network, examples, seed) for seed, network in enumerate(networks)]
    rows = [torch.tensor(order) for order in ((0, 1, 2), (3, 2, 1), (1, 3, 0))]
    parts = [examples[row] for row in rows]
    noises = [{k: mask[row] for k, mask in each.items()} for each, row in zip(noises, rows, strict=True)]
    skeleton = double(form)

    def loss(parameters, buffers, words, lengths, actions, noise):
        logits = functional_call(skeleton, (parameters, buffers), (words, lengths, actions, noise))
        return loss_of(logits, actions), logits

    stacks = [torch.stack(each) for each in zip(*parts, strict=True)]
    noise = {name: torch.stack([each[name] for each in noises]) for name in noises[0]}
    gradients, logits = vmap(grad(loss, has_aux=True))(*stack_module_state(networks), *stacks, noise)
    for replica, network in enumerate(networks):
        own = network(*parts[replica], noises[replica])
        torch.testing.assert_close(logits[replica], own, rtol=1e-8, atol=1e-10)
        loss_of(own, parts[replica].actions).backward()
        for name, parameter in network.named_parameters():
            if parameter.requires_grad:
                torch.testing.assert_close(gradients[name][replica], parameter.grad, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("form", ["default", "syntax-action"])
def test_learns_commands_by_heart(form):
    network = make(form, syntax=32, semantics=24, dropout=0.0)
    examples = encode(
        ["walk", "jump", "turn left", "run right twice", "look thrice and walk", "run after jump"]
    )
    optimiser = torch.optim.Adam(network.parameters(), 1e-2)
    for _update in range(150):
        optimiser.zero_grad()
        loss_of(network(*examples), examples.actions).backward()
        optimiser.step()
        predicted = network.predict(examples.words, examples.lengths, examples.actions.shape[1])
        if exactly_right(predicted, examples.actions).all():
            return
    pytest.fail(f"{form} still errs on its training commands")


# -------------------------------------------------------------------------------------------- wrong use


def test_a_fifth_verb_has_a_row_of_its_own_when_asked_for():
    network = SyntacticAttention(words=17, actions=9, syntax=6, semantics=4)
    assert network(*encode(["dax twice", "walk"])).shape == (2, 3, 9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"surrounding": "botom"}, "unknown surrounding 'botom'.* known: between, top"),
        ({"ends": "zeros"}, "unknown ends 'zeros'; did you mean 'zero'"),
    ],
)
def test_forms_that_are_not_there_are_refused(options, message):
    with pytest.raises(UsageError, match=message):
        SyntacticAttention(**options)


def test_networks_that_are_not_there_are_refused():
    with pytest.raises(
        UsageError, match="unknown model 'syntactic_atention'; did you mean 'syntactic_attention'"
    ):
        build_network("syntactic_atention")
    assert MODELS["syntactic_attention"] is SyntacticAttention
