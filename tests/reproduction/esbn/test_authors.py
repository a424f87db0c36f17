"""Weights of the authors' released code: names and shapes as their networks have them, full size."""

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


def tables(model, encoder):
    """The renaming tables of `paper.toml` that a network's parameters are in."""
    return ["every network", "networks with TCN", f"{encoder} encoder", *FAMILY.get(model, [model])]


def load_authors(network, state, model, encoder="conv"):
    """The random constants in MNM's memory are part of what it computes; a state_dict of theirs lacks them."""
    return load_renamed(network, state, "esbn", tables(model, encoder))


def dense(name, outputs, inputs, bias=True):
    return {f"{name}.weight": (outputs, inputs)} | ({f"{name}.bias": (outputs,)} if bias else {})


def recurrent(name, inputs, hidden, suffix="_l0"):
    return {
        f"{name}.weight_ih{suffix}": (4 * hidden, inputs),
        f"{name}.weight_hh{suffix}": (4 * hidden, hidden),
        f"{name}.bias_ih{suffix}": (4 * hidden,),
        f"{name}.bias_hh{suffix}": (4 * hidden,),
    }


def encoder_shapes(kind):
    if kind == "rand":
        return dense("encoder.fc1", 128, 1024)
    if kind == "mlp":
        layers = ((512, 1024), (256, 512), (128, 256))
        return {k: v for n, sizes in enumerate(layers, 1) for k, v in dense(f"encoder.fc{n}", *sizes).items()}
    shapes = dense("encoder.fc1", 256, 512) | dense("encoder.fc2", 128, 256)
    for n, channels in enumerate((1, 32, 32), 1):
        shapes |= {f"encoder.conv{n}.weight": (32, channels, 4, 4), f"encoder.conv{n}.bias": (32,)}
    return shapes


def transformer_layer(name):
    return (
        {f"{name}.self_attn.in_proj_weight": (384, 128), f"{name}.self_attn.in_proj_bias": (384,)}
        | dense(f"{name}.self_attn.out_proj", 128, 128)
        | dense(f"{name}.linear1", 512, 128)
        | dense(f"{name}.linear2", 128, 512)
        | {f"{name}.norm{n}.{kind}": (128,) for n in (1, 2) for kind in ("weight", "bias")}
    )


def core_shapes(model, length):
    if model.startswith("esbn"):
        shapes = recurrent("lstm", 256 + (model == "esbn"), 512)
        shapes |= dense("key_w_out", 256, 512) | dense("g_out", 1, 512)
        if model == "esbn":
            shapes |= {"confidence_gain": (1,), "confidence_bias": (1,)}
        if model == "esbn_default_memory":
            shapes |= {"default_M_k": (256,), "default_M_v": (128,)}
        return shapes
    if model == "lstm":
        return recurrent("lstm", 128, 512)
    if model == "ntm":
        shapes = recurrent("lstm", 128 + 256, 512) | {"memory_init": (10, 256)}
        for name in ("erase_out", "add_out", "write_key_out", "read_key_out"):
            shapes |= dense(name, 256, 512)
        for head in ("read", "write"):
            for name, size in (("key_strength", 1), ("interp_gate", 1), ("shift_w", 3), ("sharpen", 1)):
                shapes |= dense(f"{head}_{name}_out", size, 512)
        return shapes
    if model == "mnm":
        return (
            recurrent("mnm.lstm_l1", 256, 128, "")
            | dense("mnm.heads_l2", 512, 128)
            | dense("mnm.memfunc.targets_net", 384, 128)
            | dense("mnm.memfunc.feat_proj", 128, 256)
            | dense("mnm.f_l", 1, 128)
            | dense("mnm.read_out", 128, 256)
            | {"mnm.layer_norm.weight": (512,), "mnm.layer_norm.bias": (512,)}
            | {f"mnm.memfunc.l{n}": (128, 128) for n in (1, 2, 3)}  # added by hand: no parameters of theirs
        )
    if model == "rn":
        return (
            dense("g_theta_hidden", 512, 258)
            | dense("g_theta_out", 256, 512)
            | dense("f_phi_hidden", 256, 256)
        )
    if model == "trn":
        shapes = dense("f_phi_combined", 256, 256)
        for arity in (2, 3):
            shapes |= dense(f"g_theta_{arity}_hidden", 512, 129 * arity) | dense(
                f"g_theta_{arity}_out", 256, 512
            )
            shapes |= dense(f"f_phi_{arity}_hidden", 256, 256)
        return shapes
    if model == "transformer":
        twice = ("encoder_norm", "transformer_encoder.norm")
        norms = {f"{name}.{kind}": (128,) for name in twice for kind in ("weight", "bias")}
        return (
            {"pos_encoder.pe": (5000, 1, 128)}
            | transformer_layer("encoder_layers")
            | transformer_layer("transformer_encoder.layers.0")
            | norms
            | dense("out_hidden", 256, 128)
        )
    return (
        dense("W_k", 16, 129, bias=False)
        | dense("W_q1", 512, 129 * length, bias=False)
        | dense("W_q2", 512, 129 * length, bias=False)
        | dense("W_s", 16, 129, bias=False)
        | dense("out_hidden", 8, 576)
    )


OUT = {"rn": 256, "trn": 256, "transformer": 256, "predinet": 8, "mnm": 128}


def their_state(model, encoder="conv", length=9, classes=4, tcn=True):
    """A state_dict as theirs, filled with numbers of a size that keeps every layer busy."""
    shapes = core_shapes(model, length) | encoder_shapes(encoder)
    shapes |= dense("y_out", classes, OUT.get(model, 512))
    if tcn:
        shapes |= {"gamma": (128,), "beta": (128,)}
    rng = torch.Generator().manual_seed(5)
    state = {}
    for name, shape in shapes.items():
        fan_in = torch.Size(shape[1:]).numel() if len(shape) > 1 else 4
        state[name] = torch.randn(shape, generator=rng, dtype=torch.float64) / fan_in**0.5
    if tcn:
        state["beta"] /= 10  # else all embeddings would be alike
    if model == "transformer":  # one module registered under two names
        for kind in ("weight", "bias"):
            state[f"encoder_norm.{kind}"] = state[f"transformer_encoder.norm.{kind}"]
    return state


CASES = [(model, "conv", windows, True, {}) for model in MODELS for windows in WINDOWS.values()]
CASES += [("transformer", encoder, (9,), tcn, {}) for encoder in ("mlp", "rand") for tcn in (True, False)]
CASES += [("trn", "conv", windows, True, {"paper_form": True}) for windows in WINDOWS.values()]
CASES += [("transformer", "conv", windows, True, {"final_norm": False}) for windows in WINDOWS.values()]


@pytest.mark.parametrize(("model", "encoder", "windows", "tcn", "options"), CASES)
def test_every_network_is_its_numpy_twin_under_the_authors_names(model, encoder, windows, tcn, options):
    length, classes = sum(windows), 4 if windows == (9,) else 2
    tolerance = 1e-6 if model == "transformer" else 1e-8  # whose positions are constants in single precision
    state = their_state(model, encoder, length, classes, tcn)
    if "final_norm" in options:
        state = {name: value for name, value in state.items() if "encoder.norm" not in name}
    network = make(model, length, full=True, encoder=encoder, tcn=tcn, **options).double()
    assert load_authors(network, state, model, encoder) is network
    p = {name: value.numpy() for name, value in state.items()}
    rng = np.random.default_rng(0)
    pool, where = rng.random((4, 32, 32)), rng.integers(4, size=(2, length))
    logits, extra = oracles.forward(p, model, encoder, windows, pool, where, **options)
    with torch.no_grad():
        ours, aux = network.forward_with_loss(torch.from_numpy(pool), torch.from_numpy(where))
    if (model, length) != ("esbn_no_confidence", 2):  # which answers the same to everything
        assert np.abs(logits[0] - logits[1]).max() > 100 * tolerance
    np.testing.assert_allclose(ours.numpy(), logits, rtol=0, atol=tolerance)
    assert float(aux) == pytest.approx(extra, abs=1e-10)


@pytest.mark.parametrize("encoder", ["conv", "mlp", "rand"])
@pytest.mark.parametrize("model", MODELS)
def test_table_is_one_to_one_and_complete(model, encoder):
    network = make(model, full=True, encoder=encoder)
    renamings = [row for name in tables(model, encoder) for row in load("esbn").renamings[name]]
    to = places(renamings, network.state_dict())
    assert sorted(place.name for place in to.values()) == sorted(network.state_dict())
    assert {*to} <= {*their_state(model, encoder)}


def test_dead_parameters_make_no_difference():
    state = their_state("trn")
    network = load_authors(make("trn", full=True).double(), state, "trn")
    images = torch.rand(2, 9, 32, 32, dtype=torch.float64)
    before = network(images)
    state["f_phi_2_hidden.weight"] += 1
    torch.testing.assert_close(load_authors(network, state, "trn")(images), before, rtol=0, atol=0)


def test_layers_of_trn_that_only_the_paper_uses_are_loaded_in_its_form():
    state = their_state("trn")
    network = make("trn", full=True, paper_form=True)
    load_authors(network, state, "trn")
    torch.testing.assert_close(network.core.triples.sum.weight, state["f_phi_3_hidden.weight"].float())


@pytest.mark.parametrize(
    ("network", "left_out", "added", "message"),
    [
        (
            {"model": "esbn"},
            "g_out.weight",
            None,
            "'g_out.weight' is missing (it would be our 'core.gate.weight')",
        ),
        ({"model": "mnm"}, "mnm.memfunc.l2", None, "'mnm.memfunc.l2' is missing"),
        ({"model": "esbn_no_confidence"}, None, "confidence_gain", "'confidence_gain' has no place in it"),
        ({"model": "lstm", "tcn": False}, None, "gamma", "'gamma' has no place in it"),
        ({"model": "rn", "classes": 2}, None, None, "(4, 256), our 'core.answer.weight' needs (2, 256)"),
    ],
)
def test_what_does_not_fit_is_named_and_nothing_is_changed(network, left_out, added, message):
    state = their_state(network["model"])
    state.pop(left_out, None)
    state |= {added: torch.ones(1)} if added else {}
    ours = make(**network, full=True)
    before = {name: value.clone() for name, value in ours.state_dict().items()}
    with pytest.raises(ValueError, match="Build the network") as caught:
        load_authors(ours, state, network["model"])
    assert message in str(caught.value)
    for name, value in ours.state_dict().items():
        torch.testing.assert_close(value, before[name], rtol=0, atol=0)
