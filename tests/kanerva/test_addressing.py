"""Least squares against numpy's, machine weights against their formula, and what cannot be asked for."""

import numpy as np
import pytest
import torch

from kanerva import oracles
from mini_lib.errors import UsageError
from mini_lib.kanerva.memory import (
    RIDGE,
    Prior,
    addresses,
    columns_of,
    weights_from_eta,
)
from mini_lib.seeding import torch_rng


def randn(*shape, seed=0):
    return torch.randn(*shape, generator=torch_rng(seed, "test"), dtype=torch.float64)


# ------------------------------------------------------------------------------------------------- least squares


@pytest.mark.parametrize(("dim", "columns"), [(7, 4), (4, 7), (5, 5), (3, 1)])
@pytest.mark.parametrize("strength", [0.1, RIDGE, 3.0])
def test_addresses_are_those_of_augmented_least_squares(dim, columns, strength):
    R, codes = randn(2, 3, dim, columns), randn(2, 5, dim, seed=1)
    found = addresses(R, codes, strength)
    assert found.shape == (2, 5, 3, columns)
    for b, n, i in np.ndindex(2, 5, 3):
        expected = oracles.least_squares(R[b, i].numpy(), codes[b, n].numpy(), strength)
        assert found[b, n, i].numpy() == pytest.approx(expected, abs=1e-10)


def test_every_machine_looks_for_the_whole_code():
    R, code = randn(2, 3, 6, 4), randn(2, 6, seed=1)
    alone = torch.cat([addresses(R[:, i : i + 1], code[:, None])[:, 0] for i in range(3)], dim=1)
    assert torch.allclose(addresses(R, code[:, None])[:, 0], alone, rtol=0, atol=1e-13)


def test_single_precision_stays_near_double():
    """Means as large as after many writes of large codes; more columns than features, so that R^T R is singular."""
    R, codes = 4 * randn(2, 1, 50, 120), 5 * randn(2, 3, 50, seed=1)
    exact, rough = addresses(R, codes), addresses(R.float(), codes.float())
    assert rough.isfinite().all()
    said, wanted = R @ rough.double().permute(0, 2, 3, 1), R @ exact.permute(0, 2, 3, 1)
    assert ((said - wanted).norm() / wanted.norm()) < 1e-2


def test_gradients_through_the_solver():
    R, codes = randn(1, 2, 3, 4).requires_grad_(), randn(1, 2, 3, seed=1).requires_grad_()
    assert torch.autograd.gradcheck(addresses, (R, codes))
    assert torch.autograd.gradgradcheck(addresses, (R, codes))


# ------------------------------------------------------------------------------------------------- machine weights


def test_machine_weights_are_normalised_precisions():
    eta = randn(4, 5, 3).exp()
    found = weights_from_eta(eta).gamma
    for place in np.ndindex(4, 5):
        assert found[place].numpy() == pytest.approx(oracles.gammas(eta[place].numpy()), abs=1e-14)
    assert torch.allclose(found.sum(-1), torch.ones(4, 5, dtype=torch.float64))
    assert weights_from_eta(torch.ones(2, 1)).gamma.tolist() == [[1.0], [1.0]]


def test_machine_weights_of_extreme_noise_are_finite():
    eta = torch.tensor([[1e-3, 1e4], [1e-25, 1e-3]], requires_grad=True)
    found = weights_from_eta(eta).gamma
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
    assert state.logdet_drop.shape == (2, 3)
    assert not state.logdet_drop.any()


def test_machines_have_to_divide_the_columns():
    assert [columns_of(30, k) for k in (1, 2, 3, 5, 6, 10, 15)] == [30, 15, 10, 6, 5, 3, 2]
    with pytest.raises(
        UsageError, match=r"4 machines cannot share 30 columns.*1, 2, 3, 5, 6, 10, 15, 30 machines can"
    ):
        columns_of(30, 4)
