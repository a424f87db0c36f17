"""Reading against a loop over Algorithm 2 and the brute-force posterior; novelty and imagination."""

import numpy as np
import pytest
import torch
from torch.distributions import MultivariateNormal

from kanerva import oracles
from kanerva.test_addressing import randn
from kanerva.test_divergence import same
from kanerva.test_writing import Case, close, every_count, one_hot
from mini_lib.kanerva.memory import (
    draw_machines,
    log_likelihood,
    predictive,
    read,
    weights_from_eta,
)


def asked(case, queries=4, seed=7):
    """Queries and weights for them."""
    batch, _, dim = case.codes.shape
    eta = (0.5 * randn(batch, queries, case.weights.eta.shape[-1], seed=seed + 1)).exp()
    return 2 * randn(batch, queries, dim, seed=seed), weights_from_eta(eta)


# ------------------------------------------------------------------------------------------------- answers


@every_count
def test_equals_a_loop_over_the_algorithm(machines):
    case = Case(machines=machines)
    state, (queries, weights) = case.write().state, asked(case)
    found = read(state, queries, weights.gamma)
    for b in range(2):
        R = [*state.R[b].numpy()]
        answers, parts = oracles.read(R, queries[b].numpy(), weights.gamma[b].numpy())
        assert close(found.codes[b], answers)
        assert close(found.parts[b], parts)
        for n, i in np.ndindex(4, machines):
            w = oracles.least_squares(R[i], queries[b, n].numpy())
            assert close(found.w[b, n, i], w)


@every_count
def test_answers_are_those_of_the_brute_force_posterior(machines):
    """Written and read: the posterior mean of every machine, from all items at once, at the query's address."""
    case = Case("independent", machines=machines)
    state, (queries, weights) = case.write(w=case.w).state, asked(case)
    found = read(state, queries, weights.gamma)
    for b in range(2):
        R, V, codes, eta, _ = case.numpy(b)
        means = [
            oracles.posterior(R[i], V[i], case.w[b, :, i].numpy(), codes, eta[:, i])[0]
            for i in range(machines)
        ]
        answers, _ = oracles.read(means, queries[b].numpy(), weights.gamma[b].numpy())
        assert close(found.codes[b], answers)


def test_queries_at_once_are_queries_one_by_one():
    case = Case()
    state, (queries, weights) = case.write().state, asked(case)
    together = read(state, queries, weights.gamma)
    alone = [read(state, queries[:, n : n + 1], weights.gamma[:, n : n + 1]) for n in range(4)]
    for ours, single in zip(together, zip(*alone, strict=True), strict=True):
        assert same(ours, torch.cat(single, dim=1), atol=1e-12)


def test_a_choice_is_answered_by_the_machine_that_was_chosen():
    case = Case()
    state, (queries, weights) = case.write().state, asked(case)
    chosen = torch.arange(8).reshape(2, 4) % 3
    case.weights = weights
    found = read(state, queries, one_hot(case, chosen))
    for b, n in np.ndindex(2, 4):
        assert found.codes[b, n].equal(found.parts[b, n, chosen[b, n]])


# ------------------------------------------------------------------------------------------------- novelty


@every_count
def test_log_likelihood_is_that_of_machines_and_code_drawn_together(machines):
    """The full covariance of z from brute-force posteriors of D M unknowns each; exact for one machine."""
    case = Case("independent", machines=machines)
    state, (codes, weights) = case.write(w=case.w).state, asked(case)
    found = log_likelihood(state, codes, weights)
    mean, variance = predictive(state, read(state, codes, weights.gamma).w, weights)
    for b in range(2):
        R, V, items, eta, _ = case.numpy(b)
        exact = [
            oracles.posterior(R[i], V[i], case.w[b, :, i].numpy(), items, eta[:, i]) for i in range(machines)
        ]
        means, covariances = zip(*exact, strict=True)
        for n, z in enumerate(codes[b].numpy()):
            w = [oracles.least_squares(each, z) for each in means]
            expected = oracles.expected_code(means, covariances, w, weights.eta[b, n].numpy())
            assert found[b, n].item() == pytest.approx(oracles.normal_log_density(z, *expected), abs=1e-8)
            assert close(mean[b, n], expected[0])
            assert np.allclose(variance[b, n].item() * np.eye(4), expected[1], rtol=0, atol=1e-8)


def test_log_likelihood_of_one_machine_is_equation_29():
    case = Case(machines=1)
    state, (codes, weights) = case.write().state, asked(case)
    w = read(state, codes, weights.gamma).w[:, :, 0]
    known = torch.einsum("bnm,bmo,bno->bn", w, state.V[:, 0], w)
    covariance = (known + weights.eta[..., 0] ** 2)[..., None, None] * torch.eye(4)
    mean = torch.einsum("bdm,bnm->bnd", state.R[:, 0], w)
    expected = MultivariateNormal(mean, covariance_matrix=covariance).log_prob(codes)
    assert same(log_likelihood(state, codes, weights), expected)


# ------------------------------------------------------------------------------------------------- imagination


def test_drawn_machines_have_the_means_and_covariances_of_the_memory():
    """A draw is linear in its noise: unit noises show the whole covariance of a row."""
    state = Case().write().state
    batch, machines, dim, columns = state.R.shape
    assert draw_machines(state, torch.zeros_like(state.R)).equal(state.R)
    units = torch.eye(columns, dtype=torch.float64)[:, None, None, None].expand(columns, *state.R.shape)
    moved = draw_machines(state, units) - state.R
    for b, i, d in np.ndindex(batch, machines, dim):
        assert same(moved[:, b, i, d].mT @ moved[:, b, i, d], state.V[b, i])
    one_row = torch.zeros_like(state.R)
    one_row[:, :, 2] = 1.0
    assert not (draw_machines(state, one_row) - state.R)[:, :, [0, 1, 3]].any()
