"""The two streams pulled apart: what words mean alone, two commands at once, and a word replaced for one stream."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity

from mini_lib.errors import UsageError, unknown_name_error
from mini_lib.scan.analysis.attention import ACTIONS, device_of, encode_for, streams_of, words_of
from mini_lib.scan.grammar import (
    CONJUNCTIONS,
    DIRECTIONS,
    MANNERS,
    NEW_VERB,
    TIMES,
    VERBS,
    WORDS,
    Phrase,
    parse,
)
from mini_lib.scan.models import SyntacticAttention
from mini_lib.scan.tasks import (
    ACTION_IDS,
    EOS,
    MOST_ACTIONS,
    SOS,
    TOGETHER,
    WORD_IDS,
    Examples,
    decode,
    exactly_right,
)

CLASSES = (VERBS, DIRECTIONS, MANNERS, tuple(TIMES), CONJUNCTIONS)


# ------------------------------------------------------------------------------------------------ words alone


class Dictionary(NamedTuple):
    """What each word says alone."""

    words: tuple[str, ...]
    actions: tuple[str, ...]
    probabilities: Tensor  #: every row sums to 1. [words, actions]

    def says(self) -> dict[str, str]:
        """The most probable action of each word."""
        best = self.probabilities.argmax(dim=1).tolist()
        return {word: self.actions[action] for word, action in zip(self.words, best, strict=True)}


@torch.no_grad()
def dictionary(model: nn.Module) -> Dictionary:
    """The probability of every action when all attention is on one word: softmax f(m_j)."""
    if streams_of(model).sequence is not None or model.syntax_action:
        raise UsageError(
            "with sequential semantics or syntax-action an action does not depend on the attended word alone, so "
            "there is no dictionary; give a network whose two streams are kept apart"
        )
    words = [*words_of(model), SOS, EOS]
    actions = [action for action in (*ACTIONS, SOS) if ACTION_IDS[action] < model.action.out_features]
    one_word = torch.eye(model.meaning.num_embeddings, device=device_of(model))
    logits = model.say(one_word, model.meaning.weight).cpu()
    chosen = logits.softmax(dim=-1)[[WORD_IDS[word] for word in words]]
    return Dictionary(tuple(words), tuple(actions), chosen[:, [ACTION_IDS[action] for action in actions]])


# ------------------------------------------------------------------------------------------------ two commands


def actions_of_streams(
    model: SyntacticAttention, syntax: Examples, semantics: Examples, steps: int
) -> Int[Tensor, "B N"]:
    """The most probable actions when attention comes from one batch of commands, meanings from another.

    The semantic stream hears its own command whole, so a sequential one reads that one in order; where the syntax
    stream reaches the actions directly, it does so with its own command.
    """
    syntax, semantics = (each.to(device_of(model)) for each in (syntax, semantics))
    steered = model.trace(syntax.words, syntax.lengths, steps)
    meanings = model.trace(semantics.words, semantics.lengths, 1).meanings
    return model.say(steered.attention, meanings, steered.roles).argmax(dim=-1).cpu()


@torch.no_grad()
def two_commands(model: nn.Module, syntax: str, semantics: str) -> list[str]:
    """The actions, up to <EOS>, when the syntax stream hears one command and the semantic stream another."""
    if len(syntax.split()) != len(semantics.split()):
        raise UsageError(
            f"attention over {syntax!r} does not fit on {semantics!r}: give two commands of as many words"
        )
    one, other = encode_for(model, [syntax]), encode_for(model, [semantics])
    return decode(actions_of_streams(model, one, other, MOST_ACTIONS)[0])


def accuracy_with_syntax_of(
    model: nn.Module, commands: Sequence[str], heard: str = "jump", as_: str = "walk"
) -> float:
    """Percent of commands right when the SYNTAX stream hears `as_` wherever the command says `heard`.

    The meanings and the right actions are those of the command itself. If this is near 100 where the plain accuracy
    is not, the network knows the word's meaning and fails to steer by it.
    """
    return _accuracy(model, _replace_words(model, commands, heard, as_), commands)


def accuracy_with_semantics_of(
    model: nn.Module, commands: Sequence[str], heard: str = "jump", as_: str = "walk"
) -> float:
    """Percent of commands right when the SEMANTIC stream hears `as_` wherever the command says `heard`.

    The right actions are those of what the semantic stream hears: WALK for JUMP. If this is low too, the network
    does not steer by `heard`, whatever it would say.
    """
    return _accuracy(model, commands, _replace_words(model, commands, heard, as_))


def _replace_words(model: nn.Module, commands: Sequence[str], word: str, other: str) -> list[str]:
    """The commands with another word wherever they have this one; UsageError for a word that nobody has."""
    for each in (word, other):
        if each not in (*WORDS, NEW_VERB):
            raise unknown_name_error("word", each, words_of(streams_of(model)))
    return [" ".join(other if each == word else each for each in text.split()) for text in commands]


@torch.no_grad()
def _accuracy(model: nn.Module, syntax: Sequence[str], semantics: Sequence[str]) -> float:
    """Percent right by the actions of what the semantic stream hears."""
    heard, meant, right = encode_for(model, syntax), encode_for(model, semantics), 0
    for part in meant.of_like_length():
        one, other = heard[part].trimmed(), meant[part].trimmed()
        predicted = actions_of_streams(model, one, other, other.actions.shape[1])
        right += int(exactly_right(predicted, other.actions).sum())
    return 100 * right / len(semantics)


# ------------------------------------------------------------------------------------------------ roles h_j


class Leak(NamedTuple):
    """How far h_j of a verb moves, as a share of its length, one number for each replaced word."""

    own: Tensor  #: when the verb itself is replaced by another verb. [M]
    neighbour: Tensor  #: when the word before or after it is replaced by another of its class. [M2]


def leak(model: nn.Module, commands: Sequence[str]) -> Leak:
    """How much of a word's own identity gets into its h_j, for every verb in these commands.

    Equation 2 says none: h_j is made of the neighbours. In the released form the second layer lets it in. Every
    verb is replaced by each other verb; every neighbour that has others of its class, by each of those.
    """
    own, neighbour = [], []
    for command in commands:
        words = command.split()
        for place, word in enumerate(words):
            if word in (*VERBS, NEW_VERB):
                own += [(command, _replaced(words, place, other), place) for other in _others(word)]
                beside = [at for at in (place - 1, place + 1) if 0 <= at < len(words)]
                changes = [(at, other) for at in beside for other in _others(words[at])]
                neighbour += [(command, _replaced(words, at, other), place) for at, other in changes]
    if not own:
        raise UsageError("no command here holds a verb; give commands such as 'walk twice'")
    return Leak(_moves(model, own), _moves(model, neighbour))


def _others(word: str) -> list[str]:
    """The other words of its class: all have the same places in the grammar. None for "turn"."""
    words = next((words for words in (*CLASSES, (*VERBS, NEW_VERB)) if word in words), ())
    return [other for other in words if other not in (word, NEW_VERB)]


def _replaced(words: list[str], place: int, other: str) -> str:
    return " ".join([*words[:place], other, *words[place + 1 :]])


def _moves(model: nn.Module, cases: list[tuple[str, str, int]]) -> Float[Tensor, " M"]:
    """Length of the change of h_j between two commands, over its length in the first."""
    if not cases:
        return torch.zeros(0)
    commands, changed, places = (list(part) for part in zip(*cases, strict=True))
    before, after = (roles_at(model, texts, places) for texts in (commands, changed))
    return (after - before).norm(dim=-1) / before.norm(dim=-1)


@torch.no_grad()
def roles_at(model: nn.Module, commands: Sequence[str], places: Sequence[int]) -> Float[Tensor, "M K"]:
    """h_j of one word of each command, whose place is counted without <SOS>."""
    examples, chosen = encode_for(model, commands), []
    for part in torch.arange(len(commands)).split(TOGETHER):
        words, lengths, _ = examples[part].to(device_of(model))
        roles, _ = model.roles_and_query(words, lengths)
        chosen.append(roles.cpu()[torch.arange(len(part)), 1 + torch.tensor(places)[part]])
    return torch.cat(chosen)


def role_similarity(
    model: nn.Module,
    commands: Sequence[str],
    verb: str = "jump",
    others: Sequence[str] = ("walk", "look", "run"),
) -> dict[str, dict[str, float]]:
    """Mean cosine of h_j between a verb and each other verb in its place, by the construction it stands in.

    Every place of `verb` in the commands counts once; all else of the sentence stays. Near 1, the network gives the
    new verb the role of a known one. For comparison call it with a known verb and commands that hold that one.
    """
    cases = [
        (command, place) for command in commands for place, word in enumerate(command.split()) if word == verb
    ]
    if not cases:
        raise UsageError(f"no command here holds {verb!r}; give commands that do")
    texts, places = (list(part) for part in zip(*cases, strict=True))
    forms = [_phrase_at(text, place).form for text, place in cases]
    mine, similarity = roles_at(model, texts, places), {}
    for other in others:
        changed = [_replaced(text.split(), place, other) for text, place in cases]
        alike = cosine_similarity(mine, roles_at(model, changed, places), dim=-1)
        for form in sorted(set(forms), key=lambda each: (len(each.split()), each)):
            chosen = torch.tensor([each == form for each in forms])
            similarity.setdefault(form, {})[other] = alike[chosen].mean().item()
    return similarity


def _phrase_at(command: str, place: int) -> Phrase:
    """The phrase that holds the word at this place."""
    parsed = parse(command)
    return parsed.first if place < len(str(parsed.first).split()) else parsed.second
