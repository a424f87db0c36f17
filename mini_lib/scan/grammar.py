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
AROUND = 4  # quarter turns
_U, _DIRECTION = "|".join((*VERBS, NEW_VERB)), "|".join(DIRECTIONS)
PHRASE = re.compile(rf"(?:({_U})|({_U}|turn)(?: (opposite|around))? ({_DIRECTION}))(?: (twice|thrice))?")


@dataclass(frozen=True)
class Phrase:
    """One S of the grammar."""

    verb: str  #: a verb, or "turn".
    manner: str = ""  #: "", "opposite" or "around".
    direction: str = ""  #: "", "left" or "right"; never empty after "turn" or with a manner.
    times: str = ""  #: "", "twice" or "thrice".

    def __str__(self) -> str:
        return " ".join(filter(None, (self.verb, self.manner, self.direction, self.times)))

    @property
    def form(self) -> str:
        """The phrase without its content: "U around D twice"; "turn" stays, since it differs from a verb."""
        verb = "turn" if self.verb == "turn" else "U"
        return str(Phrase(verb, self.manner, "D" if self.direction else "", self.times))


@dataclass(frozen=True)
class Command:
    """A parsed command: one phrase, or two with a conjunction between them."""

    first: Phrase
    conjunction: str = ""
    second: Phrase | None = None

    def __str__(self) -> str:
        return " ".join(str(part) for part in (self.first, self.conjunction, self.second) if part)

    @property
    def phrases(self) -> tuple[Phrase, ...]:
        """The one or two phrases, in the order of the command."""
        return (self.first,) if self.second is None else (self.first, self.second)


class Step(NamedTuple):
    """One action, and the position of the word whose meaning it is."""

    action: str  #: such as "JUMP".
    word: int  #: position in the command, from 0.


def parse(command: str) -> Command:
    """Parse a command; UsageError names the word or the phrase that is not in the grammar."""
    if not isinstance(command, str):
        raise UsageError(f"a command is a string, such as 'jump twice'; got {type(command).__name__}")
    words = command.split()
    check_names("word", words, (*WORDS, NEW_VERB) if NEW_VERB in words else WORDS)
    at = next((place for place, word in enumerate(words) if word in CONJUNCTIONS), len(words))
    first = _phrase(words[:at])
    return Command(first) if at == len(words) else Command(first, words[at], _phrase(words[at + 1 :]))


def _phrase(words: list[str]) -> Phrase:
    match = PHRASE.fullmatch(" ".join(words))
    if match is None:
        raise UsageError(
            f"{' '.join(words)!r} is not a phrase of SCAN: a verb, or a verb or 'turn' with [opposite | around] "
            "left | right; then [twice | thrice]. 'and' or 'after' joins two phrases"
        )
    alone, verb, manner, direction, times = (part or "" for part in match.groups())
    return Phrase(alone or verb, manner, direction, times)


def interpret(command: str) -> list[str]:
    """Return the actions that a command asks for.

    Example:
        >>> interpret("walk opposite left and run twice")
        ['LEFT', 'LEFT', 'WALK', 'RUN', 'RUN']
    """
    return [step.action for step in derive(command)]


def derive(command: str) -> list[Step]:
    """Return the actions of a command, each with its source word: a verb, left or right."""
    parsed = parse(command)
    starts = [0, len(str(parsed.first).split()) + 1]
    parts = [_meaning(phrase, start) for phrase, start in zip(parsed.phrases, starts, strict=False)]
    return [step for part in (parts[::-1] if parsed.conjunction == "after" else parts) for step in part]


def _meaning(phrase: Phrase, start: int) -> list[Step]:
    act = [] if phrase.verb == "turn" else [Step(phrase.verb.upper(), start)]
    turn = [Step(phrase.direction.upper(), start + 1 + bool(phrase.manner))] if phrase.direction else []
    once = {"": turn + act, "opposite": turn + turn + act, "around": AROUND * (turn + act)}[phrase.manner]
    return TIMES.get(phrase.times, 1) * once


def phrases(verbs: tuple[str, ...] = VERBS) -> list[Phrase]:
    """All phrases S: 3 times 34 with SCAN's four verbs."""
    bare = [(verb, "", "") for verb in verbs]
    turned = list(product((*verbs, "turn"), ("", *MANNERS), DIRECTIONS))
    return [Phrase(*parts, times) for parts in bare + turned for times in ("", *TIMES)]


def commands(verbs: tuple[str, ...] = VERBS) -> list[str]:
    """All commands C, in an order of our own: 20,910 with SCAN's four verbs."""
    parts = [str(phrase) for phrase in phrases(verbs)]
    return parts + [" ".join(pair) for pair in product(parts, CONJUNCTIONS, parts)]
