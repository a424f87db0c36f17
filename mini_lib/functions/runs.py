"""A run of the function-learning paper: its settings, its curves, its network, its loss and its test."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import torch
from jaxtyping import Float, Int
from scipy.stats import spearmanr
from torch import Tensor

from mini_lib.errors import UsageError
from mini_lib.functions import tasks
from mini_lib.functions.extrapolation import CONTEXTS, Extrapolation, extrapolate
from mini_lib.functions.tasks import KINDS, OBSERVED, SHORTEST, STEPS, UPDATES, Curves, rows_by_kind
from mini_lib.functions.transformer import MODELS, FunctionTransformer, RelationalTransformer
from mini_lib.seeding import seeded, torch_rng
from mini_lib.settings import RunSettings
from mini_lib.training import Batch, TrainingRun

PAPER = "functions"
UNCERTAIN = ("relational", "relational_window")  # the networks of Table 2
CHECKS = (1, 3, 10, 30)
WINDOW_OPTIONS = ("length", "window_rate", "gate")
# The text says that classes are evenly split; the six printed "all" follow, within rounding, from these weights.
WEIGHTS = {"lin": 15 / 34, "rbf": 10 / 34, "sine": 9 / 34}
EVAL_BATCH = {"cpu": 25, "cuda": 500}  # curves; few stay in a CPU's cache


@dataclass(frozen=True)
class Settings(RunSettings):
    """The settings of a run, without its seed; the defaults are the paper's.

    Where the text is open they follow Table 1: a strict mask, every prefix.
    """

    PAPER: ClassVar[str] = PAPER

    model: str  #: "one_d", "one_d_window", "one_d_level_hidden", "relational" or "relational_window".
    #: N, the number of points in training and before a test; the next one is the target.
    observed: int = OBSERVED
    epochs: int = 100  #: of 100 updates, each on fresh curves.
    batch_size: int = 32  #: B.
    lr: float = 1e-4  #: learning rate.
    prefixes: bool = True  #: train on every prefix of a curve at once; else on its last point alone.
    test_curves: int = 2500  #: their number, evenly split among the classes.
    checks: tuple[int, ...] | list[int] = ()  #: epochs after which the test is made, besides the last.
    options: dict = field(
        default_factory=dict
    )  #: of the network, such as {"dim": 64, "layers": 3, "heads": 4}.

    def __post_init__(self) -> None:
        """Raise UsageError for values with which no run can be made."""
        super().__post_init__()
        self.check_known(("model", "model", MODELS))
        without = () if self.model.endswith("_window") else WINDOW_OPTIONS
        self.fill_options(MODELS[self.model], given=("window", *without))
        if self.prefixes and self.options["mask"] == "none":
            raise UsageError("prefixes need a causal mask; with mask='none' give prefixes=False")
        if self.observed < SHORTEST:
            raise UsageError(f"observed has to be {SHORTEST} or more, got {self.observed}")
        self.check_checks()

    def network(self) -> FunctionTransformer:
        """A fresh network, from torch's global generator."""
        return MODELS[self.model](**self.options)


def paper_settings(model: str, **changes: Any) -> Settings:
    """The settings of a run of the paper's tables; `changes` set further fields of `Settings`."""
    return Settings.make({"model": model} | ({"checks": CHECKS} if model in UNCERTAIN else {}), changes)


def tutorial_settings(model: str, **changes: Any) -> Settings:
    """A small network that sees 12 points, trained on as many curves as the paper's, in minutes on one core."""
    small = {"model": model, "observed": 12, "lr": 1e-3, "checks": CHECKS, "test_curves": 750}
    options = {"dim": 64, "layers": 3, "heads": 4, "scale": 1 / 20} | changes.get("options", {})
    return Settings.make(small, changes | {"options": options})


def build(settings: Settings, seed: int) -> TrainingRun:
    """Build a run; all networks of one seed are trained on the same curves, and all runs have one test."""
    Settings.check_is(settings)
    with seeded(seed, "weights", settings.model):
        model = settings.network()
    test = tasks.evaluation_curves(settings.test_curves, settings.observed + STEPS)
    return settings.training_run(
        seed,
        model,
        epoch=partial(draw, settings, seed),
        examples=UPDATES * settings.batch_size,
        loss=partial(loss_and_score, prefixes=settings.prefixes, network=type(model)),
        evaluate=partial(evaluate, curves=test),
        checks=settings.checks,
        stack=(PAPER, settings.model, settings.options, settings.prefixes, settings.observed),
    )


def draw(settings: Settings, seed: int, epoch: int) -> Batch:
    """Draw the training curves of one epoch: observed points and the target. {"y": [100 B, N + 1]}"""
    rng = torch_rng(seed, "curves", epoch)
    return {"y": tasks.sample_curves(UPDATES * settings.batch_size, settings.observed + 1, rng).y}


def loss_and_score(
    model: Callable[..., Tensor], batch: Batch, prefixes: bool, network: type[FunctionTransformer]
) -> tuple[Tensor, Tensor]:
    """Return the loss on curves {"y": [B, N + 1]}, and the squared error of the mean estimate of the last value."""
    y = batch["y"]
    first = SHORTEST + 1 if prefixes else y.shape[1]
    answers = model(y[:, :-1], prefixes=prefixes)  # about y_q for q = first..N+1
    if issubclass(network, RelationalTransformer):
        loss = difference_loss(answers, y, first)
    else:
        loss = value_loss(answers, y if network.sees_offset else y - y[:, :1], first)
    prediction = network.estimates(y[:, :-1], answers).mean(dim=1)
    return loss, (prediction - y[:, -1]).square().mean()


def value_loss(answers: Float[Tensor, "B Q"], y: Float[Tensor, "B T"], first: int) -> Float[Tensor, ""]:
    """Mean squared error of predictions of y_q, q = first..T ("Comparison model")."""
    target = y[:, first - 1 :]  # y_q [B, Q]
    return (answers - target).square().mean()


def difference_loss(answers: Float[Tensor, "B _"], y: Float[Tensor, "B T"], first: int) -> Float[Tensor, ""]:
    """Mean squared error of z_i about y_q, i = 1..q, q = first..T ("Incorporating Similarity Matrix Bottleneck").

    Every q counts alike. The last difference of each q is 0 and counts too, as in the paper.
    """
    places, errors = range(first, y.shape[1] + 1), []
    for q, z in zip(places, answers.split([*places], dim=1), strict=True):
        target = y[:, q - 1 : q] - y[:, :q]  # y_q - y_i, i = 1..q [B, q]
        errors.append((z - target).square().mean())
    return torch.stack(errors).mean()


def extrapolate_all(
    model: FunctionTransformer, y: Float[Tensor, "B T"], context: str = "growing"
) -> Extrapolation:
    """Extrapolate curves in parts that fit the network's device; the result is on the CPU."""
    device = next(model.parameters()).device
    chunks = y.split(EVAL_BATCH.get(device.type, 25))
    parts = [extrapolate(model, chunk.to(device), STEPS, context) for chunk in chunks]
    point, spread = (torch.cat([part[i].cpu() for part in parts]) for i in (0, 1))
    by_step = zip(*(part.estimates for part in parts), strict=True)
    return Extrapolation(point, spread, [torch.cat(step).cpu() for step in by_step])


def evaluate(model: FunctionTransformer, curves: Curves) -> dict[str, float]:
    """Measure the extrapolation of the last 10 points of curves from the others ("Results", Tables 1 and 2).

    Returns:
        Means over steps and curves, by class, "all" and "even". ``mse_lin`` and so on: squared error against the
        noiseless function, context growing. ``noisy_mse_``: against observations. ``sliding_mse_``: context sliding.
        With a window ``window``: its length. For a relational network also ``spread_``: standard deviation of the
        estimates (Table 2); ``covered_1_`` and ``covered_2_``: percentage of observations within one and two of
        them; ``spread_error_``: rank correlation of the spread with the absolute error, all steps together.
    """
    seen, truth, y = curves.y[:, :-STEPS], curves.truth[:, -STEPS:], curves.y[:, -STEPS:]
    grown, slid = (extrapolate_all(model, seen, context) for context in CONTEXTS)
    errors = {"mse": grown.point - truth, "noisy_mse": grown.point - y, "sliding_mse": slid.point - truth}
    measures = {name: error.square() for name, error in errors.items()}
    relational = isinstance(model, RelationalTransformer)
    if relational:
        measures["spread"] = grown.spread
        off = (y - grown.point).abs()
        measures |= {f"covered_{n}": 100 * (off <= n * grown.spread).float() for n in (1, 2)}
    by_kind = {name: per_kind(values, curves.kinds) for name, values in measures.items()}
    metrics = {f"{name}_{kind}": mean for name, means in by_kind.items() for kind, mean in means.items()}
    if relational:
        metrics |= spread_against_error(grown, y, curves.kinds)
    if model.window is not None:
        metrics["window"] = model.window.length.item()
    return metrics


def per_kind(values: Float[Tensor, "B S"], kinds: Int[Tensor, "B"]) -> dict[str, float]:
    """Means over the curves of each class, and over all of them: "all" by `WEIGHTS`, "even" with equal weights."""
    means = {kind: values[rows].double().mean().item() for kind, rows in rows_by_kind(kinds).items()}
    if lacking := [kind for kind in KINDS if kind not in means]:
        raise UsageError(f"no curve of class {lacking[0]!r} to take a mean over")
    weighted = sum(WEIGHTS[kind] * means[kind] for kind in KINDS)
    return means | {"all": weighted, "even": sum(means.values()) / len(KINDS)}


def spread_against_error(
    forecast: Extrapolation, y: Float[Tensor, "B S"], kinds: Int[Tensor, "B"]
) -> dict[str, float]:
    """Spearman's correlation, over all points of a class, of the spread with the absolute error."""
    error = (forecast.point - y).abs()
    return {
        f"spread_error_{kind}": float(spearmanr(forecast.spread[rows].ravel(), error[rows].ravel()).statistic)
        for kind, rows in rows_by_kind(kinds).items()
    }
