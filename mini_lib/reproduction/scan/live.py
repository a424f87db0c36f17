"""The live figures of SCAN: what their scripts are given."""

from mini_lib.files import trained
from mini_lib.reproduction.live import Parcel, halves
from mini_lib.scan.tasks import PAD, RELEASED_ACTIONS, RELEASED_WORDS

# Three of the 25 small networks on record: one that works, and one for each stream that can be at fault.
NETWORKS = ("syntactic_attention", "syntactic_attention_wrong_meaning", "syntactic_attention_wrong_looks")


def parcel(part: str = "") -> Parcel:
    """Return the weights of the networks as NETWORK/PARAMETER, and the vocabularies in their order.

    Part "way" has the network with one stream, else it is the three with two.
    """
    names = ("gru_attention",) if part == "way" else NETWORKS
    tensors = {}
    for name in names:
        tensors |= halves(name, trained(name))
    words = [word for word in RELEASED_WORDS.split() if word != PAD]
    return Parcel(tensors, {"networks": names, "words": words, "actions": RELEASED_ACTIONS.split()})
