"""What happens inside a trained Syntactic Attention, and where it goes wrong.

Every action is the meaning of one word of its command, its source (`grammar.derive`): of a verb, or of left and
right. A network that follows the grammar attends to that word; at the last step its output is <EOS>.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity

from mini_lib.errors import UsageError
from mini_lib.scan.grammar import DIRECTIONS, NEW_VERB, VERBS, WORDS, derive, parse
from mini_lib.scan.syntactic_attention import SyntacticAttention
from mini_lib.scan.tasks import (
    ACTION_IDS,
    EOS,
    MAX_ACTIONS,
    NO_ACTION,
    SOS,
    WORD_IDS,
    Examples,
    contains_phrase,
    decode,
    encode,
    exactly_right,
)

VERB_ACTIONS = tuple(verb.upper() for verb in (*VERBS, NEW_VERB))
TURNS = tuple(direction.upper() for direction in DIRECTIONS)
ACTIONS = (*VERB_ACTIONS[:-1], *TURNS, VERB_ACTIONS[-1], EOS)  # in the order of tables and figures


def _encode_for(model: object, commands: Sequence[str]) -> Examples:
    """Commands as ids, on the CPU; UsageError if the network has no two streams or lacks a word."""
    if not isinstance(model, SyntacticAttention):
        raise UsageError(f"only a SyntacticAttention can be analyzed here, not a {type(model).__name__}")
    examples = encode(commands)
    if int(examples.words.max()) >= model.vocabulary[0]:
        raise UsageError(f"this network was not trained on {NEW_VERB!r} (split add_dax); leave it out")
    return examples


class CommandAttention(NamedTuple):
    """What a network does with one command of T words, its ends included, over the N steps of the right answer."""

    command: str
    words: tuple[str, ...]  #: from <SOS> to <EOS>.
    right: tuple[str, ...]  #: the right actions, then <EOS>.
    predicted: tuple[str, ...]  #: the network's action at each step.
    attention: Tensor  #: alpha_ij. [N, T]
    source: Tensor  #: position among the words of each right action's source. [N]


@torch.no_grad()
def attend(model: nn.Module, command: str) -> CommandAttention:
    """Follow one command through the network.

    `mini_lib.reproduction.scan.figures.attention_map` draws the result.

    Example:
        >>> from mini_lib import trained
        >>> found = attend(trained("syntactic_attention"), "jump twice")
        >>> found.words, found.predicted
        (('<SOS>', 'jump', 'twice', '<EOS>'), ('JUMP', 'JUMP', '<EOS>'))
        >>> found.attention.argmax(dim=1).tolist()  # both JUMPs attend to word 1, their source
        [1, 1, 0]
    """
    words, lengths, actions = _encode_for(model, [command]).to(model.word.weight.device).tensors
    trace, names = model.trace(words, lengths, actions.shape[1]), list(ACTION_IDS)
    ids = actions[0].cpu(), trace.logits[0].argmax(dim=-1).cpu()
    right, predicted = (tuple(names[i] for i in each.tolist()) for each in ids)
    source, attention = torch.tensor(source_positions(command)), trace.attention[0].cpu()
    return CommandAttention(command, (SOS, *command.split(), EOS), right, predicted, attention, source)


def source_positions(command: str) -> list[int]:
    """Position of each action's source among the words with <SOS>; for the end, that of <EOS>."""
    return [1 + step.word for step in derive(command)] + [1 + len(command.split())]


class Fraction(NamedTuple):
    """k of n."""

    k: int
    n: int

    @property
    def percent(self) -> float:
        """From 0 to 100; NaN if n is 0."""
        return 100 * self.k / self.n if self.n else float("nan")


@dataclass(frozen=True, eq=False)
class Steps:
    """What a network does with N commands at each of their steps, at most L; -1 where a command has no such step."""

    examples: Examples  #: the commands as ids.
    predicted: Int[Tensor, "N L"]  #: id of the network's action.
    source: Int[Tensor, "N L"]  #: position of the right action's source among the words.
    attended: Int[Tensor, "N L"]  #: position of the word with most attention.
    weight: Float[Tensor, "N L"]  #: attention on the source.

    def __len__(self) -> int:
        return len(self.predicted)

    def __getitem__(self, index: slice | Tensor) -> "Steps":
        """Index by slice, integer or boolean tensor."""
        return Steps(*(part[index] for part in vars(self).values()))

    @property
    def right(self) -> Bool[Tensor, " N"]:
        """Which commands are answered exactly."""
        return exactly_right(self.predicted, self.examples.actions)

    @property
    def exists(self) -> Bool[Tensor, "N L"]:
        """Which steps the commands have."""
        return self.examples.actions != NO_ACTION

    def of(self, *actions: str) -> Bool[Tensor, "N L"]:
        """At which steps one of these actions is right."""
        return torch.isin(self.examples.actions, torch.tensor([ACTION_IDS[action] for action in actions]))


@torch.no_grad()
def follow(model: nn.Module, commands: Sequence[str]) -> Steps:
    """Follow many commands through the network, those of similar length together."""
    examples = _encode_for(model, commands)
    source = [torch.tensor(source_positions(command)) for command in commands]
    source = nn.utils.rnn.pad_sequence(source, batch_first=True, padding_value=-1)
    predicted, attended = torch.full_like(source, -1), torch.full_like(source, -1)
    weight = torch.full(source.shape, -1.0)
    for part in examples.length_buckets():
        words, lengths, actions = examples[part].trimmed().to(model.word.weight.device).tensors
        steps = actions.shape[1]
        trace, right = model.trace(words, lengths, steps), source[part, :steps]
        exists, attention = right >= 0, trace.attention.cpu()
        on_source = attention.gather(2, right.clamp(min=0)[..., None]).squeeze(-1)
        predicted[part, :steps] = trace.logits.argmax(dim=-1).cpu().where(exists, -1)
        attended[part, :steps] = attention.argmax(dim=-1).where(exists, -1)
        weight[part, :steps] = on_source.where(exists, -1.0)
    return Steps(examples, predicted, source, attended, weight)


def source_hits(steps: Steps) -> dict[str, Fraction]:
    """At how many steps the source has most attention: of "verbs" and of "turns", LEFT and RIGHT."""
    hits, kinds = steps.attended == steps.source, {"verbs": VERB_ACTIONS, "turns": TURNS}
    asked = {kind: steps.of(*actions) for kind, actions in kinds.items()}
    return {kind: Fraction(int((hits & each).sum()), int(each.sum())) for kind, each in asked.items()}


def by_form(
    commands: Sequence[str], right: Bool[Tensor, " N"] | Sequence[bool], key: Callable[[str], str]
) -> dict[str, Fraction]:
    """How many commands of each form are right, in order of first appearance; `key` returns a command's form."""
    found: dict[str, list[bool]] = {}
    for command, good in zip(commands, right, strict=True):
        found.setdefault(key(command), []).append(bool(good))
    return {form: Fraction(sum(each), len(each)) for form, each in found.items()}


def construction(words: str = "jump") -> Callable[[str], str]:
    """Make a key for `by_form`: the form of the phrase with these words, such as "U around D twice"."""

    def form(command: str) -> str:
        held = [phrase.form for phrase in parse(command)[0] if contains_phrase(str(phrase), words)]
        if not held:
            raise UsageError(f"no phrase of {command!r} contains {words!r}; give commands that do")
        return "in both phrases" if len(held) > 1 else held[0]

    return form


# ------------------------------------------------------------------------------------------------ the two streams


class Dictionary(NamedTuple):
    """The output for each word alone."""

    words: tuple[str, ...]  #: the rows.
    actions: tuple[str, ...]  #: the columns.
    probabilities: Tensor  #: every row sums to 1. [words, actions]

    def best(self) -> dict[str, str]:
        """The most probable action of each word."""
        best = self.probabilities.argmax(dim=1).tolist()
        return {word: self.actions[action] for word, action in zip(self.words, best, strict=True)}


@torch.no_grad()
def dictionary(model: nn.Module) -> Dictionary:
    """The probability of every action when all attention is on one word: softmax f(m_j)."""
    if not isinstance(model, SyntacticAttention) or model.sequence is not None or model.syntax_action:
        raise UsageError("only a SyntacticAttention whose actions depend on one word alone has a dictionary")
    words = [word for word in (*WORDS, NEW_VERB, SOS, EOS) if WORD_IDS[word] < model.vocabulary[0]]
    actions = [action for action in (*ACTIONS, SOS) if ACTION_IDS[action] < model.vocabulary[1]]
    one_word = torch.eye(model.vocabulary[0], device=model.word.weight.device)
    logits = model.logits(one_word, model.meaning.weight).cpu()
    chosen = logits.softmax(dim=-1)[[WORD_IDS[word] for word in words]]
    return Dictionary(tuple(words), tuple(actions), chosen[:, [ACTION_IDS[action] for action in actions]])


@torch.no_grad()
def _actions_of_streams(
    model: nn.Module, syntax: Examples, semantics: Examples, steps: int
) -> Int[Tensor, "B N"]:
    """The most probable actions when the streams read different batches of commands.

    Where the syntax stream reaches the actions directly, it does so with its own command.
    """
    syntax, semantics = (each.to(model.word.weight.device) for each in (syntax, semantics))
    placed = model.trace(syntax.words, syntax.lengths, steps)
    meanings = model.trace(semantics.words, semantics.lengths, 1).meanings
    return model.logits(placed.attention, meanings, placed.roles).argmax(dim=-1).cpu()


def two_commands(model: nn.Module, syntax: str, semantics: str) -> list[str]:
    """The actions, up to <EOS>, when the syntax stream reads one command and the semantic stream another."""
    if len(syntax.split()) != len(semantics.split()):
        raise UsageError(f"{syntax!r} and {semantics!r} differ in length; give two commands of as many words")
    one, other = _encode_for(model, [syntax]), _encode_for(model, [semantics])
    return decode(_actions_of_streams(model, one, other, MAX_ACTIONS)[0])


def accuracy_swapping_syntax(
    model: nn.Module, commands: Sequence[str], word: str = "jump", by: str = "walk"
) -> float:
    """Percent of commands right when the syntax stream reads `by` wherever the command has `word`.

    If this is near 100 where the plain accuracy is not, the network knows the word's meaning and fails to place its
    attention.
    """
    return _accuracy(model, _swapped(commands, word, by), commands)


def accuracy_swapping_semantics(
    model: nn.Module, commands: Sequence[str], word: str = "jump", by: str = "walk"
) -> float:
    """Percent of commands right when the semantic stream reads `by` wherever the command has `word`.

    The right actions are those of what the semantic stream reads: WALK for JUMP. If this is low too, the network
    does not place its attention by `word`, whatever it means.
    """
    return _accuracy(model, commands, _swapped(commands, word, by))


def _swapped(commands: Sequence[str], word: str, by: str) -> list[str]:
    return [" ".join(by if each == word else each for each in text.split()) for text in commands]


def _accuracy(model: nn.Module, syntax: Sequence[str], semantics: Sequence[str]) -> float:
    one, other, right = _encode_for(model, syntax), _encode_for(model, semantics), 0
    for part in other.length_buckets():
        syntax, semantics = one[part].trimmed(), other[part].trimmed()
        predicted = _actions_of_streams(model, syntax, semantics, semantics.actions.shape[1])
        right += int(exactly_right(predicted, semantics.actions).sum())
    return 100 * right / len(other)


@torch.no_grad()
def role_similarity(
    model: nn.Module,
    commands: Sequence[str],
    verb: str = "jump",
    others: Sequence[str] = ("walk", "look", "run"),
) -> dict[str, dict[str, float]]:
    """Mean cosine of h_j between a verb and each other verb in its place, by the construction around it.

    Every occurrence of `verb` counts once; the rest of the command stays. Near 1, the network gives the new verb the
    role of a known one.
    """
    texts = [command.split() for command in commands]
    cases = [(text, place) for text in texts for place, word in enumerate(text) if word == verb]
    if not cases:
        raise UsageError(f"no command here contains {verb!r}; give commands that do")
    forms = []
    for text, place in cases:
        phrases, _ = parse(" ".join(text))
        forms.append(phrases[place >= len(str(phrases[0]).split())].form)

    def roles(word: str) -> Float[Tensor, "M K"]:
        """h_j of this word in place of the verb."""
        examples = _encode_for(model, [" ".join([*t[:at], word, *t[at + 1 :]]) for t, at in cases])
        found = torch.empty(len(cases), model.decoder.hidden)
        for part in examples.length_buckets():
            words, lengths, _ = examples[part].to(model.word.weight.device).tensors
            places = 1 + torch.tensor([cases[number][1] for number in part])
            found[part] = model.roles_and_query(words, lengths)[0].cpu()[torch.arange(len(part)), places]
        return found

    similarity, own = {}, roles(verb)
    for other in others:
        cosines = cosine_similarity(own, roles(other), dim=-1)
        for form in sorted(set(forms), key=lambda each: (len(each.split()), each)):
            chosen = torch.tensor([each == form for each in forms])
            similarity.setdefault(form, {})[other] = cosines[chosen].mean().item()
    return similarity
