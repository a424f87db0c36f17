"""Images out of memory, against a loop in numpy over one image at a time."""

import numpy as np
import pytest
import torch

from kanerva import oracles, whole
from kanerva.whole import make, pictures
from mini_lib.kanerva.generation import SETTLE, draw_noise, imagine
from mini_lib.seeding import torch_rng

TIGHT = {"rtol": 1e-9, "atol": 1e-11}


def noise_for(network, images=3, batch=2, seed=0, **options):
    drawn = draw_noise(network, batch, images, torch_rng(seed, "imagination"), **options)
    return {name: each.double() for name, each in drawn.items()}


def filled(network, items=4):
    with torch.no_grad():
        return network.trace(pictures(items=items)[0]).memory


def slow_image(network, R, omega, items, noise, machines):
    """One image of one memory: the path and the last z, eta, gamma."""
    p = {key: value.numpy() for key, value in network.state_dict().items()}
    h = whole.history(p, omega, noise["history"])[0] if items else noise["history"]
    eta, gamma = whole.imagine(p, h, noise["assignment"])
    looked_at = R if machines is None else machines
    z = sum(g * r @ w for g, r, w in zip(gamma, looked_at, noise["address"], strict=True))
    path = [np.round(1 / (1 + np.exp(-whole.decode(p, z))))]
    for step in range(SETTLE):
        asked = whole.encode(p, path[-1])
        eta, gamma, _ = whole.assign(p, asked, h, noise["settle"][step])
        z = sum(g * r @ oracles.least_squares(r, asked) for g, r in zip(gamma, R, strict=True))
        path.append(np.round(1 / (1 + np.exp(-whole.decode(p, z)))))
    return path, z, eta, gamma


def of_one(noise, b, n):
    return {name: each[b, n].numpy() for name, each in noise.items()}


@pytest.mark.parametrize("draw", [False, True])
@pytest.mark.parametrize(("form", "items"), [("default", 0), ("default", 4), ("unit prior", 4), ("even", 4)])
def test_equals_numpy(form, items, draw):
    network = make(form)
    memory = filled(network) if items else network.empty(2)
    noise = noise_for(network, draw=draw)
    ours = imagine(network, memory, noise, draw=draw)
    assert ours.path.shape == (2, 3, 13, 1, 2, 2)
    for b in range(2):
        R, V = (part[b].detach().numpy() for part in memory.state[:2])
        for n in range(3):
            own = of_one(noise, b, n)
            machines = None
            if draw:
                machines = [
                    r + e @ np.linalg.cholesky(v).T for r, v, e in zip(R, V, own["machines"], strict=True)
                ]
            omega = memory.omega[b].numpy()
            path, z, eta, gamma = slow_image(network, R, omega, items, own, machines)
            np.testing.assert_array_equal(ours.path[b, n].flatten(1).numpy(), path)
            for mine, theirs in ((ours.codes, z), (ours.eta, eta), (ours.gamma, gamma)):
                np.testing.assert_allclose(mine[b, n].numpy(), theirs, rtol=1e-6, atol=1e-8)


def test_images_do_not_meet_and_the_memory_stays():
    network = make()
    memory, noise = filled(network), noise_for(network)
    before = [part.clone() for part in memory.state]
    ours = imagine(network, memory, noise)
    for n in range(3):
        alone = imagine(network, memory, {name: each[:, n : n + 1] for name, each in noise.items()})
        torch.testing.assert_close(ours.codes[:, n : n + 1], alone.codes, **TIGHT)
        assert ours.images[:, n : n + 1].equal(alone.images)
    assert all(now.equal(then) for now, then in zip(memory.state, before, strict=True))
    assert not ours.logits.requires_grad
    assert ours.path.shape[2] == SETTLE + 1


def test_images_are_the_rounded_logits():
    network = make()
    ours = imagine(network, filled(network), noise_for(network, images=20))
    assert set(ours.path.unique().tolist()) == {0.0, 1.0}
    assert ours.images.equal(torch.sigmoid(ours.logits).round())


def test_an_empty_memory_draws_h_from_its_prior():
    network = make()
    memories, noise = (network.empty(2), filled(network)), noise_for(network)
    before = [imagine(network, memory, noise).eta for memory in memories]
    with torch.no_grad():
        network.history.mean[-1].bias.add_(1.0)  # of q(h | Omega)
    after = [imagine(network, memory, noise).eta for memory in memories]
    assert after[0].equal(before[0])
    assert not torch.allclose(after[1], before[1])


def test_addresses_are_at_their_mean_while_settling():
    plain, full = make(), make("full")
    memory, noise = filled(plain), noise_for(plain)
    torch.testing.assert_close(imagine(full, memory, noise), imagine(plain, memory, noise), **TIGHT)
