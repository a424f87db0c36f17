"""Writing against a loop over Algorithm 1 and against posteriors by brute force; what the paper's maths promises."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from torch.func import grad, vmap

from kanerva import oracles
from kanerva.test_addressing import randn
from kanerva.test_divergence import every_rule, same
from mini_lib.kanerva.memory import (
    MachineWeights,
    Prior,
    State,
    log_likelihood,
    memory_kl,
    read,
    weights_from_eta,
    write_episode,
    write_item,
)

SIZES = {"batch": 2, "items": 6, "machines": 3, "dim": 4, "columns": 5}
every_count = pytest.mark.parametrize("machines", [1, 2, 3])


class Case:
    """A prior whose covariances are not yet diagonal, an episode of codes and weights, and the same in numpy."""

    def __init__(self, coupling="product", batch=2, items=6, machines=3, dim=4, columns=5, seed=0):
        def draw(*shape, name):
            return randn(*shape, seed=10 * seed + name)

        spread = draw(batch, machines, columns, columns, name=1)
        V = spread @ spread.mT / columns + 0.2 * torch.eye(columns)
        zeros = torch.zeros(batch, machines, dtype=torch.float64)
        self.state = State(draw(batch, machines, dim, columns, name=2), V, zeros)
        self.codes = 2 * draw(batch, items, dim, name=3)
        self.weights = weights_from_eta((0.5 * draw(batch, items, machines, name=4)).exp())
        if coupling == "mixture":
            soft = weights_from_eta(draw(batch, items, machines, name=5).exp()).gamma
            self.weights = MachineWeights(self.weights.eta, soft)
        self.w = draw(batch, items, machines, columns, name=6)
        self.coupling = coupling

    def numpy(self, b):
        """R, V, codes, eta and gamma of one memory, as the oracles take them."""
        R, V = ([*part[b].numpy()] for part in self.state[:2])
        return R, V, self.codes[b].numpy(), *(part[b].numpy() for part in self.weights)

    def write(self, **options):
        return write_episode(self.state, self.codes, self.weights, coupling=self.coupling, **options)


def close(tensor, expected, atol=1e-8):
    return np.allclose(tensor.detach().numpy(), np.array(expected), rtol=0, atol=atol)


def one_hot(case, chosen):
    """A choice of one machine for each item, from their numbers [B, T]."""
    return torch.nn.functional.one_hot(chosen, case.weights.eta.shape[-1]).double()


# ------------------------------------------------------------------------------------------------- Algorithm 1


@every_rule
@every_count
def test_equals_a_loop_over_the_algorithm(coupling, machines):
    case = Case(coupling, machines=machines)
    written = case.write()
    for b in range(2):
        expected = oracles.write(*case.numpy(b), coupling)
        assert close(written.w[b], expected.w)
        for state, (R, V) in zip(written.states[1:], expected.states, strict=True):
            assert close(state.R[b], R)
            assert close(state.V[b], V)
    assert written.eta.equal(case.weights.eta)
    assert written.gamma.equal(case.weights.gamma)
    assert written.states[0] is case.state
    assert written.state is written.states[-1]


def test_both_lines_use_the_old_covariance():
    """Algorithm 1 prints V first; a mean moved by the new V would fall short by the factor 1 - kappa."""
    case = Case(machines=1, items=1)
    after, _ = write_item(
        case.state, case.codes[:, 0], case.w[:, 0], MachineWeights(*(p[:, 0] for p in case.weights))
    )
    for b in range(2):
        R, V, codes, eta, _ = case.numpy(b)
        w = case.w[b, 0, 0].numpy()
        gain = V[0] @ w / (w @ V[0] @ w + eta[0, 0] ** 2)
        assert close(after.R[b, 0], R[0] + np.outer(codes[0] - R[0] @ w, gain), atol=1e-12)


# ------------------------------------------------------------------------------------------------- brute force


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
    item = MachineWeights(*(part[:, 0] for part in case.weights))
    after = {
        name: write_item(case.state, case.codes[:, 0], case.w[:, 0], item, name)[0]
        for name in ("product", "independent")
    }
    for b in range(2):
        R, V, codes, eta, _ = case.numpy(b)
        means, full = oracles.exact_posterior(R, V, case.w[b, 0].numpy(), eta[0], codes[0])
        blocks = torch.block_diag(*after["independent"].V[b]).numpy()
        assert np.allclose(np.kron(blocks, np.eye(3)), full, rtol=0, atol=1e-8)
        assert close(after["independent"].R[b], means)
        assert close(after["product"].R[b], means) == (machines == 1)
        assert after["product"].V[b].equal(after["independent"].V[b])


# ------------------------------------------------------------------------------------------------- properties


def test_one_hot_product_is_the_mixture():
    """A machine of great noise neither speaks nor learns (A.5)."""
    case = Case(batch=3)
    chosen = one_hot(case, torch.arange(18).reshape(3, 6) % 3)
    noise = torch.where(chosen.bool(), case.weights.eta, 1e4)
    product = write_episode(case.state, case.codes, weights_from_eta(noise))
    mixture = write_episode(
        case.state, case.codes, MachineWeights(case.weights.eta, chosen), coupling="mixture"
    )
    for ours, expected in zip(product.states, mixture.states, strict=True):
        assert all(same(*parts, atol=1e-4) for parts in zip(ours, expected, strict=True))
    assert same(product.item_kl, mixture.item_kl, atol=1e-4)


def test_machines_that_were_not_chosen_stay_as_they_are():
    case = Case("mixture")
    first = torch.zeros(2, 6, dtype=torch.int64)
    written = write_episode(
        case.state, case.codes, MachineWeights(case.weights.eta, one_hot(case, first)), coupling="mixture"
    )
    alone = write_episode(
        State(*(part[:, :1] for part in case.state)),
        case.codes,
        MachineWeights(case.weights.eta[..., :1], torch.ones(2, 6, 1, dtype=torch.float64)),
    )
    for ours, before, single in zip(written.state, case.state, alone.state, strict=True):
        assert ours[:, 1:].equal(before[:, 1:])
        assert same(ours[:, :1], single, atol=1e-12)
    assert not written.item_kl[..., 1:].any()


@every_rule
def test_covariances_never_grow(coupling):
    states = Case(coupling, items=20).write().states
    for before, after in pairwise(states):
        assert after.V.equal(after.V.mT)
        assert torch.linalg.eigvalsh(before.V - after.V).min() > -1e-12
        assert torch.linalg.eigvalsh(after.V).min() > 0
        assert (after.logdet_drop > before.logdet_drop).all()


def test_an_item_draws_the_read_out_towards_it():
    """At the same addresses what is left of the error is 1 - sum_i gamma_i kappa_i of it."""
    case = Case()
    item, w, z = MachineWeights(*(part[:, 0] for part in case.weights)), case.w[:, 0], case.codes[:, 0]
    after, _ = write_item(case.state, z, w, item)
    known = (w[..., None, :] @ case.state.V @ w[..., None]).flatten(1)
    kappa = known / (known + item.eta**2)
    left = 1 - (item.gamma * kappa).sum(-1, keepdim=True)
    before, now = (
        z - torch.einsum("bk,bkdm,bkm->bd", item.gamma, state.R, w) for state in (case.state, after)
    )
    assert same(now, left * before)


# ------------------------------------------------------------------------------------------------- gradients


@every_rule
def test_gradients_of_one_item(coupling):
    case = Case(coupling, batch=1, machines=2, dim=2, columns=3)
    item = [part[:, 0] for part in case.weights]
    if coupling == "mixture":
        item[1] = torch.tensor(
            [[1.0, 0.0]], dtype=torch.float64
        )  # one-hot, where a square root would have none

    def write(R, spread, code, w, eta, gamma):
        state = State(R, spread @ spread.mT, case.state.logdet_drop[:1])
        after, kl = write_item(state, code, w, MachineWeights(eta, gamma), coupling)
        return *after, kl

    given = case.state.R, case.state.V, case.codes[:, 0], case.w[:, 0], *item
    assert torch.autograd.gradcheck(write, [part.clone().requires_grad_() for part in given])


def loss(means, log_psi, codes, u, coupling="product"):
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
    return written, wanted


@pytest.mark.parametrize("columns", [8, 60])
@pytest.mark.parametrize("eta", [1e-4, 1e-2, 1.0])
@pytest.mark.parametrize("psi", [1, 60])
def test_memories_stay_sound_over_45_writes_in_single_precision(psi, eta, columns):
    written, _ = single(psi, eta, size=3.0, columns=columns)
    assert all(part.isfinite().all() for part in (*written.state, written.item_kl))
    assert written.item_kl.min() > -1e-3
    assert written.state.V.equal(written.state.V.mT)
    assert torch.linalg.eigvalsh(written.state.V.double()).min() > 0


@pytest.mark.parametrize(("psi", "eta"), [(1, 0.05), (16, 0.2), (60, 0.3), (60, 1.0)])
def test_single_precision_is_double_precision_where_the_noise_is_above_its_floor(psi, eta):
    written, wanted = single(psi, eta)
    floor = 64 * torch.finfo(torch.float32).eps * psi * wanted.w.square().sum(-1).max()
    assert eta**2 > floor
    assert torch.allclose(written.state.R.double(), wanted.state.R, rtol=0, atol=0.02)
    assert torch.allclose(written.state.V.double(), wanted.state.V, rtol=0, atol=1e-4 * psi)
    assert torch.allclose(written.state.logdet_drop.double(), wanted.state.logdet_drop, rtol=1e-3)


def test_no_noise_is_taken_for_less_than_rounding():
    """An item without noise would leave no variance at all along its address; some of the prior's has to remain."""
    written, _ = single(psi=4, eta=1e-12, columns=30)
    w, V = written.w[:, -1].double(), written.state.V.double()
    left = torch.einsum("bkm,bkmn,bkn->bk", w, V, w) / w.square().sum(-1)
    least = 64 * torch.finfo(torch.float32).eps * 4
    assert left.max() < 2 * least
    assert left.min() > least / 50


@every_rule
def test_a_stack_of_networks_is_the_networks_one_by_one(coupling):
    shapes = (4, 3, 4, 5), (4, 3), (4, 2, 6, 4), (4, 2, 6, 3)
    given = [randn(*shape, seed=n) for n, shape in enumerate(shapes)]

    def slopes(*each):
        return grad(loss, argnums=(0, 1, 2, 3))(*each, coupling)

    alone = [slopes(*each) for each in zip(*given, strict=True)]
    for stacked, single in zip(vmap(slopes)(*given), zip(*alone, strict=True), strict=True):
        assert torch.allclose(stacked, torch.stack(single), rtol=1e-9, atol=1e-9)
