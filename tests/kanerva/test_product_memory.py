"""`ProductMemory`: it equals the functions, gradients flow through it, and it is a module like any other."""

import copy
import math

import numpy as np
import pytest
import torch
from other_device import OTHER, OtherDevice
from torch import nn

from kanerva.cases import every_rule, randn, same
from mini_lib.errors import UsageError
from mini_lib.kanerva import memory as functions
from mini_lib.kanerva.memory import MachineWeights, weights_from_eta
from mini_lib.kanerva.product_memory import ProductMemory
from mini_lib.seeding import torch_rng


def make(**options):
    return ProductMemory(**({"dim": 4, "machines": 2, "columns": 5, "dtype": torch.float64} | options))


@every_rule
def test_it_is_the_functions_with_its_own_state_and_episodes_never_meet(coupling):
    """Also where items come one at a time."""
    memory, alone = (make(coupling=coupling, ridge=0.2, psi=0.7, episodes=count) for count in (3, None))
    codes, eta, gamma = randn(3, 6, 4, seed=1), [0.5, 2.0], [1, 0] if coupling == "mixture" else None
    weights = weights_from_eta(torch.tensor(eta).double().expand(3, 6, 2))
    if gamma:
        weights = MachineWeights(weights.eta, torch.tensor(gamma).double().expand(3, 6, 2))
    assert memory.prior.psi.tolist() == [0.7, 0.7]
    start, psi = memory.state, memory.prior.psi
    written = functions.write_episode(start, codes, weights, coupling=coupling, ridge=0.2)
    assert memory.write(codes, eta, gamma).equal(written.item_kl)
    assert memory.items == 6
    assert all(one.equal(other) for one, other in zip(memory.state, written.state, strict=True))
    found = memory.read(codes, eta, gamma)
    expected = functions.read(written.state, codes, weights.gamma, ridge=0.2)
    assert all(one.equal(other) for one, other in zip(found, expected, strict=True))
    novelty = functions.log_likelihood(written.state, codes, weights, psi, ridge=0.2)
    assert memory.log_likelihood(codes, eta, gamma).equal(novelty)
    kl = torch.cat([alone.write(code[None], eta, gamma) for code in codes[1]])
    assert same(kl, written.item_kl[1], atol=1e-12)
    assert same(alone.log_likelihood(codes[1], eta, gamma), novelty[1], atol=1e-12)
    for ours, theirs in zip(alone.read(codes[1], eta, gamma), found, strict=True):
        assert same(ours, theirs[1], atol=1e-12)


def test_it_begins_anew_from_its_seed_or_a_copy_of_its_means():
    memory, alike = make(seed=1), make(seed=1)
    drawn = functions.initial_means(2, 4, 5, torch_rng(1, "memory")).double()
    assert memory.prior.R.equal(drawn)
    assert make(means=drawn).prior.R.equal(drawn)
    assert ProductMemory(4, 2, total=10, seed=1).prior.R.equal(drawn.float())
    memory.write(randn(6, 4, seed=1))
    memory.reset()
    assert memory.items == 0
    assert all(now.equal(then) for now, then in zip(memory.state, alike.state, strict=True))
    copied = make(means=drawn)
    drawn.mul_(100)
    copied.reset()
    assert copied.state.R[0].equal(memory.prior.R)


def test_however_sure_it_is_items_may_come_one_by_one_in_float32():
    """The least noise is that of the prior's variance, not of what is left; below it, eta makes no difference."""
    codes = randn(12, 4, seed=1).float()
    memory, other = (make(machines=1, dtype=torch.float32) for _ in range(2))
    memory.write(codes, eta=1e-4)
    for code in codes:
        other.write(code[None], eta=1e-4)
    assert other.state.V.diagonal(dim1=-2, dim2=-1).max() < 1e-2  # nothing of the prior is left
    torch.testing.assert_close(other.state, memory.state, rtol=1e-3, atol=1e-6)
    near = memory.log_likelihood(codes, 1e-9)
    assert near.equal(memory.log_likelihood(codes, 1e-7))
    assert not torch.allclose(near, memory.log_likelihood(codes, 1e-1))


def test_weights_may_be_a_number_or_one_for_each_machine_or_item():
    codes = randn(6, 4, seed=1)

    def after(**given):
        memory = make()
        memory.write(codes, **given)
        return memory.read(codes, **given).codes

    assert after(eta=2).equal(after(eta=[2.0, 2.0]))
    for form in (torch.tensor([[0.5, 2.0]] * 6), np.array([0.5, 2.0])):
        assert after(eta=[0.5, 2.0]).equal(after(eta=form))
    assert same(after(eta=[1.0, 2.0]), after(eta=[1.0, 2.0], gamma=[0.8, 0.2]), atol=1e-12)
    assert not same(after(eta=[1.0, 2.0]), after(eta=[1.0, 2.0], gamma=[0.2, 0.8]), atol=1e-3)


def test_an_empty_memory_is_read_only_if_that_is_meant_and_expects_its_prior():
    memory, queries = make(), randn(3, 4, seed=2)
    with pytest.raises(UsageError, match="empty"):
        memory.read(queries)
    found = memory.read(queries, eta=[1.0, 2.0], empty=True)
    gamma = torch.tensor([0.8, 0.2], dtype=torch.float64).expand(1, 3, 2)
    assert same(found.codes, functions.read(memory.prior.state(1), queries[None], gamma).codes[0], atol=1e-12)
    blank = make(means=torch.zeros(2, 4, 5), psi=4.0)
    expected = 4 * np.log(2 * np.pi * 0.5) / -2  # at the address 0 the mean is 0, the variance 2 (1/2)^2
    assert blank.log_likelihood(torch.zeros(1, 4)).item() == pytest.approx(expected)


CODES = [torch.zeros(6, 3), torch.zeros(0, 4), torch.full((6, 4), torch.nan), torch.full((3, 4), 3e38)]
WEIGHTS = [
    *({"eta": eta} for eta in ([1.0, -1.0], math.nan, [1.0, 1.0, 1.0])),
    *({"gamma": gamma} for gamma in ([0.5, 0.6], [1.5, -0.5], [[0.5, 0.5]] * 5)),
]


@pytest.mark.parametrize(
    ("codes", "given"), [*((codes, {}) for codes in CODES), *((torch.zeros(6, 4), each) for each in WEIGHTS)]
)
def test_what_cannot_be_written_leaves_the_memory_as_it_was(codes, given):
    memory = make(dtype=torch.float32)
    memory.write(randn(6, 4, seed=1))
    before = memory.state
    with pytest.raises(UsageError, match=next(iter(given), "codes")):
        memory.write(codes, **given)
    assert all(now is then for now, then in zip(memory.state, before, strict=True))
    assert memory.items == 6


@every_rule
def test_gradients_of_what_is_read_are_slopes(coupling):
    """To what was written, to the queries, and to the noise and the weight of each machine."""
    memory = make(dim=2, columns=2, coupling=coupling)
    given = [randn(3, 2, seed=1), randn(2, 2, seed=2), (0.3 * randn(3, 2, seed=3)).exp()]
    given += [torch.eye(2).double()[[0, 1, 1]] if coupling == "mixture" else weights_from_eta(given[2]).gamma]

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


def test_content_survives_the_state_dict_and_a_copy_and_its_graph_does_not():
    model, fresh = (nn.ModuleDict({"memory": make(seed=seed)}) for seed in (1, 2))
    codes = randn(6, 4, seed=1).requires_grad_()
    model["memory"].write(codes)
    found = model["memory"].read(codes).codes
    assert found.requires_grad
    fresh.load_state_dict(model.state_dict())
    for other in (fresh["memory"], copy.deepcopy(model)["memory"], copy.deepcopy(fresh)["memory"]):
        assert other.items == 6
        assert not other.R.requires_grad
        assert other.read(codes.detach()).codes.equal(found)
    model.load_state_dict(fresh.state_dict())  # which forgets the graph
    assert not model["memory"].R.requires_grad
    fresh["memory"].reset()
    assert fresh["memory"].prior.R.equal(model["memory"].prior.R)
    assert not fresh["memory"].state.R.equal(model["memory"].state.R)
    assert not list(model.parameters())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_it_follows_its_model_in_type_and_an_encoder_learns_through_it_under_autocast(dtype):
    memory, encoder = ProductMemory(4, 2, 5), nn.Linear(6, 4)
    with torch.autocast("cpu", dtype):
        memory.write(encoder(torch.randn(7, 6)))
        answers = memory.read(encoder(torch.randn(2, 6))).codes
    assert answers.dtype == memory.R.dtype == torch.float32
    answers.sum().backward()
    assert encoder.weight.grad.any()
    half = nn.ModuleDict({"memory": make()}).to(dtype)["memory"]
    half.reset()
    half.write(randn(6, 4, seed=1).to(dtype))
    assert half.read(randn(1, 4).to(dtype)).codes.dtype == dtype


def test_a_memory_on_another_device_does_what_it_does_on_the_cpu():
    memory, codes = make(), randn(5, 4, seed=1)

    def use(codes):
        memory.reset()
        return [memory.write(codes), *memory.read(codes), memory.log_likelihood(codes)]

    expected = use(codes)
    with OtherDevice():
        memory.to(OTHER)
        found = use(codes.to(OTHER))
        assert {each.device for each in found} == {OTHER}
        found = [each.cpu() for each in found]
    torch.testing.assert_close(found, expected)
