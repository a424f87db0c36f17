"""Episodes for meta-seq2seq (Lake 2019): another task than SCAN's splits.

In each training episode the four verbs mean each other's actions, and a support set of commands with their actions
shows which. A network that is trained on many episodes learns to read meanings from the support set. Here "jump" is
seen in every construction in training. Left out is only the assignment in which all four verbs keep their actions.
So the score on the add-jump test is not to be compared with that of a network that learned the add-jump split.
"""

from functools import cache
from itertools import permutations
from typing import NamedTuple

import torch

from mini_lib.errors import UsageError
from mini_lib.scan.grammar import VERBS, commands
from mini_lib.scan.tasks import ACTION_COUNT, ACTION_IDS, Examples, encode, get_split, padded
from mini_lib.seeding import numpy_rng

SHOWN = ASKED = 20  # commands in the support set, and queries beside it


class Episode(NamedTuple):
    """A support set, whose actions the network sees, and queries, whose actions it has to find."""

    support: Examples  #: commands whose actions are shown.
    query: Examples  #: commands whose actions are to be found.

    def to(self, device: torch.device | str) -> "Episode":
        """The same episode on a device."""
        return Episode(self.support.to(device), self.query.to(device))


def meanings() -> list[dict[str, str]]:
    """The 23 wrong assignments of the verbs to their actions: verb -> the action that it now means."""
    actions = tuple(verb.upper() for verb in VERBS)
    return [dict(zip(VERBS, each, strict=True)) for each in permutations(actions) if each != actions]


def with_meaning(examples: Examples, meaning: dict[str, str]) -> Examples:
    """The same commands with the actions that they ask for if each verb means the action that is given for it."""
    actions = sorted(verb.upper() for verb in VERBS)
    if sorted(meaning) != sorted(VERBS) or sorted(meaning.values()) != actions:
        raise UsageError(f"a meaning gives each of {', '.join(VERBS)} an action of its own; got {meaning}")
    numbers = torch.arange(ACTION_COUNT)  # by number of an action: that of what stands there now
    for verb, action in meaning.items():
        numbers[ACTION_IDS[verb.upper()]] = ACTION_IDS[action]
    return examples._replace(actions=numbers[examples.actions])


_every_command = cache(commands)


def training_episode(seed: int, number: int, shown: int = SHOWN, asked: int = ASKED) -> Episode:
    """Episode `number` of a run: `shown` and `asked` different commands of all SCAN, under a wrong meaning.

    The support set is asked for, too, after the queries. All episodes have the same shapes.

    Example:
        >>> support, query = training_episode(seed=1, number=0, shown=3, asked=2)
        >>> support.words.shape, query.actions.shape
        (torch.Size([3, 11]), torch.Size([5, 49]))
    """
    every = _every_command()
    if min(shown, asked) < 1 or shown + asked > len(every):
        raise UsageError(f"an episode takes 1 to {len(every)} commands, not {shown} and {asked}")
    rng = numpy_rng(seed, "episode", number)
    meaning = meanings()[rng.integers(len(meanings()))]
    drawn = rng.choice(len(every), shown + asked, replace=False)
    chosen = with_meaning(padded(encode([every[place] for place in drawn])), meaning)
    return Episode(chosen[asked:], chosen)


def add_jump_episode() -> Episode:
    """The four verbs alone, with their own actions, then the test commands of the add-jump split."""
    return Episode(encode(VERBS), encode(get_split("add_jump").test))
