"""Where Syntactic Attention looks in one command, and what every word says alone.

Every action is the meaning of one word of its command (`grammar.derive`): of a verb, or of left and right. A network
that follows the grammar attends to that word, the action's own word; at the last step it has <EOS> to say.
"""

from functools import cache
from pathlib import Path
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from mini_lib.errors import UsageError
from mini_lib.scan.grammar import DIRECTIONS, NEW_VERB, VERBS, WORDS, derive
from mini_lib.scan.models import SyntacticAttention
from mini_lib.scan.runs import Settings
from mini_lib.scan.tasks import ACTION_IDS, EOS, SOS, WORD_IDS, Examples, encode
from mini_lib.weights import read_network

READER = Path(__file__).parents[1] / "weights" / "syntactic_attention_add_jump.safetensors"
WORD_NAMES, ACTION_NAMES = tuple(WORD_IDS), tuple(ACTION_IDS)
VERB_ACTIONS = tuple(verb.upper() for verb in (*VERBS, NEW_VERB))
TURNS = tuple(direction.upper() for direction in DIRECTIONS)
ACTIONS = (*VERB_ACTIONS[:-1], *TURNS, VERB_ACTIONS[-1], EOS)  # in the order of tables and figures


def reader_network(path: Path = READER) -> tuple[SyntacticAttention, dict]:
    """The trained network for readers, and what its file says of it: settings, seed, metrics, command.

    Raises:
        FileNotFoundError: if there is no such file.
        CorruptFileError: if the file is damaged.
    """
    return read_network(Settings, path)


def check(model: nn.Module) -> SyntacticAttention:
    """The network itself, if it is one that can be looked into here.

    Raises:
        UsageError: for a network that is no Syntactic Attention.
    """
    if not isinstance(model, SyntacticAttention):
        raise UsageError(
            f"only Syntactic Attention has two streams to look into, this network is a {type(model).__name__}; "
            "give a SyntacticAttention"
        )
    return model


# ------------------------------------------------------------------------------------------------ one command


def words_of(model: SyntacticAttention) -> tuple[str, ...]:
    """The words of commands that the network has: the fifth verb if it was trained on the split add_dax."""
    return tuple(word for word in (*WORDS, NEW_VERB) if WORD_IDS[word] < model.meaning.num_embeddings)


def known(model: SyntacticAttention, examples: Examples) -> Examples:
    """The examples themselves; UsageError if a word of theirs is not in the network's vocabulary."""
    if int(examples.words.max()) >= model.meaning.num_embeddings:
        raise UsageError(
            f"this network has no place for {NEW_VERB!r}, as it was not trained on the split add_dax; leave it out"
        )
    return examples


def device_of(model: nn.Module) -> torch.device:
    """The device on which the network lies; examples go there, and what is measured comes back to the CPU."""
    return next(model.parameters()).device


class Attended(NamedTuple):
    """What a network does with one command of T words, its ends included, over the N steps of the right answer.

    Attributes:
        command: the command.
        words: from <SOS> to <EOS>.
        right: the right actions, then <EOS>.
        predicted: the network's action at each step.
        attention: alpha_ij. [N, T]
        own: the place among the words of each right action's own word. [N]
    """

    command: str
    words: tuple[str, ...]
    right: tuple[str, ...]
    predicted: tuple[str, ...]
    attention: Tensor
    own: Tensor


@torch.no_grad()
def attend(model: nn.Module, command: str) -> Attended:
    """Follow one command through the network.

    Raises:
        UsageError: for what is no SCAN command; for another network.
    """
    words, lengths, actions = known(check(model), encode([command]))
    device = device_of(model)
    trace = model.trace(words.to(device), lengths.to(device), actions.shape[1])
    return Attended(
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


def speak(
    model: SyntacticAttention,
    attention: Float[Tensor, "*B N T"],
    meanings: Float[Tensor, "*B T M"],
    roles: Float[Tensor, "*B T K"] | None,
) -> Float[Tensor, "*B N A"]:
    """The logits of actions, from attention weights and what they are laid on (equation 3)."""
    said = attention @ meanings
    if model.hidden is not None:
        said = torch.relu(model.hidden(torch.relu(said)))
    if model.syntax_action:
        said = torch.cat([said, attention @ roles], dim=-1)
    return model.action(said)


@torch.no_grad()
def dictionary(model: nn.Module) -> Dictionary:
    """The probability of every action when all attention is on one word: softmax f(m_j).

    Raises:
        UsageError: for a network whose words mean nothing by themselves; for another network.
    """
    model = check(model)
    for broken, name in (
        (model.sequence is not None, "sequential semantics"),
        (model.syntax_action, "syntax-action"),
    ):
        if broken:
            raise UsageError(
                f"with {name} the action does not depend on the attended word alone, so there is no dictionary; "
                "give a network whose two streams are kept apart"
            )
    size, spoken = model.meaning.num_embeddings, model.action.out_features
    words = [*words_of(model), SOS, EOS]
    actions = [action for action in (*ACTIONS, SOS) if ACTION_IDS[action] < spoken]
    logits = speak(model, torch.eye(size, device=device_of(model)), model.meaning.weight, None).cpu()
    chosen = logits.softmax(dim=-1)[[WORD_IDS[word] for word in words]]
    return Dictionary(tuple(words), tuple(actions), chosen[:, [ACTION_IDS[action] for action in actions]])
