"""What is measured inside a trained Syntactic Attention, and where it goes wrong.

Every action is the meaning of one word of its command (`grammar.derive`): of a verb, or of left and right. A network
that follows the grammar attends to that word, the action's own word; at the last step it has <EOS> to say.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity

from mini_lib.errors import UsageError, unknown_name_error
from mini_lib.scan.grammar import (
    DIRECTIONS,
    NEW_VERB,
    VERBS,
    WORDS,
    Phrase,
    derive,
    parse,
)
from mini_lib.scan.models import SyntacticAttention
from mini_lib.scan.tasks import (
    ACTION_IDS,
    EOS,
    MOST_ACTIONS,
    NO_ACTION,
    SOS,
    TOGETHER,
    WORD_IDS,
    Examples,
    decode,
    encode,
    exactly_right,
    has,
)

ACTION_NAMES = tuple(ACTION_IDS)
VERB_ACTIONS = tuple(verb.upper() for verb in (*VERBS, NEW_VERB))
TURNS = tuple(direction.upper() for direction in DIRECTIONS)
ACTIONS = (*VERB_ACTIONS[:-1], *TURNS, VERB_ACTIONS[-1], EOS)  # in the order of tables and figures


def _streams_of(model: nn.Module) -> SyntacticAttention:
    """The network itself; UsageError for one that is no Syntactic Attention and has no two streams to look into."""
    if not isinstance(model, SyntacticAttention):
        raise UsageError(
            f"only Syntactic Attention has two streams to look into, this network is a {type(model).__name__}; "
            "give a SyntacticAttention"
        )
    return model


def _encode_for(model: nn.Module, commands: Sequence[str]) -> Examples:
    """Commands as numbers, on the CPU."""
    examples = encode(commands)
    if int(examples.words.max()) >= _streams_of(model).meaning.num_embeddings:
        raise UsageError(
            f"this network has no place for {NEW_VERB!r}, as it was not trained on the split add_dax; leave it out"
        )
    return examples


def _words_of(model: SyntacticAttention) -> tuple[str, ...]:
    """The words of commands that the network has: the fifth verb if it was trained on the split add_dax."""
    return tuple(word for word in (*WORDS, NEW_VERB) if WORD_IDS[word] < model.meaning.num_embeddings)


def _device_of(model: nn.Module) -> torch.device:
    """The device on which the network lies; examples go there, and what is measured comes back to the CPU."""
    return next(model.parameters()).device


# ------------------------------------------------------------------------------------------------ one command


class CommandAttention(NamedTuple):
    """What a network does with one command of T words, its ends included, over the N steps of the right answer."""

    command: str  #: as it was asked.
    words: tuple[str, ...]  #: from <SOS> to <EOS>.
    right: tuple[str, ...]  #: the right actions, then <EOS>.
    predicted: tuple[str, ...]  #: the network's action at each step.
    attention: Tensor  #: alpha_ij. [N, T]
    own: Tensor  #: the place among the words of each right action's own word. [N]


@torch.no_grad()
def attend(model: nn.Module, command: str) -> CommandAttention:
    """Follow one command through the network."""
    words, lengths, actions = _encode_for(model, [command]).to(_device_of(model))
    trace = model.trace(words, lengths, actions.shape[1])
    return CommandAttention(
        command,
        (SOS, *command.split(), EOS),
        tuple(ACTION_NAMES[i] for i in actions[0]),
        tuple(ACTION_NAMES[i] for i in trace.logits[0].argmax(dim=-1).cpu()),
        trace.attention[0].cpu(),
        torch.tensor(own_places(command)),
    )


@cache
def own_places(command: str) -> list[int]:
    """The place of each action's own word among the words with <SOS>; for the end, the place of <EOS>."""
    return [1 + step.word for step in derive(command)] + [1 + len(command.split())]


# ------------------------------------------------------------------------------------------------ counts


class Share(NamedTuple):
    """So many of so many."""

    right: int  #: how many.
    count: int  #: of how many.

    @property
    def share(self) -> float:
        """From 0 to 1; not a number where there is nothing to share."""
        return self.right / self.count if self.count else float("nan")

    @property
    def percent(self) -> float:
        """The share from 0 to 100."""
        return 100 * self.share


def _share_of(hits: Bool[Tensor, "..."], among: Bool[Tensor, "..."]) -> Share:
    """How many of the places marked in `among` are marked in `hits` too."""
    return Share(int((hits & among).sum()), int(among.sum()))


# ------------------------------------------------------------------------------------------------ many commands


class Steps(NamedTuple):
    """What a network does with N commands at each of their steps, at most L; -1 where a command has no such step."""

    examples: Examples  #: the commands as numbers.
    predicted: Tensor  #: number of the network's action. [N, L]
    own: Tensor  #: place of the right action's own word among the words. [N, L]
    looked: Tensor  #: place of the word that has most attention. [N, L]
    weight: Tensor  #: attention on the own word. [N, L]

    def __getitem__(self, which) -> "Steps":
        """Index by slice, integer or boolean tensor."""
        return Steps(*(part[which] for part in tuple(self)))

    @property
    def right(self) -> Bool[Tensor, " N"]:
        """Which commands are answered exactly."""
        return exactly_right(self.predicted, self.examples.actions)

    @property
    def there(self) -> Bool[Tensor, "N L"]:
        """Which steps the commands have."""
        return self.examples.actions != NO_ACTION

    def of(self, *actions: str) -> Bool[Tensor, "N L"]:
        """At which steps one of these actions is right."""
        return torch.isin(self.examples.actions, torch.tensor([ACTION_IDS[action] for action in actions]))


@torch.no_grad()
def follow(model: nn.Module, commands: Sequence[str]) -> Steps:
    """Follow many commands through the network, those of like length together; the counts below start from this."""
    examples, device = _encode_for(model, commands), _device_of(model)
    own = [torch.tensor(own_places(command)) for command in commands]
    own = torch.nn.utils.rnn.pad_sequence(own, batch_first=True, padding_value=-1)
    predicted, looked = torch.full_like(own, -1), torch.full_like(own, -1)
    weight = torch.full(own.shape, -1.0)
    for part in examples.of_like_length():
        words, lengths, actions = examples[part].trimmed().to(device)
        steps = actions.shape[1]
        trace, mine = model.trace(words, lengths, steps), own[part, :steps]
        there, attention = mine >= 0, trace.attention.cpu()
        on_own = attention.gather(2, mine.clamp(min=0)[..., None]).squeeze(-1)
        predicted[part, :steps] = trace.logits.argmax(dim=-1).cpu().where(there, -1)
        looked[part, :steps] = attention.argmax(dim=-1).where(there, -1)
        weight[part, :steps] = on_own.where(there, -1.0)
    return Steps(examples, predicted, own, looked, weight)


class OwnWord(NamedTuple):
    """At how many steps the own word of the right action has most attention."""

    verbs: Share  #: where a verb's action is right.
    turns: Share  #: where LEFT or RIGHT is right.


def own_word(steps: Steps) -> OwnWord:
    """How often attention is on the own word, over the steps of all these commands."""
    hits = steps.looked == steps.own
    return OwnWord(_share_of(hits, steps.of(*VERB_ACTIONS)), _share_of(hits, steps.of(*TURNS)))


# ------------------------------------------------------------------------------------------------ errors

BOTH = "in both phrases"
_parsed = cache(parse)


def by_form(
    commands: Sequence[str], right: Bool[Tensor, " N"] | Sequence[bool], key: Callable[[str], str]
) -> dict[str, Share]:
    """How many commands of each form are right; the key gives a command's form. In order of first appearance.

    `steps.right` says which are right; `construction` gives a key.
    """
    found: dict[str, list[bool]] = {}
    for command, good in zip(commands, right, strict=True):
        found.setdefault(key(command), []).append(bool(good))
    return {form: Share(sum(each), len(each)) for form, each in found.items()}


def construction(words: str = "jump") -> Callable[[str], str]:
    """A key: the form of the phrase that holds these words, such as "U around D twice".

    Commands with the words in both of their phrases are one form of their own.
    """

    def form(command: str) -> str:
        parsed, held = _parsed(command), _holding(command, words)
        return BOTH if len(held) > 1 else parsed.phrases[held[0]].form

    return form


def _holding(command: str, words: str) -> list[int]:
    """Which phrases of a command hold these words: 0, 1 or both."""
    held = [place for place, phrase in enumerate(_parsed(command).phrases) if has(str(phrase), words)]
    if not held:
        raise UsageError(f"no phrase of {command!r} holds {words!r}; give commands that do")
    return held


# ------------------------------------------------------------------------------------------------ words alone


class Dictionary(NamedTuple):
    """What each word says alone."""

    words: tuple[str, ...]  #: the rows.
    actions: tuple[str, ...]  #: the columns.
    probabilities: Tensor  #: every row sums to 1. [words, actions]

    def says(self) -> dict[str, str]:
        """The most probable action of each word."""
        best = self.probabilities.argmax(dim=1).tolist()
        return {word: self.actions[action] for word, action in zip(self.words, best, strict=True)}


@torch.no_grad()
def dictionary(model: nn.Module) -> Dictionary:
    """The probability of every action when all attention is on one word: softmax f(m_j)."""
    if _streams_of(model).sequence is not None or model.syntax_action:
        raise UsageError(
            "with sequential semantics or syntax-action an action does not depend on the attended word alone, so "
            "there is no dictionary; give a network whose two streams are kept apart"
        )
    words = [*_words_of(model), SOS, EOS]
    actions = [action for action in (*ACTIONS, SOS) if ACTION_IDS[action] < model.action.out_features]
    one_word = torch.eye(model.meaning.num_embeddings, device=_device_of(model))
    logits = model.say(one_word, model.meaning.weight).cpu()
    chosen = logits.softmax(dim=-1)[[WORD_IDS[word] for word in words]]
    return Dictionary(tuple(words), tuple(actions), chosen[:, [ACTION_IDS[action] for action in actions]])


# ------------------------------------------------------------------------------------------------ two commands


def _actions_of_streams(
    model: SyntacticAttention, syntax: Examples, semantics: Examples, steps: int
) -> Int[Tensor, "B N"]:
    """The most probable actions when attention comes from one batch of commands, meanings from another.

    The semantic stream hears its own command whole, so a sequential one reads that one in order; where the syntax
    stream reaches the actions directly, it does so with its own command.
    """
    syntax, semantics = (each.to(_device_of(model)) for each in (syntax, semantics))
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
    one, other = _encode_for(model, [syntax]), _encode_for(model, [semantics])
    return decode(_actions_of_streams(model, one, other, MOST_ACTIONS)[0])


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
            raise unknown_name_error("word", each, _words_of(_streams_of(model)))
    return [" ".join(other if each == word else each for each in text.split()) for text in commands]


@torch.no_grad()
def _accuracy(model: nn.Module, syntax: Sequence[str], semantics: Sequence[str]) -> float:
    """Percent right by the actions of what the semantic stream hears."""
    heard, meant, right = _encode_for(model, syntax), _encode_for(model, semantics), 0
    for part in meant.of_like_length():
        one, other = heard[part].trimmed(), meant[part].trimmed()
        predicted = _actions_of_streams(model, one, other, other.actions.shape[1])
        right += int(exactly_right(predicted, other.actions).sum())
    return 100 * right / len(semantics)


# ------------------------------------------------------------------------------------------------ roles h_j


def _replaced(words: list[str], place: int, other: str) -> str:
    return " ".join([*words[:place], other, *words[place + 1 :]])


@torch.no_grad()
def _roles_at(model: nn.Module, commands: Sequence[str], places: Sequence[int]) -> Float[Tensor, "M K"]:
    """h_j of one word of each command, whose place is counted without <SOS>."""
    examples, chosen = _encode_for(model, commands), []
    for part in torch.arange(len(commands)).split(TOGETHER):
        words, lengths, _ = examples[part].to(_device_of(model))
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
    mine, similarity = _roles_at(model, texts, places), {}
    for other in others:
        changed = [_replaced(text.split(), place, other) for text, place in cases]
        alike = cosine_similarity(mine, _roles_at(model, changed, places), dim=-1)
        for form in sorted(set(forms), key=lambda each: (len(each.split()), each)):
            chosen = torch.tensor([each == form for each in forms])
            similarity.setdefault(form, {})[other] = alike[chosen].mean().item()
    return similarity


def _phrase_at(command: str, place: int) -> Phrase:
    """The phrase that holds the word at this place."""
    parsed = parse(command)
    return parsed.first if place < len(str(parsed.first).split()) else parsed.second
