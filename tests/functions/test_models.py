"""The four networks and their options against slow numpy; no leakage, no order, no level; stacks and savings."""

import math

import numpy as np
import pytest
import torch
from torch.func import functional_call, grad, stack_module_state, vmap

from functions import oracles
from mini_lib.errors import WrongUse
from mini_lib.functions.models import MODELS, OPTIONS, Tokens, build_network, options_of
from mini_lib.functions.models.window import make_gate
from mini_lib.seeding import seeded, torch_rng

FORMS = {
    "default": {},
    "post gate": {"gate": "post"},
    "strict": {"mask": "strict"},
    "strict, post gate": {"mask": "strict", "gate": "post"},
    "no mask": {"mask": "none"},
    "no mask, post gate": {"mask": "none", "gate": "post"},
    "windows by layer": {"own_windows": "layer"},
    "windows by head": {"own_windows": "head"},
    "windows by both": {"own_windows": "both", "gate": "post"},
    "window rate": {"window_rate": 10.0, "length": 3.0},
    "post norm": {"norm": "post"},
    "relu": {"activation": "relu"},
    "wide": {"hidden": 5},
    "scaled": {"scale": 0.125},
    "everything": {
        **{"gate": "post", "mask": "strict", "own_windows": "both", "window_rate": 2.0, "length": 4.0},
        **{"norm": "post", "activation": "relu", "hidden": 7, "scale": 0.5},
    },
}
ABOUT_WINDOWS = ("post gate", "strict, post gate", "no mask, post gate", "windows by", "window rate")
CASES = [
    (name, form)
    for name in MODELS
    for form in FORMS
    if name.endswith("window") or not form.startswith(ABOUT_WINDOWS)
]
HEADS = 2

every_model = pytest.mark.parametrize("name", MODELS)
every_case = pytest.mark.parametrize(("name", "form"), CASES)
causal_case = pytest.mark.parametrize(("name", "form"), [case for case in CASES if "no mask" not in case[1]])
relational_case = pytest.mark.parametrize(
    ("name", "form"), [case for case in CASES if "relational" in case[0]]
)
window_case = pytest.mark.parametrize(("name", "form"), [case for case in CASES if "window" in case[0]])


def make(name, form="default", seed=0, **options):
    """A small network in float64 whose weights are large enough for everything to matter."""
    sizes = {"dim": 6, "layers": 2, "heads": HEADS}
    wanted = {k: v for k, v in (FORMS[form] | options).items() if k in options_of(name)}
    with seeded(seed, "test"):
        network = build_network(name, **(sizes | wanted)).double()
    generator = torch_rng(seed, "weights")
    with torch.no_grad():
        for key, parameter in network.named_parameters():
            spread = 0.2 / network.window.rate if key.startswith("window") else 0.4
            parameter.add_(spread * torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    return network


def observations(curves=3, points=6, seed=0):
    """Multiples of 1/64, so that sums and differences are exact."""
    drawn = torch.randn(curves, points, generator=torch_rng(seed, "y"), dtype=torch.float64)
    return (64 * drawn).round() / 64


def arrays(network):
    return {name: value.double().numpy() for name, value in network.state_dict().items()}


def oracle(network, y, form):
    known = {"mask", "gate", "norm", "activation", "scale"}
    options = {name: value for name, value in FORMS[form].items() if name in known}
    rate = FORMS[form].get("window_rate", 1.0)
    return oracles.forward(arrays(network), y.numpy(), HEADS, rate=rate, **options)


def whole(network, y):
    """Values and tokens of one pass: inputs, then the queries about the next value."""
    inputs, queries = network.input_tokens(1, y.shape[1]), network.query_tokens(y.shape[1] + 1)
    values = torch.cat([network.values(y, inputs), y.new_zeros(len(y), len(queries.query))], dim=1)
    return values, inputs.joined(queries)


# ----------------------------------------------------------------------------------------------- sizes, tokens


def block_size(dim, hidden):
    norms, attention = 2 * 2 * dim, dim * 3 * dim + 3 * dim + dim * dim + dim
    return norms + attention + dim * hidden + hidden + hidden * dim + dim


def test_parameters_are_as_many_as_derived():
    shared = 12 * block_size(256, 1024) + 2 * 256 + 257  # blocks, final norm, read-out
    expected = {"one_d": shared + 3 * 256, "relational": shared + 4 * 256}
    assert expected["one_d"] == 9_478_657
    for kind, count in expected.items():
        for name, more in ((kind, 0), (f"{kind}_window", 2)):
            assert sum(p.numel() for p in build_network(name).parameters()) == count + more


def test_options_change_the_number_of_parameters_as_they_should():
    def count(**options):
        network = build_network("one_d_window", dim=8, layers=3, heads=2, **options)
        return sum(p.numel() for p in network.parameters())

    plain = count()
    assert [count(own_windows=own) - plain for own in ("shared", "layer", "head", "both")] == [0, 4, 2, 10]
    assert plain - count(hidden=16) == 3 * 16 * (2 * 8 + 1)
    assert plain - count(norm="post") == 2 * 8


@pytest.mark.parametrize(("points", "inputs", "queries"), [(20, 190, 21), (29, 406, 30), (30, 435, 31)])
def test_token_counts_are_those_of_the_facts(points, inputs, queries):
    network = build_network("relational", dim=4, layers=1, heads=1)
    assert len(network.input_tokens(1, points).query) == inputs
    assert len(network.query_tokens(points + 1).query) == queries
    assert network(torch.zeros(1, points)).shape == (1, queries)
    network = build_network("one_d", dim=4, layers=1, heads=1)
    assert len(network.input_tokens(1, points).query) == points
    assert network(torch.zeros(1, points)).shape == (1, 1)


@pytest.mark.parametrize("kind", ["one_d", "relational"])
def test_tokens_are_those_of_the_paper(kind):
    network, y = build_network(kind, dim=4, layers=1, heads=1), observations(1, 5)
    values, tokens = whole(network, y)
    ours = [
        (tuple(int(x) for x in places), value, query)
        for places, value, query in zip(
            tokens.places.tolist(), values[0].tolist(), tokens.query.tolist(), strict=True
        )
    ]
    expected = {"one_d": oracles.one_d_tokens, "relational": oracles.relational_tokens}[kind](y[0].tolist())
    assert sorted(ours) == sorted(tuple(token) for token in expected)
    pieces = network.input_tokens(1, 3).joined(network.input_tokens(4, 4), network.input_tokens(5, 5))
    assert all(a.equal(b) for a, b in zip(pieces, network.input_tokens(1, 5), strict=True))


# ------------------------------------------------------------------------------------------ the function itself


@every_case
def test_equals_the_numpy_forward_pass(name, form):
    network, y = make(name, form), observations(2, 4)
    answers = network(y)
    estimates, (weights, _) = network.estimates(y, answers), network.attention(y)
    for row in range(2):
        told, expected, attention = oracle(network, y[row], form)
        np.testing.assert_allclose(answers[row].detach(), told, rtol=0, atol=1e-8)
        np.testing.assert_allclose(estimates[row].detach(), expected, rtol=0, atol=1e-8)
        for ours, theirs in zip(weights, attention, strict=True):
            np.testing.assert_allclose(ours[row].detach(), theirs, rtol=0, atol=1e-8)
    assert np.ptp(answers.detach().numpy()) > 1e-3  # it matters what was observed


@every_model
def test_equals_the_numpy_forward_pass_in_single_precision(name):
    network, y = make(name, length=5.0).float(), observations(2, 5)
    answers = network(y.float())
    for row in range(2):
        np.testing.assert_allclose(answers[row].detach(), oracle(network, y[row], "default")[0], atol=1e-5)


@every_model
def test_every_option_matters(name):
    plain, y = make(name), observations(2, 5)
    matters = {"mask": "strict", "norm": "post", "activation": "relu", "scale": 0.5}
    if plain.window is not None:
        matters |= {"gate": "post", "length": 3.0}
    for option, value in matters.items():
        assert (make(name, **{option: value})(y) - plain(y)).abs().max() > 1e-4, option


@pytest.mark.parametrize("points", [2, 3])
@every_model
def test_shortest_curves(name, points):
    network, y = make(name), observations(2, points)
    assert network.estimates(y, network(y)).shape == (2, points if "relational" in name else 1)
    assert network(y, prefixes=True).isfinite().all()


@every_model
@pytest.mark.parametrize("form", ["default", "everything"])
def test_curves_do_not_see_their_batch_mates(name, form):
    network, y = make(name, form), observations(4)
    alone = torch.cat([network(row[None]) for row in y])
    torch.testing.assert_close(network(y), alone, rtol=0, atol=1e-12)


# ----------------------------------------------------------------------------------- level, order, leakage


@relational_case
def test_a_constant_added_to_the_curve_moves_the_estimates_by_itself(name, form):
    network, y = make(name, form), observations()
    answers, moved = network(y), network(y + 5)
    assert moved.equal(answers)
    difference = network.estimates(y + 5, moved) - network.estimates(y, answers)
    torch.testing.assert_close(difference, torch.full_like(difference, 5), rtol=0, atol=1e-12)


def test_the_1d_transformer_sees_the_level():
    network, y = make("one_d"), observations()
    assert (network(y + 5) - network(y) - 5).abs().min() > 1e-3


@every_case
def test_permuting_tokens_leaves_the_answers_unchanged(name, form):
    network, y = make(name, form), observations()
    values, tokens = whole(network, y)
    order = torch.randperm(len(tokens.query), generator=torch_rng(0, "order"))
    out = network._pass(values, tokens).out
    permuted = network._pass(values[:, order], Tokens(*(part[order] for part in tokens))).out
    torch.testing.assert_close(permuted, out[:, order], rtol=0, atol=1e-10)
    torch.testing.assert_close(network._answers(out[:, tokens.query]), network(y), rtol=0, atol=1e-10)


@causal_case
def test_prefixes_are_the_answers_of_one_prefix_at_a_time(name, form):
    network, y = make(name, form), observations(2, 6)
    one_by_one = torch.cat([network(y[:, :seen]) for seen in range(2, 7)], dim=1)
    torch.testing.assert_close(network(y, prefixes=True), one_by_one, rtol=0, atol=1e-10)


@causal_case
def test_nothing_leaks_from_later_observations(name, form):
    network, y = make(name, form), observations(1, 6).requires_grad_()
    answers, place = network(y, prefixes=True)[0], 0
    for asked in range(3, 8):
        own = answers[place : place + (asked if "relational" in name else 1)]
        place += len(own)
        slopes = torch.stack([torch.autograd.grad(each, y, retain_graph=True)[0][0] for each in own])
        assert not slopes[:, asked - 1 :].any()
        assert slopes[:, : asked - 1].abs().sum(dim=0).min() > 1e-9  # each earlier one is used
    assert place == len(answers)


@every_case
def test_masked_tokens_have_no_influence(name, form):
    """In one layer, tokens that the last query does not see do not reach its answer, and the others do."""
    network, y = make(name, form, layers=1), observations(1, 5)
    values, tokens = whole(network, y)
    values.requires_grad_()
    network._answers(network._pass(values, tokens).out)[0, -1].backward()
    mask = FORMS[form].get("mask", "causal")
    layout = [
        oracles.Token(tuple(map(int, p)), 0.0, q)
        for p, q in zip(tokens.places.tolist(), tokens.query.tolist(), strict=True)
    ]
    expected = [oracles.sees(layout[-1], key, mask) for key in layout]
    expected[-1] = True  # through the residual stream
    assert values.grad[0].ne(0).tolist() == expected


# --------------------------------------------------------------------------------------------- initial weights


@every_model
def test_initial_weights_are_those_of_gpt_2(name):
    torch.manual_seed(0)
    layers = 6
    network = build_network(name, dim=64, layers=layers, heads=4)
    for key, value in network.transformer.state_dict().items():
        if key.endswith("bias"):
            assert not value.any()
        elif "norm" in key:
            assert (value == 1).all()
        else:
            writes = key.split(".")[2] in ("mix", "down")
            expected = 0.02 / math.sqrt(2 * layers) if writes else 0.02
            assert value.std().item() == pytest.approx(expected, rel=0.05)
            assert value.mean().item() == pytest.approx(0, abs=0.1 * expected)
            assert value.abs().max() > 3 * expected  # normal rather than uniform
    for layer in (network.read_in, network.read_out):
        bound = layer.in_features**-0.5
        assert 0.5 * bound < layer.weight.abs().max() <= bound
        assert layer.bias.abs().max() <= bound


def test_initial_weights_follow_the_seed():
    torch.manual_seed(1)
    one, other = (build_network("one_d", dim=8, layers=1, heads=1) for _ in range(2))
    torch.manual_seed(1)
    again = build_network("one_d", dim=8, layers=1, heads=1)
    assert one.read_in.weight.equal(again.read_in.weight)
    assert one.transformer.blocks[0].up.weight.equal(again.transformer.blocks[0].up.weight)
    assert not one.read_in.weight.equal(other.read_in.weight)


# ------------------------------------------------------------------------------- exact savings, stacks, gradients


@every_case
def test_leaving_tokens_out_of_the_last_block_changes_nothing(name, form):
    network, y = make(name, form), observations()
    values, tokens = whole(network, y)
    queries = int(tokens.query.sum())
    full, part = network._pass(values, tokens), network._pass(values, tokens, last=queries)
    assert part.out.shape[1] == queries
    torch.testing.assert_close(part.out, full.out[:, -queries:], rtol=0, atol=1e-12)
    for ours, theirs in zip(part.memory, full.memory, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)


def test_weights_are_kept_only_when_asked_for():
    network = make("one_d")
    values, tokens = whole(network, observations())
    gate = make_gate(tokens, tokens, network.window)
    x = torch.randn(2, len(tokens.query), 6, dtype=torch.float64)
    assert network.transformer(x, gate).weights == []
    assert len(network._pass(values, tokens, trace=True).weights) == 2


@every_case
def test_gradient_reaches_every_parameter(name, form):
    """The windows' parameters too."""
    network, y = make(name, form), observations(3, 5)
    network(y).square().sum().backward()
    assert all(p.grad.isfinite().all() for p in network.parameters())
    without = [key for key, p in network.named_parameters() if not p.grad.any()]
    assert without == []
    if network.window is not None:
        for p in network.window.parameters():
            assert p.grad.abs().min() > 1e-9  # each layer's and each head's own


@window_case
def test_gradients_of_the_window_equal_differences_of_the_loss(name, form):
    network, y = make(name, form), observations(2, 5)
    network(y).square().sum().backward()
    for parameter in network.window.parameters():
        values, step = parameter.data.flatten(), 1e-5
        for place, slope in enumerate(parameter.grad.flatten().tolist()):
            losses = []
            for sign in (1, -2):
                values[place] += sign * step
                losses.append(network(y).square().sum().item())
            values[place] += step
            assert (losses[0] - losses[1]) / (2 * step) == pytest.approx(slope, rel=1e-4, abs=1e-7)


@every_case
def test_stacked_networks_equal_each_alone(name, form):
    networks = [make(name, form, seed) for seed in range(3)]
    y = torch.stack([observations(2, 5, seed) for seed in range(3)])
    skeleton = make(name, form)

    def loss(parameters, buffers, y):
        answers = functional_call(skeleton, (parameters, buffers), (y,))
        return answers.square().mean(), answers

    gradients, answers = vmap(grad(loss, has_aux=True))(*stack_module_state(networks), y)
    for replica, network in enumerate(networks):
        own = network(y[replica])
        torch.testing.assert_close(answers[replica], own, rtol=1e-8, atol=1e-10)
        own.square().mean().backward()
        for key, parameter in network.named_parameters():
            assert gradients[key][replica].isfinite().all()
            torch.testing.assert_close(gradients[key][replica], parameter.grad, rtol=1e-7, atol=1e-10)


@every_model
@pytest.mark.parametrize("form", ["default", "everything"])
def test_stacked_prefixes_equal_each_alone(name, form):
    networks, y = [make(name, form, seed) for seed in range(2)], observations(2, 4)
    skeleton = make(name, form)

    def prefixes(parameters, buffers):
        return functional_call(skeleton, (parameters, buffers), (y,), {"prefixes": True})

    together = vmap(prefixes)(*stack_module_state(networks))
    for replica, network in enumerate(networks):
        torch.testing.assert_close(together[replica], network(y, prefixes=True), rtol=1e-8, atol=1e-10)


# ---------------------------------------------------------------------------------------------------- wrong use


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dim": 0}, "dim has to be a whole number from 1, got 0"),
        ({"dim": -2}, "dim has to be a whole number from 1, got -2"),
        ({"layers": 0}, "layers has to be a whole number from 1, got 0"),
        ({"heads": 0}, "heads has to be a whole number from 1, got 0"),
        ({"hidden": 0}, "hidden has to be a whole number from 1, got 0"),
        ({"heads": 3}, "heads has to divide dim; 3 heads do not divide 8 features"),
        ({"norm": "Pre"}, "unknown norm 'Pre'; did you mean 'pre'"),
        ({"activation": "gelo"}, "unknown activation 'gelo'; did you mean 'gelu'.*known: gelu, relu"),
        ({"own_windows": "heads"}, "unknown kind of windows 'heads'; did you mean 'head'"),
        ({"mask": "casual"}, "unknown mask 'casual'; did you mean 'causal'"),
        ({"gate": "pots"}, "unknown gate 'pots'; did you mean 'post'"),
        ({"scale": 0.0}, "scale has to be above 0, got 0.0"),
        ({"scale": math.nan}, "scale has to be above 0, got nan"),
        ({"length": 0.0}, "a window's length has to be above 0, got 0.0"),
        ({"window_rate": -1.0}, "a window's rate has to be above 0, got -1.0"),
        ({"widow_rate": 2.0}, "unknown option of relational_window 'widow_rate'; did you mean 'window_rate'"),
        ({"window": False}, "unknown option of relational_window 'window'"),
    ],
)
def test_options_that_cannot_be_are_refused(options, message):
    with pytest.raises(WrongUse, match=message):
        build_network("relational_window", **({"dim": 8, "layers": 1, "heads": 2} | options))


def test_networks_that_are_not_there_are_refused():
    with pytest.raises(WrongUse, match="unknown model 'relational_windw'; did you mean 'relational_window'"):
        build_network("relational_windw")
    assert list(MODELS) == ["one_d", "one_d_window", "relational", "relational_window"]
    assert "window" not in OPTIONS
    assert {"dim", "layers", "heads", "length", "window_rate", "mask", "gate", "own_windows"} <= set(OPTIONS)


@every_model
def test_prefixes_need_a_mask(name):
    with pytest.raises(
        WrongUse, match="with mask='none' every token sees every other; prefixes need a causal mask"
    ):
        make(name, "no mask")(observations(), prefixes=True)


def test_the_shortest_prefix_has_two_observations():
    assert make("one_d")(observations()[:, :2], prefixes=True).shape[1] == 1
    with pytest.raises(WrongUse, match="the shortest prefix has 2 observations; got 1 in all"):
        make("one_d")(observations()[:, :1], prefixes=True)


@pytest.mark.parametrize("scale", [0.0, -1.0, float("inf"), float("nan")])
def test_scale_is_a_finite_number_above_0(scale):
    with pytest.raises(WrongUse, match="scale has to be above 0"):
        make("one_d", scale=scale)


def test_a_network_without_a_window_takes_no_option_of_one():
    with pytest.raises(WrongUse, match="unknown option of relational 'length'"):
        build_network("relational", length=3.0)
    assert build_network(
        "relational_window", length=3.0, dim=8, layers=1
    ).window.length.item() == pytest.approx(3)


@every_model
def test_tokens_go_where_the_observations_are(name):
    """Without values, on a device that is not the CPU."""
    network = build_network(name, dim=8, layers=2, heads=2).to("meta")
    y = torch.empty(3, 7, device="meta")
    assert network(y).device.type == "meta"
    assert network.answer(network.remember(y, network.remember(y[:, :5]))).shape == network(y).shape
