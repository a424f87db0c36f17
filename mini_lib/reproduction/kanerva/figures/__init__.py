"""Figures of the Kanerva chapters."""

from mini_lib.reproduction.kanerva.figures.binding import (
    answering,
    architecture,
    selectivity,
    shares,
    thorns,
    triplets,
)
from mini_lib.reproduction.kanerva.figures.coupling import by_machine, read_errors
from mini_lib.reproduction.kanerva.figures.generation import (
    generative_model,
    imagined,
    orbits,
    settling,
)
from mini_lib.reproduction.kanerva.figures.losses import (
    by_row,
    curves_of,
    in_rows,
    learning,
    losses,
)
from mini_lib.reproduction.kanerva.figures.memory import (
    courses,
    covariances,
    geometry,
    novelty,
    one_item,
    pictures,
)
from mini_lib.reproduction.kanerva.figures.mixture import against_k, choices, usage
from mini_lib.reproduction.kanerva.figures.scaling import footnote, scaling_theory, scaling_times
from mini_lib.reproduction.kanerva.figures.sprites import contrasts, dance, gammas, single_machines
from mini_lib.reproduction.kanerva.figures.tunings import centring, maps, profiles

__all__ = [
    "against_k",
    "answering",
    "architecture",
    "by_machine",
    "by_row",
    "centring",
    "choices",
    "contrasts",
    "courses",
    "covariances",
    "curves_of",
    "dance",
    "footnote",
    "gammas",
    "generative_model",
    "geometry",
    "imagined",
    "in_rows",
    "learning",
    "losses",
    "maps",
    "novelty",
    "one_item",
    "orbits",
    "pictures",
    "profiles",
    "read_errors",
    "scaling_theory",
    "scaling_times",
    "selectivity",
    "settling",
    "shares",
    "single_machines",
    "thorns",
    "triplets",
    "usage",
]
