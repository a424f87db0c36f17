"""Where Syntactic Attention looks: in one command step by step, and in many as counts.

Every action is the meaning of one word of its command (`grammar.derive`): of a verb, or of left and right. A network
that follows the grammar attends to that word, the action's own word; at the last step it has <EOS> to say.
"""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor, nn

from mini_lib.errors import UsageError
from mini_lib.scan.analysis.tables import Share, Table, count_table, share_of
from mini_lib.scan.grammar import CONJUNCTIONS, DIRECTIONS, MANNERS, NEW_VERB, TIMES, VERBS, WORDS, derive
from mini_lib.scan.models import SyntacticAttention
from mini_lib.scan.tasks import ACTION_IDS, EOS, NO_ACTION, SOS, WORD_IDS, Examples, encode, exactly_right

WORD_NAMES, ACTION_NAMES = tuple(WORD_IDS), tuple(ACTION_IDS)
VERB_ACTIONS = tuple(verb.upper() for verb in (*VERBS, NEW_VERB))
TURNS = tuple(direction.upper() for direction in DIRECTIONS)
ACTIONS = (*VERB_ACTIONS[:-1], *TURNS, VERB_ACTIONS[-1], EOS)  # in the order of tables and figures
ROWS = {ACTION_IDS[action]: row for row, action in enumerate(ACTIONS)}


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

    command: str
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


# ------------------------------------------------------------------------------------------------ many commands

KINDS = {
    "another verb": (*VERBS, NEW_VERB),
    "turn": ("turn",),
    "another direction": DIRECTIONS,
    "opposite, around": MANNERS,
    "twice, thrice": tuple(TIMES),
    "and, after": CONJUNCTIONS,
    SOS: (SOS,),
    EOS: (EOS,),
}
OWN, SAME = "its own word", "the same word elsewhere"
LOOKED_AT = (OWN, SAME, *KINDS)
KIND_OF = {WORD_IDS[word]: LOOKED_AT.index(kind) for kind, words in KINDS.items() for word in words}


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

    def words_at(self, places: Int[Tensor, "N L"]) -> Int[Tensor, "N L"]:
        """Numbers of the words at these places; that of the first word where there is no step."""
        return self.examples.words.gather(1, places.clamp(min=0))


@torch.no_grad()
def follow(model: nn.Module, commands: Sequence[str]) -> Steps:
    """Follow many commands through the network, those of like length together; the tables below start from this."""
    examples, device = encode_for(model, commands), device_of(model)
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

    all: Share  #: of all steps but the ends.
    verbs: Share  #: where a verb's action is right.
    turns: Share  #: where LEFT or RIGHT is right.
    end: Share  #: where <EOS> is right, and <EOS> is looked at.
    when_right: Share  #: of the steps but the ends, in commands that are answered exactly.
    when_wrong: Share  #: the same in the other commands.
    by_action: dict[str, Share]  #: for each action; JUMP tells of a held-out jump.
    end_looks: dict[str, int]  #: how often each word has most attention at the end, the most frequent first.
    weight: float  #: mean attention on the own word, over all steps but the ends.


def own_word(steps: Steps) -> OwnWord:
    """How often attention is on the own word, over the steps of all these commands."""
    hits, end = steps.looked == steps.own, steps.of(EOS)
    acts, right = steps.there & ~end, steps.right[:, None]
    looks = torch.bincount(steps.words_at(steps.looked)[end], minlength=len(WORD_NAMES))
    order = torch.argsort(looks, descending=True, stable=True).tolist()
    by_action = {action: share_of(hits, steps.of(action)) for action in ACTIONS}
    return OwnWord(
        all=share_of(hits, acts),
        verbs=share_of(hits, steps.of(*VERB_ACTIONS)),
        turns=share_of(hits, steps.of(*TURNS)),
        end=share_of(hits, end),
        when_right=share_of(hits, acts & right),
        when_wrong=share_of(hits, acts & ~right),
        by_action={action: share for action, share in by_action.items() if share.count},
        end_looks={WORD_NAMES[word]: int(looks[word]) for word in order if looks[word]},
        weight=steps.weight[acts].mean().item(),
    )


def looked_at(steps: Steps) -> Table:
    """Right action by the kind of word that has most attention.

    A word that means the same action but stands elsewhere, as the second "jump" of "jump and jump", is a column of
    its own: looking there gives the right action for a wrong reason.
    """
    there = steps.there
    seen, own = steps.words_at(steps.looked), steps.words_at(steps.own)
    kind = torch.tensor([KIND_OF.get(word, 0) for word in range(len(WORD_NAMES))])[seen]
    kind = torch.where(seen == own, LOOKED_AT.index(SAME), kind)
    kind = torch.where(steps.looked == steps.own, LOOKED_AT.index(OWN), kind)
    return count_table(ACTIONS, LOOKED_AT, rows_of(steps.examples.actions[there]), kind[there])


def rows_of(actions: Int[Tensor, "*M"]) -> Int[Tensor, "*M"]:
    """Numbers of actions as places in `ACTIONS`, which has no <SOS>."""
    return torch.tensor([ROWS.get(action, -1) for action in range(len(ACTION_NAMES))])[actions]
