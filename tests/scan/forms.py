"""Every form of Syntactic Attention, small, and commands for it."""

from functools import cache

import pytest
import torch

from mini_lib.scan.models import build_network
from mini_lib.scan.tasks import MOST_ACTIONS, MOST_WORDS, WORD_IDS, encode

FORMS = {
    "default": {},
    "sequential": {"sequential_semantics": True},
    "syntax-action": {"syntax_action": True},
    "nonlinear": {"nonlinear_semantics": True},
    "one-hot": {"one_hot": True},
    "top": {"surrounding": "top"},
    "ends zero": {"ends": "zero"},
    "top, ends zero": {"surrounding": "top", "ends": "zero"},
    "everything": {
        **{"sequential_semantics": True, "syntax_action": True, "nonlinear_semantics": True},
        **{"one_hot": True, "surrounding": "top", "ends": "zero"},
    },
}


COMMANDS = (
    "walk",
    "jump around left thrice after turn right",
    "run twice and look opposite right",
    "turn left",
)


every_form = pytest.mark.parametrize("form", FORMS)


def make(form="default", seed=0, **sizes):
    torch.manual_seed(seed)
    sizes = {"syntax": 6, "semantics": 4} | sizes
    return build_network("syntactic_attention", **sizes, **FORMS[form]).eval()


def double(form="default", seed=0, **sizes):
    return make(form, seed, **sizes).double()


@cache
def batch(commands=COMMANDS):
    return encode(commands)


def noise_of(network, examples, seed=0):
    drawn = network.noise(
        len(examples.lengths), MOST_WORDS, MOST_ACTIONS, torch.Generator().manual_seed(seed)
    )
    return {name: mask.double() for name, mask in drawn.items()}


def numbers(command):
    return [WORD_IDS[word] for word in ("<SOS>", *command.split(), "<EOS>")]
