"""Weights of the authors' released code, under its names: what our networks compute with them."""

import numpy as np
import pytest
import torch
from esbn import oracles
from esbn.networks import WINDOWS, network as make

from mini_lib.esbn.runs import MODELS
from mini_lib.reproduction.authors import load_renamed, places
from mini_lib.reproduction.ledger import load

# model -> the renaming tables of a network that is a form of another
FAMILY = {
    "esbn": ["every ESBN", "esbn"],
    "esbn_no_confidence": ["every ESBN"],
    "esbn_default_memory": ["every ESBN", "esbn_default_memory"],
}
# Parameters that their code makes and does not use.
DEAD = {
    "mnm": ("mnm.layer_norm.weight", "mnm.memfunc.feat_proj.bias"),
    "trn": ("f_phi_2_hidden.weight", "f_phi_3_hidden.bias"),
    "transformer": ("encoder_norm.bias", "encoder_layers.linear1.weight", "pos_encoder.pe"),
}


def tables(model, encoder):
    """The renaming tables of `paper.toml` that a network's parameters are in."""
    return ["every network", "networks with TCN", f"{encoder} encoder", *FAMILY.get(model, [model])]


def their_state(network, model, encoder="conv"):
    """A state_dict as theirs, for a network of these sizes, with numbers that keep every layer busy."""
    renamings = [row for name in tables(model, encoder) for row in load("esbn").renamings[name]]
    own = network.state_dict()
    to = places(renamings, own)
    assert sorted(name for name, _ in to.values()) == sorted(own)
    rng = torch.Generator().manual_seed(5)
    state = {}
    for name, (_, ours) in to.items():
        fan_in = ours.shape[1:].numel() if ours.ndim > 1 else 4
        state[name] = torch.randn(ours.shape, generator=rng, dtype=torch.float64) / fan_in**0.5
    if "beta" in state:
        state["beta"] /= 10  # else all embeddings would be alike
    return state


def load_authors(network, state, model, encoder="conv"):
    return load_renamed(network, state, "esbn", tables(model, encoder))


CASES = [(model, "conv", windows, True, {}) for model in MODELS for windows in WINDOWS.values()]
CASES += [("transformer", encoder, (9,), tcn, {}) for encoder in ("mlp", "rand") for tcn in (True, False)]
CASES += [("trn", "conv", windows, True, {"paper_form": True}) for windows in WINDOWS.values()]
CASES += [("transformer", "conv", windows, True, {"final_norm": False}) for windows in WINDOWS.values()]


@pytest.mark.parametrize(("model", "encoder", "windows", "tcn", "options"), CASES)
def test_every_network_is_its_numpy_twin_under_the_authors_names(model, encoder, windows, tcn, options):
    length = sum(windows)
    tolerance = 1e-6 if model == "transformer" else 1e-8  # whose positions are constants in single precision
    network = make(model, length, encoder=encoder, tcn=tcn, **options).double()
    state = their_state(network, model, encoder)
    unused = {name: torch.ones(3) for name in DEAD.get(model, ()) if name not in state}
    assert load_authors(network, state | unused, model, encoder) is network
    p = {name: value.numpy() for name, value in state.items()}
    rng = np.random.default_rng(0)
    pool, where = rng.random((4, 32, 32)), rng.integers(4, size=(2, length))
    where[:, 1] = (where[:, 0] + [0, 1]) % 4  # two equal images, and two others
    logits, extra = oracles.forward(p, model, encoder, windows, pool, where, **options)
    with torch.no_grad():
        ours, aux = network.forward_with_loss(torch.from_numpy(pool), torch.from_numpy(where))
    apart = np.abs(logits[0] - logits[1]).max()
    if (model, length) == ("esbn_no_confidence", 2):  # which answers the same to everything
        assert apart < 1e-12
    else:
        assert apart > 100 * tolerance
    np.testing.assert_allclose(ours.numpy(), logits, rtol=0, atol=tolerance)
    assert float(aux) == pytest.approx(extra, abs=1e-10)


def test_what_does_not_fit_is_named_and_nothing_is_changed():
    network = make("esbn")
    state = their_state(network, "esbn") | {"default_M_k": torch.ones(1)}
    del state["g_out.weight"]
    before = {name: value.clone() for name, value in network.state_dict().items()}
    with pytest.raises(ValueError, match=r"default_M_k, g_out\.weight; build"):
        load_authors(network, state, "esbn")
    with pytest.raises(RuntimeError, match="shape"):
        load_authors(network, their_state(network, "esbn") | {"y_out.weight": torch.ones(4, 3)}, "esbn")
    torch.testing.assert_close(dict(network.state_dict()), before, rtol=0, atol=0)
