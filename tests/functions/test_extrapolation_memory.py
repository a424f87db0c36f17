"""Keys and values that are kept from step to step against none: nothing changes, and less is computed."""

import pytest
import torch

from functions.helpers import every_model, make, observations
from mini_lib.errors import UsageError
from mini_lib.functions.extrapolation import extrapolate
from mini_lib.functions.models import Memory

every_form = pytest.mark.parametrize(
    "form",
    ["default", "strict", "post gate", "strict, post gate", "windows by both", "post norm", "relu", "scaled"],
)


def same(one, other, atol=1e-10):
    """Whether two extrapolations are equal in every part."""
    parts = zip((*one[:2], *one[2]), (*other[:2], *other[2]), strict=True)
    return all(torch.allclose(a, b, rtol=0, atol=atol) for a, b in parts)


@every_form
@every_model
def test_reusing_keys_and_values_changes_nothing(name, form):
    network, y = make(name, form), observations()
    assert same(extrapolate(network, y, 5), extrapolate(network, y, 5, cached=False))


@every_model
def test_reusing_keys_and_values_changes_nothing_in_single_precision(name):
    network, y = make(name).float(), observations(3, 10).float()
    assert same(extrapolate(network, y), extrapolate(network, y, cached=False), atol=1e-5)


@every_form
@every_model
def test_memory_grows_as_if_it_were_made_at_once(name, form):
    network, y = make(name, form), observations(2, 6)
    grown = network.remember(y[:, :2])
    for seen in (3, 5, 5, 6):  # two observations at once, and none
        grown = network.remember(y[:, :seen], grown)
        at_once = network.remember(y[:, :seen])
        assert all(a.equal(b) for a, b in zip(grown.tokens, at_once.tokens, strict=True))
        for ours, theirs in zip(grown.layers, at_once.layers, strict=True):
            torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-10)
        torch.testing.assert_close(network.answer(grown), network(y[:, :seen]), rtol=0, atol=1e-10)


def counted(network, monkeypatch):
    """How often the network took something in, and how often it began anew."""
    calls = {"remember": 0, "forward": 0}

    def counting(name):
        original = getattr(network, name)

        def call(*arguments, **options):
            calls[name] += 1
            return original(*arguments, **options)

        monkeypatch.setattr(network, name, call)

    counting("remember")
    counting("forward")
    return calls


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({}, True),
        ({"cached": False}, False),
        ({"context": "sliding"}, False),
        ({"context": "sliding", "cached": True}, False),
    ],
)
def test_keys_and_values_are_reused_where_that_is_exact(options, kept, monkeypatch):
    network = make("relational_window")
    calls = counted(network, monkeypatch)
    extrapolate(network, observations(), 4, **options)
    assert calls == ({"remember": 4, "forward": 0} if kept else {"remember": 0, "forward": 4})


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


def forgets_the_first(memory):
    """Values of the first token of the first layer are lost."""
    (keys, values), *rest = memory.layers
    values = values.clone()
    values[:, :, 0] = 0
    return memory._replace(layers=[(keys, values), *rest])


def mixes_layers_up(memory):
    return memory._replace(layers=memory.layers[::-1])


def shifts_places(memory):
    moved = memory.tokens._replace(places=memory.tokens.places - 1)
    return memory._replace(tokens=moved)


@pytest.mark.parametrize("fault", [forgets_the_first, mixes_layers_up, shifts_places])
@pytest.mark.parametrize("name", ["one_d_window", "relational_window"])
def test_a_faulty_memory_would_be_noticed(name, fault, monkeypatch):
    network, y = make(name, length=3.0), observations()
    original = network.remember
    assert isinstance(original(y), Memory)

    def remember(y, memory=None):
        return fault(original(y, None if memory is None else fault(memory)))

    monkeypatch.setattr(network, "remember", remember)
    assert not same(extrapolate(network, y, 4), extrapolate(network, y, 4, cached=False), atol=1e-5)


@every_model
def test_without_a_mask_nothing_can_be_kept(name, monkeypatch):
    network, y = make(name, mask="none"), observations()
    assert not network.reusable
    message = r"with mask='none' inputs see later ones.*extrapolate with cached=False"
    with pytest.raises(UsageError, match=message):
        network.remember(y)
    calls = counted(network, monkeypatch)
    assert same(extrapolate(network, y, 3), extrapolate(network, y, 3, cached=False), atol=0)
    assert calls == {"remember": 0, "forward": 6}
