"""Random numbers, and an episode to write, for the tests of the memory."""

import numpy as np
import pytest
import torch
from hypothesis import settings

from mini_lib.kanerva.memory import COUPLINGS, MachineWeights, State, weights_from_eta, write_episode
from mini_lib.seeding import torch_rng

every_rule = pytest.mark.parametrize("coupling", COUPLINGS)
few = settings(max_examples=25)  # the rest is in tests/conftest.py


def randn(*shape, seed=0):
    return torch.randn(*shape, generator=torch_rng(seed, "test"), dtype=torch.float64)


def same(one, other, atol=1e-10):
    return torch.allclose(one, other, rtol=0, atol=atol)


def close(tensor, expected, atol=1e-8):
    return np.allclose(tensor.detach().numpy(), np.array(expected), rtol=0, atol=atol)


class Case:
    """Machines whose covariances are not diagonal, an episode of codes and weights, and the same in numpy."""

    def __init__(self, coupling="product", batch=2, items=6, machines=3, dim=4, columns=5, seed=0):
        def draw(*shape, name):
            return randn(*shape, seed=10 * seed + name)

        spread = draw(batch, machines, columns, columns, name=1)
        V = spread @ spread.mT / columns + 0.2 * torch.eye(columns)
        zeros = torch.zeros(batch, machines, dtype=torch.float64)
        self.state = State(draw(batch, machines, dim, columns, name=2), V, zeros)
        self.codes = 2 * draw(batch, items, dim, name=3)
        self.weights = weights_from_eta((0.5 * draw(batch, items, machines, name=4)).exp())
        if coupling == "mixture":  # a soft choice
            soft = weights_from_eta(draw(batch, items, machines, name=5).exp()).gamma
            self.weights = MachineWeights(self.weights.eta, soft)
        self.w = draw(batch, items, machines, columns, name=6)
        self.coupling = coupling

    def numpy(self, b):
        """R, V, codes, eta and gamma of one memory, as the oracles take them."""
        R, V = ([*part[b].numpy()] for part in self.state[:2])
        return R, V, self.codes[b].numpy(), *(part[b].numpy() for part in self.weights)

    def item(self, t=0):
        """Code, address and weights of one item."""
        return self.codes[:, t], self.w[:, t], MachineWeights(*(part[:, t] for part in self.weights))

    def write(self, **options):
        return write_episode(self.state, self.codes, self.weights, coupling=self.coupling, **options)

    def questions(self, queries=4, seed=7):
        """Queries, and weights for them."""
        batch, _, dim = self.codes.shape
        eta = (0.5 * randn(batch, queries, self.weights.eta.shape[-1], seed=seed + 1)).exp()
        return 2 * randn(batch, queries, dim, seed=seed), weights_from_eta(eta)
