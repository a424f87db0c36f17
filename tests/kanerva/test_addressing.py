"""Least squares against numpy's, machine weights against their formula, and what cannot be asked for."""

import numpy as np
import pytest
import torch

from kanerva import oracles
from mini_lib.errors import UsageError
from mini_lib.kanerva.memory import (
    RIDGE,
    SOLVERS,
    address,
    addresses,
    addressing,
    columns_of,
    gamma_from_eta,
    initial_means,
)
from mini_lib.kanerva.memory.addressing import add_jitter, root
from mini_lib.kanerva.memory.state import Prior, State, join
from mini_lib.seeding import torch_rng

every_solver = pytest.mark.parametrize("solver", SOLVERS)


def randn(*shape, seed=0):
    return torch.randn(*shape, generator=torch_rng(seed, "test"), dtype=torch.float64)


# ------------------------------------------------------------------------------------------------- least squares


@every_solver
@pytest.mark.parametrize(("dim", "columns"), [(7, 4), (4, 7), (5, 5), (3, 1)])
@pytest.mark.parametrize("strength", [0.1, RIDGE, 3.0])
def test_addresses_are_those_of_augmented_least_squares(solver, dim, columns, strength):
    R, codes = randn(2, 3, dim, columns), randn(2, 5, dim, seed=1)
    found = addresses(R, codes, solver, strength)
    assert found.shape == (2, 5, 3, columns)
    for b, n, i in np.ndindex(2, 5, 3):
        expected = oracles.least_squares(R[b, i].numpy(), codes[b, n].numpy(), solver, strength)
        assert found[b, n, i].numpy() == pytest.approx(expected, abs=1e-10)


@every_solver
def test_factors_on_singular_values_are_those_of_the_docstring(solver):
    R, code = randn(1, 1, 6, 4), randn(1, 6, seed=1)
    left, s, right = torch.linalg.svd(R[0, 0], full_matrices=False)
    factor = {"ridge": s / (s**2 + RIDGE), "dkm": s**3 / (s**4 + RIDGE)}[solver]
    assert torch.allclose(
        address(R, code, solver)[0, 0], right.mT @ (factor * (left.mT @ code[0])), atol=1e-12
    )


def test_every_machine_looks_for_the_whole_code():
    R, code = randn(2, 3, 6, 4), randn(2, 6, seed=1)
    alone = torch.cat([address(R[:, i : i + 1], code) for i in range(3)], dim=1)
    assert torch.allclose(address(R, code), alone, rtol=0, atol=1e-13)


@every_solver
def test_single_precision_stays_near_double(solver):
    """Means as large as after many writes of large codes; more columns than features, so that R^T R is singular."""
    R, codes = 4 * randn(2, 1, 50, 120), 5 * randn(2, 3, 50, seed=1)
    exact, rough = addresses(R, codes, solver), addresses(R.float(), codes.float(), solver)
    assert rough.isfinite().all()
    said, wanted = R @ rough.double().permute(0, 2, 3, 1), R @ exact.permute(0, 2, 3, 1)
    assert ((said - wanted).norm() / wanted.norm()) < 1e-2


@every_solver
def test_gradients_through_the_solver(solver):
    R, codes = randn(1, 2, 3, 4).requires_grad_(), randn(1, 2, 3, seed=1).requires_grad_()
    assert torch.autograd.gradcheck(lambda *given: addresses(*given, solver), (R, codes))
    assert torch.autograd.gradgradcheck(lambda *given: addresses(*given, solver), (R, codes))


def test_third_derivatives_are_those_of_the_inverse():
    made, b = randn(4, 4), randn(4, 2, seed=1)

    def third(solve):
        def total(matrix):
            return solve(matrix @ matrix.mT + torch.eye(4), b).pow(3).sum()

        first = torch.func.grad(total)
        second = torch.func.grad(lambda matrix: first(matrix).sin().sum())
        return torch.func.grad(lambda matrix: second(matrix).cos().sum())(made)

    assert torch.allclose(third(addressing.solve), third(torch.linalg.solve), rtol=1e-6, atol=1e-8)


def test_root_is_a_root():
    made = randn(2, 5, 4)
    matrix = made.mT @ made
    lower = root(matrix)
    assert torch.allclose(lower @ lower.mT, matrix, rtol=0, atol=1e-12)
    assert not lower.triu(1).any()
    assert torch.allclose(add_jitter(matrix, 0.5), matrix + 0.5 * torch.eye(4), rtol=0, atol=1e-12)


@every_solver
def test_the_way_back_by_hand_is_that_through_the_factorisation(solver, monkeypatch):
    R, codes = randn(2, 3, 6, 4).requires_grad_(), randn(2, 5, 6, seed=1).requires_grad_()
    weights = randn(2, 5, 3, 4, seed=2)
    ours = torch.autograd.grad((addresses(R, codes, solver) * weights).sum(), (R, codes))

    monkeypatch.setattr(addressing, "solve", lambda matrix, rhs: torch.linalg.inv(matrix) @ rhs)
    plain = torch.autograd.grad((addresses(R, codes, solver) * weights).sum(), (R, codes))
    assert all(torch.allclose(a, b, rtol=1e-9, atol=1e-10) for a, b in zip(ours, plain, strict=True))
    assert all(each.abs().max() > 1e-3 for each in ours)


# ------------------------------------------------------------------------------------------------- machine weights


def test_machine_weights_are_normalised_precisions():
    eta = randn(4, 5, 3).exp()
    found = gamma_from_eta(eta)
    for place in np.ndindex(4, 5):
        assert found[place].numpy() == pytest.approx(oracles.gammas(eta[place].numpy()), abs=1e-14)
    assert torch.allclose(found.sum(-1), torch.ones(4, 5, dtype=torch.float64))
    assert gamma_from_eta(torch.ones(2, 1)).tolist() == [[1.0], [1.0]]


def test_machine_weights_of_extreme_noise_are_finite():
    eta = torch.tensor([[1e-3, 1e4], [1e-25, 1e-3]], requires_grad=True)
    found = gamma_from_eta(eta)
    assert found.flatten().tolist() == pytest.approx([1.0, 0.0, 1.0, 0.0])
    found[:, 0].sum().backward()
    assert eta.grad.isfinite().all()


# ------------------------------------------------------------------------------------------------- the prior


def test_prior_is_the_same_for_every_memory():
    prior = Prior(randn(3, 5, 4), torch.tensor([0.5, 1.0, 2.0], dtype=torch.float64))
    state = prior.state(2)
    for b, i in np.ndindex(2, 3):
        assert state.R[b, i].equal(prior.R[i])
        assert state.V[b, i].equal(prior.psi[i] * torch.eye(4))
    assert state.shrinkage.shape == (2, 3)
    assert not state.shrinkage.any()


def test_initial_means_are_cut_off_and_differ_between_machines():
    means = initial_means(4, 50, 30, torch_rng(0, "means"))
    assert means.shape == (4, 50, 30)
    assert means.abs().max() <= 2
    assert means.mean().abs() < 0.05
    assert means.std() == pytest.approx(0.8796, abs=0.02)  # of a standard normal cut off at 2
    assert (means[0] - means[1]).abs().max() > 1
    assert means.equal(initial_means(4, 50, 30, torch_rng(0, "means")))
    assert not means.equal(initial_means(4, 50, 30, torch_rng(1, "means")))


def test_states_come_apart_and_together():
    state = State(randn(2, 3, 5, 4), randn(2, 3, 4, 4, seed=1), randn(2, 3, seed=2))
    machines = state.split()
    assert [each.R.shape[1] for each in machines] == [1, 1, 1]
    assert all(one.equal(other) for one, other in zip(join(machines), state, strict=True))


def test_machines_have_to_divide_the_columns():
    assert [columns_of(30, k) for k in (1, 2, 3, 5, 6, 10, 15)] == [30, 15, 10, 6, 5, 3, 2]
    with pytest.raises(
        UsageError, match=r"4 machines cannot share 30 columns.*can: 1, 2, 3, 5, 6, 10, 15, 30"
    ):
        columns_of(30, 4)
