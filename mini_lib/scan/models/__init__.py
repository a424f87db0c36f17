"""Every network of the paper's tables by name.

All are called alike, on `tasks.Examples` of B commands:

- `forward(words, lengths, actions, noise=None)`: the logits [B, L, A] of each action. `actions` are the right ones:
  networks that read the last action get them as the last ones, the others use only their number. A network that is
  training and is passed no noise draws its own, from torch's default generator on the device of the words.
- `predict(words, lengths, steps)`: the most probable action of each of so many steps, [B, steps], without noise. The
  last action is then the network's own.
- `noise(batch, words, steps, generator)`: the random tensors of one forward pass by name, drawn from the generator,
  for so many commands of so many words (<SOS> included) and so many actions. Dropout masks are 0 or 1 / (1 - p).
  `forward` cuts masks that are larger than its batch needs.

`words` and `actions` of a constructor are the sizes of the vocabularies, SCAN's by default. What stands at padding
is of no effect. Losses are functions beside the networks. `meta_seq2seq` is trained on another task and called
differently.
"""

import inspect
from collections.abc import Collection, Mapping

from torch import nn

from mini_lib.errors import check_names
from mini_lib.scan.models.cnn import CNN
from mini_lib.scan.models.gru_attention import GRUAttention
from mini_lib.scan.models.li import LiNetwork
from mini_lib.scan.models.syntactic_attention import StreamsTrace, SyntacticAttention
from mini_lib.settings import own_options

MODELS = {
    "syntactic_attention": SyntacticAttention,
    "gru_attention": GRUAttention,
    "cnn": CNN,
    "li": LiNetwork,
}

__all__ = [
    "CNN",
    "MODELS",
    "GRUAttention",
    "LiNetwork",
    "StreamsTrace",
    "SyntacticAttention",
    "build_network",
    "kept_options",
]


def kept_options(model: str, options: Mapping[str, object], given: Collection[str] = ()) -> dict[str, object]:
    """The options that a network does not have by itself; see `own_options`.

    UsageError for a network that is not in `MODELS`, or an option that it lacks; `given` are parameters that are no
    options, since something else says what they are.
    """
    check_names("model", [model], MODELS)
    known = [name for name in inspect.signature(MODELS[model]).parameters if name not in given]
    return own_options(model, MODELS[model], options, known)


def build_network(model: str, **options) -> nn.Module:
    """A network of `MODELS` with the paper's sizes, unless options say otherwise."""
    options = kept_options(model, options)
    return MODELS[model](**options)
