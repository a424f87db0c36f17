"""SCAN's grammar and what its commands mean (Lake and Baroni 2018, Figures 6 and 7).

C -> S | S and S | S after S;  S -> V | V twice | V thrice;  V -> U | X dir | X opposite dir | X around dir, with a
verb U, X a verb or "turn", and dir left or right. Every command has one parse, so its meaning is a function.
"""

from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

from mini_lib.errors import UsageError, unknown_name_error

VERBS = ("walk", "look", "run", "jump")
NEW_VERB = "dax"  # a fifth verb, of nobody's data: for tests of our own
DIRECTIONS = ("left", "right")
MANNERS = ("opposite", "around")
TIMES = {"twice": 2, "thrice": 3}
CONJUNCTIONS = ("and", "after")
WORDS = (*VERBS, "turn", *DIRECTIONS, *MANNERS, *TIMES, *CONJUNCTIONS)
AROUND = 4  # quarter turns


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
        """The one or two phrases, as they stand."""
        return (self.first,) if self.second is None else (self.first, self.second)


class Step(NamedTuple):
    """One action, and the place in the command of the word whose meaning it is."""

    action: str  #: such as "JUMP".
    word: int  #: the place of its word, from 0.


def parse(command: str) -> Command:
    """The parse of a command; for what is none, the message points at the word that cannot stand where it does.

    `NEW_VERB` is a verb too, but is offered only where it is used.
    """
    if not isinstance(command, str):
        raise UsageError(f"a command is a text, such as 'jump twice'; got {command!r}")
    words = command.split()
    known = (*WORDS, NEW_VERB) if NEW_VERB in words else WORDS
    for place, word in enumerate(words):
        if word not in known:
            raise UsageError(f"{_pointed(words, place)}\n{unknown_name_error('word', word, known)}")
    first, place = _phrase(words, 0)
    if place == len(words):
        return Command(first)
    if words[place] not in CONJUNCTIONS:
        raise _wrong(words, place, "the end of the command, 'and' or 'after'")
    second, end = _phrase(words, place + 1)
    if end < len(words):
        raise _wrong(words, end, "the end of the command (it has one 'and' or 'after' at most)")
    return Command(first, words[place], second)


def _phrase(words: list[str], place: int) -> tuple[Phrase, int]:
    """Read one phrase from `place`; also where it ends."""
    if place == len(words) or words[place] not in (*VERBS, NEW_VERB, "turn"):
        raise _wrong(words, place, "a verb or 'turn'")
    parts, place = {"verb": words[place]}, place + 1
    for part, choices in (("manner", MANNERS), ("direction", DIRECTIONS), ("times", TIMES)):
        if place < len(words) and words[place] in choices:
            parts[part], place = words[place], place + 1
        elif part == "direction" and (parts["verb"] == "turn" or "manner" in parts):
            raise _wrong(words, place, "'left' or 'right'")
    return Phrase(**parts), place


def _wrong(words: list[str], place: int, expected: str) -> UsageError:
    got = f"{words[place]!r} is word {place + 1}" if place < len(words) else "the command ends"
    said = f"not a SCAN command: {got} but this was expected: {expected}"
    return UsageError(f"{_pointed(words, place)}\n{said}")


def _pointed(words: list[str], place: int) -> str:
    """The command, and under it a mark at the word."""
    return f"{' '.join(words)}\n{' ' * sum(len(word) + 1 for word in words[:place])}^"


def interpret(command: str) -> list[str]:
    """The actions that a command asks for.

    Example:
        >>> interpret("walk opposite left and run twice")
        ['LEFT', 'LEFT', 'WALK', 'RUN', 'RUN']
    """
    return [step.action for step in derive(command)]


def derive(command: str) -> list[Step]:
    """The actions of a command, each with the word that it is the meaning of: of a verb, or of left and right."""
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
