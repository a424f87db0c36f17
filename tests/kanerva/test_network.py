"""The parts of both networks, what they start from, and what cannot be."""

import pytest
import torch

from kanerva.whole import FORMS, build, make, noise_of, pictures
from mini_lib.errors import UsageError
from mini_lib.kanerva import memory as memory_functions
from mini_lib.kanerva.memory import noise_variance
from mini_lib.seeding import seeded, torch_rng

TIGHT = {"rtol": 1e-9, "atol": 1e-11}
every_form = pytest.mark.parametrize("form", FORMS)


def test_starts_from_the_values_of_the_paper():
    with seeded(0, "network"):
        network = build("product", 1, 28, 50, 3, 30, "mlp", "mlp")
    assert network.prior_means.shape == (3, 50, 10)
    assert network.prior_means.abs().max() <= 2
    assert 0.8 < network.prior_means.std() < 0.95  # a standard normal cut off at 2 has 0.88
    assert not torch.allclose(network.prior_means[0], network.prior_means[1])
    torch.testing.assert_close(network.chi, torch.full((3,), 0.3))
    state = network.empty(2).state
    assert state.V.equal(torch.eye(10).expand(2, 3, 10, 10))
    assert state.R.equal(network.prior_means.expand(2, 3, 50, 10))
    assert network.noise_shapes(24, 45)["history"] == (24, 45, 10)


# ------------------------------------------------------------------------------------------------- parts


def test_the_least_noise_is_that_of_the_learned_prior(monkeypatch):
    """Also of a memory that something has been written into."""
    told = []

    def spy(eta, w, psi):
        told.append(psi)
        return noise_variance(eta, w, psi)

    monkeypatch.setattr(memory_functions, "noise_variance", spy)
    network = make()
    with torch.no_grad():
        network.log_psi.copy_(torch.tensor([0.5, -0.5]))
        memory = network.write(torch.zeros(2, 3, 3).double()).memory
        network.write(torch.zeros(2, 3, 3).double(), memory=memory)
    assert len(told) == 3 + 3  # items
    for psi in told:
        torch.testing.assert_close(psi, torch.tensor([0.5, -0.5]).exp().double(), rtol=1e-6, atol=0)


@every_form
def test_writing_in_two_parts_is_writing_at_once(form):
    network, noise = make(form), noise_of(make(form), items=5)
    codes = torch.randn(2, 5, 3, generator=torch_rng(0, "codes")).double()
    part = lambda span: {k: v[:, span] for k, v in noise.items()}  # noqa: E731
    first = network.write(codes[:, :2], part(slice(2)))
    second = network.write(codes[:, 2:], part(slice(2, None)), first.memory)
    whole_one = network.write(codes, noise)
    assert second.memory.items == whole_one.memory.items == 5
    for ours, theirs in zip(second.memory.state, whole_one.memory.state, strict=True):
        torch.testing.assert_close(ours, theirs, **TIGHT)
    torch.testing.assert_close(second.memory.omega, whole_one.memory.omega, **TIGHT)
    torch.testing.assert_close(second.kl["memory"], whole_one.kl["memory"], **TIGHT)


def test_pictures_of_single_machines():
    network, (images, _) = make(), pictures()
    trace = network.trace(images)
    alone = network.machine_logits(trace.reading)
    assert alone.shape == (2, 4, 2, 1, 2, 2)
    one = trace.reading.gamma[1, 3, 0] * trace.reading.parts[1, 3, 0]
    torch.testing.assert_close(alone[1, 3, 0], network.decoder(one), **TIGHT)


# ------------------------------------------------------------------------------------------------- noise


def drawn_from_the_default_generator(use):
    """Whether two uses differ, and agree when PyTorch's generator starts anew."""
    torch.manual_seed(0)
    first, second = use(), use()
    torch.manual_seed(0)
    return first.equal(use()) and not first.equal(second)


@every_form
def test_noise_is_drawn_in_training_and_not_in_evaluation(form):
    network, (images, _) = make(form), pictures()
    codes = network.encoder(images).detach()
    memory = network.write(codes).memory

    def weights(found):
        return torch.cat([found.eta, found.shares], dim=-1)

    uses = (
        lambda: network(images),
        lambda: weights(network.write(codes)),
        lambda: weights(network.read(memory, codes)),
    )
    network.train()
    assert all(map(drawn_from_the_default_generator, uses))
    network.eval()
    assert all(use().equal(use()) for use in uses)


@pytest.mark.parametrize("training", [True, False])
def test_given_machines_have_to_be_given(training):
    """An even split, silently, is not what such a network learned."""
    network, (images, queries) = make(assignment="given").train(training), pictures()
    with pytest.raises(UsageError, match="given"):
        network(images)
    with pytest.raises(UsageError, match="noise lacks 'given'"):
        network(images, queries, network.draw_noise(2, 4))
    shares = torch.nn.functional.one_hot(torch.arange(8).reshape(2, 4) % 2, 2).double()
    trace = network.trace(images, queries, network.draw_noise(2, 4) | {"given": shares, "given_read": shares})
    assert trace.written.gamma.argmax(-1).equal(shares.argmax(-1))
