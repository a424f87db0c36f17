"""Small networks of every kind, made by the names of a run's settings."""

import inspect

import torch

from mini_lib.esbn.network import ENCODERS, Network, TemporalContextNorm
from mini_lib.esbn.runs import MODELS
from mini_lib.seeding import seeded

WINDOWS = {2: (2,), 6: (2, 2, 2), 9: (9,)}
CLASSES = {2: 2, 6: 2, 9: 4}
FEATURES = 16
SMALL = {"hidden": 64, "key_size": 32, "row_size": 32, "relation_size": 32, "answer_hidden": 32, "heads": 16}
SMALL_ENCODER = {"channels": 16, "hidden": 32, "hidden2": 32}


def own(make, sizes):
    """Those of the sizes that a constructor takes."""
    known = inspect.signature(make).parameters
    return {
        name: size
        for name, size in sizes.items()
        if name in known and name not in getattr(make, "keywords", {})
    }


def options(model, sizes=SMALL):
    """Sizes of a model as `Settings.options` takes them."""
    return own(MODELS[model], sizes)


def network(model, length=9, *, encoder="conv", tcn=True, full=False, seed=0, **more):
    """A network of the paper's size or a small one, for problems of so many steps."""
    torch.manual_seed(seed)
    features = 128 if full else FEATURES
    sizes = {"features": features, "classes": CLASSES[length], "length": length} | ({} if full else SMALL)
    core = MODELS[model](**own(MODELS[model], sizes | more))
    norm = TemporalContextNorm(features, WINDOWS[length]) if tcn else torch.nn.Identity()
    return Network(
        ENCODERS[encoder](features, **({} if full else own(ENCODERS[encoder], SMALL_ENCODER))), norm, core
    )


def randomized(model="esbn"):
    """A small network whose core has normal noise for parameters."""
    made = network(model)
    randomize(made.core, seed=0)
    return made


def randomize(module, seed):
    """Replace all parameters by normal noise."""
    with torch.no_grad(), seeded(seed, "randomise"):
        for parameter in module.parameters():
            parameter.normal_(std=0.3)
