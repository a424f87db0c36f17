"""Divergences in closed form against those of torch.distributions."""

import pytest
import torch
from torch.distributions import MultivariateNormal, Normal, kl_divergence

from kanerva.test_addressing import randn
from mini_lib.kanerva.memory import (
    COUPLINGS,
    MachineWeights,
    Prior,
    gaussian_kl,
    memory_kl,
    weights_from_eta,
    write_episode,
)

every_rule = pytest.mark.parametrize("coupling", COUPLINGS)


def make(coupling, batch=2, items=6, machines=3, dim=4, columns=5):
    """A prior and an episode written on it; a mixture's choices are soft."""
    psi = torch.tensor([0.5, 1.0, 2.0], dtype=torch.float64)[:machines]
    prior = Prior(randn(machines, dim, columns), psi)
    eta = (0.5 * randn(batch, items, machines, seed=1)).exp()
    weights = weights_from_eta(eta)
    if coupling == "mixture":
        weights = MachineWeights(eta, weights_from_eta(randn(batch, items, machines, seed=3).exp()).gamma)
    codes = 2 * randn(batch, items, dim, seed=2)
    return prior, write_episode(prior.state(batch), codes, weights, coupling=coupling)


def rows(R, V):
    """N(row of R, V) for every row of every machine."""
    return MultivariateNormal(R, covariance_matrix=V[..., None, :, :].expand(*R.shape, V.shape[-1]))


def between(one, other):
    """KL between two states, from torch.distributions."""
    return kl_divergence(rows(one.R, one.V), rows(other.R, other.V)).sum(-1)


def same(one, other, atol=1e-10):
    return torch.allclose(one, other, rtol=0, atol=atol)


@every_rule
def test_divergence_from_the_prior(coupling):
    prior, written = make(coupling)
    start = prior.state(2)
    assert not memory_kl(start, prior).any()
    for state in written.states[1:]:
        assert same(memory_kl(state, prior), between(state, start))


@every_rule
def test_divergence_of_each_item(coupling):
    _, written = make(coupling)
    for t, (before, after) in enumerate(zip(written.states[:-1], written.states[1:], strict=True)):
        assert same(written.item_kl[:, t], between(after, before))


def test_divergence_of_a_long_episode_in_single_precision():
    """45 items with little noise: the running sum loses nothing that matters."""
    prior, eta = Prior(randn(1, 8, 10), torch.ones(1, dtype=torch.float64)), torch.full((2, 45, 1), 0.1)
    codes, low = randn(2, 45, 8, seed=1), Prior(*(part.float() for part in prior))
    exact = write_episode(prior.state(2), codes, weights_from_eta(eta.double()))
    rough = write_episode(low.state(2), codes.float(), weights_from_eta(eta), w=exact.w.float())
    wanted, found = memory_kl(exact.state, prior), memory_kl(rough.state, low).double()
    assert torch.allclose(found, wanted, rtol=1e-3)
    assert torch.allclose(rough.item_kl.double(), exact.item_kl, rtol=2e-2, atol=1e-3)


def test_divergence_of_addresses():
    w, chi = randn(2, 5, 3, 4), torch.tensor([0.3, 1.0, 2.0], dtype=torch.float64)
    posterior, prior = (
        Normal(w, chi[:, None].expand(w.shape)),
        Normal(torch.zeros_like(w), torch.ones_like(w)),
    )
    assert same(gaussian_kl(w, chi[:, None]).sum(-1), kl_divergence(posterior, prior).sum(-1))
    at_start = gaussian_kl(torch.zeros(30, dtype=torch.float64), chi[:1])
    assert at_start.sum().item() == pytest.approx(22.47, abs=0.01)  # 30 columns at chi = .3


def test_divergence_of_assignments_and_history():
    mean, sd = randn(2, 5, 3), randn(2, 5, 3, seed=1).exp()
    prior_mean, prior_sd = randn(2, 1, 3, seed=2), randn(2, 1, 3, seed=3).exp()
    expected = kl_divergence(Normal(mean, sd), Normal(prior_mean, prior_sd))
    assert same(gaussian_kl(mean, sd, prior_mean, prior_sd), expected)
