"""The exercises of the SCAN chapters: what a right answer has to do."""

import math
import statistics
from collections.abc import Sequence
from functools import cache
from itertools import combinations

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import cosine_similarity

from mini_lib.files import trained
from mini_lib.reproduction.exercises import (
    Exercises,
    Stopped,
    changed_copy,
    near,
    number,
    pair,
    require,
    same_but,
)
from mini_lib.scan import analysis
from mini_lib.scan.grammar import NEW_VERB, VERBS, commands as all_commands, interpret, parse, phrases
from mini_lib.scan.gru_attention import GRUAttention
from mini_lib.scan.runs import accuracy
from mini_lib.scan.syntactic_attention import SyntacticAttention
from mini_lib.scan.tasks import (
    ACTION_IDS,
    EOS,
    SOS,
    WORD_IDS,
    action_count,
    contains_phrase,
    encode,
    get_split,
)
from mini_lib.seeding import numpy_rng, seeded, torch_rng

EXERCISES = Exercises()


@cache
def new_commands() -> list[str]:
    """Some commands with jump, a few hundred."""
    return list(get_split("add_jump").test[::16])


def chosen(commands: list[str], which: torch.Tensor) -> list[str]:
    """The commands for which it holds."""
    return [command for command, holds in zip(commands, which.tolist(), strict=True) if holds]


@EXERCISES.add("scan 1.1")
def meaning(answer) -> None:
    """From a command to its actions."""
    for command in ("jump", "turn left", "walk opposite right", *all_commands()[::97], *all_commands()[-50:]):
        given = list(answer(command))
        require(
            given == list(interpret(command)),
            f"“{command}” asks for {' '.join(interpret(command))}, not {' '.join(map(str, given))}.",
        )


@EXERCISES.add("scan 1.2")
def test_size(answer) -> None:
    """How many commands hold a primitive and are more than that."""
    for primitive, split in (("turn left", "add_turn_left"), ("jump", "add_jump")):
        holding = sum(contains_phrase(str(phrase), primitive) for phrase in phrases())
        given, expected = answer(holding), len(get_split(split).test)
        require(
            given == expected,
            f"with {primitive} in {holding} phrases the test has {expected:,} commands, not {given:,}.",
        )
    require(answer(102) == len(all_commands()) - 1, "if all phrases held it, all commands would but one.")


@EXERCISES.add("scan 1.3")
def size(answer) -> None:
    """How many commands there are with so many verbs."""
    for verbs in (4, 1, 5):
        expected, given = len(set(all_commands((*VERBS, NEW_VERB)[:verbs]))), answer(verbs)
        require(given == expected, f"with {verbs} verbs there are {expected:,} commands, not {given:,}.")


@EXERCISES.add("scan 1.4")
def new_rows(answer) -> None:
    """Rows of words that a test has and no training command."""
    for name, length in (("add_jump", 2), ("add_turn_left", 2), ("add_turn_left", 3)):
        train, test = get_split(name)
        train, test = train[::4], test[::4]
        in_train, in_test = (
            {row for text in part for row in zip(*(text.split()[i:] for i in range(length)), strict=False)}
            for part in (train, test)
        )
        given, expected = set(answer(train, test, length)), in_test - in_train
        require(
            given == expected,
            f"in every fourth command of {name}, {len(expected)} rows of {length} are new, you have {len(given)}.",
        )


@EXERCISES.add("scan 1.5")
def towards_look(answer) -> None:
    """A copy whose vector of jump lies between those of jump and look."""
    with seeded(1, "deaf"):
        network = GRUAttention(hidden=16).eval()
    for share in (0.0, 0.3, 1.0):
        copy, original = changed_copy(lambda given, share=share: answer(given, share), network)
        before = original["word.weight"]
        require(copy is not network, "return a copy of the network.")
        look, jump = (before[WORD_IDS[word]] for word in ("look", "jump"))
        moved = copy.word.weight[WORD_IDS["jump"]]
        require(
            torch.allclose(moved, (1 - share) * jump + share * look, atol=1e-6),
            f"*jump* does not have the right vector for a share of {share}.",
        )
        others = [number for number in range(len(before)) if number != WORD_IDS["jump"]]
        require(torch.equal(copy.word.weight[others], before[others]), "another word's vector has changed.")
        same_but(original, copy, "word.weight")


@EXERCISES.add("scan 2.1")
def swap(answer) -> None:
    """A copy in which walk and jump have changed meanings."""
    network = trained("syntactic_attention")
    swapped, original = changed_copy(answer, network)
    same_but(original, swapped, "meaning.weight")
    walk, jump = WORD_IDS["walk"], WORD_IDS["jump"]
    expected = original["meaning.weight"].clone()
    expected[[walk, jump]] = original["meaning.weight"][[jump, walk]]
    require(torch.equal(swapped.meaning.weight, expected), "meaning.weight is not what it should be.")


@EXERCISES.add("scan 2.2")
def twotongues(answer) -> None:
    """The streams hear different words, which need not be a command."""
    network = trained("syntactic_attention")
    for syntax, semantics, steps in (
        ("walk after look left twice", "run and jump right thrice", 6),
        ("jump around left", "look opposite right", 9),
        ("run opposite left", "left left jump", 4),
    ):
        given, expected = (list(each(network, syntax, semantics, steps)) for each in (answer, tongues))
        require(len(given) == steps, f"return {steps} actions, not {len(given)}.")
        require(
            given == expected,
            f"syntax hears “{syntax}”, semantics “{semantics}”: it says {' '.join(expected)}.",
        )


@torch.no_grad()
def tongues(network, syntax: str, semantics: str, steps: int) -> list[str]:
    """What the network says when its streams hear different words."""
    heard, meant = (
        torch.tensor([[WORD_IDS[word] for word in (SOS, *text.split(), EOS)]]) for text in (syntax, semantics)
    )
    attention = network.trace(heard, torch.tensor([heard.shape[1]]), steps).attention
    said = network.logits(attention, network.meaning(meant)).argmax(dim=-1)
    return [list(ACTION_IDS)[number] for number in said[0].tolist()]


@EXERCISES.add("scan 2.3")
def paths(answer) -> None:
    """The parameters that attention depends on."""
    network = trained("syntactic_attention")
    command = "walk after look left twice"
    names, tensors = zip(*network.named_parameters(), strict=True)
    with torch.enable_grad():
        given = set(answer(network, command))
        words, lengths, _ = encode([command]).tensors
        found = torch.autograd.grad(
            network.trace(words, lengths, 6).attention.square().sum(), tensors, allow_unused=True
        )
    expected = {name for name, path in zip(names, found, strict=True) if path is not None}
    extra, missing = sorted(given - expected), sorted(expected - given)
    require(not extra, f"the looks do not depend on {(extra or [''])[0]}.")
    require(not missing, f"the looks depend on {(missing or [''])[0]} too.")


@EXERCISES.add("scan 2.4")
def third_voice(answer) -> None:
    """Two words that together say what neither of them says."""
    network = trained("syntactic_attention")
    one, other, action = answer(network)
    with torch.no_grad():
        said = network.action(network.meaning.weight[[WORD_IDS[one], WORD_IDS[other]]])
    alone = [list(ACTION_IDS)[number] for number in said.argmax(dim=1).tolist()]
    mixed = list(ACTION_IDS)[int(said.mean(dim=0).argmax())]
    require(mixed == action, f"“{one}” and “{other}” together say {mixed}.")
    require(action not in alone, f"{action} is what one of them says alone.")


@EXERCISES.add("scan 3.1")
def runs_needed(answer) -> None:
    """How many runs bring a mean within so many points."""
    for sd, points in ((27.4, 5), (27.4, 10), (1.4, 2), (38.0, 3)):
        given = answer(sd, points)
        expected = next(n for n in range(1, 2000) if 1.96 * sd / math.sqrt(n) <= points)
        require(
            given == expected,
            f"with an SD of {sd} it takes {expected} runs for {points} points, not {given}.",
        )


@cache
def experiments() -> np.ndarray:
    """Experiments of five runs each, from a skewed distribution."""
    return 100 * numpy_rng(0, "experiments of an exercise").beta(1.0, 0.3, size=(3000, 5))


@EXERCISES.add("scan 3.2")
def shares_off(answer) -> None:
    """How often a mean and a median of five mislead."""
    given = answer(experiments().copy())
    given = [number(each) for each in pair(given, "return a pair of shares.")]
    rows = experiments()
    means, medians = rows.sum(axis=1) / 5, np.sort(rows, axis=1)[:, 2]
    middle = float(np.sort(rows.ravel())[rows.size // 2 - 1 : rows.size // 2 + 1].mean())
    for name, value, each, truth in (
        ("means", given[0], means, rows.mean()),
        ("medians", given[1], medians, middle),
    ):
        expected = sum(abs(one - truth) > 10 for one in each.tolist()) / len(each)
        require(abs(value - expected) < 1e-3, f"{value:.3f} is not the share of {name} that are off.")


@EXERCISES.add("scan 3.3")
def most_zeros(answer) -> None:
    """How many runs can have been at zero."""
    for mean, sd, n in ((78.4, 27.4, 25), (42.3, 32.7, 5), (99.0, 1.0, 5), (90.0, 50.0, 10)):
        possible = [0]
        for zeros in range(1, n):
            others = [n * mean / (n - zeros)] * (n - zeros)
            if others[0] <= 100 and statistics.stdev([0.0] * zeros + others) <= sd:
                possible.append(zeros)
        given, expected = answer(mean, sd, n), max(possible)
        require(given == expected, f"{mean} ± {sd} in {n} runs leaves room for {expected}, not {given}.")


@EXERCISES.add("scan 3.4")
def reported(answer) -> None:
    """What the best of k equal settings seems to be worth."""
    values = np.array([0.0, 20.0, 55.0, 80.0, 95.0, 100.0])
    for k, n in ((1, 5), (6, 2)):
        sums = np.zeros(1)
        for _ in range(n):
            sums = np.add.outer(sums, values).ravel()
        means = np.sort(sums / n)
        upto = np.arange(1, len(means) + 1) / len(means)
        chance = np.diff(np.concatenate([[0.0], upto**k]))
        expected = float((means * chance).sum())
        given = float(answer(values.copy(), k, n))
        require(
            abs(given - expected) < 0.5,
            f"the best of {k} with {n} runs each is worth {expected:.1f} on average, not {given:.1f}.",
        )


@EXERCISES.add("scan 3.5")
def left_for_scores(answer) -> None:
    """What a softmax lets back to the scores."""
    generator = torch_rng(0, "what comes back")
    for words in (2, 5):
        scores, arriving = torch.randn(2, words, generator=generator, dtype=torch.float64)
        weights = scores.exp() / scores.exp().sum()
        mean = sum(float(each) for each in weights * arriving)
        expected = [float(w) * (float(g) - mean) for w, g in zip(weights, arriving, strict=True)]
        given = answer(scores.clone(), arriving.clone())
        require(near(given, expected), f"for {words} words the first score gets {expected[0]:.4f}.")


@torch.no_grad()
def role_similarity(
    model: SyntacticAttention,
    commands: Sequence[str],
    verb: str = "jump",
    others: Sequence[str] = ("walk", "look", "run"),
) -> dict[str, dict[str, float]]:
    """Mean cosine of h_j between a verb and each other verb in its place, by the construction around it.

    Every occurrence of `verb` counts once; the rest of the command stays. Near 1, the network gives the new verb the
    role of a known one.
    """
    cases = []  # of each occurrence the command, its place, and its construction
    for text in (command.split() for command in commands):
        parts, _ = parse(" ".join(text))
        conjunction = len(str(parts[0]).split())
        cases += [(text, at, parts[at > conjunction].form) for at, word in enumerate(text) if word == verb]

    def roles(word: str) -> Float[Tensor, "M K"]:
        """h_j of this word in place of the verb."""
        examples = encode([" ".join([*t[:at], word, *t[at + 1 :]]) for t, at, _ in cases])
        found = torch.empty(len(cases), model.decoder.hidden)
        for part in examples.length_buckets():
            words, lengths, _ = examples[part].to(model.word.weight.device).tensors
            places = torch.tensor([1 + cases[number][1] for number in part])
            h, _ = model.roles_and_query(words, lengths)
            found[part] = h.float().cpu()[torch.arange(len(part)), places]
        return found

    own, forms = roles(verb), [form for *_, form in cases]
    cosines = {other: cosine_similarity(own, roles(other), dim=-1) for other in others}
    similarity = {}
    for form in sorted(set(forms), key=lambda each: (len(each.split()), each)):
        chosen = torch.tensor([each == form for each in forms])
        similarity[form] = {other: values[chosen].mean().item() for other, values in cosines.items()}
    return similarity


@EXERCISES.add("scan 4.1")
def old_friends(answer) -> None:
    """The mean cosine between the roles of look and of other known verbs."""
    network, commands = trained("syntactic_attention_wrong_looks"), new_commands()[:60]
    value = number(answer(network, list(commands)))
    roles = role_similarity(network, list(commands))
    of_jump = sum(sum(row.values()) / len(row) for row in roles.values()) / len(roles)
    require(abs(value - of_jump) > 0.01, "that is how close *jump* is; put *look* in its place.")
    similar = role_similarity(
        network, [command.replace("jump", "look") for command in commands], "look", ("walk", "run")
    )
    expected = sum(sum(row.values()) / len(row) for row in similar.values()) / len(similar)
    require(
        abs(value - expected) < 5e-4,
        f"{value:.3f} is not the mean cosine of *look* with *walk* and *run*.",
    )


@EXERCISES.add("scan 4.2")
def lucky(answer) -> None:
    """Right answers with a wrong look."""
    network, commands = trained("syntactic_attention"), new_commands()
    given = list(answer(network, list(commands)))
    steps = analysis.follow(network, commands)
    elsewhere = (steps.attended != steps.source) & steps.exists & ~steps.of(EOS)
    expected = chosen(commands, steps.right & elsewhere.any(dim=1))
    extra, missing = [c for c in given if c not in expected], [c for c in expected if c not in given]
    require(not extra, f"“{(extra or [''])[0]}” has no such look, or is not answered right.")
    require(not missing, f"“{(missing or [''])[0]}” is answered right with a look elsewhere.")
    require(given == expected, "keep the commands in their order.")


@EXERCISES.add("scan 4.3")
def harmed(answer) -> None:
    """What a network needs the meaning of <SOS> for."""
    network = trained("syntactic_attention_wrong_meaning")
    commands = ["jump", *[c for c in get_split("add_jump").train if c != "jump"][:150]]
    given = list(answer(network, list(commands)))
    start = WORD_IDS[SOS]
    require(network.meaning.weight[start].any(), "change a copy of the network (copy.deepcopy), not itself.")
    before = analysis.follow(network, commands).right
    with torch.no_grad():
        network.meaning.weight[start].zero_()
    expected = chosen(commands, before & ~analysis.follow(network, commands).right)
    require(given == expected, f"{len(expected)} of these commands are harmed, you have {len(given)}.")


@EXERCISES.add("scan 4.4")
def mend(answer) -> None:
    """A meaning for jump, made without that of <SOS>."""
    network = trained("syntactic_attention_wrong_meaning")
    mended, original = changed_copy(answer, network)
    same_but(original, mended, "meaning.weight")
    jump, meanings = WORD_IDS["jump"], original["meaning.weight"]
    changed = (mended.meaning.weight != meanings).any(dim=1)
    changed[jump] = False
    require(not changed.any(), "only the meaning of *jump* may change.")
    require(
        not torch.allclose(mended.meaning.weight[jump], meanings[WORD_IDS[SOS]]),
        "that is the meaning of <SOS>; find one without it.",
    )
    right = accuracy(mended, encode(new_commands()))
    require(right > 90, f"it answers {right:.0f} % of the new commands.")


@EXERCISES.add("scan 4.5")
def who_took_it(answer) -> None:
    """Which of the words of a lone jump says JUMP."""
    networks = [trained(name) for name in ("syntactic_attention", *["syntactic_attention_wrong_meaning"] * 2)]
    start, end = WORD_IDS[SOS], WORD_IDS[EOS]
    with torch.no_grad():
        meanings = networks[2].meaning.weight
        meanings[[start, end]] = meanings[[end, start]]
    for network, expected in zip(networks, ("jump", SOS, EOS), strict=True):
        given = answer(network)
        require(given == expected, f"in one network {expected} says JUMP, you have {given!r}.")


@EXERCISES.add("scan 5.1")
def repair(answer) -> None:
    """A network that looks astray, mended in its syntax stream."""
    network = trained("syntactic_attention_wrong_looks")
    mended, original = changed_copy(lambda given: answer(given, "jump", "walk"), network)
    rows = sum(
        int((value != original[name]).reshape(len(value), -1).any(dim=1).sum())
        for name, value in mended.state_dict().items()
    )
    same = torch.equal(mended.meaning.weight, original["meaning.weight"])
    require(same, "a meaning has changed; the trouble is not there.")
    require(rows == 1, f"{rows} rows have changed; one is enough.")
    some = encode(new_commands())
    before, after = accuracy(network, some), accuracy(mended, some)
    require(after > before + 5, f"it answers {after:.0f} % of the new commands, and {before:.0f} % before.")


@EXERCISES.add("scan 5.2")
def share_of_draw(answer) -> None:
    """The share of variance that lies within networks."""
    results = numpy_rng(0, "share of the draw").uniform(0, 60, (6, 9)) + np.arange(6)[:, None] * 8
    for each in (results, results[:2]):
        means = each.mean(axis=1, keepdims=True)
        expected = float(((each - means) ** 2).sum() / ((each - each.mean()) ** 2).sum())
        given = float(answer(each.copy()))
        require(abs(given - expected) < 1e-3, f"{given:.3f} is not the share within networks.")


@EXERCISES.add("scan 5.3")
def goes_best(answer) -> None:
    """The word whose likeness to a draw goes best with its success."""
    for attempt in range(4):
        generator = torch_rng(attempt, "goes best")
        drawn, words = torch.randn(12, 5, generator=generator), torch.randn(7, 5, generator=generator)
        accuracies = torch.rand(12, generator=generator).double().numpy() ** 4 * 100
        unit = torch.nn.functional.normalize(drawn, dim=-1) @ words.T
        ranks, right = unit.numpy().argsort(axis=0).argsort(axis=0), accuracies.argsort().argsort()
        apart = ((ranks - right[:, None]) ** 2).sum(axis=0)  # nothing is tied
        strengths = np.abs(1 - 6 * apart / (12 * (12**2 - 1)))
        given = int(number(answer(drawn.clone(), words.clone(), accuracies.copy())))
        expected = int(strengths.argmax())
        require(given == expected, f"of seven words number {expected} goes best, not {given}.")


@EXERCISES.add("scan 5.4")
def limits_of_share(answer) -> None:
    """The shares from which what was seen lies 1.96 of their own standard errors away."""
    for hits, draws in ((24, 40), (3, 5), (40, 40), (0, 12)):
        low, high = pair(answer(hits, draws), "return two shares, the lower limit and the upper one.")
        low, high = number(low), number(high)
        require(
            0 <= low < high <= 1,
            f"for {hits} of {draws} the limits {low:.3f} and {high:.3f} are no shares in order.",
        )
        for limit in (low, high):
            off = abs(hits / draws - limit) - 1.96 * math.sqrt(limit * (1 - limit) / draws)
            require(
                abs(off) < 1e-3,
                f"with a share of {limit:.3f}, {hits} of {draws} are not 1.96 standard errors away.",
            )


@EXERCISES.add("scan 6.1")
def enough(answer) -> None:
    """Runs of each that make a difference two standard errors."""
    for points, sd, other_sd in ((10.3, 14.2, 27.4), (36.1, 32.7, 27.4), (2.0, 1.4, 1.4)):
        expected = next(n for n in range(1, 10_000) if 2 * math.hypot(sd, other_sd) <= points * math.sqrt(n))
        given = answer(points, sd, other_sd)
        require(
            given == expected, f"for {points} points with {sd} and {other_sd} it takes {expected} of each."
        )


@EXERCISES.add("scan 6.2")
def told_apart(answer) -> None:
    """How often the nearer of two embeddings is the right one."""
    with seeded(1, "told apart"):
        noise = torch.randn(100_000, 3)
    for distance in (0.5, 1.5, 4.0):
        other = torch.tensor([0.0, distance, 0.0])
        counted = float(((noise - other).norm(dim=1) > noise.norm(dim=1)).float().mean())
        given = float(answer(distance))
        require(abs(given - counted) < 0.006, f"at a distance of {distance:g} it is right in {counted:.2f}.")


def all_differences(one, other) -> np.ndarray:
    """The difference of the two means for every way of dealing all runs into two groups of these sizes."""
    together = np.array([*one, *other], dtype=float)
    total, found = together.sum(), []
    for way in combinations(together, len(one)):
        found.append(sum(way) / len(one) - (total - sum(way)) / len(other))
    return np.array(found)


@EXERCISES.add("scan 6.3")
def permutation_test(answer) -> None:
    """The share of ways to deal the runs that set two means as far apart."""
    for one, other in (([90, 10, 80], [5, 0]), ([0, 0, 100], [100, 99, 98]), ([3, 8], [5, 7, 6, 1])):
        differences = np.abs(all_differences(one, other))
        far = int((differences >= abs(np.mean(one) - np.mean(other)) - 1e-9).sum())
        given = number(answer(list(one), list(other)))
        expected = far / len(differences)
        require(
            abs(given - expected) < 1e-9,
            f"{one} and {other}: {far} of {len(differences)} ways, {expected:.3f}, not {given:.3f}.",
        )


@EXERCISES.add("scan 6.4")
def bits(answer) -> None:
    """The capacity of a noisy embedding."""
    require(near(answer(10, 0.0), 0.0), "without any volume nothing passes.")
    for features, volume, expected in ((2, 1.0, 1.0), (6, 3**0.5, 6.0), (16, 0.5, 2.5754248)):
        given = number(answer(features, volume))
        hint = f"{features} features at volume {volume:.2f} carry {expected:.2f} bits, not {given:.2f}."
        require(abs(given - expected) < 1e-5, hint)


@EXERCISES.add("scan 7.1")
def clip(answer) -> None:
    """Clipping that says so when there is nothing to clip."""
    with seeded(1, "clip"):
        layer = torch.nn.Linear(4, 3)
    for size, as_given in ((100.0, list), (100.0, iter), (0.01, list)):
        for p in layer.parameters():
            p.grad = torch.full_like(p, size)
        norm = size * 15**0.5
        given = float(answer(as_given(list(layer.parameters())), 5.0))
        require(abs(given / norm - 1) < 1e-4, f"the norm before was {norm:.4g}, you return {given:.4g}.")
        after = sum(p.grad.square().sum().item() for p in layer.parameters()) ** 0.5
        expected = min(norm, 5.0)
        require(
            abs(after / expected - 1) < 1e-3,
            f"a norm of {norm:.4g} is {after:.4g} after it, not {expected:.4g}.",
        )
    try:
        answer(iter(()), 5.0)
    except Stopped as stopped:
        if isinstance(stopped.__cause__, ValueError):
            return
    require(False, "given nothing, it has to raise a ValueError.")


@EXERCISES.add("scan 7.2")
def blind_choice(answer) -> None:
    """Means of one of four even draws, and of the largest of them."""
    blind, best = (float(value) for value in answer())
    require(abs(blind - 50) < 2, f"{blind:.0f} is not what a choice by validation reports; all four tie.")
    require(abs(best - 80) < 2, f"{best:.0f} is not the mean of the largest of four draws.")


@EXERCISES.add("scan 7.3")
def who_knows(answer) -> None:
    """The roles that a changed word reaches in the released form."""
    network = trained("syntactic_attention")
    for words, changed in (("turn left and look thrice", 4), ("walk left", 1), ("walk", 1)):
        old = words.split()
        new = [*old[: changed - 1], "run", *old[changed:]]
        with torch.no_grad():
            one, two = (
                network.roles_and_query(*encode([" ".join(each)]).tensors[:2])[0][0] for each in (old, new)
            )
        expected = set((one != two).any(dim=1).nonzero().flatten().tolist())
        given = set(answer(len(old), changed))
        hint = f"word {changed} of {len(old)} changes: the role at place {{}} {{}}."
        extra, missing = sorted(given - expected), sorted(expected - given)
        require(not extra, hint.format(extra and extra[0], "stays as it is"))
        require(not missing, hint.format(missing and missing[0], "changes too"))


@EXERCISES.add("scan 7.4")
def taught_wrong(answer) -> None:
    """The commands of a batch that are taught another one's actions."""
    for commands in (
        ["walk around left", "look twice and run left twice", "jump"],
        ["jump", "walk", "look thrice", "turn left"],
        list(get_split("simple").test[:8]),
    ):
        given = list(answer(list(commands)))
        places = range(len(commands))
        by_words = sorted(places, key=lambda place: -len(commands[place].split()))
        by_actions = sorted(places, key=lambda place: -action_count(commands[place]))
        wrong = {one for one, other in zip(by_words, by_actions, strict=True) if one != other}
        expected = [command for place, command in enumerate(commands) if place in wrong]
        require(
            given == expected, f"in {commands[:4]} {len(expected)} are taught wrong, you have {len(given)}."
        )
