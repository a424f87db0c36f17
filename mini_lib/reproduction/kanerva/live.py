"""The live figures of the Product Kanerva Machine: what their scripts are given."""

import torch

from mini_lib.files import trained
from mini_lib.kanerva.evaluation import fixed_loss
from mini_lib.kanerva.memory import RIDGE
from mini_lib.kanerva.product_memory import ProductMemory
from mini_lib.kanerva.tasks import digits, evaluation
from mini_lib.reproduction.live import Parcel, halves
from mini_lib.seeding import torch_rng

ITEMS = 45  # of an episode
COLUMNS = (5, 15, 30)  # of the memories that hold pixels
ETA = 0.3  # their noise, the chapter's
DIGITS = "kanerva_digits"
BINDING = (  # name, title, trained network, what to say of it
    (
        "printed",
        "left alone",
        "kanerva_binding",
        "One machine does nearly all of the writing, and both do the reading.",
    ),
    (
        "balanced",
        "balanced at first",
        "kanerva_binding_balanced",
        "Each item has one machine, and the red digit decides which.",
    ),
)


def parcel(part: str = "memory") -> Parcel:
    """What the figure of that part needs: "memory", to write digits into, or "binding", which machine answers."""
    return {"memory": memory, "binding": binding}[part]()


def memory() -> Parcel:
    """Digits of the chapter's first episode, prior means of memories that hold pixels, and a trained network."""
    pixels = digits.pool().images.flatten(1).double()
    mean = pixels.mean(0)
    chosen = torch.randperm(digits.HELD_OUT, generator=torch_rng(0, "chapter"))[:ITEMS]
    network = trained(DIGITS)
    about = network.about
    distorted = evaluation("digits", 1, ITEMS, source=about["settings"]["source"])
    tensors = halves("network", network) | {
        "digits/8": digits.pool(split="test").images[chosen].flatten(1).byte(),
        "digits/14": distorted.images.flatten(0, 1).flatten(1).byte(),
    }
    tensors |= {f"means/{columns}": ProductMemory(len(mean), columns=columns).prior.R for columns in COLUMNS}
    facts = {"mean": mean.tolist(), "scale": (pixels - mean).std().item()}
    return Parcel(tensors, facts | {"columns": COLUMNS, "eta": ETA, "ridge": RIDGE})


def binding() -> Parcel:
    """Two networks of two machines, and an episode of triplets with their digits."""
    _ = trained(BINDING[0][2])
    about = _.about
    source = about["settings"]["source"]
    episodes = evaluation("rgb", 1, ITEMS, source=source)
    tensors = {"triplets": episodes.images[0].flatten(1).byte(), "labels": episodes.labels[0].byte()}
    for name, _, network, _ in BINDING:
        tensors |= halves(name, trained(network))
    networks = [{"name": name, "title": title, "about": about} for name, title, _, about in BINDING]
    return Parcel(tensors, {"networks": networks, "ridge": RIDGE, "fixed": fixed_loss(source)})
