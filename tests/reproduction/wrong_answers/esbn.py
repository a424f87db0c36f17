"""Answers to the exercises of the ESBN chapters that a reader might give, and that must not pass."""

import math
from copy import deepcopy
from dataclasses import replace

import numpy as np
import torch
from scipy import stats

from mini_lib.reproduction.esbn.exercises import normalised
from mini_lib.seeding import torch_rng


def forced_gate(network):
    """An answer that changes the network it is given."""
    with torch.no_grad():
        network.core.gate.bias += 1000.0
    return network


def other_weights(network):
    """An answer that changes a copy, and weights of the network it is given."""
    copy = forced_gate(deepcopy(network))
    with torch.no_grad():
        network.core.gate.weight.zero_()
    return copy


def other_key(network):
    """An answer that changes more of the copy than its gate."""
    copy = forced_gate(deepcopy(network))
    with torch.no_grad():
        copy.core.key.bias += 1.0
    return copy


def no_zeros(network) -> None:
    """An answer that changes more than biases."""
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.1)


WRONG = {
    "esbn 1.1": (lambda row2, choices: 0, lambda row2, choices: choices.index(row2[0])),
    "esbn 1.2": (lambda amounts: np.zeros(len(amounts), int), lambda amounts: amounts[:, 0] != amounts[:, 1]),
    "esbn 1.3": (
        lambda n: dict.fromkeys(("AAA", "ABA", "ABB"), math.perm(n, 4) * 24),
        lambda n: {"AAA": 1440, "ABA": 2880, "ABB": 2880},
        lambda n: math.perm(n, 4) * 60,
    ),
    "esbn 1.4": (lambda table: table[:, 0], lambda table: table[:, 0] + table[:, 9], lambda table: table),
    "esbn 1.5": (lambda train, test, neighbours: (1.0, 0.25), lambda train, test, neighbours: (0.07, 0.32)),
    "esbn 2.1": (
        lambda raw, windows: normalised(raw),
        lambda raw, windows: torch.cat(
            [part - part.mean(1, keepdim=True) for part in raw.split(2, dim=1)], 1
        ),
    ),
    "esbn 2.2": (lambda network: network, forced_gate, other_weights, other_key),
    "esbn 2.3": (lambda network, images, ids: 0.5, lambda network, images, ids: 0.0),
    "esbn 2.4": (lambda core, z: core(z), lambda core, z: core(z / 10), lambda core, z: core(z / 100)),
    "esbn 2.5": (
        lambda z: z,
        lambda z: z.flip(1),
        lambda z: 2 * z,
        lambda z: z @ torch.linalg.qr(torch.randn(z.shape[2], z.shape[2], generator=torch_rng(0, "turn")))[0],
    ),
    "esbn 3.1": (
        lambda scores: None,
        lambda scores: 0,
        lambda scores: next((10 * i for i, score in enumerate(scores) if score >= 95), None),
        lambda scores: next(
            (10 * i + 40 for i in range(len(scores) - 4) if min(scores[i : i + 5]) >= 95), None
        ),
        lambda scores: next((10 * i for i in range(len(scores) - 4) if sum(scores[i : i + 5]) >= 475), None),
    ),
    "esbn 3.2": (
        lambda problems, unseen: problems,
        lambda problems, unseen: replace(problems, ids=unseen[problems.ids % 5]),
        lambda problems, unseen: replace(problems, ids=unseen[torch.randint(90, problems.ids.shape)]),
    ),
    "esbn 3.3": (
        lambda logits, problems: (logits.argmax(dim=1) == problems.answers).float().mean().item(),
        lambda logits, problems: 0.5,
    ),
    "esbn 3.4": (
        lambda logits, answers, temperatures: (1, 1.386),
        lambda logits, answers, temperatures: (max(temperatures), 1.386),
    ),
    "esbn 3.5": (
        lambda mean, error, values: abs(np.mean(values) - mean) / error,
        lambda mean, error, values: (
            abs(np.mean(values) - mean) / (error + np.std(values) / len(values) ** 0.5)
        ),
        lambda mean, error, values: abs(np.mean(values) - mean) / math.hypot(error, np.std(values, ddof=1)),
    ),
    "esbn 4.1": (lambda *given: 1.0, lambda *given: 1 / 9 + 0.2),
    "esbn 4.2": (
        lambda t, keys: keys,
        lambda t, keys: [keys[0] for _ in keys],
        lambda t, keys: [keys[0]] * 3 + keys[3:] if t == 5 else keys,
        lambda t, keys: [keys[1]] * 3 + keys[3:] if t == 3 else keys,
        lambda t, keys: keys[:1],
    ),
    "esbn 4.3": (lambda keys, test_keys: 1.0, lambda keys, test_keys: 0.0),
    "esbn 4.4": (lambda *given: (1.0, 0.25), lambda *given: (3 / 5, 1.0), lambda *given: 0.6),
    "esbn 4.5": (lambda ids: lambda t, keys: keys, lambda ids: lambda t, keys: [keys[0] for _ in keys]),
    "esbn 5.1": (lambda network, images, ids: 2, lambda network, images, ids: None),
    "esbn 5.2": (
        lambda z, gamma, beta: torch.sigmoid((z[:, 0] * z[:, 1]).sum(dim=1)),
        lambda z, gamma, beta: torch.cosine_similarity(z[:, 0], z[:, 1]),
    ),
    "esbn 5.3": (lambda network: None, no_zeros),
    "esbn 5.4": (
        lambda differences: float(stats.ttest_1samp(differences, 0).pvalue),
        lambda differences: float(stats.wilcoxon(differences, method="approx", zero_method="zsplit").pvalue),
    ),
    "esbn 5.5": (
        lambda images: torch.zeros(100, 128),
        lambda images: images.mean(dim=(1, 2))[:, None].repeat(1, 128),
        lambda images: images.flatten(1),
        lambda images: torch.randn(100, 128),
    ),
}
