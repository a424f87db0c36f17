"""The memory for readers: it does what the functions do, and says what is wrong."""

import numpy as np
import pytest
import torch

from kanerva.test_addressing import randn
from kanerva.test_divergence import same
from mini_lib.kanerva import memory as functions
from mini_lib.kanerva.memory import COUPLINGS, MachineWeights, ProductMemory, weights_from_eta

DOUBLE = {"dtype": torch.float64}


def make(**options):
    return ProductMemory(**({"dim": 4, "machines": 2, "columns": 5} | DOUBLE | options))


def filled(**options):
    memory = make(**options)
    memory.write(randn(6, 4, seed=1))
    return memory


# ------------------------------------------------------------------------------------------------- what it does


@pytest.mark.parametrize("coupling", COUPLINGS)
@pytest.mark.parametrize("solver", functions.SOLVERS)
def test_it_is_the_functions_with_its_own_state(coupling, solver):
    memory = make(coupling=coupling, solver=solver, ridge=0.2, psi=0.7)
    codes, eta = randn(6, 4, seed=1).requires_grad_(), randn(6, 2, seed=2).exp()
    gamma = torch.tensor([1.0, 0.0]) if coupling == "mixture" else None
    weights = weights_from_eta(eta[None])
    if gamma is not None:
        weights = MachineWeights(weights.eta, gamma.double().expand(weights.eta.shape))
    options = {"solver": solver, "ridge": 0.2}
    before = functions.log_likelihood(memory.state, codes[None], weights, **options)
    assert memory.log_likelihood(codes, eta, gamma).equal(before[0])
    written = functions.write_episode(memory.state, codes[None], weights, coupling=coupling, **options)
    assert memory.write(codes, eta, gamma).equal(written.kl[0])
    assert memory.items == 6
    assert all(one.equal(other) for one, other in zip(memory.state, written.state, strict=True))
    found = functions.read(written.state, codes[None], weights.gamma, **options)
    for ours, expected in zip(memory.read(codes, eta, gamma), found, strict=True):
        assert ours.equal(expected[0])
    assert memory.divergence().equal(functions.memory_kl(written.state, memory.prior)[0])
    assert same(memory.prior.psi, torch.full((2,), 0.7, dtype=torch.float64))
    assert not memory.state.R.requires_grad
    assert not memory.read(codes, eta, gamma).codes.requires_grad


@pytest.mark.parametrize("coupling", COUPLINGS)
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


def test_episodes_never_meet():
    codes = randn(3, 6, 4, seed=1)
    memory = make(episodes=3)
    kl, found = memory.write(codes), memory.read(codes)
    assert kl.shape == (3, 6, 2)
    assert found.codes.shape == codes.shape
    assert memory.divergence().shape == (3, 2)
    assert memory.sample(7).shape == (3, 7, 4)
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


# ------------------------------------------------------------------------------------------------- imagination


def test_samples_are_drawn_as_the_paper_says():
    memory = filled()
    assert memory.sample(5, seed=3).equal(memory.sample(5, seed=3))
    assert not memory.sample(5, seed=3).equal(memory.sample(5, seed=4))
    assert not memory.sample(5, seed=3).equal(memory.sample(5, seed=3, draw=False))
    plain = memory.sample(5, draw=False)
    asked = plain
    for _ in range(3):
        asked = memory.read(asked).codes
    assert same(memory.sample(5, draw=False, settle=3), asked, atol=1e-12)
    assert same(memory.sample(5, eta=[1.0, 2.0]), memory.sample(5, gamma=[0.8, 0.2]), atol=1e-12)


def test_samples_have_the_variance_that_the_memory_implies():
    """z = sum_i gamma_i M_i w_i with w ~ N(0, I) has E z z^T = sum_i gamma_i^2 (R_i R_i^T + tr(V_i) I)."""
    memory, gamma = filled(), [0.7, 0.3]
    R, V = memory.state.R[0], memory.state.V[0]
    for draw in (True, False):
        codes = memory.sample(20_000, gamma=gamma, draw=draw)
        expected = sum(
            g**2 * (r @ r.mT + draw * v.trace() * torch.eye(4)) for g, r, v in zip(gamma, R, V, strict=True)
        )
        assert (codes.mT @ codes / 20_000 - expected).abs().max() < 0.06 * expected.max()


def test_an_empty_memory_imagines_and_expects_what_its_prior_says():
    memory = make(means=torch.zeros(2, 4, 5), psi=4.0)
    assert not memory.sample(3, draw=False).any()
    assert memory.sample(3).any()
    nothing = torch.zeros(1, 4)
    expected = 4 * np.log(2 * np.pi * 0.5) / -2  # at the address 0 the mean is 0, the variance 2 (1/2)^2
    assert memory.log_likelihood(nothing).item() == pytest.approx(expected)


def test_numbers_may_come_in_any_form():
    codes = randn(6, 4, seed=5).numpy()
    means = randn(2, 4, 5, seed=6).numpy()
    given = codes, codes.tolist(), codes, torch.from_numpy(codes)
    memories = [make(means=form) for form in (means, means.tolist(), torch.from_numpy(means), means)]
    for memory, form in zip(memories, given, strict=True):
        memory.write(form)
        assert all(torch.equal(a, b) for a, b in zip(memory.state, memories[0].state, strict=True))


def test_an_empty_memory_is_read_only_if_that_is_meant():
    memory, queries = make(), randn(3, 4, seed=2)
    found = memory.read(queries, eta=[1.0, 2.0], empty=True)
    gamma = torch.tensor([0.8, 0.2], dtype=torch.float64).expand(1, 3, 2)
    assert same(found.codes, functions.read(memory.prior.state(1), queries[None], gamma).codes[0], atol=1e-12)
    memory.write(randn(6, 4, seed=1))
    assert memory.read(queries, empty=True).codes.equal(memory.read(queries).codes)


def test_a_mixture_needs_a_choice():
    memory = make(coupling="mixture")
    memory.write(torch.ones(1, 4), gamma=[0, 1])
    assert memory.divergence()[0] == 0 < memory.divergence()[1]
    make(coupling="mixture", machines=1).write(torch.zeros(1, 4))
