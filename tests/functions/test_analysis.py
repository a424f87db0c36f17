"""What a prediction depends on."""

import pytest
import torch

from functions.helpers import CURVE, network
from mini_lib.functions import analysis
from mini_lib.functions.transformer import MODELS
from mini_lib.seeding import torch_rng


def randn(*size, seed=1):
    return torch.randn(*size, generator=torch_rng(seed, "y"))


@pytest.mark.parametrize("name", MODELS)
def test_local_weights_are_those_of_small_changes(name):
    model, y = network(name).double(), torch.tensor([CURVE, CURVE[::-1]], dtype=torch.float64)
    weights = analysis.local_weights(model, y)
    for place in range(len(CURVE)):
        ends = []
        for step in (-1e-6, 1e-6):
            near = y.clone()
            near[:, place] += step
            with torch.no_grad():
                ends.append(model.predict(near))
        torch.testing.assert_close(weights[:, place], (ends[1] - ends[0]) / 2e-6, rtol=1e-4, atol=1e-5)
    if name.startswith("relational"):
        torch.testing.assert_close(weights.sum(dim=1), torch.ones(2).double())
