"""Parameters under other names: where they go, and what is said of those that do not fit."""

import pytest
import torch
from torch import nn

from mini_lib.reproduction import authors
from mini_lib.reproduction.ledger import Ledger, Renaming

RENAMINGS = {
    "layer": (
        Renaming("fc.*", "linear.*"),
        Renaming("gain", "scale", note="a note"),
        Renaming("extra.*", "more.*", unused="an option"),
        Renaming("table", unused="a constant"),
    ),
    "another": (Renaming("other.*", "linear.*"),),
}


class Ours(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 3)
        self.scale = nn.Parameter(torch.zeros(1))
        self.register_buffer("constant", torch.ones(1))


@pytest.fixture(autouse=True)
def ledger(monkeypatch):
    monkeypatch.setattr(authors, "load", lambda paper: Ledger(paper, (), (), RENAMINGS))


def theirs():
    return {"fc.weight": torch.randn(3, 2), "fc.bias": torch.randn(1, 3), "gain": torch.tensor(2.0)}


def load(state, network=None, networks=("layer",)):
    return authors.load_renamed(network or Ours(), state, "some", list(networks), "this network")


def test_parameters_are_found_under_their_names_whatever_axes_of_one_they_have():
    state = theirs()
    network = load(state)
    assert torch.equal(network.linear.weight, state["fc.weight"])
    assert torch.equal(network.linear.bias, state["fc.bias"][0])
    assert network.scale.item() == 2
    assert network.constant.item() == 1


def test_what_has_no_function_is_left_out():
    load(theirs() | {"table": torch.zeros(5), "extra.weight": torch.zeros(1)})


def test_halves_go_into_one_tensor():
    rows = [Renaming("a.*_forth", "both.*[0]"), Renaming("a.*_back", "both.*[1]")]
    to = authors.places(rows, ["both.weight", "other"])
    assert {name: str(place) for name, place in to.items()} == {
        "a.weight_forth": "both.weight[0]",
        "a.weight_back": "both.weight[1]",
    }
    tensors = {"both.weight": torch.tensor([1.0, 2.0])}
    assert to["a.weight_back"].of(tensors).item() == 2


@pytest.mark.parametrize(
    ("changes", "networks", "message"),
    [
        ({"gain": None}, ["layer"], "'gain' is missing (it would be our 'scale'; a note)"),
        ({"fc.bias": torch.zeros(4)}, ["layer"], "'fc.bias' has shape (4,), our 'linear.bias' needs (3,)"),
        (
            {"other.bias": torch.zeros(3)},
            ["layer"],
            "'other.bias' has no place in it (it belongs to another)",
        ),
        ({"new": torch.zeros(3)}, ["layer"], "'new' has no place in it\n"),
        ({"gain": None}, ["another"], "our 'scale' has no counterpart there"),
    ],
)
def test_what_does_not_fit_is_named_and_nothing_is_changed(changes, networks, message):
    network = Ours()
    before = {name: value.clone() for name, value in network.state_dict().items()}
    state = {name: value for name, value in (theirs() | changes).items() if value is not None}
    with pytest.raises(ValueError, match="the weights do not fit this network") as caught:
        load(state, network, networks)
    assert message in str(caught.value)
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())
