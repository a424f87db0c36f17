"""A whole forward pass in numpy float64, one episode and one item at a time; small networks to compare with it."""

import numpy as np
import torch

from kanerva import oracles
from mini_lib.kanerva.images import DECODERS, ENCODERS
from mini_lib.kanerva.memory import columns_of
from mini_lib.kanerva.network import MODELS
from mini_lib.seeding import seeded, torch_rng

SIZES = {"channels": 1, "size": 2, "dim": 3, "encoder": "mlp", "decoder": "mlp"}
FORMS = {
    "default": ("product", {}),
    "one machine": ("product", {"machines": 1, "total": 2}),
    "full": ("product", {"sample": "full"}),
    "unit prior": ("product", {"assignment": "unit prior"}),
    "mixture": ("mixture", {}),
    "full mixture": ("mixture", {"sample": "full"}),
}
EVEN = {"even": ("product", {"assignment": "even"})}  # noise does not reach its weights


def build(model, channels, size, dim, machines, total, encoder, decoder, **options):
    """A network of `MODELS`."""
    networks = ENCODERS[encoder](channels, size, dim), DECODERS[decoder](channels, size, dim)
    return MODELS[model](*networks, dim, machines, columns_of(total, machines), **options)


def make(form="default", seed=0, **options):
    """A small network in float64 and evaluation mode, all of whose parameters matter."""
    name, own = (FORMS | EVEN)[form]
    with seeded(seed, "test"):
        network = build(name, **({"machines": 2, "total": 4} | SIZES | own | options)).double()
    generator = torch_rng(seed, "weights")
    with torch.no_grad():
        for key, parameter in network.named_parameters():
            if not key.startswith(("encoder", "decoder")):
                spread = 0.1 if key.startswith("history") else 0.3
                drawn = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
                parameter.add_(spread * drawn)
        network.encoder.code.weight.mul_(5.0)
    return network.eval()


def pictures(batch=2, items=4, size=2, channels=1, seed=0):
    """Images and queries, 0 or 1."""
    shape = batch, items, channels, size, size
    generator = torch_rng(seed, "images")
    return tuple((torch.rand(shape, generator=generator) > 0.5).double() for _ in range(2))


def noise_of(network, batch=2, items=4, seed=0):
    drawn = network.draw_noise(batch, items, torch_rng(seed, "noise"))
    return {name: each.double() for name, each in drawn.items()}


# ------------------------------------------------------------------------------------------------- numpy


def linear(p, name, x):
    return p[f"{name}.weight"] @ x + p[f"{name}.bias"]


def perceptron(p, name, x, places):
    for place in places[:-1]:
        x = np.maximum(linear(p, f"{name}.{place}", x), 0)
    return linear(p, f"{name}.{places[-1]}", x)


def softplus(x):
    return np.log1p(np.exp(x))


def encode(p, image):
    return linear(p, "encoder.code", np.maximum(linear(p, "encoder.hidden", image.reshape(-1)), 0))


def decode(p, code):
    return linear(p, "decoder.pixels", np.maximum(linear(p, "decoder.hidden", code), 0))


def normal_kl(mean, sd, prior_mean, prior_sd):
    each = np.log(prior_sd / sd) + (sd**2 + (mean - prior_mean) ** 2) / (2 * prior_sd**2) - 0.5
    return float(np.sum(each))


def dense_kl(new, old):
    """Between N(vec(R), V x I) of two states of one machine, as ordinary Gaussians of D M numbers."""
    (R, V), (R0, V0) = new, old
    dim, size = len(R), R.size
    S, S0 = np.kron(V, np.eye(dim)), np.kron(V0, np.eye(dim))
    away = oracles.vec(R0) - oracles.vec(R)
    inverse = np.linalg.inv(S0)
    logs = np.linalg.slogdet(S0)[1] - np.linalg.slogdet(S)[1]
    return 0.5 * (np.trace(inverse @ S) + away @ inverse @ away - size + logs)


def history(p, omega, noise):
    mean = perceptron(p, "history.mean", omega, (0, 2))
    sd = softplus(perceptron(p, "history.sd", omega, (0, 2))) + 1e-4
    return mean + sd * noise, normal_kl(mean, sd, 0.0, 1.0)


def assign(p, z, h, noise):
    """eta, gamma, the divergence (None in a mixture), and what balance is measured on."""
    if "assignment.u" in p:
        eta, gamma = even(p, len(noise))
        return eta, gamma, 0.0, gamma
    both = np.concatenate([perceptron(p, "assignment.mlp", z, (0, 2, 4)), h])
    if "assignment.logits.weight" in p:
        logits = linear(p, "assignment.logits", both)
        chosen, odds = np.eye(len(noise))[np.argmax(logits + noise)], np.exp(logits)
        return np.ones(len(noise)), chosen, None, odds / odds.sum()
    mean, sd = linear(p, "assignment.mean", both), softplus(linear(p, "assignment.sd", both)) + 1e-4
    eta = softplus(mean + sd * noise) + 1e-3
    gamma = oracles.gammas(eta)
    return eta, gamma, normal_kl(mean, sd, *assignment_prior(p, h)), gamma


def even(p, machines):
    """eta and gamma where all machines count alike."""
    return np.full(machines, softplus(p["assignment.u"]) + 1e-3), np.full(machines, 1 / machines)


def assignment_prior(p, h):
    """Mean and standard deviation of p(u | h)."""
    if "assignment.prior_mean.weight" not in p:
        return 0.0, 1.0
    return linear(p, "assignment.prior_mean", h), softplus(linear(p, "assignment.prior_sd", h)) + 1e-4


def imagine(p, h, noise):
    """eta and gamma from a draw of p(u | h)."""
    if "assignment.u" in p:
        return even(p, len(noise))
    mean, sd = assignment_prior(p, h)
    eta = softplus(mean + sd * noise) + 1e-3
    return eta, oracles.gammas(eta)


def address_kl(w, chi):
    return sum(normal_kl(here, spread, 0.0, 1.0) for here, spread in zip(w, chi, strict=True))


def forward(network, form, images, queries, noise):
    """What happens in one episode; images [T, C, H, W], noise by name without the axis B."""
    name, _ = (FORMS | EVEN)[form]
    p = {key: value.numpy() for key, value in network.state_dict().items()}
    drawn = "gumbel" if name == "mixture" else "assignment"
    chi, machines = np.exp(p["log_chi"]), len(p["log_chi"])
    codes, asked = ([encode(p, x) for x in each] for each in (images, queries))
    omega, embedded, found, shares = np.zeros(p["history.psi.bias"].shape), [], [], []
    kl = {"address": [], "history": [], "assignment": [], "address_read": [], "assignment_read": []}
    for t, z in enumerate(codes):
        h, cost = history(p, omega, noise["history"][t])
        found.append(assign(p, z, h, noise[drawn][t]))
        shares.append(found[-1][3])
        embedded.append(linear(p, "history.psi", np.concatenate([z, found[-1][1]])))
        omega = np.mean(embedded, axis=0)
        kl["history"].append(cost)
        kl["assignment"].append(found[-1][2])
    eta, gamma = (np.array([each[i] for each in found]) for i in (0, 1))
    R0, V0 = list(p["prior_means"]), [np.exp(s) * np.eye(p["prior_means"].shape[2]) for s in p["log_psi"]]
    added = noise.get("address")
    added = None if added is None else chi[:, None] * added
    done = oracles.write(R0, V0, codes, eta, gamma, name, noise=added)
    kl["address"] = [address_kl(w, chi) for w in done.w]
    kl["memory"] = sum(map(dense_kl, zip(done.R, done.V, strict=True), zip(R0, V0, strict=True)))
    h, kl["history_read"] = history(p, omega, noise["history_read"])
    eta_read, gamma_read, w_read, parts, logits = [], [], [], [], []
    for t, z in enumerate(asked):
        noise_sd, weight, cost, share = assign(p, z, h, noise[f"{drawn}_read"][t])
        shares.append(share)
        w = [oracles.least_squares(done.R[i], z) for i in range(machines)]
        there = w if added is None else w + chi[:, None] * noise["address_read"][t]
        said = [done.R[i] @ there[i] for i in range(machines)]
        kl["assignment_read"].append(cost)
        kl["address_read"].append(address_kl(w, chi))
        for kept, new in zip((eta_read, gamma_read, w_read, parts), (noise_sd, weight, w, said), strict=True):
            kept.append(new)
        logits.append(decode(p, sum(g * each for g, each in zip(weight, said, strict=True))))
    return {
        "codes": codes, "queries": asked, "eta": eta, "gamma": gamma, "w": done.w, "R": done.R, "V": done.V,
        "omega": omega, "eta_read": eta_read, "gamma_read": gamma_read, "w_read": w_read,
        "parts": parts, "shares": shares, "logits": np.reshape(logits, images.shape),
        "machines": [
            [decode(p, g * r) for g, r in zip(*each, strict=True)]
            for each in zip(gamma_read, parts, strict=True)
        ],
        "kl": {key: value for key, value in kl.items() if np.all(np.not_equal(value, None))},
    }  # fmt: skip
