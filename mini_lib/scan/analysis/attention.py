"""Where Syntactic Attention looks in one command, and what every word says alone.

Every action is the meaning of one word of its command (`grammar.derive`): of a verb, or of left and right. A network
that follows the grammar attends to that word, the action's own word; at the last step it has <EOS> to say.
"""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor, nn

from mini_lib.errors import UsageError
from mini_lib.scan.grammar import DIRECTIONS, NEW_VERB, VERBS, WORDS, derive
from mini_lib.scan.models import SyntacticAttention
from mini_lib.scan.tasks import ACTION_IDS, EOS, SOS, WORD_IDS, Examples, encode

WORD_NAMES, ACTION_NAMES = tuple(WORD_IDS), tuple(ACTION_IDS)
VERB_ACTIONS = tuple(verb.upper() for verb in (*VERBS, NEW_VERB))
TURNS = tuple(direction.upper() for direction in DIRECTIONS)
ACTIONS = (*VERB_ACTIONS[:-1], *TURNS, VERB_ACTIONS[-1], EOS)  # in the order of tables and figures


def streams_of(model: nn.Module) -> SyntacticAttention:
    """The network itself; UsageError for one that is no Syntactic Attention and has no two streams to look into."""
    if not isinstance(model, SyntacticAttention):
        raise UsageError(
            f"only Syntactic Attention has two streams to look into, this network is a {type(model).__name__}; "
            "give a SyntacticAttention"
        )
    return model


def encode_for(model: nn.Module, commands: Sequence[str]) -> Examples:
    """Commands as numbers, on the CPU."""
    examples = encode(commands)
    if int(examples.words.max()) >= streams_of(model).meaning.num_embeddings:
        raise UsageError(
            f"this network has no place for {NEW_VERB!r}, as it was not trained on the split add_dax; leave it out"
        )
    return examples


def words_of(model: SyntacticAttention) -> tuple[str, ...]:
    """The words of commands that the network has: the fifth verb if it was trained on the split add_dax."""
    return tuple(word for word in (*WORDS, NEW_VERB) if WORD_IDS[word] < model.meaning.num_embeddings)


def device_of(model: nn.Module) -> torch.device:
    """The device on which the network lies; examples go there, and what is measured comes back to the CPU."""
    return next(model.parameters()).device


# ------------------------------------------------------------------------------------------------ one command


class CommandAttention(NamedTuple):
    """What a network does with one command of T words, its ends included, over the N steps of the right answer."""

    command: str  #: the command.
    words: tuple[str, ...]  #: from <SOS> to <EOS>.
    right: tuple[str, ...]  #: the right actions, then <EOS>.
    predicted: tuple[str, ...]  #: the network's action at each step.
    attention: Tensor  #: alpha_ij. [N, T]
    own: Tensor  #: the place among the words of each right action's own word. [N]


@torch.no_grad()
def attend(model: nn.Module, command: str) -> CommandAttention:
    """Follow one command through the network."""
    words, lengths, actions = encode_for(model, [command]).to(device_of(model))
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


# ------------------------------------------------------------------------------------------------ words alone


class Dictionary(NamedTuple):
    """What each word says alone. probabilities: [words, actions], every row sums to 1."""

    words: tuple[str, ...]
    actions: tuple[str, ...]
    probabilities: Tensor

    def says(self) -> dict[str, str]:
        """The most probable action of each word."""
        best = self.probabilities.argmax(dim=1).tolist()
        return {word: self.actions[action] for word, action in zip(self.words, best, strict=True)}


@torch.no_grad()
def dictionary(model: nn.Module) -> Dictionary:
    """The probability of every action when all attention is on one word: softmax f(m_j)."""
    model = streams_of(model)
    for broken, name in (
        (model.sequence is not None, "sequential semantics"),
        (model.syntax_action, "syntax-action"),
    ):
        if broken:
            raise UsageError(
                f"with {name} the action does not depend on the attended word alone, so there is no dictionary; "
                "give a network whose two streams are kept apart"
            )
    words = [*words_of(model), SOS, EOS]
    actions = [action for action in (*ACTIONS, SOS) if ACTION_IDS[action] < model.action.out_features]
    one_word = torch.eye(model.meaning.num_embeddings, device=device_of(model))
    logits = model.say(one_word, model.meaning.weight).cpu()
    chosen = logits.softmax(dim=-1)[[WORD_IDS[word] for word in words]]
    return Dictionary(tuple(words), tuple(actions), chosen[:, [ACTION_IDS[action] for action in actions]])
