"""The live figure of Syntactic Attention: what its scripts are given."""

from mini_lib.files import trained
from mini_lib.reproduction.live import Parcel, halves
from mini_lib.scan.tasks import PAD, RELEASED_ACTIONS, RELEASED_WORDS

# Three of the 25 small networks on record, by the stream that is at fault. What each is shown as, and said to be:
NETWORKS = {
    "syntactic_attention": ("looks right, speaks right", "It does both well."),
    "syntactic_attention_wrong_meaning": (
        "looks right, speaks wrong",
        "It looks where the grammar looks, but to it the word jump means the end.",
    ),
    "syntactic_attention_wrong_looks": (
        "looks astray",
        "It knows what every word means, but loses its place in the command.",
    ),
}


def parcel() -> Parcel:
    """The weights of three small networks as NETWORK/PARAMETER, and the vocabularies in their order."""
    tensors, networks = {}, []
    for name, (title, about) in NETWORKS.items():
        network = trained(name)
        header = network.about
        tensors |= halves(name, network)
        right = (
            f"Seed {header['seed']}: {header['metrics']['test_accuracy']:.0f} % of the test commands right."
        )
        networks.append({"name": name, "title": title, "about": f"{about} {right}"})
    words = [word for word in RELEASED_WORDS.split() if word != PAD]
    return Parcel(tensors, {"networks": networks, "words": words, "actions": RELEASED_ACTIONS.split()})
