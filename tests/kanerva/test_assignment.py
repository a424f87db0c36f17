"""The assignment network, the history and the noise, against numpy and PyTorch's own distributions."""

import numpy as np
import pytest
import torch
from torch.distributions import Normal as Gaussian, kl_divergence

from kanerva import whole
from mini_lib.errors import UsageError
from mini_lib.kanerva.assignment import (
    GIVEN,
    IDLE,
    AssignmentNetwork,
    EvenAssignment,
    GivenAssignment,
    History,
    draw_all,
)
from mini_lib.seeding import seeded, torch_rng

DIM, MACHINES, SIZE, WIDTH = 5, 3, 10, 50
TIGHT = {"rtol": 1e-10, "atol": 1e-12}


def normal(*shape, seed=0):
    return torch.randn(shape, generator=torch_rng(seed, "numbers"), dtype=torch.float64)


def make(**options):
    with seeded(0, "assignment"):
        return AssignmentNetwork(DIM, MACHINES, SIZE, **options).double()


def history():
    with seeded(0, "history"):
        return History(DIM, MACHINES).double()


def arrays(module, name):
    return {f"{name}.{key}": value.numpy() for key, value in module.state_dict().items()}


def test_layers_are_those_of_the_paper():
    network = AssignmentNetwork(50, 4, 10)
    assert [tuple(p.shape) for p in network.mlp.parameters()] == [
        (40, 50),
        (40,),
        (20, 40),
        (20,),
        (4, 20),
        (4,),
    ]
    assert [network.mean.in_features, network.sd.in_features] == [14, 14]
    assert [network.prior_mean.in_features, network.prior_sd.in_features] == [10, 10]
    network = History(50, 4)
    assert tuple(network.psi.weight.shape) == (50, 54)
    for layers in (network.mean, network.sd):
        assert [tuple(p.shape) for p in layers.parameters()] == [(10, 50), (10,), (10, 10), (10,)]


def test_weights_equal_numpy():
    network, noise = make(), normal(2, 7, MACHINES, seed=2)
    z, h = normal(2, 7, DIM), 3 * normal(2, 7, SIZE, seed=1)
    with torch.no_grad():
        eta, gamma = network.weights(network.features(z), h, noise)
        divergence = network.divergence(network.features(z), h).sum(-1)
    p = arrays(network, "assignment")
    for b in range(2):
        for t in range(7):
            slow = whole.assign(p, z[b, t].numpy(), h[b, t].numpy(), noise[b, t].numpy())
            for ours, theirs in zip((eta[b, t], gamma[b, t], divergence[b, t]), slow, strict=True):
                np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-10)


def test_a_unit_prior_does_not_follow_what_is_inferred():
    """Against PyTorch's divergence from N(0, 1), whatever h is; all else starts as with a prior that is learned."""
    plain, unit = make(), make(unit_prior=True)
    own = unit.state_dict()
    assert set(plain.state_dict()) - set(own) == {
        f"prior_{part}.{kind}" for part in ("mean", "sd") for kind in ("weight", "bias")
    }
    assert all(value.equal(plain.state_dict()[name]) for name, value in own.items())
    features, h = normal(4, MACHINES), normal(4, SIZE, seed=1)
    q = unit.posterior(features, h)
    standard = Gaussian(torch.zeros(MACHINES).double(), torch.ones(MACHINES).double())
    expected = kl_divergence(Gaussian(q.mean, q.sd), standard)
    torch.testing.assert_close(unit.divergence(features, h), expected, **TIGHT)
    assert not torch.allclose(plain.divergence(features, h), expected)
    noise = normal(4, MACHINES, seed=2)
    torch.testing.assert_close(unit.imagined_weights(h, noise), unit.weights_at(noise), **TIGHT)


def test_even_weights():
    network, noise = EvenAssignment(DIM, 4, SIZE), normal(2, 5, 4).float()
    for found in (
        network.weights(network.features(normal(2, 5, DIM).float()), torch.zeros(2, 5, SIZE), noise),
        network.imagined_weights(torch.zeros(2, 5, SIZE), noise),
    ):
        torch.testing.assert_close(found.gamma, torch.full((2, 5, 4), 0.25))
        torch.testing.assert_close(found.eta, torch.full((2, 5, 4), np.log(2) + 1e-3))
        assert found.eta.requires_grad
    assert not network.divergence(noise, torch.zeros(2, 5, SIZE)).any()


# ------------------------------------------------------------------------------------------------- history


def test_omega_is_the_mean_of_the_embeddings():
    network, codes = history(), normal(2, 5, DIM)
    gamma = torch.softmax(normal(2, 5, MACHINES, seed=1), -1)
    omega = torch.zeros(2, WIDTH).double()
    for t in range(5):
        omega = network.add(omega, codes[:, t], gamma[:, t], t)
        every = torch.cat([codes, gamma], -1)[:, : t + 1] @ network.psi.weight.T + network.psi.bias
        torch.testing.assert_close(omega, every.mean(1), **TIGHT)


def test_h_equals_numpy():
    network, omega, noise = history(), 3 * normal(4, WIDTH), normal(4, SIZE, seed=1)
    with torch.no_grad():
        q = network(omega)
    for b in range(4):
        slow, cost = whole.history(arrays(network, "history"), omega[b].numpy(), noise[b].numpy())
        np.testing.assert_allclose(q.draw(noise)[b].numpy(), slow, rtol=1e-10)
        standard = Gaussian(torch.zeros(SIZE).double(), torch.ones(SIZE).double())
        expected = kl_divergence(Gaussian(q.mean[b], q.sd[b]), standard).sum()
        np.testing.assert_allclose(cost, expected.item(), rtol=1e-10)


# ------------------------------------------------------------------------------------------------- noise


def test_noise_has_its_distributions_and_depends_on_the_generator_alone():
    shapes = {"history": (20_000, 2), "gumbel": (20_000, 2), "gumbel_read": (5,)}
    noise = draw_all(shapes, torch_rng(0, "noise"))
    assert {name: tuple(each.shape) for name, each in noise.items()} == shapes
    again = draw_all(shapes, torch_rng(0, "noise"))
    assert all(noise[name].equal(again[name]) for name in shapes)
    for name, mean, variance in (("history", 0.0, 1.0), ("gumbel", np.euler_gamma, np.pi**2 / 6)):
        assert abs(noise[name].mean().item() - mean) < 0.03
        assert abs(noise[name].var().item() - variance) < 0.08
        assert noise[name].isfinite().all()


def test_weights_that_are_given():
    network = GivenAssignment(DIM, 3, SIZE)
    shares = torch.eye(3)[[2, 0]]
    found = network.weights(network.features(normal(2, DIM).float()), torch.zeros(2, SIZE), shares)
    quiet = np.log(2) + 1e-3
    assert found.eta.tolist() == pytest.approx(quiet * np.where(shares, 1, IDLE))
    wanted = np.where(shares, 1, IDLE**-2) / (1 + 2 * IDLE**-2)
    assert found.gamma.detach().numpy() == pytest.approx(wanted, abs=1e-6)
    with pytest.raises(UsageError, match="'given' and 'given_read'"):
        network.weights(network.features(normal(2, DIM).float()), torch.zeros(2, SIZE))
    assert draw_all({GIVEN: (2, 5, 4), "history": (2, 3)}, torch_rng(0, "x")).keys() == {"history"}
