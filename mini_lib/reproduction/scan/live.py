"""The live figures of Syntactic Attention: what their scripts are given."""

from mini_lib.files import trained
from mini_lib.reproduction.live import Parcel, halves
from mini_lib.scan.tasks import PAD, RELEASED_ACTIONS, RELEASED_WORDS

# Three of the 25 small networks on record: one that works, and one for each stream that can be at fault.
NETWORKS = (
    "syntactic_attention",
    "syntactic_attention_wrong_meaning",
    "syntactic_attention_wrong_looks",
)


def parcel() -> Parcel:
    """Return the weights of the networks as NETWORK/PARAMETER, and the vocabularies in their order."""
    tensors = {}
    for name in NETWORKS:
        tensors |= halves(name, trained(name))
    words = [word for word in RELEASED_WORDS.split() if word != PAD]
    return Parcel(tensors, {"networks": NETWORKS, "words": words, "actions": RELEASED_ACTIONS.split()})
