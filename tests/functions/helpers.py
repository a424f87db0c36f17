"""Small networks in all their forms, and curves: what several test files share."""

import pytest
import torch

from mini_lib.functions.transformer import MODELS
from mini_lib.seeding import seeded, torch_rng

FORMS = {
    "default": {},
    "causal": {"mask": "causal"},
    "no mask": {"mask": "none"},
    "post gate": {"gate": "post", "window_rate": 10.0, "length": 3.0},
    "everything": {"mask": "causal", "gate": "post", "window_rate": 2.0, "length": 4.0, "scale": 0.5},
}
WINDOW_OPTIONS = {"length", "window_rate", "gate"}
CASES = [(name, form) for name in MODELS for form in FORMS if name.endswith("window") or form != "post gate"]

every_model = pytest.mark.parametrize("name", MODELS)
every_case = pytest.mark.parametrize(("name", "form"), CASES)


def options_of(name, form):
    """The options of a form, without those of the window for a network that has none."""
    without = set() if name.endswith("window") else WINDOW_OPTIONS
    return {option: value for option, value in FORMS[form].items() if option not in without}


def make(name, form="default", seed=0):
    """A small network in float64 whose weights are large enough for everything to matter."""
    with seeded(seed, "test"):
        network = MODELS[name](dim=6, layers=2, heads=2, **options_of(name, form)).double()
    generator = torch_rng(seed, "weights")
    with torch.no_grad():
        for key, parameter in network.named_parameters():
            spread = 0.2 / network.window.rate.item() if key.startswith("window") else 0.4
            parameter.add_(spread * torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    return network


def observations(curves=3, points=6, seed=0):
    """Multiples of 1/64, so that sums and differences are exact."""
    drawn = torch.randn(curves, points, generator=torch_rng(seed, "y"), dtype=torch.float64)
    return (64 * drawn).round() / 64
