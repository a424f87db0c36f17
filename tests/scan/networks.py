"""Every network in every form, small and in double precision, and the slow numpy pass that it has to equal."""

from functools import partial

import numpy as np
import torch

from mini_lib.reproduction.authors import places
from mini_lib.reproduction.ledger import Renaming, load
from mini_lib.scan import cnn, gru_attention, li, syntactic_attention
from mini_lib.scan.cnn import CNN
from mini_lib.scan.gru_attention import GRUAttention
from mini_lib.scan.li import LiNetwork
from mini_lib.scan.syntactic_attention import SyntacticAttention
from mini_lib.scan.tasks import ACTION_IDS, EOS, MAX_ACTIONS, MAX_WORDS
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
    "ends hear": {"ends": "neighbour"},
    "top, ends hear": {"surrounding": "top", "ends": "neighbour"},
    "everything": {
        **{"sequential_semantics": True, "syntax_action": True, "nonlinear_semantics": True},
        **{"one_hot": True, "surrounding": "top", "ends": "zero"},
    },
}
small = partial(SyntacticAttention, syntax=6, semantics=4)
small_gru = partial(GRUAttention, embedding=6, hidden=5)
small_li = partial(LiNetwork, primitive=4, function=3, units=6)
OTHERS = {
    "gru": small_gru,
    "gru no dependency": partial(small_gru, dependency=False),
    "li": small_li,
    "cnn": partial(CNN, dim=6, kernel=3, layers=2),
    "cnn even": partial(CNN, dim=4, kernel=4, layers=3),
}
NETWORKS = {form: partial(small, **FORMS[form]) for form in FORMS} | OTHERS
KINDS = ("default", "gru", "li", "cnn")  # one of each
ORACLES = {form: partial(oracles.syntactic_attention, **FORMS[form]) for form in FORMS}
ORACLES |= {name: getattr(oracles, name.split()[0]) for name in OTHERS}
LOSSES = {"gru": gru_attention.loss, "li": li.loss, "cnn": cnn.loss}
LOSSES |= dict.fromkeys(FORMS, syntactic_attention.loss)


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
    noise = network.draw_noise(len(examples.words), MAX_WORDS, MAX_ACTIONS, rng)
    return {key: each.double() for key, each in noise.items()}


def weights(network):
    """Arrays for an oracle: under the authors' names and in their layout, where `paper.toml` says how."""
    own, found = {name: each.detach() for name, each in network.named_parameters()}, {}
    for row in load("scan").renamings.get(type(network).__module__.split(".")[-1], [Renaming("*", "*")]):
        for theirs, (_, tensor) in places([row], own).items():
            array = tensor.squeeze().numpy().T if "transposed" in row.note else tensor.numpy()
            if "gates reordered" in row.note:
                i, f, g, o = np.split(array, 4, axis=-1)
                array = np.concatenate([i, g, f, o], axis=-1)
            found[theirs] = array
    return found


def rows_of(examples):
    """Each command's words and actions as lists, without padding."""
    words, lengths, actions = (part.tolist() for part in examples.tensors)
    return [
        (word[:length], action[: action.index(END) + 1])
        for word, length, action in zip(words, lengths, actions, strict=True)
    ]
