"""The networks that Syntactic Attention is compared with, against the facts and slow numpy."""

import math
from collections import Counter
from functools import partial

import numpy as np
import pytest
import torch
from torch.func import functional_call, grad, stack_module_state, vmap
from torch.nn import functional as F

from mini_lib.errors import WrongUse
from mini_lib.scan import meta_tasks
from mini_lib.scan.models import cnn, gru_attention, li, meta_seq2seq
from mini_lib.scan.models.cnn import CNN
from mini_lib.scan.models.gru_attention import GRUAttention, GRUCell
from mini_lib.scan.models.li import LiNetwork
from mini_lib.scan.models.meta_seq2seq import MetaSeq2Seq
from mini_lib.scan.tasks import ACTION_IDS, EOS, WORD_COUNT, WORD_IDS, Examples, Split, encode, padded
from scan import oracles_baselines as oracles

COMMANDS = ["jump", "walk around left twice after run", "look twice and turn right", "run opposite left"]
END = ACTION_IDS[EOS]
small_li = partial(LiNetwork, primitive=4, function=3, units=6)
NETWORKS = {
    "gru": partial(GRUAttention, embedding=6, hidden=5),
    "gru_no_dependency": partial(GRUAttention, embedding=6, hidden=5, dependency=False),
    "li": small_li,
    "li_one": partial(small_li, representations="one"),
    "li_gold": partial(small_li, decoder_input="gold"),
    "cnn": partial(CNN, dim=6, kernel=3, layers=2),
    "cnn_even": partial(CNN, dim=4, kernel=4, layers=3),
}
ORACLES = {"gru": oracles.gru, "li": oracles.li, "cnn": oracles.cnn}
MODULES = {"gru": gru_attention, "li": li, "cnn": cnn}
every_network = pytest.mark.parametrize("name", NETWORKS)


def make(name, seed=0, spread=0.2, **options):
    """A small network in double precision whose zeros (biases) are zero no more."""
    torch.manual_seed(seed)
    network = NETWORKS[name](**options).double()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter += spread * torch.randn_like(parameter)
    return network


def noise_for(network, examples, seed=0):
    """Noise of the largest shape that any batch has."""
    rng = torch.Generator().manual_seed(seed)
    noise = network.noise(len(examples.words), 11, 49, rng)
    return {key: each.double() for key, each in noise.items()}


def weights(network):
    return {name: each.detach().numpy() for name, each in network.named_parameters()}


def loss_of(name, logits, actions):
    return MODULES[name.split("_")[0]].loss(logits, actions)


def counted(examples):
    return examples.actions != 0


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

    parameters, buffers = stack_module_state(networks)
    noise = {key: torch.stack([each[key] for each in noises]) for key in noises[0]}
    stacked = vmap(grad(loss))(parameters, buffers, noise)
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
    sizes = {"gru": {"hidden": 16}, "li": {"primitive": 8, "function": 8, "units": 32}, "cnn": {"dim": 16}}[
        kind
    ]
    network, examples = NETWORKS[name](**sizes), encode(["jump", "walk twice", "turn left", "look right"])
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
    projected = F.linear(x, ours.weight_ih) + ours.bias_ih
    torch.testing.assert_close(ours.step(projected, h), theirs(x, h))


def test_gru_starts_uniform():
    torch.manual_seed(0)
    network = GRUAttention(hidden=64)
    assert network.decoder.weight_hh.abs().max() <= 1 / 8
    assert network.decoder.weight_hh.std().item() == pytest.approx(1 / 8 / math.sqrt(3), rel=0.02)
    assert network.word.weight.std().item() == pytest.approx(1, rel=0.1)


# ----------------------------------------------------------------------------------------------- Li


def by_falling_actions():
    examples = encode([*COMMANDS, "turn left", "look around right thrice and jump"])
    steps = counted(examples).sum(dim=1)
    order = steps.argsort(descending=True)
    examples = examples[order]
    return examples, [int((steps > step).sum()) for step in range(examples.actions.shape[1])]


@pytest.mark.parametrize("block", [1, 2, 4, 512])
@pytest.mark.parametrize("decoder_input", ["none", "gold"])
def test_li_decoding_active_commands_only_is_the_same(monkeypatch, block, decoder_input):
    monkeypatch.setattr(li, "BLOCK", block)
    network, (examples, active) = make("li", decoder_input=decoder_input), by_falling_actions()
    noise, outcomes = noise_for(network, examples), []
    for option in (None, active):
        network.zero_grad()
        logits = network(*examples, noise, active=option)
        li.loss(logits, examples.actions).backward()
        outcomes.append((logits.detach(), [each.grad.clone() for each in network.parameters()]))
    (full, full_grads), (short, short_grads) = outcomes
    counts = counted(examples)
    torch.testing.assert_close(short[counts], full[counts], rtol=0, atol=1e-9)
    assert (short[~counts] == 0).all()
    assert (full[~counts] != 0).all()
    torch.testing.assert_close(short_grads, full_grads, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("active", [[4, 4], [1, 2, 3, 4], [3, 3, 3, 3], []])
def test_li_refuses_what_is_not_sorted(active):
    examples = encode(["jump", "run", "walk", "look"])
    examples = examples._replace(actions=F.pad(examples.actions, (0, 2)))
    with pytest.raises(WrongUse, match="sort the commands"):
        make("li")(*examples, active=active)


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
    logits, penalty = network(*examples, noise_for(network, examples), aux=True)
    torch.testing.assert_close(logits, network(*examples, noise_for(network, examples)))
    assert penalty.item() == pytest.approx(expected, abs=1e-12)


def test_li_scales_noise_by_sigma():
    examples, noise = encode(COMMANDS), None
    plain, louder = make("li"), make("li", sigma=3.0)
    noise = noise_for(plain, examples)
    torch.testing.assert_close(
        louder(*examples, noise), plain(*examples, {name: 3 * each for name, each in noise.items()})
    )


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
    with pytest.raises(WrongUse, match=r"did you mean|take an even number"):
        LiNetwork(**option)


def test_li_refuses_more_places_than_it_knows():
    words = torch.full((1, 12), 1)
    with pytest.raises(WrongUse, match="knows 10 places"):
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
    with pytest.raises(WrongUse, match="from 1"):
        CNN(kernel=0)


# ------------------------------------------------------------------------------------- meta-seq2seq


def meta_case(seed=0):
    torch.manual_seed(seed)
    network = MetaSeq2Seq(size=6).double()
    support, query = encode(["jump twice", "look right", "walk"]), encode(COMMANDS)
    noise = network.noise(3, 4, 11, 49, torch.Generator().manual_seed(seed))
    return network, support, query, {name: each.double() for name, each in noise.items()}


def rows_of(examples):
    words, lengths, actions = (part.tolist() for part in tuple(examples))
    return [
        (word[:length], action[: action.index(END) + 1])
        for word, length, action in zip(words, lengths, actions, strict=True)
    ]


@pytest.mark.parametrize("noisy", [False, True])
def test_meta_equals_the_numpy_forward_pass(noisy):
    network, support, query, noise = meta_case()
    noise = noise if noisy else {}
    logits = network(padded(support), query, noise).detach().numpy()

    def of(row, shown):
        return {k: each[row].numpy() for k, each in noise.items() if k.startswith("support") == shown}

    masks = [of(row, True) for row in range(3)]
    for row, (words, actions) in enumerate(rows_of(query)):
        expected = oracles.meta(weights(network), rows_of(support), words, actions, of(row, False), masks)
        np.testing.assert_allclose(logits[row, : len(actions)], expected, atol=1e-9)


def test_meta_queries_see_neither_each_other_nor_padding():
    network, support, query, _ = meta_case()
    together = network(padded(support), padded(query))
    for row in range(4):
        one = query[row : row + 1].trimmed()
        torch.testing.assert_close(network(support, one)[0], together[row, : one.actions.shape[1]])


def test_meta_depends_on_the_actions_of_its_support_set():
    network, support, query, _ = meta_case()
    other = meta_tasks.with_meaning(support, meta_tasks.meanings()[0])
    assert (network(other, query) - network(support, query)).abs().max() > 1e-4


def test_meta_predicts_what_teacher_forcing_says_of_its_own_actions():
    network, support, query, _ = meta_case()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter *= 4
    predicted = network.predict(support, query.words, query.lengths, 9)
    assert len(predicted.unique()) > 1
    logits = network(support, Examples(query.words, query.lengths, predicted))
    torch.testing.assert_close(logits.argmax(dim=-1), predicted)


def test_meta_stacked_equals_alone():
    cases = [meta_case(seed) for seed in range(2)]
    network, support, query, _ = cases[0]

    def loss(parameters, buffers, noise):
        logits = functional_call(network, (parameters, buffers), (support, query, noise))
        return meta_seq2seq.loss(logits, query.actions)

    stacked = vmap(grad(loss))(
        *stack_module_state([case[0] for case in cases]),
        {name: torch.stack([case[3][name] for case in cases]) for name in cases[0][3]},
    )
    for replica, (each, _, _, noise) in enumerate(cases):
        meta_seq2seq.loss(each(support, query, noise), query.actions).backward()
        for name, parameter in each.named_parameters():
            torch.testing.assert_close(stacked[name][replica], parameter.grad, rtol=1e-7, atol=1e-10)


def test_meanings_are_the_23_wrong_ones():
    meanings = meta_tasks.meanings()
    assert len({tuple(each.items()) for each in meanings}) == 23
    assert all(any(action != verb.upper() for verb, action in each.items()) for each in meanings)


def test_a_meaning_changes_actions_and_nothing_else():
    examples = encode(["jump left twice", "walk and run"])
    swapped = {"jump": "WALK", "walk": "JUMP", "run": "RUN", "look": "LOOK"}
    changed = meta_tasks.with_meaning(examples, swapped)
    assert torch.equal(changed.words, examples.words)
    expected = encode(["walk left twice", "jump and run"]).actions
    assert torch.equal(changed.actions, expected)


@pytest.mark.parametrize(
    "meaning", [{"jump": "WALK"}, dict.fromkeys(("walk", "look", "run", "jump"), "WALK")]
)
def test_a_meaning_has_four_different_actions(meaning):
    with pytest.raises(WrongUse, match="an action of its own"):
        meta_tasks.with_meaning(encode(["jump"]), meaning)


def test_episodes_have_twenty_commands_to_show_and_twenty_more_to_ask():
    support, query = meta_tasks.training_episode(1, 5)
    assert support.words.shape == (20, 11)
    assert query.actions.shape == (40, 49)
    for asked, shown in zip(query, support, strict=True):
        assert torch.equal(asked[20:], shown)
    assert len({tuple(words) for words in query.words.tolist()}) == 40
    again, other = meta_tasks.training_episode(1, 5), meta_tasks.training_episode(1, 6)
    assert torch.equal(again.query.actions, query.actions)
    assert not torch.equal(other.query.words, query.words)


def test_an_episode_has_one_meaning_and_it_is_wrong():
    _, query = meta_tasks.training_episode(0, 0, shown=50, asked=50)
    names = {number: word for word, number in WORD_IDS.items()}
    texts = [" ".join(names[word] for word in words[1:-1]) for words, _ in rows_of(query)]
    right = padded(encode(texts)).actions
    pairs = set(zip(right.flatten().tolist(), query.actions.flatten().tolist(), strict=True))
    assert len(pairs) == 8
    assert any(a != b for a, b in pairs)


def test_the_last_episode_is_the_add_jump_test(monkeypatch):
    asked = []
    monkeypatch.setattr(
        meta_tasks, "get_split", lambda name: asked.append(name) or Split(("run",), ("jump left",))
    )
    support, query = meta_tasks.add_jump_episode()
    assert asked == ["add_jump"]
    assert rows_of(support) == rows_of(encode(["walk", "look", "run", "jump"]))
    assert rows_of(query) == rows_of(encode(["jump left"]))


def test_an_episode_cannot_have_more_commands_than_there_are():
    with pytest.raises(WrongUse, match="20910"):
        meta_tasks.training_episode(0, 0, shown=20_000, asked=2_000)
