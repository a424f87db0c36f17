"""SCAN's splits, and commands and actions as tensors.

Every split is a rule over the commands of the grammar; only the simple split is drawn at random, and its order is
stored. Numbers of words and actions are those of the code that the authors released, so that weights carry over.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from mini_lib.errors import UsageError, unknown_name_error
from mini_lib.scan.grammar import NEW_VERB, VERBS, commands, interpret, phrases
from mini_lib.seeding import numpy_rng

SOS, EOS, PAD = "<SOS>", "<EOS>", "<NULL>"
RELEASED_WORDS = (
    f"{SOS} jump opposite right twice and turn thrice {EOS} run left after walk around look {PAD}"
)
RELEASED_ACTIONS = f"{SOS} RIGHT JUMP {EOS} WALK LEFT RUN LOOK"
WORD_IDS = {word: number for number, word in enumerate([*RELEASED_WORDS.split(), NEW_VERB])}
ACTION_IDS = {action: number for number, action in enumerate([*RELEASED_ACTIONS.split(), NEW_VERB.upper()])}
WORD_COUNT, ACTION_COUNT = 16, 8  # without the fifth verb, as released
NO_ACTION = ACTION_IDS[SOS]  # pads actions; it is never a target
# Of a command with its start and its end, and of its actions with their end:
MOST_WORDS, MOST_ACTIONS = 11, 49
# A held-out primitive is shown alone, once for every 9 other commands: a tenth of the file.
PRIMITIVE_SHARE = 9
SIMPLE_TRAIN = 16_728
TOGETHER = 512  # commands that a network is asked at a time
SIMPLE_ORDER = Path(__file__).with_name("simple_order.npz")


class Split(NamedTuple):
    """Training and test commands; a training command may be there many times."""

    train: tuple[str, ...]  #: commands to learn from.
    test: tuple[str, ...]  #: commands to be tested on.


class Examples(NamedTuple):
    """N commands and their actions as numbers.

    Example:
        >>> words, lengths, actions = encode(["jump", "walk left twice"])
        >>> words
        tensor([[ 0,  1,  8, 15, 15],
                [ 0, 12, 10,  4,  8]])
        >>> decode(actions[1])
        ['LEFT', 'WALK', 'LEFT', 'WALK']
    """

    words: Int[Tensor, "N T"]  #: from <SOS> to <EOS>, then padding.
    lengths: Int[Tensor, "N"]  #: words of each command, <SOS> and <EOS> included.
    actions: Int[Tensor, "N L"]  #: the actions and <EOS>, then `NO_ACTION`.

    def __getitem__(self, which) -> "Examples":
        """Index by slice, integer or boolean tensor."""
        return Examples(*(part[which] for part in tuple(self)))

    def to(self, device: torch.device | str) -> "Examples":
        """The same examples on a device."""
        return Examples(*(part.to(device) for part in tuple(self)))

    def trimmed(self) -> "Examples":
        """Without padding that no command here needs."""
        steps = int((self.actions != NO_ACTION).sum(dim=1).max())
        return Examples(self.words[:, : int(self.lengths.max())], self.lengths, self.actions[:, :steps])

    def of_like_length(self) -> Iterator[Int[Tensor, " M"]]:
        """Numbers of examples, `TOGETHER` at a time and sorted by length: so little is computed for padding."""
        return iter(torch.argsort((self.actions != NO_ACTION).sum(dim=1)).split(TOGETHER))


def encode(texts: Sequence[str]) -> Examples:
    """Commands, with what they mean, as tensors padded to the longest."""
    if isinstance(texts, str):
        raise UsageError(f"give a list of commands, such as [{texts!r}]")
    if not texts:
        raise UsageError("there is no command to encode")
    actions = [torch.tensor(_action_ids(text)) for text in texts]
    words = [torch.tensor(_word_ids(text)) for text in texts]
    pad = partial(torch.nn.utils.rnn.pad_sequence, batch_first=True)
    lengths = torch.tensor([len(each) for each in words])
    return Examples(pad(words, padding_value=WORD_IDS[PAD]), lengths, pad(actions, padding_value=NO_ACTION))


@cache
def _word_ids(text: str) -> list[int]:
    return [WORD_IDS[word] for word in (SOS, *text.split(), EOS)]


@cache
def _action_ids(text: str) -> list[int]:
    return [ACTION_IDS[action] for action in (*interpret(text), EOS)]


def padded(examples: Examples) -> Examples:
    """The same examples at the size of the longest command there is, so that shapes do not depend on data."""
    words, lengths, actions = examples
    return Examples(
        torch.nn.functional.pad(words, (0, MOST_WORDS - words.shape[1]), value=WORD_IDS[PAD]),
        lengths,
        torch.nn.functional.pad(actions, (0, MOST_ACTIONS - actions.shape[1]), value=NO_ACTION),
    )


def decode(actions: Int[Tensor, " L"]) -> list[str]:
    """The names of actions up to <EOS>."""
    numbers, names = actions.tolist(), {number: action for action, number in ACTION_IDS.items()}
    if ACTION_IDS[EOS] in numbers:
        numbers = numbers[: numbers.index(ACTION_IDS[EOS])]
    for number in numbers:
        if number not in range(len(names)):
            raise UsageError(
                f"{number} is no action; give the actions of one command as numbers from 0 to {len(names) - 1}"
            )
    return [names[number] for number in numbers]


def exactly_right(predicted: Int[Tensor, "N L"], actions: Int[Tensor, "N L"]) -> Bool[Tensor, " N"]:
    """Which commands are answered with every action right, and with <EOS> right after the last."""
    return ((predicted == actions) | (actions == NO_ACTION)).all(dim=1)


# ------------------------------------------------------------------------------------------------ splits


def action_count(command: str) -> int:
    """How many actions a command asks for."""
    return len(_action_ids(command)) - 1


@cache
def simple_order() -> tuple[str, ...]:
    """All commands in the hidden order of the released files: the simple split's for training, then for the test."""
    every = commands()
    return tuple(every[number] for number in np.load(SIMPLE_ORDER)["order"])


def _simple() -> Split:
    return Split(simple_order()[:SIMPLE_TRAIN], simple_order()[SIMPLE_TRAIN:])


def _length() -> Split:
    """Up to 22 actions for training, 24 and more for the test; sorted by length, as the released files are.

    A command has the actions of its one or two phrases, of which there are 102: far fewer than commands to parse.
    """
    counts = {str(phrase): action_count(str(phrase)) for phrase in phrases()}
    lengths = {c: sum(counts[phrase] for phrase in re.split(" and | after ", c)) for c in simple_order()}
    ordered = sorted(lengths, key=lengths.__getitem__)
    return Split(tuple(c for c in ordered if lengths[c] <= 22), tuple(c for c in ordered if lengths[c] > 22))


def _without(*primitives: str, order: Sequence[str] | None = None) -> Split:
    """Test on what holds a primitive, but for itself alone; train on the rest, a tenth of it each primitive.

    What holds two of them is in neither part. The released training files are in a random order; so is this, in one
    of our own.
    """
    order = simple_order() if order is None else order
    held = {command: sum(has(command, primitive) for primitive in primitives) for command in order}
    rest = [command for command in order if not held[command]]
    test = [command for command in order if held[command] == 1 and command not in primitives]
    train = rest + [primitive for primitive in primitives for _ in range(len(rest) // PRIMITIVE_SHARE)]
    mixed = numpy_rng(0, "order", *primitives).permutation(len(train))
    return Split(tuple(train[number] for number in mixed), tuple(test))


def _with_dax() -> tuple[str, ...]:
    """All of SCAN, and all that can be said with a fifth verb."""
    return (
        *simple_order(),
        *(command for command in commands((*VERBS, NEW_VERB)) if has(command, NEW_VERB)),
    )


def _add_dax() -> Split:
    """A fifth verb shown alone, beside all of SCAN; tested in every other construction."""
    return _without(NEW_VERB, order=_with_dax())


def _add_jump_and_dax() -> Split:
    """Two verbs shown alone, one of SCAN's and a fifth."""
    return _without("jump", NEW_VERB, order=_with_dax())


def has(command: str, words: str) -> bool:
    """Whether these words stand side by side in the command."""
    return f" {words} " in f" {command} "


def _template(held_out: str, verbs: tuple[str, ...]) -> Split:
    """Test on "verb held_out" for these verbs (Loula et al. 2018); "turn held_out" is in neither part."""
    known = [command for command in simple_order() if not has(command, f"turn {held_out}")]
    test = [command for command in known if any(has(command, f"{verb} {held_out}") for verb in verbs)]
    tested = set(test)
    return Split(tuple(command for command in known if command not in tested), tuple(test))


def _filler(fillers: int) -> Split:
    """Test on "jump around right"; train with this many of look, walk and run before "around right"."""
    unseen = ("look", "walk", "run")[fillers:]
    kept = _template("around right", (*unseen, "jump")).train
    return Split(kept, get_split("template_jump_around_right").test)


def _size(percent: int) -> Split:
    train = int(len(simple_order()) * percent / 100)
    return Split(simple_order()[:train], simple_order()[train:])


def _few_shot(count: int, seed: int) -> Split:
    """The filler split without fillers, and `count` more commands with "verb around right", drawn by `seed`."""
    none, test = get_split("filler_0")
    pool = sorted(set(get_split("filler_3").train) - set(none))
    drawn = numpy_rng(seed, "few shot", count).choice(len(pool), count, replace=False)
    return Split((*none, *(pool[number] for number in drawn)), test)


SPLITS: dict[str, Callable[[], Split]] = {
    "simple": _simple,
    "length": _length,
    "add_jump": partial(_without, "jump"),
    "add_turn_left": partial(_without, "turn left"),
    "add_dax": _add_dax,
    "add_jump_and_dax": _add_jump_and_dax,
    "template_right": partial(_template, "right", VERBS),
    "template_opposite_right": partial(_template, "opposite right", VERBS),
    "template_around_right": partial(_template, "around right", VERBS),
    "template_jump_around_right": partial(_template, "around right", ("jump",)),
    **{f"filler_{fillers}": partial(_filler, fillers) for fillers in range(4)},
    **{f"size_{percent}": partial(_size, percent) for percent in (1, 2, 4, 8, 16, 32, 64)},
}
FEW_SHOT = tuple(2**power for power in range(11))


@cache
def get_split(name: str) -> Split:
    """The commands of a split of `SPLITS`, or of "few_shot_N_S": N of 1, 2, 4 ... 1024 commands, drawn by seed S.

    (The released few-shot files were drawn at random too, and differently.)

    Example:
        >>> train, test = get_split("add_jump")
        >>> len(train), len(test), train.count("jump"), "jump twice" in test
        (14670, 7706, 1467, True)
    """
    if match := re.fullmatch(r"few_shot_(\d+)_(\d+)", name):
        count, seed = map(int, match.groups())
        if count not in FEW_SHOT:
            raise UsageError(f"few-shot splits have {', '.join(map(str, FEW_SHOT))} examples, not {count}")
        return _few_shot(count, seed)
    if name not in SPLITS:
        raise unknown_name_error("split", name, [*SPLITS, "few_shot_8_1"])
    return SPLITS[name]()
