"""SCAN's splits, commands and actions as tensors, and what all networks share: types of tensors, checks, masks.

Every split is a rule over the commands of the grammar; only the simple split is drawn at random, and its order is
stored. Ids of words and actions are those of the code that the authors released, so that weights carry over.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from mini_lib.errors import UsageError, check_names, check_positive_int
from mini_lib.module import Noise, holds
from mini_lib.scan.grammar import NEW_VERB, VERBS, action_count, commands, contains_phrase, interpret
from mini_lib.seeding import numpy_rng

SOS, EOS, PAD = "<SOS>", "<EOS>", "<NULL>"
RELEASED_WORDS = (
    f"{SOS} jump opposite right twice and turn thrice {EOS} run left after walk around look {PAD}"
)
RELEASED_ACTIONS = f"{SOS} RIGHT JUMP {EOS} WALK LEFT RUN LOOK"
WORD_IDS = {word: number for number, word in enumerate([*RELEASED_WORDS.split(), NEW_VERB])}
ACTION_IDS = {action: number for number, action in enumerate([*RELEASED_ACTIONS.split(), NEW_VERB.upper()])}
WORD_COUNT, ACTION_COUNT = 16, 8  # without the fifth verb, as released
NO_ACTION, END = ACTION_IDS[SOS], ACTION_IDS[EOS]  # NO_ACTION pads actions; it is never a target
# Of a command with its start and its end, and of its actions with their end:
MAX_WORDS, MAX_ACTIONS = 11, 49
# A held-out primitive is shown alone, once for every 9 other commands: a tenth of the file.
PRIMITIVE_SHARE = 9
SIMPLE_TRAIN, LENGTH_TRAIN = 16_728, 22  # commands of one split for training, actions of the other
EVAL_BATCH = 512  # commands per batch in evaluation

Words = Int[Tensor, "B T"]
Lengths = Int[Tensor, "B"]
Actions = Int[Tensor, "B L"]
Logits = Float[Tensor, "B L A"]


@dataclass(frozen=True, eq=False)
class Examples:
    """N commands and their actions as ids; a data set for `torch.utils.data.DataLoader`.

    Example:
        >>> words, lengths, actions = encode(["jump", "walk left twice"]).tensors
        >>> words
        tensor([[ 0,  1,  8, 15, 15],
                [ 0, 12, 10,  4,  8]])
        >>> decode(actions[1])
        ['LEFT', 'WALK', 'LEFT', 'WALK']
    """

    words: Int[Tensor, "N T"]  #: from <SOS> to <EOS>, then padding.
    lengths: Int[Tensor, "N"]  #: words of each command, <SOS> and <EOS> included.
    actions: Int[Tensor, "N L"]  #: the actions and <EOS>, then `NO_ACTION`.

    @property
    def tensors(self) -> tuple[Tensor, Tensor, Tensor]:
        """(words, lengths, actions), the arguments of a network's `forward`."""
        return self.words, self.lengths, self.actions

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, index: Any) -> Any:
        """One command as a tuple of tensors for an integer, `Examples` for a slice or a tensor."""
        words, lengths, actions = (part[index] for part in self.tensors)
        return Examples(words, lengths, actions) if lengths.dim() else (words, lengths, actions)

    def to(self, device: torch.device | str) -> "Examples":
        """The same examples on a device."""
        return Examples(*(part.to(device) for part in self.tensors))

    def trimmed(self) -> "Examples":
        """The same examples without padding that no command here needs."""
        steps = int((self.actions != NO_ACTION).sum(dim=1).max())
        return Examples(self.words[:, : int(self.lengths.max())], self.lengths, self.actions[:, :steps])

    def padded(self) -> "Examples":
        """The same examples at the size of the longest command of SCAN, so that shapes do not depend on data."""
        words = F.pad(self.words, (0, MAX_WORDS - self.words.shape[1]), value=WORD_IDS[PAD])
        actions = F.pad(self.actions, (0, MAX_ACTIONS - self.actions.shape[1]), value=NO_ACTION)
        return Examples(words, self.lengths, actions)

    def length_buckets(self) -> Iterator[Int[Tensor, " M"]]:
        """Indices of examples, sorted by length, `EVAL_BATCH` at a time: little is computed for padding."""
        return iter(torch.argsort((self.actions != NO_ACTION).sum(dim=1)).split(EVAL_BATCH))


def encode(texts: Sequence[str]) -> Examples:
    """Encode commands, with the actions that they ask for, as tensors padded to the longest.

    Actions are padded with `NO_ACTION`, 0: pass `ignore_index=0` to a loss of your own, or use
    `syntactic_attention.loss`.
    """
    if isinstance(texts, str) or not len(texts) or not all(isinstance(text, str) for text in texts):
        raise UsageError(f"give a list of commands, such as ['jump twice', 'walk']; got {texts!r}")
    actions = [torch.tensor(_action_ids(text)) for text in texts]
    words = [torch.tensor([WORD_IDS[word] for word in (SOS, *text.split(), EOS)]) for text in texts]
    pad = partial(nn.utils.rnn.pad_sequence, batch_first=True)
    lengths = torch.tensor([len(each) for each in words])
    return Examples(pad(words, padding_value=WORD_IDS[PAD]), lengths, pad(actions, padding_value=NO_ACTION))


@cache
def _action_ids(text: str) -> tuple[int, ...]:
    return tuple(ACTION_IDS[action] for action in (*interpret(text), EOS))


def decode(actions: Int[Tensor, " L"]) -> list[str]:
    """Return the names of actions up to <EOS>."""
    numbers, names = torch.as_tensor(actions).tolist(), list(ACTION_IDS)
    if END in numbers:
        numbers = numbers[: numbers.index(END)]
    if not set(numbers) <= set(range(len(names))):
        raise UsageError(f"actions have ids from 0 to {len(names) - 1}, got {numbers}")
    return [names[number] for number in numbers]


def exactly_right(predicted: Int[Tensor, "N L"], actions: Int[Tensor, "N L"]) -> Bool[Tensor, " N"]:
    """Which commands have every action right, and <EOS> right after the last."""
    return ((predicted == actions) | (actions == NO_ACTION)).all(dim=1)


def check_batch(network: Any, words: Any, lengths: Any, actions: Any = None, steps: object = 1) -> None:
    """UsageError unless these are words, lengths and actions of B commands, within the network's `vocabulary`.

    Values are read on a CPU, and on a GPU where no gradient is recorded.
    """
    check_positive_int(steps=steps)
    last_word, last_action = (count - 1 for count in network.vocabulary)
    given = [("words", words, 2), ("lengths", lengths, 1)] + [("actions", actions, 2)] * (actions is not None)
    for name, x, dims in given:
        fits = isinstance(x, Tensor) and x.dtype == torch.int64 and x.dim() == dims and 0 not in x.shape
        if not fits or len(x) != len(words):
            got = f"{x.dtype} {list(x.shape)}" if isinstance(x, Tensor) else type(x).__name__
            shape = {"words": "[B, T]", "lengths": "[B]", "actions": "[B, L]"}[name]
            raise UsageError(f"{name} have to be a tensor {shape} of torch.int64, B commands; got {got}")
        low, high = {"lengths": (2, words.shape[1]), "actions": (0, last_action)}.get(name, (0, last_word))
        if (x.is_cpu or not torch.is_grad_enabled()) and not holds((low <= x) & (x <= high)):
            raise UsageError(f"{name} have to be from {low} to {high}, got {int(x.min())} to {int(x.max())}")


def apply_mask(x: Float[Tensor, "B T D"], noise: Noise, name: str) -> Float[Tensor, "B T D"]:
    """Multiply x by the mask of this name, if there is one; a longer mask is cut to T positions."""
    return x * noise[name][:, : x.shape[1]].to(x.dtype) if name in noise else x


class Split(NamedTuple):
    """Training and test commands."""

    train: tuple[str, ...]  #: commands, some of them many times.
    test: tuple[str, ...]  #: commands, once each.


@cache
def simple_order() -> tuple[str, ...]:
    """All commands in the hidden order of the released files: the simple split's for training, then for the test."""
    every = commands()
    return tuple(every[number] for number in np.load(Path(__file__).with_name("simple_order.npz"))["order"])


def _length() -> Split:
    """Up to 22 actions for training, 24 and more for the test; sorted by length, as the released files are."""
    counts = {command: action_count(command) for command in simple_order()}
    ordered = sorted(counts, key=counts.get)
    cut = sum(count <= LENGTH_TRAIN for count in counts.values())
    return Split(tuple(ordered[:cut]), tuple(ordered[cut:]))


def _without(*primitives: str) -> Split:
    """Test on commands with a primitive, but the primitive alone; train on the rest, a tenth of it each primitive.

    Commands with two of them are in neither part. The training commands are in a random order of our own. A fifth
    verb among the primitives brings all commands with it.
    """
    order = simple_order()
    if NEW_VERB in primitives:
        order += tuple(c for c in commands((*VERBS, NEW_VERB)) if contains_phrase(c, NEW_VERB))
    held = {c: sum(contains_phrase(c, primitive) for primitive in primitives) for c in order}
    rest = [command for command in order if not held[command]]
    test = [command for command in order if held[command] == 1 and command not in primitives]
    train = rest + [primitive for primitive in primitives for _ in range(len(rest) // PRIMITIVE_SHARE)]
    mixed = numpy_rng(0, "order", *primitives).permutation(len(train))
    return Split(tuple(train[number] for number in mixed), tuple(test))


SPLITS: dict[str, Callable[[], Split]] = {
    "simple": cache(lambda: Split(simple_order()[:SIMPLE_TRAIN], simple_order()[SIMPLE_TRAIN:])),
    "length": cache(_length),
    "add_jump": cache(partial(_without, "jump")),
    "add_turn_left": cache(partial(_without, "turn left")),
    "add_dax": cache(partial(_without, NEW_VERB)),
    "add_jump_and_dax": cache(partial(_without, "jump", NEW_VERB)),
}


def get_split(name: str) -> Split:
    """Return the commands of a split: "add_jump", "add_turn_left", "length", "simple", or another of `SPLITS`.

    Example:
        >>> train, test = get_split("add_jump")
        >>> len(train), len(test), train.count("jump"), "jump twice" in test
        (14670, 7706, 1467, True)
    """
    check_names("split", [name], SPLITS)
    return SPLITS[name]()
