"""A run of the function-learning paper: its settings, and the curves, the network and the loss that they make up."""

from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

import torch
from torch import Tensor

from mini_lib.errors import UsageError
from mini_lib.functions.evaluation import evaluate
from mini_lib.functions.models import (
    MODELS,
    OPTIONS,
    FunctionTransformer,
    RelationalTransformer,
    build_network,
    options_of,
)
from mini_lib.functions.tasks import SHORTEST, STEPS, UPDATES, evaluation_curves, sample
from mini_lib.seeding import seeded, torch_rng
from mini_lib.settings import RunSettings
from mini_lib.training import Batch, TrainingRun

PAPER = "functions"
UNCERTAIN = ("relational", "relational_window")  # the networks of Table 2


@dataclass(frozen=True)
class Settings(RunSettings):
    """What a run of this paper is, but for its seed."""

    PAPER: ClassVar[str] = PAPER
    HIDDEN_IN_DESCRIPTION: ClassVar = frozenset({"model", "checks", "epochs", "lr"})

    model: str  #: a key of `models.MODELS`.
    #: N, the points that are seen in training and before a test; the next one is the target.
    observed: int = 20
    epochs: int = 100  #: of 100 updates, each on curves drawn afresh.
    batch_size: int = 32  #: curves in a batch, B.
    lr: float = 1e-4  #: learning rate.
    prefixes: bool = False  #: train on every prefix of a curve at once, rather than on its last point alone.
    test_curves: int = 2500  #: how many, evenly split among the classes.
    checks: tuple[int, ...] | list[int] = ()  #: epochs after which the test is made, besides the last.
    options: dict = field(default_factory=dict)  #: of `models.FunctionTransformer`.

    def __post_init__(self) -> None:
        """Raise UsageError for values with which no run can be made."""
        super().__post_init__()
        self.check_known(("model", "model", MODELS))
        self.check_positive_int("observed", "epochs", "batch_size", "test_curves")
        self.check_positive("lr")
        if self.prefixes and self.options.get("mask") == "none":
            raise UsageError(
                "with mask='none' every token sees every other, and prefixes need a causal mask; give prefixes=False"
            )
        if self.observed < SHORTEST:
            raise UsageError(f"observed has to be {SHORTEST} or more, got {self.observed}")
        if self.test_curves < 3:
            raise UsageError(f"a test needs a curve of each class; got test_curves={self.test_curves}")
        self.fill_options(
            partial(MODELS[self.model][0]),
            [n for n in OPTIONS if n not in options_of(self.model)] + ["window"],
        )
        self.check_checks()

    def headline(self) -> str:
        """The network."""
        return self.model

    def network(self) -> FunctionTransformer:
        """A fresh network, from torch's global generator."""
        return build_network(self.model, **self.options)


def paper_settings(model: str, **changes) -> Settings:
    """The settings of a run of the paper's tables; `changes` set further fields of `Settings`.

    Where the text is open, it is read as Table 1 says by a rule (`reproduction.functions.readings`): the mask is
    strict, and every prefix is trained on. Relational networks are tested on the way too: the spread of their
    estimates depends on how long they train.
    """
    checks = {"checks": CHECKS} if model in UNCERTAIN else {}
    return _settings({"model": model} | checks, {}, changes)


def tutorial_settings(model: str, **changes) -> Settings:
    """A small network that sees 12 points, trained on as many curves as the paper's, in minutes on one core."""
    small = {"observed": 12, "lr": 1e-3, "checks": CHECKS, "test_curves": 750}
    return _settings({"model": model} | small, {"dim": 64, "layers": 3, "heads": 4, "scale": 1 / 20}, changes)


def _settings(plan: dict, options: dict, changes: dict) -> Settings:
    options = {"mask": "strict"} | options | changes.get("options", {})
    return Settings.make(plan | {"prefixes": True}, changes | {"options": options})


CHECKS = (1, 3, 10, 30)


# ------------------------------------------------------------------------------------------------ one run


def build(settings: Settings, seed: int) -> TrainingRun:
    """One run: its curves, its network, its loss and its test.

    Curves depend on the seed alone, so that networks of one seed learn from the same; those of the test are the same
    for every run.
    """
    Settings.check_is(settings)
    with seeded(seed, "weights", settings.model):
        model = settings.network()
    return settings.training_run(
        seed,
        model,
        epoch=partial(draw, settings, seed),
        examples=UPDATES * settings.batch_size,
        loss=Loss(isinstance(model, RelationalTransformer), settings.prefixes, settings.observed),
        evaluate=partial(evaluate, curves=evaluation_curves(settings.test_curves, settings.observed + STEPS)),
        checks=settings.checks,
        stack=(PAPER, settings.model, settings.options, settings.prefixes, settings.observed),
    )


def draw(settings: Settings, seed: int, epoch: int) -> Batch:
    """The training curves of one epoch: observed points and the target. {"y": [100 B, N + 1]}"""
    generator = torch_rng(seed, "curves", epoch)
    return {"y": sample(UPDATES * settings.batch_size, settings.observed + 1, generator).y}


@dataclass(frozen=True)
class Loss:
    """Mean squared error of the answers; the score is that of the last value, as they predict it on average.

    Every point that is asked for counts alike, however many answers there are about it.
    """

    #: answers are differences y_q - y_i from every earlier point i and from q itself, which is 0 and counts
    #: in the mean; else they are values y_q.
    relational: bool
    prefixes: bool  #: answers are about every point from the third.
    observed: int  #: N; runs of another N cannot be in one stack.

    def __call__(self, apply, batch: Batch) -> tuple[Tensor, Tensor]:
        """(loss, score) of a batch {"y": [B, N + 1]}."""
        y, last = batch["y"], self.observed + 1
        first = SHORTEST + 1 if self.prefixes else last
        answers = apply(y[:, :-1], prefixes=self.prefixes)
        places = range(first, last + 1)  # q, each with q answers z_i about y_q - y_i
        if self.relational:
            by_place = answers.split([*places], dim=1)
            errors = [z - (y[:, q - 1 : q] - y[:, :q]) for q, z in zip(places, by_place, strict=True)]
            prediction = (by_place[-1][:, :-1] + y[:, :-1]).mean(dim=1)
        else:
            errors, prediction = (answers - y[:, first - 1 :]).unbind(dim=1), answers[:, -1]
        loss = torch.stack([error.square().mean() for error in errors]).mean()
        return loss, (prediction - y[:, -1]).square().mean()
