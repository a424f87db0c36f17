"""Where answers go wrong: in which constructions, what is said instead, and how early."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from mini_lib.errors import UsageError
from mini_lib.scan.analysis.attention import ACTIONS
from mini_lib.scan.analysis.steps import Steps, follow, own_word, rows_of
from mini_lib.scan.analysis.tables import Share, Table, count_table
from mini_lib.scan.grammar import Command, Phrase, parse
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
        holding = holders(command, words)
        return BOTH if len(holding) > 1 else holding[0].form

    return form


def holders(command: str, words: str) -> list[Phrase]:
    """The phrases of a command that hold these words.

    Raises:
        UsageError: if none does.
    """
    holding = [phrase for phrase in _parsed(command).phrases if has(str(phrase), words)]
    if not holding:
        raise UsageError(f"no phrase of {command!r} holds {words!r}; give commands that do")
    return holding


def position(words: str = "jump") -> Callable[[str], str]:
    """A key: whether the phrase with these words stands alone, first or second, and with which conjunction."""

    def place(command: str) -> str:
        holding, parsed = holders(command, words), _parsed(command)
        if parsed.second is None:
            return "alone"
        first = has(str(parsed.first), words)
        which = BOTH if len(holding) > 1 else "first" if first else "second"
        return f"{which}, {parsed.conjunction}"

    return place


def phrase_at(command: Command, place: int) -> Phrase:
    """The phrase that holds the word at this place."""
    return command.first if place < len(str(command.first).split()) else command.second


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
    steps: Tensor  #: how many steps the command has, its end included. [M]

    @property
    def relative(self) -> Float[Tensor, " M"]:
        """From 0, at the first step, to 1, at the end."""
        return self.step / (self.steps - 1).clamp(min=1)


def first_errors(steps: Steps) -> FirstErrors:
    """At which step the commands that are answered wrongly go wrong first."""
    wrong = steps[~steps.right]
    errors = (wrong.predicted != wrong.examples.actions) & wrong.there
    return FirstErrors(errors.int().argmax(dim=1), wrong.there.sum(dim=1))


def describe(model: nn.Module, commands: Sequence[str]) -> dict[str, float]:
    """One run in a few numbers, in percent: a row of a table over all seeds.

    "accuracy" is exact match; "own word" and the two after it are the shares of steps at which the right action's
    own word has most attention, over all steps but the ends, over verbs, and over left and right; "end on <EOS>" is
    that share at the ends; "own word, right" and "own word, wrong" are over commands right and wrong; "first
    error" is where wrong commands go wrong first, 0 at the first step and 100 at the end, in the median. What is
    over no commands is not a number.
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
