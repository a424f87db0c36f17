"""What cannot be done is refused, and the message says what can: a row for each public function."""

import math

import pytest
import torch

from functions.helpers import make, observations
from mini_lib.errors import UsageError
from mini_lib.functions import baselines, bounds, tasks
from mini_lib.functions.extrapolation import extrapolate
from mini_lib.functions.runs import Settings, per_kind
from mini_lib.functions.transformer import RelationalTransformer
from mini_lib.functions.window import Window
from mini_lib.seeding import torch_rng

THREE = torch.ones(1, 3)
CURVES = tasks.Curves(torch.zeros(6, 4), torch.zeros(6, 4), torch.tensor([0, 0, 1, 1, 2, 2]))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tasks.as_curve([0.1, math.nan, 0.2]), "the value at x = 2 is nan"),
        (lambda: tasks.sample_curves(2, 3, torch_rng(0), kind="sin"), "did you mean 'sine'"),
        (lambda: tasks.evaluation_curves(2, 30), "a curve of each class"),
        (lambda: RelationalTransformer(length=3.0), "give window=True"),
        (lambda: Window(length=0.0), "length has to be a finite number above 0"),
        (lambda: make("one_d").float()(observations()), "the network computes in float32"),
        (lambda: make("relational", "no mask")(observations(), prefixes=True), "prefixes need a causal mask"),
        (lambda: Settings("one_d", options={"mask": "none"}), "prefixes need a causal mask"),
        (lambda: extrapolate(make("one_d"), torch.zeros(0, 5)), "with B from 1"),
        (lambda: per_kind(torch.ones(2, 3), torch.tensor([0, 1])), "no curve of class 'sine'"),
        (lambda: baselines.autoregression(THREE, 2, order=3), "needs an L below 3"),
        (lambda: bounds.score(torch.zeros(6, 3), CURVES, 2), "end before x = 5"),
        (lambda: bounds.optimal_error(1, sees_offset=False), "give at least 2"),
        (lambda: bounds.mixture(THREE, 2, noise=0.0), "noise has to be a finite number above 0"),
        *((lambda rule=rule: rule(THREE, 0), "steps has to be") for rule in baselines.PREDICTORS.values()),
    ],
)
def test_what_cannot_be_done_is_refused(call, message):
    with pytest.raises(UsageError, match=message):
        call()
