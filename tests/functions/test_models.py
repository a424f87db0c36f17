"""The networks in all their forms against slow numpy; sizes and tokens; no leakage, no order, no level."""

import numpy as np
import pytest
import torch

from functions import oracles
from functions.helpers import (
    CASES,
    FORMS,
    HEADS,
    KINDS,
    every_case,
    every_kind,
    every_model,
    make,
    observations,
    tokens_of,
)
from mini_lib.functions.transformer import (
    MODELS,
    LevelHiddenTransformer,
    OneDTransformer,
    RelationalTransformer,
)
from mini_lib.functions.window import Tokens
from mini_lib.seeding import torch_rng

causal_case = pytest.mark.parametrize(("name", "form"), [case for case in CASES if "no mask" not in case[1]])
blind_case = pytest.mark.parametrize(
    ("name", "form"), [case for case in CASES if not MODELS[case[0]](dim=2, layers=1, heads=1).sees_offset]
)


def arrays(network):
    return {name: value.double().numpy() for name, value in network.state_dict().items()}


def oracle(network, y, form):
    known = {"mask", "gate", "scale"}
    options = {name: value for name, value in FORMS[form].items() if name in known}
    level_hidden = isinstance(network, LevelHiddenTransformer)
    return oracles.forward(arrays(network), y.numpy(), HEADS, **options, level_hidden=level_hidden)


# -------------------------------------------------------------------------------------------------- sizes, tokens


def block_size(dim, hidden):
    norms, attention = 2 * 2 * dim, dim * 3 * dim + 3 * dim + dim * dim + dim
    return norms + attention + dim * hidden + hidden + hidden * dim + dim


def test_parameters_are_as_many_as_derived():
    shared = 12 * block_size(256, 1024) + 2 * 256 + 257  # blocks, final norm, read-out
    expected = {"one_d": shared + 3 * 256, "relational": shared + 4 * 256}
    assert expected["one_d"] == 9_478_657
    for kind, count in expected.items():
        for name, more in ((kind, 0), (f"{kind}_window", 2)):
            assert sum(p.numel() for p in MODELS[name]().parameters()) == count + more


@pytest.mark.parametrize(("points", "inputs", "queries"), [(2, 1, 3), (20, 190, 21), (29, 406, 30)])
def test_token_counts_are_those_of_the_facts(points, inputs, queries):
    for kind, expected in (("relational", (inputs, queries)), ("one_d", (points, 1))):
        network = MODELS[kind](dim=4, layers=1, heads=1)
        tokens = network.input_tokens(points), network.query_tokens(points + 1)
        assert tuple(len(part.query) for part in tokens) == expected
        assert network(torch.zeros(1, points)).shape == (1, expected[1])


@every_kind
def test_tokens_are_those_of_the_paper(kind):
    network, y, tokens = KINDS[kind], observations(1, 5), tokens_of(kind)
    values = network.values(y, network.input_tokens(5))[0].tolist()
    values += [0.0] * (len(tokens.query) - len(values))
    ours = [
        (tuple(int(x) for x in places), value, query)
        for places, value, query in zip(tokens.places.tolist(), values, tokens.query.tolist(), strict=True)
    ]
    expected = {"one_d": oracles.one_d_tokens, "relational": oracles.relational_tokens}[kind](y[0].tolist())
    assert sorted(ours) == sorted(tuple(token) for token in expected)


# -------------------------------------------------------------------------------------------- the function itself


@every_case
def test_equals_the_numpy_forward_pass(name, form):
    network, y = make(name, form), observations(2, 4)
    with torch.no_grad():
        answers, trace = network(y), network.trace(y)
        assert network.predict(y).equal(trace.point)
    assert answers.equal(trace.answers)
    for row in range(2):
        z, estimates, attention = oracle(network, y[row], form)
        np.testing.assert_allclose(answers[row], z, rtol=0, atol=1e-8)
        np.testing.assert_allclose(trace.estimates[row], estimates, rtol=0, atol=1e-8)
        assert trace.point[row].item() == pytest.approx(np.median(estimates), abs=1e-8)
        for ours, theirs in zip(trace.attention[:, row], attention, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-8)
    assert np.ptp(answers.numpy()) > 1e-3  # it matters what was observed


# ------------------------------------------------------------------------------------------ level, order, leakage


@blind_case
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
def test_permuting_tokens_leaves_the_answers_unchanged(name, form, monkeypatch):
    network, y = make(name, form), observations()
    expected, tokens = network(y), network.input_tokens(y.shape[1])
    order = torch.randperm(len(tokens.query), generator=torch_rng(0, "order"))
    mixed = Tokens(*(part[order] for part in tokens))
    monkeypatch.setattr(network, "input_tokens", lambda observed, device: mixed)
    torch.testing.assert_close(network(y), expected, rtol=0, atol=1e-10)


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


# ----------------------------------------------------------------------------------------------------- options


@every_model
def test_every_option_matters(name):
    plain, y = make(name), observations(2, 5)
    matters = {"mask": "causal", "scale": 0.5}
    if plain.window is not None:
        matters |= {"gate": "post", "length": 3.0}
    for option, value in matters.items():
        assert (make(name, **{option: value})(y) - plain(y)).abs().max() > 1e-4, option


def test_the_defaults_are_the_papers():
    """The strict mask, as it is printed and as Table 1 speaks for."""
    for network in (OneDTransformer(layers=1), RelationalTransformer(layers=1)):
        assert (network.mask, network.gate, network.scale, network.window) == (
            "strict",
            "renormalized",
            1,
            None,
        )
    kinds = ["one_d", "one_d_window", "one_d_level_hidden", "relational", "relational_window"]
    assert [*MODELS] == kinds
