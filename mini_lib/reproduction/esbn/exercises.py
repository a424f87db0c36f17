"""The exercises of the ESBN chapters: what a right answer has to do."""

import math
from copy import deepcopy
from dataclasses import replace
from functools import cache
from itertools import combinations

import numpy as np
import torch
from jaxtyping import Int
from scipy import stats
from sklearn.linear_model import LogisticRegression
from torch import Tensor

from mini_lib.datasets import glyphs
from mini_lib.esbn import analysis
from mini_lib.esbn.runs import build, loss, paper_settings, predict
from mini_lib.esbn.tasks import Problems, TaskData, make_problems
from mini_lib.files import trained
from mini_lib.reproduction.exercises import (
    Exercises,
    changed_copy,
    guarded,
    near,
    number,
    numbers,
    pair,
    require,
    same_but,
    state_of,
)
from mini_lib.seeding import numpy_rng, seeded
from mini_lib.training import TrainingRun, TrainingStack

EXERCISES = Exercises()


@cache
def some_problems(size: int = 60) -> TaskData:
    """Some of the problems of the stored network, as many of training as of the test."""
    made = make_problems("distribution_of_three", m=95, seed=1)
    return replace(made, train=Problems(*made.train[:size]), test=Problems(*made.test[:size]))


@cache
def some_keys() -> tuple[analysis.Keys, analysis.Keys]:
    """The stored network's keys for these problems."""
    network = trained("esbn")
    return tuple(
        analysis.collect_keys(network, glyphs(), part)
        for part in (some_problems().train, some_problems().test)
    )


def doubled_problems(pool: Int[Tensor, "P"], row: tuple[int, int, int], size: int, seed: int) -> Problems:
    """Distribution-of-three problems whose first row shows the objects `row`, such as (0, 0, 1) for A A B.

    The second row is the first in another order, its last object the answer; A, B and C are among the choices.
    """
    rng = numpy_rng(seed, "doubled", *row)
    four = rng.permuted(np.tile(pool.cpu().numpy(), (size, 1)), axis=1)[:, :4]
    first = four[:, list(row)]
    second, choices = rng.permuted(first, axis=1), rng.permuted(four, axis=1)
    answers = (choices == second[:, 2:]).argmax(axis=1)
    return Problems(torch.from_numpy(np.hstack([first, second[:, :2], choices])), torch.from_numpy(answers))


def close(value, expected: float, what: str, within: float = 5e-4) -> None:
    """The answer is a number, and that number."""
    value = number(value)
    require(abs(value - expected) < within, f"{value:.3f} is not {what}.")


# ------------------------------------------------------------------------------------------------ chapter 1


@EXERCISES.add("esbn 1.1")
def half(answer) -> None:
    """A choice by row 2 alone."""
    test = some_problems(300).test
    hits = 0
    for problem, right in zip(test.ids.tolist(), test.answers.tolist(), strict=True):
        place = answer(problem[3:5], problem[5:])
        require(place in range(4), "return the place of a choice, 0, 1, 2 or 3.")
        require(
            problem[5 + place] not in problem[3:5],
            "you chose an object that stands in row 2; it cannot be the one that is missing there.",
        )
        hits += place == right
    require(
        0.4 < hits / len(test.answers) < 0.6, "about one in two should be right; choose among what is left."
    )


def ink(ids: torch.Tensor) -> np.ndarray:
    """How dark each image of a problem is: one number an image."""
    return (1 - glyphs()).mean(dim=(1, 2))[ids].numpy()


@cache
def matches() -> TaskData:
    """RMTS with five images in training, and 1,000 test problems."""
    return make_problems("rmts", m=95, seed=1, test_size=1000)


@EXERCISES.add("esbn 1.2")
def from_ink(answer) -> None:
    """RMTS from one number an image."""
    test = matches().test
    given = np.asarray(answer(ink(test.ids)))
    require(given.shape == (1000,), "return one answer a problem, [N].")
    right = 100 * np.mean(given == test.answers.numpy())
    require(right > 99, f"{right:.0f} % of the answers are right.")


@EXERCISES.add("esbn 1.3")
def count(answer) -> None:
    """How many problems of identity rules there are."""
    given = {n: answer(n) for n in (4, 5, 6)}
    require(
        all(isinstance(each, dict) for each in given.values()), "return a dictionary, a number by pattern."
    )
    five = make_problems("identity_rules", m=95, seed=1, test_size=1).train.ids.unique(dim=0)
    pattern = torch.where(five[:, 0] != five[:, 2], 2, (five[:, 0] != five[:, 1]).int())
    for place, name in enumerate(("AAA", "ABA", "ABB")):
        there = (pattern == place).sum().item()
        for n, counts in given.items():
            expected = there * math.perm(n, 4) // math.perm(5, 4)
            require(
                counts.get(name) == expected, f"{n} images: {counts.get(name)} is not the number for {name}."
            )


def equal(ids: torch.Tensor) -> np.ndarray:
    """Which two images of a problem are equal, for every two steps."""
    return (
        np.stack([(ids[:, a] == ids[:, b]).numpy() for a, b in combinations(range(ids.shape[1]), 2)], 1) * 1.0
    )


@EXERCISES.add("esbn 1.4")
def column(answer) -> None:
    """A column with which RMTS is a weighted sum."""
    scored = []
    for part in (matches().train, matches().test):
        table = equal(part.ids)
        more = np.asarray(answer(table.copy()), dtype=float)
        require(more.shape == (len(table),), "return one number a problem, [N].")
        scored.append((np.column_stack([table, more]), part.answers.numpy()))
    right = 100 * LogisticRegression(max_iter=2000, C=100.0).fit(*scored[0]).score(*scored[1])
    require(right > 99, f"with your column the weighted sum has {right:.0f} % of new problems right.")


@EXERCISES.add("esbn 1.5")
def same_relations(answer) -> None:
    """What a neighbour by pixels knows of relations."""
    made = make_problems("distribution_of_three", m=95, seed=1, test_size=400)
    train, test = made.train, made.test
    seen, asked = (glyphs()[part.ids][..., ::2, ::2].flatten(1) for part in (train, test))
    neighbours = torch.cdist(asked, seen).argmin(dim=1)
    given = answer(deepcopy(train), deepcopy(test), neighbours.clone())
    given = pair(given, "return a pair of numbers.")
    alike = torch.from_numpy((equal(test.ids) == equal(train.ids)[neighbours]).all(axis=1))
    close(given[0], alike.double().mean().item(), "the share of neighbours with the same relations")
    right = (train.answers[neighbours] == test.answers)[~alike]
    close(given[1], right.double().mean().item(), "the share of the others that is answered right")


# ------------------------------------------------------------------------------------------------ chapter 2


def normalised(raw: torch.Tensor) -> torch.Tensor:
    """Steps less their mean, over their spread."""
    centred = raw - raw.mean(dim=1, keepdim=True)
    return centred / (centred.square().sum(dim=1, keepdim=True) / (raw.shape[1] - 1) + 1e-8).sqrt()


@EXERCISES.add("esbn 2.1")
def pair_by_pair(answer) -> None:
    """Normalisation in windows."""
    with seeded(1, "windows"):
        raw = torch.randn(5, 6, 7) + 3
    for windows in ((2, 2, 2), (6,), (4, 2)):
        given = numbers(answer(raw.clone(), windows))
        require(given.shape == raw.shape, "return as many steps as you are given.")
        start = 0
        for window in windows:
            part = slice(start, start + window)
            gap = (given[:, part] - normalised(raw[:, part])).abs().max().item()
            require(
                gap < 1e-3, f"windows {windows}: steps {start + 1} to {start + window} are {gap:.2f} off."
            )
            start += window


@EXERCISES.add("esbn 2.2")
def open_gates(answer) -> None:
    """A copy whose gate is always open."""
    network = trained("esbn")
    opened, before = changed_copy(answer, network)
    with torch.no_grad():
        gates = opened.core.trace(opened.embed(glyphs(), some_problems().test.ids)).gates
        least = gates[:, 1:].min().item()
    require(least > 0.999, f"one gate is {least:.2f}.")
    same_but(before, opened, "core.gate")


@EXERCISES.add("esbn 2.3")
def same_answers(answer) -> None:
    """Whether the order of row 1 matters."""
    network, images, ids = trained("esbn"), glyphs(), some_problems(100).test.ids
    value = answer(deepcopy(network), images.clone(), ids.clone())
    other = torch.cat([ids[:, 2:3], ids[:, :2], ids[:, 3:]], dim=1)
    with torch.no_grad():
        same = (network(images, ids).argmax(dim=1) == network(images, other).argmax(dim=1)).double().mean()
    close(value, same.item(), "the share of equal answers")


@EXERCISES.add("esbn 2.4")
def soft_looks(answer) -> None:
    """Even weights, and confidences as they were."""
    network = trained("esbn")
    core = network.core
    with torch.no_grad():
        z = network.embed(glyphs(), some_problems(40).test.ids)
        before = state_of(core)
        given = numbers(answer(core, z.clone()))
        same_but(before, core)
        state, read = core.controller.initial_state(z), z.new_zeros(len(z), 257)
        keys = []
        for t in range(10):
            state = core.controller(read, state)
            if t:
                now = z[:, t] if t < 9 else torch.zeros_like(z[:, 0])
                products = (z[:, :t] * now[:, None]).sum(dim=2)
                sure = torch.sigmoid(core.confidence_gain * products + core.confidence_bias)
                entries = torch.cat([torch.stack(keys, dim=1), sure[..., None]], dim=2)
                read = (products / 100).softmax(dim=1)[:, None] @ entries
                read = torch.sigmoid(core.gate(state[0])) * read[:, 0]
            keys.append(torch.relu(core.key(state[0])))
        expected = core.answer(state[0])
    require(given.shape == expected.shape, "return the logits, [N, 4].")
    gap = (given - expected).abs().max().item()
    require(gap < 0.02, f"a logit is {gap:.2f} off; are the weights softer, and the confidences the same?")


@EXERCISES.add("esbn 2.5")
def mirror(answer) -> None:
    """A change of embeddings that no ESBN notices."""
    with seeded(1, "mirror"):
        z = torch.randn(20, 9, 128)
    given = numbers(answer(z.clone())).float()  # as the network takes it
    require(given.shape == z.shape, "return embeddings of the same shape.")
    require((given - z).abs().amax(dim=2).min() > 0.1, "some embeddings have not moved.")
    require(near(answer(given.clone()), z, atol=1e-4), "done twice, it should change nothing.")
    core = trained("esbn").core
    with torch.no_grad():
        gap = (core(given) - core(z)).abs().max().item()
    require(gap < 0.05, f"an answer of the ESBN changes by {gap:.2f}.")


# ------------------------------------------------------------------------------------------------ chapter 3


@EXERCISES.add("esbn 3.1")
def learned_at(answer) -> None:
    """The first of five good batches."""
    for scores, expected in (
        ([50.0, 90, 97, 91, 95, 100, 100, 97, 100, 94], 40),
        ([80.0, 100, 100, 100, 100, 95, 90], 10),
        ([100.0] * 5, 0),
        ([50.0, 100, 100, 100, 100, 94, 100, 100], None),
        ([100.0] * 4, None),
    ):
        given = answer(list(scores))
        require(given == expected, f"scores {scores} give {expected}, not {given}.")


@EXERCISES.add("esbn 3.2")
def in_another_dress(answer) -> None:
    """Problems with every image replaced, the same by the same."""
    made = some_problems()
    before, problems = made.train.ids, deepcopy(made.train)
    given = answer(problems, made.test_images.clone())
    require(torch.equal(problems.ids, before), "make new ids; the problems you are given should stay.")
    require(
        torch.isin(given.ids, made.test_images).all(), "every object should be one of the unseen images now."
    )
    pairs = {
        tuple(pair) for pair in torch.stack([before, given.ids], dim=2).flatten(0, 1).unique(dim=0).tolist()
    }
    require(
        len(pairs) == len({old for old, _ in pairs}), "the same image must become the same in all problems."
    )
    require(len(pairs) == len({new for _, new in pairs}), "two different images must stay different.")
    require(torch.equal(given.answers, made.train.answers), "the answers stay what they are.")


@cache
def baseline() -> torch.Tensor:
    """What the stored LSTM says of the test problems."""
    return predict(trained("esbn_lstm"), glyphs(), some_problems(400).test)


@EXERCISES.add("esbn 3.3")
def with_a_hint(answer) -> None:
    """The share that is right when the objects of row 2 are out of the race."""
    test = some_problems(400).test
    value = answer(baseline().clone(), deepcopy(test))
    hits = [
        max((logit, -place) for place, logit in enumerate(row) if ids[5 + place] not in ids[3:5])[1] == -right
        for row, ids, right in zip(baseline().tolist(), test.ids.tolist(), test.answers.tolist(), strict=True)
    ]
    close(value, sum(hits) / len(hits), "the share that is right with the hint")


@EXERCISES.add("esbn 3.4")
def less_sure(answer) -> None:
    """The temperature at which the loss is least."""
    test = some_problems(400).test
    for temperatures in ([0.5, 1, 2, 4, 8, 16, 32], [3.0, 2.0]):
        given = answer(baseline().clone(), test.answers.clone(), list(temperatures))
        given = pair(given, "return a pair, the temperature and the loss.")
        losses = {}
        for temperature in temperatures:
            chances = (baseline() / temperature).softmax(dim=1)[torch.arange(400), test.answers]
            losses[temperature] = -chances.log().mean().item()
        best = min(losses, key=losses.get)
        require(given[0] == best, f"of {temperatures} the loss is least at {best}, not at {given[0]}.")
        close(given[1], losses[best], "the loss at that temperature", within=1e-3)


@EXERCISES.add("esbn 3.5")
def apart(answer) -> None:
    """A difference of means in combined standard errors."""
    for mean, error, values in ((72.3, 5.2, (61.0, 70.0, 55.5)), (34.8, 0.8, (33.2, 33.0, 34.4, 33.3))):
        own = np.var(values, ddof=1) / len(values)
        expected = abs(np.mean(values) - mean) / math.sqrt(error**2 + own)
        close(answer(mean, error, values), expected, "the number of combined standard errors")


# ------------------------------------------------------------------------------------------------ chapter 4


@EXERCISES.add("esbn 4.1")
def from_embeddings(answer) -> None:
    """The step, told from the values in memory."""
    network, images, data = trained("esbn"), glyphs(), some_problems()
    value = answer(deepcopy(network), images.clone(), deepcopy(data.train), deepcopy(data.test))
    with torch.no_grad():
        z, test_z = (network.embed(images, part.ids) for part in (data.train, data.test))
    expected = float(analysis.decode_steps(z, test_z)[0].mean())
    close(value, expected, "the share of test embeddings whose step is told right")


@EXERCISES.add("esbn 4.2")
def one_key(answer) -> None:
    """An edit of memory that puts the key of step 1 beside all three objects of row 1."""
    with seeded(1, "one key"):
        written = list(torch.randn(10, 4, 256).unbind())
    keys: list[torch.Tensor] = []
    for t, new in enumerate(written):
        keys = list(answer(t, list(keys)))
        require(len(keys) == t, f"step {t}: there are {t} keys, and you return {len(keys)}.")
        if t >= 3:
            for place, key in enumerate(keys):
                expected = written[0 if place < 3 else place]
                what = "the key of step 1" if place < 3 else "what it was"
                require(near(key, expected), f"at t = {t} the key of step {place + 1} is not {what}.")
        keys.append(new)


@EXERCISES.add("esbn 4.3")
def largest_angle(answer) -> None:
    """How far the planes of the paper's text and code are apart."""
    value = answer(*deepcopy(some_keys()))
    u, v = (analysis.fit_plane(*some_keys(), retrieved=flag).components_ for flag in (False, True))
    close(value, float(np.linalg.svd(u @ v.T)[1].min()), "the cosine of the largest angle", within=5e-6)


@EXERCISES.add("esbn 4.4")
def three_of_a_kind(answer) -> None:
    """One object at all five places."""
    network, images = trained("esbn"), glyphs()
    triples = doubled_problems(some_problems().test_images, (0, 0, 0), size=60, seed=1)
    given = answer(deepcopy(network), images.clone(), deepcopy(triples))
    early, right = map(number, pair(given, "return a pair of numbers."))
    require(
        abs(early - 3 / 5) < 0.01,
        f"the early share is not {early:.2f}: count the entries that hold A, and the early.",
    )
    expected = (predict(network, images, triples).argmax(dim=1) == triples.answers).double().mean().item()
    close(right, expected, "the share of problems answered right")


@EXERCISES.add("esbn 4.5")
def counting(answer) -> None:
    """An edit of memory with which the network solves problems with an object that stands twice."""
    network, images, pool = trained("esbn"), glyphs(), some_problems().test_images
    for name, row in {"A B C": (0, 1, 2), "A A B": (0, 0, 1), "A B A": (0, 1, 0), "B A A": (1, 0, 0)}.items():
        given = doubled_problems(pool, row, size=50, seed=3)
        edit = answer(given.ids[:, :5].clone())
        require(callable(edit), "return a function, the edit of memory.")
        with torch.no_grad():
            chosen = network.core.trace(network.embed(images, given.ids), edit=guarded(edit)).logits.argmax(
                dim=1
            )
        right = 100 * (chosen == given.answers).double().mean().item()
        require(right > 90, f"with your edit the network solves {right:.0f} % of the problems {name}.")


# ------------------------------------------------------------------------------------------------ chapter 5


@cache
def fresh(task: str, m: int, model: str) -> TrainingRun:
    """A run that has not begun."""
    return build(paper_settings(task, m, model, test_size=100), seed=1)


@EXERCISES.add("esbn 5.1")
def first_door(answer) -> None:
    """The first step at which weights differ between problems."""
    for task, m, model in (
        ("rmts", 95, "esbn_no_confidence"),
        ("same_different", 98, "esbn_no_confidence"),
        ("same_different", 98, "esbn_default_memory"),
    ):
        network = fresh(task, m, model).model
        ids = make_problems(task, m, seed=1, test_size=100).test.ids
        given = answer(deepcopy(network), glyphs().clone(), ids.clone())
        with torch.no_grad():
            weights = network.core.trace(network.embed(glyphs(), ids)).weights
        steps = [
            step for step in range(1, weights.shape[1] + 1) if weights[:, step - 1].std(dim=0).max() > 1e-4
        ]
        expected = min(steps, default=None)
        require(
            given == expected,
            f"{model} on {task}: the weights {'never differ' if expected is None else 'do differ'}"
            f"{'' if expected is None else f', and not first at step {given}'}.",
        )


@EXERCISES.add("esbn 5.2")
def confidence_by_hand(answer) -> None:
    """The confidence that is read at step 2."""
    network = deepcopy(fresh("same_different", 98, "esbn").model)
    z = network.embed(glyphs(), make_problems("same_different", 98, seed=1, test_size=100).test.ids)
    for gamma, beta in ((1.0, 0.0), (0.02, 0.4)):
        with torch.no_grad():
            network.core.confidence_gain.fill_(gamma)
            network.core.confidence_bias.fill_(beta)
            expected = network.core.trace(z).confidences[:, 1, 0]
            given = numbers(answer(z.detach().clone(), gamma, beta))
        require(given.shape == expected.shape, "return one confidence a problem, [N].")
        gap = (given - expected).abs().max().item()
        require(gap < 1e-4, f"with gamma {gamma:g} and beta {beta:g} one confidence is {gap:.2f} off.")


@EXERCISES.add("esbn 5.3")
def break_zeros(answer) -> None:
    """Biases with which the network without confidence gets a gradient."""
    training = fresh("same_different", 98, "esbn_no_confidence")
    training = replace(training, model=deepcopy(training.model))
    before = {name: value.clone() for name, value in training.model.named_parameters()}
    answer(training.model)
    for name, value in training.model.named_parameters():
        same = torch.equal(value, before[name])
        require(same or "bias" in name, f"{name} has changed; change biases only.")
    batch = TrainingStack([training], torch.device("cpu"), stacked=False).batch(0) | training.constants
    with torch.enable_grad():
        loss(training.model, batch)[0].backward()
    moved = sum(p.grad is not None and bool(p.grad.abs().max() > 1e-9) for p in training.model.parameters())
    require(moved >= 10, f"{moved} parameters get a gradient.")


@EXERCISES.add("esbn 5.4")
def signed_ranks(answer) -> None:
    """Wilcoxon's test on what is not tied."""
    for differences in ([0, 0, 0, -1.2, -0.4, 0.3, -2.0, -3.1, -0.7], [0, 1.0, 2.5, -0.2, 3.0, 0, 0.9, 1.1]):
        untied = np.array([value for value in differences if value])
        ranks = stats.rankdata(np.abs(untied))
        n = len(untied)
        low = min(ranks[untied > 0].sum(), ranks[untied < 0].sum())
        z = (low - n * (n + 1) / 4) / math.sqrt(n * (n + 1) * (2 * n + 1) / 24)
        close(answer(list(differences)), 2 * stats.norm.cdf(z), "the p of the ranks", within=1e-3)


@EXERCISES.add("esbn 5.5")
def encode(answer) -> None:
    """An encoder of no parameter with which objects find themselves."""
    given = numbers(answer(glyphs().clone())).float()
    require(given.shape == (100, 128), "return 128 numbers an image, [100, 128].")
    require(torch.equal(given, numbers(answer(glyphs().clone())).float()), "nothing random, please.")
    test = some_problems(300).test
    raw = given[test.ids]
    z = (raw - raw.mean(dim=1, keepdim=True)) / (raw.var(dim=1, keepdim=True) + 1e-8).sqrt()
    found = total = 0
    for problem, rows in zip(test.ids.tolist(), z, strict=True):
        for first in range(3):
            again = problem.index(problem[first], 3)
            found += int((rows[:again] @ rows[again]).argmax()) == first
            total += 1
    share = 100 * found / total
    require(share >= 95, f"{share:.0f} % of the objects find themselves.")
