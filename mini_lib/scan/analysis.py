"""What happens inside a trained Syntactic Attention, and where it goes wrong.

Every action is the meaning of one word of its command, its source (`grammar.derive`): of a verb, or of left and
right. A network that follows the grammar attends to that word; at the last step its output is <EOS>.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from mini_lib.errors import UsageError, check_names
from mini_lib.scan import tasks
from mini_lib.scan.grammar import DIRECTIONS, NEW_VERB, VERBS, WORDS, derive
from mini_lib.scan.syntactic_attention import SyntacticAttention
from mini_lib.scan.tasks import ACTION_IDS, EOS, SOS, WORD_IDS, Examples, encode, exactly_right

# In the order of tables and figures:
ACTIONS = (*(word.upper() for word in (*VERBS, *DIRECTIONS, NEW_VERB)), EOS)


def _encode_for(model: object, commands: Sequence[str]) -> Examples:
    """Commands as ids, on the CPU; UsageError if the network has no two streams."""
    if not isinstance(model, SyntacticAttention):
        raise UsageError(f"only a SyntacticAttention can be analyzed here, got {type(model).__name__}")
    examples = encode(commands)
    if int(examples.words.max()) >= model.vocabulary[0]:
        raise UsageError("this network does not know 'dax'; trained('syntactic_attention_dax') does")
    return examples


class CommandAttention(NamedTuple):
    """What a network does with one command of T words, its ends included, over the N steps of the right answer."""

    command: str  #: as it was given.
    words: tuple[str, ...]  #: from <SOS> to <EOS>.
    right: tuple[str, ...]  #: the right actions, then <EOS>.
    predicted: tuple[str, ...]  #: the network's action at each step.
    attention: Tensor  #: alpha_ij. [N, T]
    source: Tensor  #: position among the words of each right action's source. [N]


@torch.no_grad()
def attend(model: SyntacticAttention, command: str) -> CommandAttention:
    """Follow one command through the network.

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


@dataclass(frozen=True, eq=False)
class Steps:
    """What a network does with N commands at each of their steps, at most L; -1 where a command has no such step."""

    examples: Examples  #: the commands as ids.
    predicted: Int[Tensor, "N L"]  #: id of the network's action.
    source: Int[Tensor, "N L"]  #: position of the right action's source among the words.
    attended: Int[Tensor, "N L"]  #: position of the word with most attention.
    weight: Float[Tensor, "N L"]  #: attention on the source.

    @property
    def right(self) -> Bool[Tensor, " N"]:
        """Which commands are answered exactly."""
        return exactly_right(self.predicted, self.examples.actions)

    @property
    def exists(self) -> Bool[Tensor, "N L"]:
        """Which steps the commands have."""
        return self.examples.actions != tasks.NO_ACTION

    def of(self, *actions: str) -> Bool[Tensor, "N L"]:
        """At which steps one of these actions is right."""
        return torch.isin(self.examples.actions, torch.tensor([ACTION_IDS[action] for action in actions]))


@torch.no_grad()
def follow(model: SyntacticAttention, commands: Sequence[str]) -> Steps:
    """Follow many commands through the network, those of similar length together."""
    examples = _encode_for(model, commands)
    places = [torch.tensor(source_positions(command)) for command in commands]
    source = nn.utils.rnn.pad_sequence(places, batch_first=True, padding_value=-1)
    predicted, attended, weight = source.clone(), source.clone(), source.float()  # -1 stays at padding
    for part in examples.length_buckets():
        words, lengths, actions = examples[part].trimmed().to(model.word.weight.device).tensors
        trace = model.trace(words, lengths, actions.shape[1])
        exists = source[part, : actions.shape[1]] >= 0
        at = part[exists.nonzero()[:, 0]], exists.nonzero()[:, 1]
        attention = trace.attention.float().cpu()[exists]  # [steps, T]
        predicted[at] = trace.logits.argmax(dim=-1).cpu()[exists]
        attended[at] = attention.argmax(dim=-1)
        weight[at] = attention.gather(1, source[at][:, None])[:, 0]
    return Steps(examples, predicted, source, attended, weight)


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
def dictionary(model: SyntacticAttention) -> Dictionary:
    """The probability of every action when all attention is on one word: softmax f(m_j)."""
    if not isinstance(model, SyntacticAttention) or model.sequence is not None or model.syntax_action:
        raise UsageError("only a SyntacticAttention whose actions depend on one word alone has a dictionary")
    words = [word for word in (*WORDS, NEW_VERB, SOS, EOS) if WORD_IDS[word] < model.vocabulary[0]]
    actions = [action for action in (*ACTIONS, SOS) if ACTION_IDS[action] < model.vocabulary[1]]
    logits = model.logits(torch.eye(model.vocabulary[0]).to(model.meaning.weight), model.meaning.weight).cpu()
    chosen = logits.softmax(dim=-1)[[WORD_IDS[word] for word in words]]
    return Dictionary(tuple(words), tuple(actions), chosen[:, [ACTION_IDS[action] for action in actions]])


@torch.no_grad()
def _actions_of_streams(
    model: SyntacticAttention, syntax: Examples, semantics: Examples, steps: int
) -> Int[Tensor, "B N"]:
    """The most probable actions when the streams read different batches of commands."""
    syntax, semantics = (each.to(model.word.weight.device) for each in (syntax, semantics))
    placed = model.trace(syntax.words, syntax.lengths, steps)
    meanings = model.trace(semantics.words, semantics.lengths, 1).meanings
    return model.logits(placed.attention, meanings, placed.roles).argmax(dim=-1).cpu()


def two_commands(model: SyntacticAttention, syntax: str, semantics: str) -> list[str]:
    """The actions, up to <EOS>, when the syntax stream reads one command and the semantic stream another."""
    if len(syntax.split()) != len(semantics.split()):
        raise UsageError(f"{syntax!r} and {semantics!r} differ in length; give two commands of as many words")
    one, other = _encode_for(model, [syntax]), _encode_for(model, [semantics])
    return tasks.decode(_actions_of_streams(model, one, other, tasks.MAX_ACTIONS)[0])


def accuracy_swapping(
    model: SyntacticAttention, commands: Sequence[str], stream: str, word: str = "jump", by: str = "walk"
) -> float:
    """Percent of commands right when one stream reads `by` wherever the command has `word`.

    With the stream "syntax": if this is near 100 where the plain accuracy is not, the network knows the word's
    meaning and fails to place its attention. With "semantics" the right actions are those of what that stream reads,
    WALK for JUMP: if this is low too, the network does not place its attention by `word`, whatever it means.
    """
    check_names("stream", [stream], ("syntax", "semantics"))
    swapped = [" ".join(by if each == word else each for each in text.split()) for text in commands]
    read = {"syntax": commands, "semantics": commands} | {stream: swapped}
    syntax, semantics = (_encode_for(model, texts) for texts in read.values())
    right = 0
    for part in semantics.length_buckets():
        asked = semantics[part].trimmed()
        predicted = _actions_of_streams(model, syntax[part].trimmed(), asked, asked.actions.shape[1])
        right += int(exactly_right(predicted, asked.actions).sum())
    return 100 * right / len(semantics)
