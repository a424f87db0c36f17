"""The live figure of Syntactic Attention: what its scripts are given."""

from mini_lib.reproduction.live import Parcel
from mini_lib.scan.tasks import PAD, RELEASED_ACTIONS, RELEASED_WORDS
from mini_lib.weights import trained

# Of the chapter "Attention": name, title, trained network, what to say of it.
NETWORKS = (
    (
        "right",
        "looks and speaks right",
        "syntactic_attention",
        "Seed 15 of 25 small networks: it answers every test command.",
    ),
)


def parcel() -> Parcel:
    """The weights of three small networks as NETWORK/PARAMETER, and the vocabularies in their order."""
    tensors = {
        f"{name}/{parameter}": value.half()
        for name, _, network, _ in NETWORKS
        for parameter, value in trained(network)[0].state_dict().items()
    }
    networks = [{"name": name, "title": title, "about": about} for name, title, _, about in NETWORKS]
    words = [word for word in RELEASED_WORDS.split() if word != PAD]
    return Parcel(tensors, {"networks": networks, "words": words, "actions": RELEASED_ACTIONS.split()})
