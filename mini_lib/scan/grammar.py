"""SCAN's grammar and what its commands mean (Lake and Baroni 2018, Figures 6 and 7).

C -> S | S and S | S after S;  S -> V | V twice | V thrice;  V -> U | X dir | X opposite dir | X around dir, with a
verb U, X a verb or "turn", and dir left or right. Every command has one parse, so its meaning is a function.
"""

import re
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

from mini_lib.errors import UsageError, check_names

VERBS = ("walk", "look", "run", "jump")
NEW_VERB = "dax"  # a fifth verb, which is not in SCAN
DIRECTIONS = ("left", "right")
MANNERS = ("opposite", "around")
TIMES = {"twice": 2, "thrice": 3}
CONJUNCTIONS = ("and", "after")
WORDS = (*VERBS, "turn", *DIRECTIONS, *MANNERS, *TIMES, *CONJUNCTIONS)
_U, _DIRECTION = "|".join((*VERBS, NEW_VERB)), "|".join(DIRECTIONS)
PHRASE = re.compile(rf"(?:({_U})|({_U}|turn)(?: (opposite|around))? ({_DIRECTION}))(?: (twice|thrice))?")


@dataclass(frozen=True)
class Phrase:
    """One S of the grammar."""

    verb: str  #: or "turn".
    manner: str = ""
    direction: str = ""
    times: str = ""

    def __str__(self) -> str:
        return " ".join(filter(None, (self.verb, self.manner, self.direction, self.times)))


class Step(NamedTuple):
    """An action such as "JUMP", and the position of the word whose meaning it is, from 0."""

    action: str
    word: int


def parse(command: str) -> tuple[tuple[Phrase, ...], str]:
    """The one or two phrases of a command, and the conjunction between them or ""."""
    if not isinstance(command, str):
        raise UsageError(f"a command is a string, such as 'jump twice'; got {type(command).__name__}")
    words = command.split()
    check_names("word", words, (*WORDS, NEW_VERB) if NEW_VERB in words else WORDS)
    at = next((place for place, word in enumerate(words) if word in CONJUNCTIONS), len(words))
    first = _phrase(words[:at])
    return ((first,), "") if at == len(words) else ((first, _phrase(words[at + 1 :])), words[at])


def _phrase(words: list[str]) -> Phrase:
    match = PHRASE.fullmatch(" ".join(words))
    if match is None:
        raise UsageError(f"{' '.join(words)!r} is not a phrase of SCAN, such as 'jump around left twice'")
    alone, verb, manner, direction, times = (part or "" for part in match.groups())
    return Phrase(alone or verb, manner, direction, times)


def interpret(command: str) -> list[str]:
    """Return the actions that a command asks for.

    Example:
        >>> interpret("walk opposite left and run twice")
        ['LEFT', 'LEFT', 'WALK', 'RUN', 'RUN']
    """
    return [step.action for step in derive(command)]


def action_count(command: str) -> int:
    """Return how many actions a command asks for."""
    return len(derive(command))


def derive(command: str) -> list[Step]:
    """Return the actions of a command, each with its source word: a verb, left or right."""
    found, conjunction = parse(command)
    starts = [0, len(str(found[0]).split()) + 1]
    parts = [_meaning(phrase, start) for phrase, start in zip(found, starts, strict=False)]
    return [step for part in (parts[::-1] if conjunction == "after" else parts) for step in part]


def _meaning(phrase: Phrase, start: int) -> list[Step]:
    act = [] if phrase.verb == "turn" else [Step(phrase.verb.upper(), start)]
    turn = [Step(phrase.direction.upper(), start + 1 + bool(phrase.manner))] if phrase.direction else []
    once = {"": turn + act, "opposite": turn + turn + act, "around": 4 * (turn + act)}[phrase.manner]
    return TIMES.get(phrase.times, 1) * once


def contains_phrase(command: str, phrase: str) -> bool:
    """Whether these words follow each other in the command."""
    return f" {phrase} " in f" {command} "


def phrases(verbs: tuple[str, ...] = VERBS) -> list[Phrase]:
    """All phrases S: 3 times 34 with SCAN's four verbs."""
    bare = [(verb, "", "") for verb in verbs]
    turned = list(product((*verbs, "turn"), ("", *MANNERS), DIRECTIONS))
    return [Phrase(*parts, times) for parts in bare + turned for times in ("", *TIMES)]


def commands(verbs: tuple[str, ...] = VERBS) -> list[str]:
    """All commands C, in an order of our own: 20,910 with SCAN's four verbs."""
    parts = [str(phrase) for phrase in phrases(verbs)]
    return parts + [" ".join(pair) for pair in product(parts, CONJUNCTIONS, parts)]
