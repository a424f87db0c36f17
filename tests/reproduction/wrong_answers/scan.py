"""Answers to the exercises of the SCAN chapters that a reader might give, and that must not pass."""

import math
from copy import deepcopy

import numpy as np
import torch
from scipy import stats

from mini_lib.reproduction.scan.exercises import all_differences, tongues
from mini_lib.scan.grammar import interpret
from mini_lib.scan.tasks import EOS, SOS, WORD_IDS


def moved(network, share, changed=0.0):
    """A copy whose *jump* has gone this share of the way to *look*; `changed` is added to another parameter."""
    copy = deepcopy(network)
    look, jump = (network.word.weight[WORD_IDS[word]] for word in ("look", "jump"))
    with torch.no_grad():
        copy.word.weight[WORD_IDS["jump"]] = jump + share * (look - jump)
        next(p for name, p in copy.named_parameters() if name != "word.weight").add_(changed)
    return copy


def swapped(network, table: str):
    """A copy in which the rows of walk and jump have changed places in one of the tables of words."""
    copy = deepcopy(network)
    rows = [WORD_IDS["walk"], WORD_IDS["jump"]]
    getattr(copy, table).weight.data[rows] = getattr(network, table).weight.data[rows[::-1]]
    return copy


def mended_itself(network):
    """An answer that changes the network it is given; that of the stored solution but for the copy."""
    with torch.no_grad():
        away = network.action.weight[2] - network.action.weight.mean(dim=0)  # 2 is JUMP
        scale = network.meaning.weight[WORD_IDS["walk"]].norm() / away.norm()
        network.meaning.weight[WORD_IDS["jump"]] = scale * away
    return network


def other_meaning(network, word, known):
    """An answer that changes the meaning too."""
    copy = deepcopy(network)
    with torch.no_grad():
        copy.meaning.weight[WORD_IDS[word]] += 1.0
        copy.word.weight[WORD_IDS[word]] = copy.word.weight[WORD_IDS[known]]
    return copy


def highest(drawn, words, accuracies) -> int:
    """The word whose likeness to the draws has the highest rank correlation with accuracies, signs and all."""
    found = []
    for word in words:
        alike = torch.cosine_similarity(drawn, word.expand_as(drawn)).numpy()
        found.append(stats.spearmanr(alike, accuracies).statistic)
    return int(np.argmax(found))


def from_share(hits, draws, errors: float = 1.96) -> tuple[float, float]:
    """So many standard errors of the observed share to either side of it."""
    share = hits / draws
    reach = errors * math.sqrt(share * (1 - share) / draws)
    return share - reach, share + reach


def one_sided(one, other):
    return np.mean(all_differences(one, other) >= np.mean(one) - np.mean(other) - 1e-9)


WRONG = {
    "scan 1.1": (
        lambda command: command.upper().split(),
        lambda command: interpret(command)[::-1],
        lambda command: interpret(command.replace("around", "opposite")),
    ),
    "scan 1.2": (lambda holding: 2 * 102 * holding, lambda holding: holding + 2 * 102 * holding - 1),
    "scan 1.3": (lambda verbs: 20910, lambda verbs: 20910 * verbs // 4),
    "scan 1.4": (
        lambda train, test, length: set(),
        lambda train, test, length: {tuple(text.split()) for text in test},
    ),
    "scan 1.5": (
        lambda network, share: network,
        lambda network, share: deepcopy(network),
        lambda network, share: moved(network, 1.0),
        lambda network, share: moved(network, 1 - share),
        lambda network, share: moved(network, share, changed=1.0),
    ),
    "scan 2.1": (lambda network: network, lambda network: swapped(network, "word")),
    "scan 2.2": (
        lambda network, syntax, semantics, steps: [EOS] * steps,
        lambda network, syntax, semantics, steps: tongues(network, semantics, syntax, steps),
        lambda network, syntax, semantics, steps: tongues(network, syntax, syntax, steps),
    ),
    "scan 2.3": (
        lambda network, command: [],
        lambda network, command: [name for name, _ in network.named_parameters()],
        lambda network, command: ["roles.weight_ih", "roles.weight_hh"],
    ),
    "scan 2.4": (lambda network: ("walk", "jump", "LOOK"), lambda network: ("walk", "jump", "WALK")),
    "scan 3.1": (
        lambda sd, points: round((2 * sd / points) ** 2),
        lambda sd, points: int((1.96 * sd / points) ** 2),
        lambda sd, points: math.ceil(1.96 * sd / points),
    ),
    "scan 3.2": (
        lambda experiments: (0.5, 0.5),
        lambda experiments: tuple(
            float((abs(of(experiments, axis=1) - experiments.mean()) > 10).mean())
            for of in (np.mean, np.median)
        ),
    ),
    "scan 3.3": (
        lambda mean, sd, n: 0,
        lambda mean, sd, n: int(n * (1 - mean / 100)),
        lambda mean, sd, n: int((sd / mean) ** 2 * n),
    ),
    "scan 3.4": (lambda values, k, n: float(np.mean(values)), lambda values, k, n: max(values)),
    "scan 3.5": (
        lambda scores, arriving: torch.softmax(scores, dim=0) * arriving,
        lambda scores, arriving: torch.softmax(scores, dim=0) * (1 - torch.softmax(scores, dim=0)) * arriving,
        lambda scores, arriving: scores * (arriving - scores @ arriving),
    ),
    "scan 4.1": (lambda network, commands: 0.94, lambda network, commands: 1.0),
    "scan 4.2": (lambda network, commands: [], lambda network, commands: list(commands)),
    "scan 4.3": (lambda network, commands: [], lambda network, commands: list(commands)),
    "scan 4.4": (lambda network: network, mended_itself),
    "scan 4.5": (lambda network: "jump", lambda network: SOS),
    "scan 5.1": (lambda network, word, known: network, other_meaning),
    "scan 5.2": (
        lambda results: float(results.mean(axis=1).var() / results.var()),
        lambda results: float(results.var(axis=0).mean() / results.var()),
    ),
    "scan 5.3": (
        highest,
        lambda drawn, words, accuracies: int(
            (words @ drawn.T @ torch.as_tensor(accuracies).float()).argmax()
        ),
    ),
    "scan 5.4": (
        from_share,
        lambda hits, draws: from_share(hits, draws, 1.0),
        lambda hits, draws: tuple(stats.beta.ppf((0.025, 0.975), hits + 1, draws - hits + 1)),
    ),
    "scan 6.1": (
        lambda points, sd, other_sd: 25,
        lambda points, sd, other_sd: math.ceil((2 * (sd + other_sd) / points) ** 2),
        lambda points, sd, other_sd: math.ceil((sd**2 + other_sd**2) / points**2),
    ),
    "scan 6.2": (lambda distance: 0.5, lambda distance: 0.5 * (1 + math.erf(distance / math.sqrt(2)))),
    "scan 6.3": (
        one_sided,
        lambda one, other: stats.ttest_ind(one, other, equal_var=False).pvalue,
        lambda one, other: (
            stats.permutation_test(
                (one, other),
                lambda a, b: np.mean(a) - np.mean(b),
                permutation_type="independent",
                alternative="less",
            ).pvalue
        ),
    ),
    "scan 6.4": (
        lambda features, volume: features * math.log2(1 + volume**2),
        lambda features, volume: features / 2 * math.log(1 + volume**2),
        lambda features, volume: features / 2 * math.log2(1 + volume),
    ),
    "scan 7.1": (
        torch.nn.utils.clip_grad_norm_,
        lambda parameters, most: most,
        lambda parameters, most: sum(p.grad.norm().item() for p in parameters),
    ),
    "scan 7.2": (lambda: (50.0, 50.0), lambda: (80.0, 80.0)),
    "scan 7.3": (
        lambda words, changed: set(range(words + 2)),
        lambda words, changed: set(range(1, words + 1)) - {changed},
    ),
    "scan 7.4": (lambda commands: [], lambda commands: list(commands)),
}
