"""The live figure of the Emergent Symbol Binding Network: what its scripts are given."""

import unicodedata

import torch

from mini_lib.datasets import glyphs
from mini_lib.esbn.analysis import collect_keys, fit_plane, project
from mini_lib.esbn.tasks import Problems, make_problems
from mini_lib.files import trained
from mini_lib.reproduction.live import Parcel, halves

# One character an image, in image order: letters of several scripts, arrows, mathematical signs, shapes. No
# two pictures come closer than 70 grey levels (root mean square over the pixels).
GLYPHS = (
    "o~*4^<=¿£B7K21ήφΞθΓΩςΣЭЯщльшчլԿՋԱյւზოდჲჟჸⴷⵅⴳⴰⵃᒂᒇᒺᐭᐏ➧↝➦⇙⇚⇨↻⇀↞⇴⇄⊖⊀∞⋋∟≩≤∲⋧⊐◢◙◲◗▴▵◩▨♣♫✌✱♀✉♥✑⚙⚓☘☏♕♳♡⚑♆♝⚘♛"
)
NETWORKS = (("esbn", "ESBN", "esbn"), ("lstm", "LSTM", "esbn_lstm"))  # name, title, trained network
BASES = (
    ("written", "keys written (the authors' code)", False),
    ("both", "keys written and retrieved (the text)", True),
)
FITTED = 1000  # test problems whose keys, with those of all training problems, make a plane
DRAWN = 40  # training problems whose keys are points beside the reader's


def parcel() -> Parcel:
    """The weights of both networks as NETWORK/PARAMETER, the pictures, and the planes of Figure 9.

    Of each plane there are its `centre`, its two `axes` and its `cloud`: the keys that the first training problems
    write at steps 1 to 9, as points. The facts hold all training problems and the pictures seen in them; both
    networks met the same.
    """
    tensors = {}
    for name, _, network in NETWORKS:
        tensors |= halves(name, trained(network))
    images = glyphs()
    tensors["images"] = (255 * images).round().to(torch.uint8)
    network = trained("esbn")
    about = network.about
    problems = make_problems(about["settings"]["task"], about["settings"]["m"], about["seed"])
    some = Problems(*problems.test[:FITTED])
    train, test = (collect_keys(network, images, part) for part in (problems.train, some))
    for name, _, retrieved in BASES:
        plane = fit_plane(train, test, retrieved=retrieved)
        tensors[f"{name}/centre"] = torch.from_numpy(plane.mean_).float()
        tensors[f"{name}/axes"] = torch.from_numpy(plane.components_).float()
        tensors[f"{name}/cloud"] = torch.from_numpy(project(plane, train.written[:DRAWN, :-1])).float()
    facts = {
        "networks": [{"name": name, "title": title} for name, title, _ in NETWORKS],
        "bases": [{"name": name, "title": title} for name, title, _ in BASES],
        "names": [unicodedata.name(character).lower() for character in GLYPHS],
        "seen": problems.train_images.tolist(),
        "training": problems.train.ids.tolist(),
    }
    return Parcel(tensors, facts)
