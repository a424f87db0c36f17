"""Where answers go wrong: in which constructions, what is said instead, and how early."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import torch
from jaxtyping import Bool
from torch import Tensor, nn

from mini_lib.errors import UsageError
from mini_lib.scan.analysis.attention import ACTIONS, Steps, follow, own_word, rows_of
from mini_lib.scan.analysis.tables import Share, Table, count_table
from mini_lib.scan.grammar import parse
from mini_lib.scan.tasks import SOS, has

BOTH = "in both phrases"
_parsed = cache(parse)


def by_form(
    commands: Sequence[str], right: Bool[Tensor, " N"] | Sequence[bool], key: Callable[[str], str]
) -> dict[str, Share]:
    """How many commands of each form are right; the key gives a command's form. In order of first appearance.

    `steps.right` says which are right; `construction` and `position` give keys.
    """
    hits, counts = Counter(), Counter()
    for command, good in zip(commands, right, strict=True):
        form = key(command)
        counts[form] += 1
        hits[form] += bool(good)
    return {form: Share(hits[form], count) for form, count in counts.items()}


def construction(words: str = "jump") -> Callable[[str], str]:
    """A key: the form of the phrase that holds these words, such as "U around D twice".

    Commands with the words in both of their phrases are one form of their own.
    """

    def form(command: str) -> str:
        parsed, held = _parsed(command), holding(command, words)
        return BOTH if len(held) > 1 else parsed.phrases[held[0]].form

    return form


def holding(command: str, words: str) -> list[int]:
    """Which phrases of a command hold these words: 0, 1 or both."""
    held = [place for place, phrase in enumerate(_parsed(command).phrases) if has(str(phrase), words)]
    if not held:
        raise UsageError(f"no phrase of {command!r} holds {words!r}; give commands that do")
    return held


def position(words: str = "jump") -> Callable[[str], str]:
    """A key: whether the phrase with these words stands alone, first or second, and with which conjunction."""

    def place(command: str) -> str:
        parsed, held = _parsed(command), holding(command, words)
        if parsed.second is None:
            return "alone"
        which = BOTH if len(held) > 1 else ("first", "second")[held[0]]
        return f"{which}, {parsed.conjunction}"

    return place


# ------------------------------------------------------------------------------------------------ steps


def substitutions(steps: Steps) -> Table:
    """Right action by predicted action, over the steps of all these commands; on the diagonal they agree."""
    columns, there = (*ACTIONS, SOS), steps.there
    predicted = rows_of(steps.predicted[there])
    predicted = torch.where(predicted < 0, len(ACTIONS), predicted)  # <SOS>, which is never right
    return count_table(ACTIONS, columns, rows_of(steps.examples.actions[there]), predicted)


class FirstErrors(NamedTuple):
    """The first error of every command that is answered wrongly."""

    step: Tensor  #: its step, from 0. [M]
    relative: Tensor  #: the same from 0, at the first step, to 1, at the command's end. [M]


def first_errors(steps: Steps) -> FirstErrors:
    """At which step the commands that are answered wrongly go wrong first."""
    wrong = steps[~steps.right]
    first = ((wrong.predicted != wrong.examples.actions) & wrong.there).int().argmax(dim=1)
    return FirstErrors(first, first / (wrong.there.sum(dim=1) - 1).clamp(min=1))


def describe(model: nn.Module, commands: Sequence[str]) -> dict[str, float]:
    """One run in a few numbers, in percent: a row of a table over all seeds.

    "accuracy" is exact match; "first error" is where wrong commands go wrong first, from 0 at the first step to 100
    at the end, in the median. The others are those of `OwnWord`. What is over no commands is not a number.
    """
    steps = follow(model, commands)
    own, first = own_word(steps), first_errors(steps).relative
    return {
        "accuracy": 100 * steps.right.float().mean().item(),
        "own word": own.all.percent,
        "own word, verbs": own.verbs.percent,
        "own word, left and right": own.turns.percent,
        "end on <EOS>": own.end.percent,
        "own word, right": own.when_right.percent,
        "own word, wrong": own.when_wrong.percent,
        "first error": 100 * first.median().item() if len(first) else float("nan"),
    }
