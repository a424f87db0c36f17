"""Both networks against a slow numpy pass; symmetries, gradients and stacks."""

import numpy as np
import pytest
import torch
from torch.func import functional_call, grad, stack_module_state, vmap

from kanerva import whole
from kanerva.whole import EVEN, FORMS, PRODUCTS, make, noise_of, pictures
from mini_lib.kanerva.objective import Loss
from mini_lib.seeding import torch_rng

TIGHT = {"rtol": 1e-9, "atol": 1e-11}
every_form = pytest.mark.parametrize("form", FORMS)
even_weights_too = pytest.mark.parametrize("form", [*FORMS, *EVEN])
every_product = pytest.mark.parametrize("form", PRODUCTS)


class Traced(torch.nn.Module):
    """A network whose forward is its trace."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, *args, **options):
        return self.network.trace(*args, **options)


class StandIn:
    """A network with other parameters."""

    def __init__(self, network, parts):
        parts = parts if isinstance(parts, tuple) else (parts,)
        self.parts = tuple({f"network.{name}": each for name, each in part.items()} for part in parts)
        self.network = Traced(network)

    def trace(self, *args, **options):
        return functional_call(self.network, self.parts, args, options)


def loss_for(form, **options):
    name, own = (FORMS | EVEN)[form]
    experiment = (
        "mixture" if name == "mixture" else "full" if own.get("sample") == "full" else "mean addresses"
    )
    return Loss(experiment, **options)


def close(ours, theirs):
    torch.testing.assert_close(ours, torch.as_tensor(np.array(theirs)).reshape(ours.shape), **TIGHT)


# ------------------------------------------------------------------------------------------------- numpy


@even_weights_too
def test_equals_the_numpy_forward_pass(form):
    network = make(form)
    images, queries = pictures()
    noise = noise_of(network)
    with torch.no_grad():
        trace = network.trace(images, queries, noise)
    for b in range(len(images)):
        own = {name: each[b].numpy() for name, each in noise.items()}
        slow = whole.forward(network, form, images[b].numpy(), queries[b].numpy(), own)
        ours = {
            "codes": trace.codes, "queries": trace.queries, "logits": trace.logits, "omega": trace.memory.omega,
            "eta": trace.written.eta, "gamma": trace.written.gamma, "w": trace.written.w,
            "R": trace.memory.state.R, "V": trace.memory.state.V,
            "eta_read": trace.reading.eta, "gamma_read": trace.reading.gamma, "w_read": trace.reading.w,
            "parts": trace.reading.parts, "shares": trace.shares,
        }  # fmt: skip
        for name, value in ours.items():
            close(value[b], slow[name])
        assert trace.kl.keys() == slow["kl"].keys()
        for name, value in trace.kl.items():
            close(value[b], slow["kl"][name])


def test_a_mixture_has_no_divergence_of_the_choice():
    images, _ = pictures()
    names = {form: make(form).trace(images).kl.keys() for form in ("default", "mixture")}
    assert names["default"] - names["mixture"] == {"assignment", "assignment_read"}


@every_form
def test_no_noise_is_every_mean(form):
    network, (images, queries) = make(form), pictures()
    zeros = {name: torch.zeros(shape).double() for name, shape in network.noise_shapes(2, 4).items()}
    ours, theirs = network(images, queries), network(images, queries, zeros)
    torch.testing.assert_close(ours, theirs, **TIGHT)
    assert not torch.allclose(ours, network(images, queries, noise_of(network)))


# ------------------------------------------------------------------------------------------------- gradients


def gradients(network, form, **options):
    images, queries = pictures()
    batch = {"images": images, "queries": queries, "noise": noise_of(network)}
    loss_for(form, **options)(network, batch)[0].backward()
    return {name: p.grad for name, p in network.named_parameters()}


@even_weights_too
def test_gradient_reaches_every_parameter(form):
    without = {name for name, each in gradients(make(form), form).items() if each is None or not each.any()}
    assert without == set()


@every_product
def test_stop_grad_r_leaves_the_assignment_as_it_is(form):
    found = gradients(make(form, stop_grad_r=True), form)
    touched = {name for name, each in found.items() if each is not None and each.any()}
    assert not any(name.startswith("assignment") for name in touched)
    assert {"prior_means", "encoder.code.weight", "decoder.pixels.weight"} <= touched
    images, _ = pictures()
    plain, stopped = make(form).trace(images), make(form, stop_grad_r=True).trace(images)
    torch.testing.assert_close(plain.logits, stopped.logits, **TIGHT)
    assert not torch.stack([stopped.kl["assignment"], stopped.kl["assignment_read"]]).any()


@pytest.mark.parametrize("form", ["default", "full", "unit prior"])
def test_the_gradient_is_the_slope(form):
    network, weights = make(form), {"ae_weight": 0.5, "balance": 2.0}
    found = gradients(network, form, **weights)
    images, queries = pictures()
    batch = {"images": images, "queries": queries, "noise": noise_of(network)}
    generator = torch_rng(0, "direction")
    way = {k: torch.randn(v.shape, generator=generator).double() for k, v in network.named_parameters()}

    @torch.no_grad()
    def at(step):
        moved = {k: v + step * way[k] for k, v in network.named_parameters()}
        return loss_for(form, **weights)(StandIn(network, moved), batch)[0]

    slope = (at(1e-6) - at(-1e-6)) / 2e-6
    torch.testing.assert_close(slope, sum((way[k] * found[k]).sum() for k in way), rtol=1e-6, atol=1e-6)


@even_weights_too
def test_stacked_networks_equal_each_alone(form):
    networks, pairs = [make(form, seed) for seed in range(3)], [pictures(seed=seed) for seed in range(3)]
    noises = [noise_of(network, seed=seed) for seed, network in enumerate(networks)]
    skeleton, loss_of = make(form), loss_for(form, ae_weight=0.3, balance=2.0)

    def loss(parameters, buffers, batch):
        return loss_of(StandIn(skeleton, (parameters, buffers)), batch)

    batches = [
        {"images": pair[0], "queries": pair[1], "noise": noise}
        | {"kl_weight": torch.tensor(0.2 * (seed + 1)), "balance": torch.tensor([0.5, 0.2]) * seed}
        for seed, (pair, noise) in enumerate(zip(pairs, noises, strict=True))
    ]
    names = ("images", "queries", "kl_weight", "balance")
    batch = {name: torch.stack([each[name] for each in batches]) for name in names}
    batch["noise"] = {name: torch.stack([each[name] for each in noises]) for name in noises[0]}
    found, scores = vmap(grad(loss, has_aux=True))(*stack_module_state(networks), batch)
    for i, network in enumerate(networks):
        own, score = loss_of(network, batches[i])
        own.backward()
        torch.testing.assert_close(scores[i], score, **TIGHT)
        for name, parameter in network.named_parameters():
            torch.testing.assert_close(found[name][i], parameter.grad, rtol=1e-7, atol=1e-9)
