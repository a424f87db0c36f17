"""Keys and values that are kept from step to step against none: nothing changes, and less is computed."""

from unittest import mock

import pytest
import torch

from functions.helpers import FORMS, every_model, make, observations
from mini_lib.errors import UsageError
from mini_lib.functions.extrapolation import extrapolate
from mini_lib.functions.models.network import layout

every_form = pytest.mark.parametrize("form", [form for form in FORMS if not form.startswith("no mask")])


def from_scratch(network, y, steps):
    """Without anything kept."""
    with mock.patch.object(type(network), "cacheable", False):
        return extrapolate(network, y, steps)


def same(one, other, atol=1e-10):
    """Whether two extrapolations are equal in every part."""
    parts = zip((*one[:2], *one[2]), (*other[:2], *other[2]), strict=True)
    return all(torch.allclose(a, b, rtol=0, atol=atol) for a, b in parts)


@every_form
@every_model
def test_keeping_keys_and_values_changes_nothing(name, form):
    network, y = make(name, form), observations()
    assert same(extrapolate(network, y, 5), from_scratch(network, y, 5))


@every_form
@every_model
def test_a_cache_grows_as_if_it_were_made_at_once(name, form):
    network, y = make(name, form), observations(2, 6)
    grown = network.prefill(y[:, :1])  # of one observation a relational network has no token
    for seen in (2, 3, 5, 5, 6):  # two observations at once, and none
        grown = network.prefill(y[:, :seen], grown)
        at_once = network.prefill(y[:, :seen])
        for ours, theirs in zip(grown.layers, at_once.layers, strict=True):
            torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-10)
        torch.testing.assert_close(network.decode(grown), network(y[:, :seen]), rtol=0, atol=1e-10)


@every_model
def test_only_new_tokens_pass_through_the_network(name, monkeypatch):
    network, passed = make(name), []
    original = network.transformer.forward

    def forward(x, *rest, **options):
        passed.append(x.shape[1])
        return original(x, *rest, **options)

    monkeypatch.setattr(network.transformer, "forward", forward)
    extrapolate(network, observations(3, 6), 3)
    expected = [15, 7, 6, 8, 7, 9] if "relational" in name else [6, 1, 1, 1, 1, 1]
    assert passed == expected
    passed.clear()
    extrapolate(network, observations(3, 6), 2, "sliding")
    assert passed == ([22, 22] if "relational" in name else [7, 7])


@every_model
def test_a_cache_of_more_observations_than_are_given_is_refused(name):
    network, y = make(name), observations(2, 6)
    with pytest.raises(UsageError, match="the cache has 6 observations and y 3; give all of them"):
        network.prefill(y[:, :3], network.prefill(y))


def test_a_long_extrapolation_holds_few_layouts():
    extrapolate(make("relational_window"), observations(2, 3), 20)
    assert layout.cache_info().currsize <= 4
