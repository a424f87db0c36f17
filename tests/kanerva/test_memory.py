"""`ProductMemory`: it equals the functions, gradients flow through it, and it is a module like any other."""

import copy

import numpy as np
import pytest
import torch
from torch import nn

from kanerva.test_addressing import randn
from kanerva.test_divergence import every_rule, same
from mini_lib.kanerva import memory as functions
from mini_lib.kanerva.memory import MachineWeights, weights_from_eta
from mini_lib.kanerva.product_memory import ProductMemory

DOUBLE = {"dtype": torch.float64}


def make(**options):
    return ProductMemory(**({"dim": 4, "machines": 2, "columns": 5} | DOUBLE | options))


# ------------------------------------------------------------------------------------------------- values


@every_rule
def test_it_is_the_functions_with_its_own_state(coupling):
    memory = make(coupling=coupling, ridge=0.2, psi=0.7)
    codes, eta = randn(6, 4, seed=1), randn(6, 2, seed=2).exp()
    gamma = torch.tensor([1.0, 0.0]) if coupling == "mixture" else None
    weights = weights_from_eta(eta[None])
    if gamma is not None:
        weights = MachineWeights(weights.eta, gamma.double().expand(weights.eta.shape))
    before = functions.log_likelihood(memory.state, codes[None], weights, memory.prior.psi, ridge=0.2)
    assert memory.log_likelihood(codes, eta, gamma).equal(before[0])
    written = functions.write_episode(memory.state, codes[None], weights, coupling=coupling, ridge=0.2)
    assert memory.write(codes, eta, gamma).equal(written.item_kl[0])
    assert memory.items == 6
    assert all(one.equal(other) for one, other in zip(memory.state, written.state, strict=True))
    found = functions.read(written.state, codes[None], weights.gamma, ridge=0.2)
    for ours, expected in zip(memory.read(codes, eta, gamma), found, strict=True):
        assert ours.equal(expected[0])
    assert same(memory.prior.psi, torch.full((2,), 0.7, dtype=torch.float64))


@every_rule
def test_items_may_come_one_at_a_time(coupling):
    codes, one_by_one, together = randn(3, 4, seed=1), make(coupling=coupling), make(coupling=coupling)
    given = {"eta": [0.5, 2.0], "gamma": [1, 0] if coupling == "mixture" else None}
    kl = torch.cat([one_by_one.write(code[None], **given) for code in codes])
    assert same(together.write(codes, **given), kl, atol=1e-12)
    assert one_by_one.items == together.items == 3
    assert all(same(*parts, atol=1e-12) for parts in zip(one_by_one.state, together.state, strict=True))


def test_it_begins_anew_from_its_seed_or_its_means():
    memory, alike, other = (make(seed=seed) for seed in (1, 1, 2))
    assert memory.prior.R.equal(alike.prior.R)
    assert not memory.prior.R.equal(other.prior.R)
    assert make(means=memory.prior.R).prior.R.equal(memory.prior.R)
    assert ProductMemory(4, 2, total=10).prior.R.shape == (2, 4, 5)
    memory.write(randn(6, 4, seed=1))
    memory.reset()
    assert memory.items == 0
    assert all(now.equal(then) for now, then in zip(memory.state, alike.state, strict=True))


def test_however_sure_it_is_items_may_come_one_by_one_in_float32():
    """The least noise is that of the prior's variance, not of what is left of it."""
    codes = randn(12, 4, seed=1).float()
    memory, other = (make(machines=1, dtype=torch.float32) for _ in range(2))
    memory.write(codes, eta=1e-4)
    for code in codes:
        other.write(code[None], eta=1e-4)
    assert other.state.V.diagonal(dim1=-2, dim2=-1).max() < 1e-2  # nothing of the prior is left
    for one, several in zip(other.state, memory.state, strict=True):
        torch.testing.assert_close(one, several, rtol=1e-3, atol=1e-6)


def test_the_least_noise_counts_in_the_likelihood_too():
    """Below it, eta makes no difference: neither to what is written nor to what is expected."""
    codes = randn(12, 4, seed=1).float()
    memory = make(machines=1, dtype=torch.float32)
    memory.write(codes, eta=1e-9)
    near = memory.log_likelihood(codes, 1e-9)
    assert near.equal(memory.log_likelihood(codes, 1e-7))
    assert not torch.allclose(near, memory.log_likelihood(codes, 1e-1))


def test_episodes_never_meet():
    codes = randn(3, 6, 4, seed=1)
    memory = make(episodes=3)
    kl, found = memory.write(codes), memory.read(codes)
    assert kl.shape == (3, 6, 2)
    assert found.codes.shape == codes.shape
    for b in range(3):
        alone = make()
        assert same(alone.write(codes[b]), kl[b], atol=1e-12)
        assert same(alone.read(codes[b]).codes, found.codes[b], atol=1e-12)
        assert same(alone.log_likelihood(codes[b]), memory.log_likelihood(codes)[b], atol=1e-12)


def test_weights_may_be_a_number_or_one_for_each_machine_or_item():
    codes = randn(6, 4, seed=1)

    def after(**given):
        memory = make()
        memory.write(codes, **given)
        return memory.read(codes, **given).codes

    assert after(eta=2).equal(after(eta=2.0))
    assert after(eta=2.0).equal(after(eta=[2.0, 2.0]))
    assert after(eta=[0.5, 2.0]).equal(after(eta=torch.tensor([[0.5, 2.0]] * 6)))
    assert after(eta=[0.5, 2.0]).equal(after(eta=np.array([0.5, 2.0])))
    assert not same(after(eta=[0.5, 2.0]), after(eta=[2.0, 0.5]), atol=1e-3)
    assert same(after(eta=[1.0, 2.0]), after(eta=[1.0, 2.0], gamma=[0.8, 0.2]), atol=1e-12)
    assert not same(after(gamma=[1, 0]), after(gamma=[0.5, 0.5]), atol=1e-3)


def test_an_empty_memory_is_read_only_if_that_is_meant_and_expects_its_prior():
    memory, queries = make(), randn(3, 4, seed=2)
    found = memory.read(queries, eta=[1.0, 2.0], empty=True)
    gamma = torch.tensor([0.8, 0.2], dtype=torch.float64).expand(1, 3, 2)
    assert same(found.codes, functions.read(memory.prior.state(1), queries[None], gamma).codes[0], atol=1e-12)
    memory.write(randn(6, 4, seed=1))
    assert memory.read(queries, empty=True).codes.equal(memory.read(queries).codes)
    blank = make(means=torch.zeros(2, 4, 5), psi=4.0)
    expected = 4 * np.log(2 * np.pi * 0.5) / -2  # at the address 0 the mean is 0, the variance 2 (1/2)^2
    assert blank.log_likelihood(torch.zeros(1, 4)).item() == pytest.approx(expected)


def test_numbers_may_come_in_any_form():
    codes = randn(6, 4, seed=5).numpy()
    means = randn(2, 4, 5, seed=6).numpy()
    memories = [make(means=form) for form in (means, means.tolist(), torch.from_numpy(means))]
    given = codes, codes.tolist(), torch.from_numpy(codes)
    for memory, form in zip(memories, given, strict=True):
        memory.write(form)
        assert all(torch.equal(a, b) for a, b in zip(memory.state, memories[0].state, strict=True))


# ------------------------------------------------------------------------------------------------- gradients


@every_rule
def test_gradients_of_what_is_read_are_slopes(coupling):
    """To what was written, to the queries, and to the noise and the weight of each machine."""
    memory = make(dim=3, columns=4, coupling=coupling)
    gamma = torch.eye(2).double()[[0, 1, 1, 0, 1]] if coupling == "mixture" else None
    given = [randn(5, 3, seed=1), randn(2, 3, seed=2), (0.3 * randn(5, 2, seed=3)).exp()]
    given += [weights_from_eta(given[2]).gamma if gamma is None else gamma]

    def read(codes, queries, eta, gamma):
        memory.reset()
        kl = memory.write(codes, eta, gamma)
        found = memory.read(queries, eta[:2], gamma[:2])
        return found.codes, found.parts, kl, memory.log_likelihood(queries, eta[:2], gamma[:2])

    assert torch.autograd.gradcheck(read, [each.clone().requires_grad_() for each in given])


@every_rule
def test_gradients_of_each_sample_under_vmap(coupling):
    memory = make(coupling=coupling)
    codes, eta = randn(3, 6, 4, seed=1), (0.3 * randn(3, 6, 2, seed=2)).exp()
    gamma = torch.eye(2).double()[torch.arange(18).reshape(3, 6) % 2]

    def loss(codes, eta, gamma):
        memory.reset()
        memory.write(codes, eta, gamma)
        return (memory.read(codes, eta, gamma).codes - codes).square().sum()

    slopes = torch.func.grad(loss, argnums=(0, 1, 2))
    together = torch.vmap(slopes)(codes, eta, gamma)
    for i in range(3):
        alone = slopes(codes[i], eta[i], gamma[i])
        torch.testing.assert_close([each[i] for each in together], list(alone), rtol=1e-9, atol=1e-10)
    assert all(each.any() for each in together)


# ------------------------------------------------------------------------------------------------- a module


def test_content_survives_the_state_dict_and_a_copy():
    model, fresh = (nn.ModuleDict({"memory": make(seed=seed)}) for seed in (1, 2))
    codes = randn(6, 4, seed=1)
    model["memory"].write(codes)
    found = model["memory"].read(codes).codes
    fresh.load_state_dict(model.state_dict())
    for other in (fresh["memory"], copy.deepcopy(model)["memory"], copy.deepcopy(fresh)["memory"]):
        assert other.items == 6
        assert other.read(codes).codes.equal(found)
    fresh["memory"].reset()
    assert fresh["memory"].prior.R.equal(model["memory"].prior.R)
    assert not fresh["memory"].state.R.equal(model["memory"].state.R)
    assert not list(model.parameters())


def test_a_memory_that_holds_a_graph_can_be_copied():
    memory, codes = make(), randn(6, 4, seed=1).requires_grad_()
    memory.write(codes)
    found, other = memory.read(codes).codes, copy.deepcopy(memory)
    assert other.read(codes.detach()).codes.equal(found)
    assert found.requires_grad
    assert not other.R.requires_grad
    content = other.state_dict()
    memory.load_state_dict(content)  # which forgets the graph
    assert memory.R.equal(content["R"])
    assert not memory.R.requires_grad


def test_it_follows_its_model_in_type_and_place():
    model = nn.ModuleDict({"memory": make(dtype=torch.float32)}).double()
    model["memory"].write(randn(6, 4, seed=1))
    assert model["memory"].read(randn(1, 4)).codes.dtype == torch.float64
    model.bfloat16()["memory"].reset()
    model["memory"].write(randn(6, 4, seed=1).bfloat16())
    assert model["memory"].read(randn(1, 4).bfloat16()).codes.dtype == torch.bfloat16
    assert model.to("meta")["memory"].R.device.type == "meta"


def test_means_are_copied():
    means = randn(2, 4, 5)
    memory, codes = make(means=means), randn(3, 4, seed=1)
    found = memory.read(codes, empty=True).codes
    means.mul_(100)
    assert memory.read(codes, empty=True).codes.equal(found)
    memory.reset()
    assert memory.read(codes, empty=True).codes.equal(found)
