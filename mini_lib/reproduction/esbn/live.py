"""The live figures of the Emergent Symbol Binding Network: what their scripts are given."""

import unicodedata

import torch

from mini_lib.datasets import glyphs
from mini_lib.esbn.analysis import collect_keys, fit_plane, project
from mini_lib.esbn.tasks import Problems, TaskData, make_problems
from mini_lib.files import trained
from mini_lib.reproduction.live import Parcel, halves

# One character an image, in image order: letters of several scripts, arrows, mathematical signs, shapes. No
# two pictures come closer than 70 grey levels (root mean square over the pixels).
GLYPHS = (
    "o~*4^<=¿£B7K21ήφΞθΓΩςΣЭЯщльшчլԿՋԱյւზოდჲჟჸⴷⵅⴳⴰⵃᒂᒇᒺᐭᐏ➧↝➦⇙⇚⇨↻⇀↞⇴⇄⊖⊀∞⋋∟≩≤∲⋧⊐◢◙◲◗▴▵◩▨♣♫✌✱♀✉♥✑⚙⚓☘☏♕♳♡⚑♆♝⚘♛"
)
FITTED = 1000  # test problems whose keys, with those of all training problems, make the plane
FOLLOWED = 121  # the test problem that the second chapter follows, and with which the memory figure begins
DRAWN = 40  # training problems whose keys are drawn next to the reader's


def parcel(part: str = "keys") -> Parcel:
    """Return what the figures need: "pictures", small and there at once, "keys" for the ESBN, or "lstm"."""
    return {"pictures": pictures, "keys": keys, "lstm": lstm}[part]()


def problems() -> TaskData:
    """Return the problems of both stored networks, which were trained and tested on the same."""
    about = trained("esbn").about
    return make_problems(about["settings"]["task"], about["settings"]["m"], about["seed"])


def pictures() -> Parcel:
    """Return all pictures with their names, which of them were in training, and the problem that is shown first."""
    images = (255 * glyphs()).round().to(torch.uint8)
    names = [unicodedata.name(character).lower() for character in GLYPHS]
    given = problems()
    facts = {"seen": given.train_images.tolist(), "followed": given.test.ids[FOLLOWED].tolist()}
    return Parcel({"images": images}, {"names": names} | facts)


def lstm() -> Parcel:
    """Return the weights of the LSTM."""
    return Parcel(halves("lstm", trained("esbn_lstm")))


def keys() -> Parcel:
    """Return the weights of the ESBN, and the plane of its keys, as in Figure 9.

    Of the plane there are its `centre`, its two `axes` and its `cloud`: the keys that the first training problems
    write at steps 1 to 9, as points. The facts hold these problems.
    """
    network, given = trained("esbn"), problems()
    parts = given.train, Problems(*given.test[:FITTED])
    train, test = (collect_keys(network, glyphs(), part) for part in parts)
    plane = fit_plane(train, test)
    tensors = halves("esbn", network) | {
        "plane/centre": torch.from_numpy(plane.mean_).float(),
        "plane/axes": torch.from_numpy(plane.components_).float(),
        "plane/cloud": torch.from_numpy(project(plane, train.written[:DRAWN, :-1])).float(),
    }
    return Parcel(tensors, {"training": given.train.ids[:DRAWN].tolist()})
