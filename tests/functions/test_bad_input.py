"""What cannot be done is refused, and the message says what can: a row for each kind of mistake."""

import inspect
import math
from functools import partial

import numpy as np
import pytest
import torch

from functions.helpers import hand_made, make, network, observations
from mini_lib.errors import UsageError
from mini_lib.functions import baselines, bounds, tasks
from mini_lib.functions.extrapolation import extrapolate
from mini_lib.functions.runs import Settings, extrapolate_all, per_kind
from mini_lib.functions.tasks import Curves
from mini_lib.functions.transformer import MODELS
from mini_lib.functions.window import Window
from mini_lib.seeding import torch_rng

# Tests check types at run time, before our messages come; a reader's calls are not checked.
as_curve, check_curves, sample = (
    inspect.unwrap(f) for f in (tasks.as_curve, tasks.check_curves, tasks.sample_curves)
)
relational = partial(MODELS["relational_window"], dim=8, layers=1, heads=2)
sample = partial(sample, **{"count": 2, "points": 3, "generator": torch_rng(0)})
ONE_D, RELATIONAL = network("one_d"), network("relational")
POINT, SCORED = hand_made()
THREE = torch.ones(1, 3)


def ask(model, y):
    """Call a network as a reader does, without the types that tests check."""
    return inspect.unwrap(type(model).forward)(model, y)


def window(**options):
    return inspect.unwrap(Window.__init__)(Window.__new__(Window), **options)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        # curves of one's own
        (lambda: as_curve([0.5]), "N from 2, got .*1"),
        (lambda: as_curve([0.1, math.nan, 0.2]), "the value at x = 2 is nan"),
        (lambda: as_curve([0.1, -1e30]), r"the value at x = 2 is -1e\+30; .* 1e\+09 at most"),
        (lambda: as_curve(np.array([0.1, 0.2j])), "real numbers"),
        (lambda: as_curve("abc"), "a curve is a list of numbers"),
        (lambda: as_curve([[0.1, 0.2], [0.3, 0.4]]), r"an array of shape \(2, 2\)"),
        (lambda: as_curve(None), "a curve is a list of numbers"),
        (lambda: check_curves([1.0, 2.0]), "N from 2, got list"),
        (lambda: check_curves(torch.zeros(3)), r"N from 2, got \[3\]"),
        (lambda: check_curves(torch.zeros(0, 5)), "with B from 1"),
        (lambda: check_curves(torch.tensor([[1e5, 1e5 + 1]])), "rounds values of 1e.05 by 0.012"),
        (lambda: sample(count=0), "count has to be a positive integer"),
        (lambda: sample(points=2.0), "points has to be a positive integer"),
        (lambda: sample(noise="a"), "noise has to be a finite number"),
        (lambda: sample(time_scale=math.nan), "time_scale has to be a finite number"),
        (lambda: sample(generator=42), "generator has to be a torch.Generator"),
        (lambda: sample(kind="sin"), "did you mean 'sine'"),
        (lambda: tasks.evaluation_curves(2, 30), "a curve of each class"),
        # networks and settings
        (lambda: relational(layers=0), "layers has to be a positive integer"),
        (lambda: relational(heads=3), "heads has to divide dim"),
        (lambda: relational(mask="casual"), "did you mean 'causal'"),
        (lambda: relational(gate="pots"), "did you mean 'post'"),
        (lambda: relational(scale=math.inf), "scale has to be a finite number above 0"),
        (lambda: relational(window=False, length=3.0), "give window=True"),
        (lambda: window(length=0.0), "length has to be a finite number above 0"),
        (lambda: window(rate=None), "rate has to be a finite number above 0"),
        (lambda: Settings("onde"), "did you mean 'one_d'"),
        (lambda: Settings("one_d", observed=1), "observed has to be 2 or more"),
        (lambda: Settings("one_d", options={"gate": "post"}), "unknown option of one_d 'gate'"),
        (lambda: Settings("one_d", checks=(101,)), "a tuple of epochs from 1 to 100"),
        (lambda: Settings("one_d", options={"mask": "none"}), "prefixes need a causal mask"),
        (lambda: make("relational", "no mask")(observations(), prefixes=True), "prefixes need a causal mask"),
        (lambda: ask(RELATIONAL, torch.zeros(5)), r"a batch of curves is \[B, N\]"),
        (lambda: ask(ONE_D, torch.zeros(1, 5).double()), "the network computes in float32"),
        (lambda: ask(RELATIONAL, torch.zeros(1, 5).long()), "has to be a tensor of floats"),
        (lambda: ask(ONE_D, [[0.1, 0.2]]), "has to be a tensor of floats, got list"),
        # extrapolation, predictors and bounds
        (lambda: extrapolate(ONE_D, THREE, context="slide"), "did you mean 'sliding'"),
        (lambda: extrapolate(ONE_D, THREE, steps=-3), "steps has to be a positive integer"),
        (lambda: extrapolate_all(RELATIONAL, torch.zeros(0, 5)), "with B from 1"),
        (lambda: per_kind(torch.ones(2, 3), torch.tensor([0, 1])), "no curve of class 'sine'"),
        (lambda: baselines.autoregression(THREE, 2, order=3), "needs an L below 3"),
        (lambda: baselines.autoregression(THREE, 2, order=0), "order has to be a positive integer"),
        (lambda: baselines.autoregression(THREE, 2, ridge=0.0), "ridge has to be"),
        (lambda: bounds.score(POINT, SCORED, 2), "end before x = 4"),
        (lambda: bounds.score(POINT[:5], Curves(*(p[:5] for p in SCORED)), 1), "two curves of each class"),
        (lambda: bounds.score(POINT, SCORED, 1, {"lin": 1.0}), "unknown class of curves 'rbf'"),
        (lambda: bounds.optimal_error(1, sees_offset=False), "give at least 2"),
        (lambda: bounds.mixture(THREE, 2, noise=0.0), "noise has to be a finite number above 0"),
    ],
)
def test_what_cannot_be_done_is_refused(call, message):
    with pytest.raises(UsageError, match=message):
        call()


RULES = baselines.PREDICTORS | {"GP-RBF oracle": bounds.gaussian_process, "Bayes mixture": bounds.mixture}


@pytest.mark.parametrize("name", RULES)
def test_predictors_refuse_what_is_no_curve_and_no_step(name):
    predict = RULES[name]
    for y, steps, message in ((torch.ones(1, 1), 2, "N from 2"), (THREE, 0, "steps has")):
        with pytest.raises(UsageError, match=message):
            predict(y, steps)
