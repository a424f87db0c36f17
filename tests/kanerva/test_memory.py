"""The memory's functions against loops over the algorithms, posteriors by brute force, and torch.distributions."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from scipy.stats import multivariate_normal
from torch.distributions import MultivariateNormal, kl_divergence
from torch.func import grad

from kanerva import oracles
from kanerva.cases import Case, close, every_rule, few, randn, same
from mini_lib.kanerva.memory import (
    COUPLINGS,
    MachineWeights,
    Prior,
    addresses,
    draw_machines,
    log_likelihood,
    memory_kl,
    predictive,
    read,
    weights_from_eta,
    write_episode,
    write_item,
)

every_count = pytest.mark.parametrize("machines", [1, 2, 3])
small = st.integers(1, 5)
counts = {"batch": st.integers(1, 2), "machines": st.integers(1, 3)}
sizes = st.fixed_dictionaries(counts | dict.fromkeys(("items", "dim", "columns"), small))


@few
@given(dim=st.integers(1, 7), columns=st.integers(1, 7), options=st.sampled_from([(), (0.1,), (3.0,)]))
def test_addresses_are_those_of_augmented_least_squares(dim, columns, options):
    R, codes = randn(2, 3, dim, columns), randn(2, 5, dim, seed=1)
    found = addresses(R, codes, *options)
    assert found.shape == (2, 5, 3, columns)
    for b, n, i in np.ndindex(2, 5, 3):
        expected = oracles.least_squares(R[b, i].numpy(), codes[b, n].numpy(), *options)
        assert found[b, n, i].numpy() == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("size", [4, 400])
def test_addresses_in_single_precision_stay_near_double(size):
    """Means as after many writes of large codes, and larger; R^T R is singular: columns outnumber features."""
    R, codes = size * randn(2, 1, 50, 120), 5 * randn(2, 3, 50, seed=1)
    exact, rough = addresses(R, codes), addresses(R.float(), codes.float())
    assert (rough - exact).norm() < 0.2 * exact.norm()  # without the rounding's own ridge 55 times its length
    said, wanted = R @ rough.double().permute(0, 2, 3, 1), R @ exact.permute(0, 2, 3, 1)
    assert ((said - wanted).norm() / wanted.norm()) < 1e-2


def test_machine_weights_are_normalised_precisions():
    eta = randn(4, 5, 3).exp()
    found = weights_from_eta(eta).gamma
    for place in np.ndindex(4, 5):
        assert found[place].numpy() == pytest.approx(oracles.gammas(eta[place].numpy()), abs=1e-14)
    extreme = torch.tensor([[1e-3, 1e4], [1e-25, 1e-3]], requires_grad=True)
    found = weights_from_eta(extreme).gamma
    assert found.flatten().tolist() == pytest.approx([1.0, 0.0, 1.0, 0.0])
    found[:, 0].sum().backward()
    assert extreme.grad.isfinite().all()


@few
@given(coupling=st.sampled_from(COUPLINGS), shape=sizes)
def test_writing_equals_a_loop_over_the_algorithm(coupling, shape):
    """A mean moved by the new V, which Algorithm 1 prints first, would fall short."""
    case = Case(coupling, **shape)
    written = case.write()
    for b in range(shape["batch"]):
        expected = oracles.write(*case.numpy(b), coupling)
        assert close(written.w[b], expected.w)
        for state, (R, V) in zip(written.states[1:], expected.states, strict=True):
            assert close(state.R[b], R)
            assert close(state.V[b], V)
    assert written.eta.equal(case.weights.eta)
    assert written.gamma.equal(case.weights.gamma)
    assert written.states[0] is case.state
    assert written.state is written.states[-1]


@pytest.mark.parametrize("coupling", ["product", "independent"])
def test_one_machine_holds_the_exact_posterior(coupling):
    case = Case(coupling, machines=1)
    written = case.write(w=case.w)
    for b in range(2):
        R, V, codes, eta, _ = case.numpy(b)
        mean, full = oracles.posterior(R[0], V[0], case.w[b, :, 0].numpy(), codes, eta[:, 0])
        assert close(written.state.R[b, 0], mean)
        assert np.allclose(np.kron(written.state.V[b, 0].numpy(), np.eye(4)), full, rtol=0, atol=1e-8)


@every_count
def test_equation_37_couples_nothing_once_the_code_is_known(machines):
    """The joint of z and all machines, solved in full: "independent" is exact, "product" only for one machine."""
    case = Case(machines=machines, items=1, dim=3, columns=3)
    product, independent = (write_item(case.state, *case.item(), name)[0] for name in COUPLINGS[:2])
    for b in range(2):
        R, V, codes, eta, _ = case.numpy(b)
        means, full = oracles.exact_posterior(R, V, case.w[b, 0].numpy(), eta[0], codes[0])
        blocks = torch.block_diag(*independent.V[b]).numpy()
        assert np.allclose(np.kron(blocks, np.eye(3)), full, rtol=0, atol=1e-8)
        assert close(independent.R[b], means)
        assert close(product.R[b], means) == (machines == 1)
        assert product.V[b].equal(independent.V[b])


def test_one_hot_product_is_the_mixture():
    """A machine of great noise neither speaks nor learns (A.5)."""
    case = Case(batch=3)
    chosen = torch.nn.functional.one_hot(torch.arange(18).reshape(3, 6) % 3, 3).double()
    noise = torch.where(chosen.bool(), case.weights.eta, 1e4)
    product = write_episode(case.state, case.codes, weights_from_eta(noise))
    choice = MachineWeights(case.weights.eta, chosen)
    mixture = write_episode(case.state, case.codes, choice, coupling="mixture")
    exact = {"rtol": 0, "atol": 1e-4}
    torch.testing.assert_close(product.states, mixture.states, **exact)
    torch.testing.assert_close(product.item_kl, mixture.item_kl, **exact)
    for now, before in zip(mixture.states[1], case.state, strict=True):
        assert now[0, 1:].equal(before[0, 1:])  # those that were not chosen


@every_rule
def test_covariances_never_grow(coupling):
    states = Case(coupling, items=20).write().states
    for before, after in pairwise(states):
        assert after.V.equal(after.V.mT)
        assert torch.linalg.eigvalsh(before.V - after.V).min() > -1e-12
        assert torch.linalg.eigvalsh(after.V).min() > 0
        assert (after.logdet_drop > before.logdet_drop).all()


def between(one, other):
    """KL between two states, from torch.distributions: N(row of R, V) for every row."""

    def rows(R, V):
        return MultivariateNormal(R, covariance_matrix=V[..., None, :, :].expand(*R.shape, V.shape[-1]))

    return kl_divergence(rows(one.R, one.V), rows(other.R, other.V)).sum(-1)


@every_rule
def test_divergence_from_the_prior_and_of_each_item(coupling):
    case = Case(coupling)
    prior = Prior(randn(3, 4, 5), torch.tensor([0.5, 1.0, 2.0], dtype=torch.float64))
    start = prior.state(2)
    written = write_episode(start, case.codes, case.weights, coupling=coupling)
    assert not memory_kl(start, prior).any()
    for t, (before, after) in enumerate(pairwise(written.states)):
        assert same(memory_kl(after, prior), between(after, start))
        assert same(written.item_kl[:, t], between(after, before))


@few
@given(shape=sizes, queries=small)
def test_reading_equals_a_loop_over_the_algorithm(shape, queries):
    case = Case(**shape)
    state, (codes, weights) = case.write().state, case.questions(queries)
    found = read(state, codes, weights.gamma)
    for b in range(shape["batch"]):
        R = [*state.R[b].numpy()]
        answers, parts = oracles.read(R, codes[b].numpy(), weights.gamma[b].numpy())
        assert close(found.codes[b], answers)
        assert close(found.parts[b], parts)
        for n, i in np.ndindex(queries, len(R)):
            assert close(found.w[b, n, i], oracles.least_squares(R[i], codes[b, n].numpy()))


@every_count
def test_log_likelihood_is_that_of_machines_and_code_drawn_together(machines):
    """The full covariance of z from brute-force posteriors of D M unknowns each; Equation 29 for one machine."""
    case = Case("independent", machines=machines)
    state, (codes, weights) = case.write(w=case.w).state, case.questions()
    found = log_likelihood(state, codes, weights)
    mean, variance = predictive(state, read(state, codes, weights.gamma).w, weights)
    for b in range(2):
        R, V, items, eta, _ = case.numpy(b)
        used = case.w[b].numpy()
        exact = (oracles.posterior(R[i], V[i], used[:, i], items, eta[:, i]) for i in range(machines))
        means, covariances = zip(*exact, strict=True)
        for n, z in enumerate(codes[b].numpy()):
            w = [oracles.least_squares(each, z) for each in means]
            expected = oracles.expected_code(means, covariances, w, weights.eta[b, n].numpy())
            assert found[b, n].item() == pytest.approx(multivariate_normal(*expected).logpdf(z), abs=1e-8)
            assert close(mean[b, n], expected[0])
            assert np.allclose(variance[b, n].item() * np.eye(4), expected[1], rtol=0, atol=1e-8)


def test_drawn_machines_have_the_means_and_covariances_of_the_memory():
    """A draw is linear in its noise: unit noises show the whole covariance of a row."""
    state = Case().write().state
    batch, machines, dim, columns = state.R.shape
    assert draw_machines(state, torch.zeros_like(state.R)).equal(state.R)
    units = torch.eye(columns, dtype=torch.float64)[:, None, None, None].expand(columns, *state.R.shape)
    moved = draw_machines(state, units) - state.R
    for b, i, d in np.ndindex(batch, machines, dim):
        assert same(moved[:, b, i, d].mT @ moved[:, b, i, d], state.V[b, i])


def loss(means, log_psi, codes, u, coupling):
    """Everything that a network is trained by, from what it learns: writing, reading, novelty and divergences."""
    prior, weights = Prior(means, log_psi.exp()), weights_from_eta(torch.nn.functional.softplus(u) + 1e-3)
    if coupling == "mixture":
        weights = MachineWeights(weights.eta, torch.softmax(u, -1))
    written = write_episode(prior.state(len(codes)), codes, weights, coupling=coupling)
    found = read(written.state, codes, weights.gamma)
    novelty = log_likelihood(written.state, codes, weights, prior.psi)
    cost = sum(memory_kl(state, prior).sum() for state in written.states[1:]) + written.item_kl.sum()
    return (found.codes - codes).square().sum() + cost - novelty.sum()


@every_rule
def test_gradients_are_finite_after_45_writes_in_single_precision(coupling):
    shapes = (3, 10, 8), (3,), (2, 45, 10), (2, 45, 3)
    given = [randn(*shape, seed=n).float() for n, shape in enumerate(shapes)]
    given[3] = 4 * given[3]  # noise from .001 up
    found = grad(loss, argnums=(0, 1, 2, 3))(*given, coupling)
    assert all(part.isfinite().all() and part.abs().max() > 0 for part in found)


def single(psi, eta, size=1.0, columns=30):
    """An episode of 45 codes, written in single and in double precision, at the addresses of the latter."""
    means, codes = randn(2, 50, columns), size * randn(2, 45, 50, seed=2)
    exact = Prior(means, torch.full((2,), float(psi), dtype=torch.float64))
    rough = Prior(*(part.float() for part in exact))
    noise = torch.full((2, 45, 2), float(eta))
    wanted = write_episode(exact.state(2), codes, weights_from_eta(noise.double()))
    written = write_episode(rough.state(2), codes.float(), weights_from_eta(noise), w=wanted.w.float())
    return written, wanted, memory_kl(written.state, rough), memory_kl(wanted.state, exact)


@pytest.mark.parametrize("columns", [8, 60])
@pytest.mark.parametrize("eta", [1e-4, 1e-2, 1.0])
@pytest.mark.parametrize("psi", [1, 60])
def test_memories_stay_sound_over_45_writes_in_single_precision(psi, eta, columns):
    written, *_ = single(psi, eta, size=3.0, columns=columns)
    assert all(part.isfinite().all() for part in (*written.state, written.item_kl))
    assert written.item_kl.min() > -1e-3
    assert written.state.V.equal(written.state.V.mT)
    assert torch.linalg.eigvalsh(written.state.V.double()).min() > 0


@pytest.mark.parametrize(("psi", "eta"), [(1, 0.05), (60, 0.3), (60, 1.0)])
def test_single_precision_is_double_precision_where_the_noise_is_above_its_floor(psi, eta):
    written, wanted, *kl = single(psi, eta)
    floor = 64 * torch.finfo(torch.float32).eps * psi * wanted.w.square().sum(-1).max()
    assert eta**2 > floor
    assert torch.allclose(written.state.R.double(), wanted.state.R, rtol=0, atol=0.02)
    assert torch.allclose(written.state.V.double(), wanted.state.V, rtol=0, atol=1e-4 * psi)
    assert torch.allclose(written.state.logdet_drop.double(), wanted.state.logdet_drop, rtol=1e-3)
    assert torch.allclose(kl[0].double(), kl[1], rtol=1e-3)


def test_no_noise_is_taken_for_less_than_rounding():
    """An item without noise would leave no variance at all along its address; some of the prior's has to remain."""
    written, *_ = single(psi=4, eta=1e-12)
    w, V = written.w[:, -1].double(), written.state.V.double()
    left = torch.einsum("bkm,bkmn,bkn->bk", w, V, w) / w.square().sum(-1)
    least = 64 * torch.finfo(torch.float32).eps * 4
    assert left.max() < 2 * least
    assert left.min() > least / 50
