"""Small networks, their tokens and windows, curves and forecasts: what several test files share."""

import pytest
import torch

from functions import oracles
from mini_lib.functions.extrapolation import Extrapolation
from mini_lib.functions.tasks import Curves
from mini_lib.functions.transformer import MODELS, OneDTransformer, RelationalTransformer
from mini_lib.functions.window import GATES, MASKS
from mini_lib.seeding import seeded, torch_rng

FORMS = {
    "default": {},
    "post gate": {"gate": "post"},
    "causal": {"mask": "causal"},
    "no mask": {"mask": "none"},
    "no mask, post gate": {"mask": "none", "gate": "post"},
    "window rate": {"window_rate": 10.0, "length": 3.0},
    "everything": {"mask": "causal", "gate": "post", "window_rate": 2.0, "length": 4.0, "scale": 0.5},
}
WINDOW_OPTIONS = {"length", "window_rate", "gate"}
CASES = [
    (name, form)
    for name in MODELS
    for form, options in FORMS.items()
    if name.endswith("window") or form == "everything" or not WINDOW_OPTIONS & options.keys()
]
KINDS = {"one_d": OneDTransformer, "relational": RelationalTransformer}
HEADS = 2
CURVE = [0.1, 0.5, -0.2, 0.4, 0.9]

every_model = pytest.mark.parametrize("name", MODELS)
every_case = pytest.mark.parametrize(("name", "form"), CASES)
every_kind = pytest.mark.parametrize("kind", KINDS)
every_mask = pytest.mark.parametrize("mask", MASKS)
every_gate = pytest.mark.parametrize("gate", GATES)


# ---------------------------------------------------------------------------------------- networks and curves


def make(name, form="default", seed=0, **options):
    """A small network in float64 whose weights are large enough for everything to matter."""
    sizes = {"dim": 6, "layers": 2, "heads": HEADS}
    left = set() if name.endswith("window") else WINDOW_OPTIONS
    wanted = {k: v for k, v in (FORMS[form] | options).items() if k not in left}
    with seeded(seed, "test"):
        network = MODELS[name](**(sizes | wanted)).double()
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


def network(name, **options):
    """A tiny untrained network with the standard mask and weights so large that attention is uneven."""
    sizes = {"dim": 16, "layers": 2, "heads": 2, "scale": 0.05, "mask": "causal"}
    with seeded(0, "test", name):
        model = MODELS[name](**(sizes | options))
        for key, parameter in model.named_parameters():
            if parameter.dim() > 1 and not key.startswith("window"):
                torch.nn.init.normal_(parameter, std=0.5)
    return model.eval()


def curves_of(y, kinds):
    """These observations of functions that are 0."""
    y = torch.tensor(y)
    return Curves(torch.zeros_like(y), y, torch.tensor(kinds))


def forecast_of(point, spread, members=4):
    """These medians and spreads, of so many estimates."""
    point, spread = torch.tensor(point), torch.tensor(spread)
    return Extrapolation(point, spread, [torch.zeros(len(point), members)] * point.shape[1])


def hand_made():
    """Six curves of two points after one observation; errors 1, 3 (lines), 0, 0 (RBF), 4, 8 (sines)."""
    truth = torch.zeros(6, 3)
    point = torch.tensor([[1.0, 1.0], [0.0, 6.0**0.5], [0.0, 0.0], [0.0, 0.0], [2.0, -2.0], [0.0, 4.0]])
    return point, Curves(truth, truth + 9, torch.tensor([0, 0, 1, 1, 2, 2]))


# ----------------------------------------------------------------------------------------- tokens and windows


def tokens_of(kind, observed=5, places=None):
    """Inputs of some observations, and queries about the next (or about several points)."""
    network = KINDS[kind]
    queries = [network.query_tokens(place) for place in places or (observed + 1,)]
    return network.input_tokens(observed).cat(*queries)


def spelled_out(tokens):
    return [
        oracles.Token(tuple(int(x) for x in places), 0.0, query)
        for places, query in zip(tokens.places.tolist(), tokens.query.tolist(), strict=True)
    ]


def set_window(window, a, b):
    with torch.no_grad():
        window.log_a.copy_(torch.as_tensor(a).log() / window.rate)
        window.log_b.copy_(torch.as_tensor(b).log() / window.rate)
    return window
