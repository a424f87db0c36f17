"""What cannot be done is refused, and the message says what can."""

import inspect
import math
from functools import partial

import numpy as np
import pytest
import torch

from functions.helpers import CURVE, curves_of, forecast_of, hand_made, make, network, observations
from mini_lib.errors import UsageError
from mini_lib.functions import analysis, baselines, bounds, tasks
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
lags = inspect.unwrap(baselines.lags)


def window_of(**options):
    return inspect.unwrap(Window.__init__)(Window.__new__(Window), **options)


NAN, INF = math.nan, math.inf


def unchecked(model, y):
    """Call a network as a reader does, without the types that tests check."""
    return inspect.unwrap(type(model)._answer)(model, y)


COMPLEX = "real numbers, got complex ones; give y.real"


def tensor(*rows):
    return torch.tensor(rows)


OWN_CURVES = [
    ([0.5], "N from 2, got .*1"),
    ([], "N from 2, got .*0"),
    ([0.1, NAN, 0.2], "the value at x = 2 is nan; every value has to be a finite number"),
    ([0.1, 0.2, -INF], "value at x = 3 is -inf"),
    ([0.1, 1e39], "the largest observation is"),  # beyond float32
    ([0.1, -1e30], r"the largest observation is 1e\+30, and 1e\+09 is the most; rescale"),
    ([1 + 2j, 3.0], COMPLEX),
    (np.array([0.1, 0.2j]), COMPLEX),
    (torch.tensor([0.1, 0.2j]), COMPLEX),
    ("abc", r"a curve is a list of numbers, such as \[0.1, 0.2, 0.3\]; got 'abc'"),
    (["a", "b"], r"a curve is a list of numbers.*got \['a', 'b'\]"),
    ([0.1, None], r"a curve is a list of numbers.*got \[0.1, None\]"),
    ([[0.1, 0.2], [0.3]], "a curve is a list of numbers"),
    ([[0.1, 0.2], [0.3, 0.4]], r"a curve is a list of numbers; got an array of shape \(2, 2\)"),
    (0.5, r"got an array of shape \(\)"),
    (None, "a curve is a list of numbers.*got None"),
]
BATCHES = [
    ([1.0, 2.0], "N from 2, got list"),
    (torch.zeros(3), r"N from 2, got \[3\]"),
    (torch.zeros(1, 1), "N from 2, got .*1"),
    (torch.zeros(1, 0), "N from 2, got .*0"),
    (tensor([1.0, INF]), "the value at x = 2 is inf"),
    (tensor([NAN, 1.0]), "the value at x = 1 is nan"),
    (torch.zeros(0, 5), "with B from 1"),
    (tensor([0.0, 1j]), COMPLEX),
    (tensor([0.0, 1e30]), r"the largest observation is 1e\+30, and 1e\+09 is the most; rescale"),
    (tensor([0.0, 1.0], [-2e9, 0.0]), r"the largest observation is 2e\+09"),
    (
        tensor([1e5, 1e5 + 1]),
        r"torch.float32 rounds values of 1e\+05 by 0.012, which hides how the curve changes",
    ),
]
SAMPLES = [
    *(({name: 0}, f"{name} has to be a positive integer, got 0") for name in ("count", "points")),
    *(({name: 2.0}, f"{name} has to be a positive integer, got 2.0") for name in ("count", "points")),
    *(
        ({"noise": value}, f"noise has to be a finite number.*, got {value!r}")
        for value in (-0.1, INF, NAN, "a")
    ),
    *(
        ({"time_scale": value}, f"time_scale has to be a finite number.*, got {value!r}")
        for value in (0, NAN, "a")
    ),
    *(
        ({"generator": value}, rf"generator has to be one such as torch.Generator\(\)\S*, got {value}")
        for value in (42, None)
    ),
    ({"kind": "sin"}, "unknown class of curves 'sin'; did you mean 'sine'.* known: lin, rbf, sine"),
]
NETWORKS = [
    *(({name: 0}, f"{name} has to be a positive integer, got 0") for name in ("dim", "layers", "heads")),
    ({"heads": 3}, "heads has to divide dim; 3 heads do not divide 8 features"),
    ({"mask": "casual"}, "unknown mask 'casual'; did you mean 'causal'.*known: causal, strict, none"),
    ({"gate": "pots"}, "unknown gate 'pots'; did you mean 'post'"),
    *(
        ({"scale": scale}, f"scale has to be a finite number above 0, got {scale!r}")
        for scale in (0.0, -1.0, INF, NAN)
    ),
    ({"length": 0.0}, "length has to be a finite number above 0, got 0.0"),
    ({"window_rate": -1.0}, "rate has to be a finite number above 0, got -1.0"),
    *(
        ({"window": False} | changes, "are about the window; give window=True")
        for changes in ({"length": 3.0}, {"window_rate": 2.0}, {"gate": "post"})
    ),
]
SETTINGS = [
    ({"model": "onde"}, "unknown model 'onde'; did you mean 'one_d'"),
    ({"observed": 1}, "observed has to be 2 or more"),
    ({"observed": 0}, "observed has to be a positive integer"),
    ({"lr": 0.0}, "lr has to be a finite number above 0"),
    ({"lr": NAN}, "lr has to be a finite number"),
    ({"options": {"scael": 3}}, "unknown option of one_d 'scael'; did you mean 'scale'"),
    ({"options": {"window": True}}, "unknown option of one_d 'window'"),
    ({"options": {"gate": "post"}}, "unknown option of one_d 'gate'"),
    ({"checks": (0,)}, "checks has to be a tuple of epochs from 1 to 100"),
    ({"checks": (101,)}, "checks has to be a tuple of epochs from 1 to 100"),
    ({"prefixes": True, "options": {"mask": "none"}}, "prefixes need a causal mask"),
]
ONE_D, RELATIONAL = network("one_d"), network("relational")
NO_BATCHES = [
    *(
        (torch.zeros(size), r"a batch of curves is \[B, N\] with N from 2, got \[")
        for size in ((5,), (1, 5, 1), (3, 1))
    ),
    (
        torch.zeros(1, 5).double(),
        r"is torch.float64, the network computes in float32; use .to\(torch.float32\)",
    ),
    (torch.zeros(1, 5).long(), "has to be a tensor of floats, got a tensor of torch.int64"),
    ([[0.1, 0.2]], r"has to be a tensor of floats, got list; use torch.as_tensor\(...\).float\(\)"),
]
POINT, SCORED = hand_made()
TWO, THREE = torch.zeros(1, 2), torch.ones(1, 3)
QUESTIONS = [
    # networks
    (lambda: make("relational", "no mask")(observations(), prefixes=True), "prefixes need a causal mask"),
    *((lambda y=y: unchecked(RELATIONAL, y), message) for y, message in NO_BATCHES),
    *((lambda y=y: unchecked(ONE_D, y), message) for y, message in NO_BATCHES),
    # extrapolation
    (lambda: extrapolate(ONE_D, TWO, context="slide"), "unknown context 'slide'; did you mean 'sliding'.*"),
    (lambda: extrapolate(ONE_D, TWO, steps=0), "steps has to be a positive integer, got 0"),
    (lambda: extrapolate(ONE_D, TWO, steps=-3), "steps has to be a positive integer, got -3"),
    (lambda: extrapolate_all(RELATIONAL, torch.zeros(0, 5)), "with B from 1"),
    (lambda: per_kind(torch.ones(2, 3), torch.tensor([0, 1])), "no curve of class 'sine'"),
    (lambda: tasks.evaluation_curves(2, 30), "a curve of each class; got 2 curves"),
    # predictors and bounds
    (lambda: baselines.autoregression(THREE, 2, order=3), r"AR\(L\) of 3 .* needs an L below 3, got 3"),
    (lambda: baselines.autoregression(THREE, 2, order=0), "order has to be a positive integer, got 0"),
    (lambda: lags(THREE, 2.0), "order has to be a positive integer, got 2.0"),
    (lambda: baselines.autoregression(THREE, 2, ridge=0.0), "ridge"),
    (lambda: bounds.score(POINT, SCORED, 2), "end before x = 4"),
    (
        lambda: bounds.score(POINT[:5], Curves(*(part[:5] for part in SCORED)), 1),
        "two curves of each class, got 1 of sine",
    ),
    (lambda: bounds.score(POINT, SCORED, 1, {"lin": 1.0}), "unknown class of curves 'rbf'; known: lin"),
    (lambda: bounds.optimal_error(1, sees_offset=False), "give at least 2"),
    (lambda: bounds.optimal_error(1, 0), "steps"),
    (lambda: bounds.mixture(THREE, 2, noise=0.0), "noise has to be above 0"),
    (lambda: bounds.mixture(tensor([1.0, INF]), 2), "finite"),
    # what is seen inside
    (lambda: analysis.over_matrix(ONE_D, CURVE, 1), "a matrix of differences, not a OneD"),
    (lambda: analysis.over_matrix(RELATIONAL, CURVE, 6), "queries 1 to 5, got 6"),
    (lambda: analysis.over_matrix(RELATIONAL, CURVE, 1, layer=2), "layer has to be from 0 to 1, got 2"),
    (lambda: analysis.attention_by_distance(ONE_D, torch.zeros(0, 5)), "with B from 1"),
    # what uncertainty is worth
    (
        lambda: analysis.coverage(forecast_of([[0.0]], [[1.0]]), curves_of([[0.0, 1.0]] * 2, [0, 0])),
        "do not belong to curves of shape",
    ),
    (
        lambda: analysis.coverage(forecast_of([[0.0]], [[1.0]]), curves_of([[0.0]], [0])),
        "do not belong to curves of shape",
    ),
    (
        lambda: analysis.coverage(forecast_of([[0.0]], [[1.0]], members=1), curves_of([[0.0, 1.0]], [0])),
        "one estimate has no spread",
    ),
    (
        lambda: analysis.error_by_step(torch.zeros(2, 3), curves_of([[0.0, 1.0]] * 2, [0, 0])),
        "3. predictions do not belong",
    ),
]
BAD = [
    *((partial(as_curve, y), message) for y, message in OWN_CURVES),
    *((partial(check_curves, y), message) for y, message in BATCHES),
    *((partial(sample, **({"count": 2, "points": 3, "generator": torch_rng(0)} | o)), m) for o, m in SAMPLES),
    *(
        (partial(MODELS["relational_window"], **({"dim": 8, "layers": 1, "heads": 2} | o)), m)
        for o, m in NETWORKS
    ),
    *((partial(Settings, **({"model": "one_d"} | changes)), message) for changes, message in SETTINGS),
    *(
        (partial(window_of, **{name: value}), f"{name} has to be a finite number above 0, got {value!r}")
        for name in ("length", "rate")
        for value in (0.0, -1.0, INF, NAN, "a", None)
    ),
    *QUESTIONS,
]


@pytest.mark.parametrize(("call", "message"), BAD)
def test_what_cannot_be_done_is_refused(call, message):
    with pytest.raises(UsageError, match=message):
        call()


@pytest.mark.parametrize("name", [*baselines.PREDICTORS, "GP-RBF oracle", "Bayes mixture"])
def test_predictors_refuse_what_is_no_curve_and_no_step(name):
    predict = (baselines.PREDICTORS | bounds.BOUNDS)[name]
    for y, steps, message in ((torch.ones(1, 1), 2, "N from 2"), (THREE, 0, "steps has")):
        with pytest.raises(UsageError, match=message):
            predict(y, steps)
