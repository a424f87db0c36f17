"""Small networks in double precision, and commands for them."""

from functools import partial

import torch

from mini_lib.scan.models.cnn import CNN
from mini_lib.scan.models.gru_attention import GRUAttention
from mini_lib.scan.models.li import LiNetwork
from mini_lib.scan.tasks import ACTION_IDS, EOS

COMMANDS = ["jump", "walk around left twice after run", "look twice and turn right", "run opposite left"]
END = ACTION_IDS[EOS]
small_li = partial(LiNetwork, primitive=4, function=3, units=6)


NETWORKS = {
    "gru": partial(GRUAttention, embedding=6, hidden=5),
    "gru_no_dependency": partial(GRUAttention, embedding=6, hidden=5, dependency=False),
    "li": small_li,
    "li_one": partial(small_li, representations="one"),
    "li_gold": partial(small_li, decoder_input="gold"),
    "cnn": partial(CNN, dim=6, kernel=3, layers=2),
    "cnn_even": partial(CNN, dim=4, kernel=4, layers=3),
}


def make(name, seed=0, spread=0.2, **options):
    """A small network in double precision whose zeros (biases) are zero no more."""
    torch.manual_seed(seed)
    network = NETWORKS[name](**options).double().eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter += spread * torch.randn_like(parameter)
    return network


def noise_for(network, examples, seed=0):
    """Noise of the largest shape that any batch has."""
    rng = torch.Generator().manual_seed(seed)
    noise = network.noise(len(examples.words), 11, 49, rng)
    return {key: each.double() for key, each in noise.items()}


def weights(network):
    return {name: each.detach().numpy() for name, each in network.named_parameters()}


def counted(examples):
    return examples.actions != 0
