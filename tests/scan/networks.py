"""Every network in every form, small and in double precision, and the slow numpy pass that it has to equal."""

from functools import partial

import torch

from mini_lib.scan.models import (
    CNN,
    GRUAttention,
    LiNetwork,
    SyntacticAttention,
    gru_attention,
    li,
    syntactic_attention as streams,
)
from mini_lib.scan.models.calls import cross_entropy
from mini_lib.scan.tasks import ACTION_IDS, EOS, MOST_ACTIONS, MOST_WORDS
from scan import oracles

COMMANDS = ["jump", "walk around left twice after run", "look twice and turn right", "run opposite left"]
END = ACTION_IDS[EOS]
FORMS = {
    "default": {},
    "sequential": {"sequential_semantics": True},
    "syntax-action": {"syntax_action": True},
    "nonlinear": {"nonlinear_semantics": True},
    "one-hot": {"one_hot": True},
    "top": {"surrounding": "top"},
    "ends zero": {"ends": "zero"},
    "top, ends zero": {"surrounding": "top", "ends": "zero"},
    "ends hear": {"ends": "neighbour"},
    "top, ends hear": {"surrounding": "top", "ends": "neighbour"},
    "everything": {
        **{"sequential_semantics": True, "syntax_action": True, "nonlinear_semantics": True},
        **{"one_hot": True, "surrounding": "top", "ends": "zero"},
    },
}
small_gru = partial(GRUAttention, embedding=6, hidden=5)
small_li = partial(LiNetwork, primitive=4, function=3, units=6)
OTHERS = {
    "gru": small_gru,
    "gru no dependency": partial(small_gru, dependency=False),
    "li": small_li,
    "cnn": partial(CNN, dim=6, kernel=3, layers=2),
    "cnn even": partial(CNN, dim=4, kernel=4, layers=3),
}
NETWORKS = {
    form: partial(SyntacticAttention, syntax=6, semantics=4, **FORMS[form]) for form in FORMS
} | OTHERS
ORACLES = {form: partial(oracles.syntactic_attention, **FORMS[form]) for form in FORMS}
ORACLES |= {name: getattr(oracles, name.split()[0]) for name in OTHERS}
LOSSES = dict.fromkeys(FORMS, streams.loss)
OF_KIND = {"gru": gru_attention.loss, "li": li.loss, "cnn": cross_entropy}
LOSSES |= {name: OF_KIND[name.split()[0]] for name in OTHERS}


def make(name, seed=0, spread=0.2, **options):
    """A small network in double precision whose zeros (biases) are zero no more."""
    torch.manual_seed(seed)
    network = NETWORKS[name](**options).double().eval()
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.requires_grad:
                parameter += spread * torch.randn_like(parameter)
    return network


def noise_for(network, examples, seed=0):
    """Noise of the largest shape that any batch has."""
    rng = torch.Generator().manual_seed(seed)
    noise = network.noise(len(examples.words), MOST_WORDS, MOST_ACTIONS, rng)
    return {key: each.double() for key, each in noise.items()}


def weights(network):
    return {name: each.detach().numpy() for name, each in network.named_parameters()}


def rows_of(examples):
    """Each command's words and actions as lists, without padding."""
    words, lengths, actions = (part.tolist() for part in tuple(examples))
    return [
        (word[:length], action[: action.index(END) + 1])
        for word, length, action in zip(words, lengths, actions, strict=True)
    ]


def count(network):
    return sum(each.numel() for each in network.parameters())
