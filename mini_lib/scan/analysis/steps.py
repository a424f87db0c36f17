"""What Syntactic Attention does at every step of many commands: where it looks, and whether that is right."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor, nn

from mini_lib.scan.analysis.attention import (
    ACTION_NAMES,
    ACTIONS,
    TURNS,
    VERB_ACTIONS,
    WORD_NAMES,
    device_of,
    encode_for,
    own_places,
)
from mini_lib.scan.analysis.tables import Share, Table, count_table, share_of
from mini_lib.scan.grammar import CONJUNCTIONS, DIRECTIONS, MANNERS, NEW_VERB, TIMES, VERBS
from mini_lib.scan.tasks import ACTION_IDS, EOS, NO_ACTION, SOS, WORD_IDS, Examples, exactly_right

ROWS = {ACTION_IDS[action]: row for row, action in enumerate(ACTIONS)}
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
