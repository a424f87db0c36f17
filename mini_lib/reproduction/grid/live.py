"""The live figure of the study: what its script is given."""

import torch

from mini_lib.datasets import glyphs
from mini_lib.grid.runs import Settings, build
from mini_lib.reproduction.live import Parcel

PROBLEMS = 8


def parcel(part: str) -> Parcel:
    """Return what "start" needs: problems of five objects, and the two maps of a CoRelNet before its training.

    `z` are the problems' vectors [P, T, D], `query` and `key` the maps [D, D], `images` those of the objects; the
    facts say which object is at each place.
    """
    settings = Settings(task="distribution_of_three", m=95, model="corelnet learned", lr=1e-3, updates=1)
    run = build(settings, seed=101)
    ids = run.epoch(0)["ids"][:PROBLEMS]  # [P, T, 1]
    objects, places = ids.squeeze(-1).unique(return_inverse=True)
    with torch.no_grad():
        z = run.model.embed(ids)
    maps = {name: getattr(run.model.core, name).weight.detach().half() for name in ("query", "key")}
    images = (255 * glyphs("rendered")[objects]).round().to(torch.uint8)
    return Parcel({"images": images, "z": z.half(), **maps}, {"objects": places.tolist()})
