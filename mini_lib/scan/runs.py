"""A run of the SCAN paper: its settings, and the commands, the network, the loss and the test that they make up."""

import math
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor, nn

from mini_lib.datasets import SCAN_SPLITS, scan_lines
from mini_lib.errors import check_names
from mini_lib.scan.cnn import CNN
from mini_lib.scan.gru_attention import GRUAttention
from mini_lib.scan.li import LiNetwork
from mini_lib.scan.recipes import RECIPES, UPDATES, noise
from mini_lib.scan.syntactic_attention import SyntacticAttention
from mini_lib.scan.tasks import (
    ACTION_IDS,
    NO_ACTION,
    SPLITS,
    WORD_IDS,
    Examples,
    encode,
    exactly_right,
    get_split,
)
from mini_lib.seeding import seeded, torch_rng
from mini_lib.settings import RunSettings
from mini_lib.training import TrainingRun

PAPER = "scan"
MODELS = {
    "syntactic_attention": SyntacticAttention,
    "gru_attention": GRUAttention,
    "cnn": CNN,
    "li": LiNetwork,
}
VALIDATIONS = {"tail": 0.8, "random": 0.8, "random tenth": 0.9, "none": 1.0}  # the part that is trained on


@dataclass(frozen=True)
class Settings(RunSettings):
    """What a run of this paper is, but for its seed."""

    PAPER: ClassVar[str] = PAPER

    split: str  #: of `get_split`.
    model: str  #: "syntactic_attention", "gru_attention", "cnn" or "li".
    lr: float  #: learning rate.
    epochs: int  #: passes over the training set, or `recipes.UPDATES` updates of drawn batches.
    batch_size: int  #: B, commands an update; for the CNN tokens, filled with as many commands as fit.
    checks: tuple[int, ...] | list[int] = ()  #: epochs after which accuracy is measured, besides the last.
    validation: str = "tail"  #: the part that chooses the checkpoint; or "random", "random tenth" or "none".
    source: str = "generated"  #: commands "generated" from the grammar, or "released" files.
    clip: float | None = None  #: the greatest norm of the gradient.
    options: dict = field(default_factory=dict)  #: of the network's constructor.

    def __post_init__(self) -> None:
        """Raise UsageError for values with which no run can be made."""
        super().__post_init__()
        self.check_known(
            ("split", "split", SPLITS),
            ("model", "model", MODELS),
            ("validation", "validation", VALIDATIONS),
            ("source of commands", "source", ("generated", "released")),
        )
        if self.source == "released":
            self.check_known(("split with released files", "split", SCAN_SPLITS))
        self.fill_options(MODELS[self.model], given=("words", "actions"))  # the split says how many
        self.check_checks()

    def network(self) -> nn.Module:
        """A fresh network, from torch's global generator."""
        vocabulary = {"words": len(WORD_IDS), "actions": len(ACTION_IDS)} if "dax" in self.split else {}
        return MODELS[self.model](**vocabulary, **self.options)


def paper_settings(split: str, model: str = "syntactic_attention", **changes) -> Settings:
    """The settings of a run of the paper's tables; `changes` set further fields of `Settings`."""
    check_names("model", [model], MODELS)
    plan = SCHEDULES[model] | SCHEDULES_OF_SPLITS.get((model, split), {}) | {"split": split, "model": model}
    options = plan.get("options", {}) | changes.get("options", {})
    return Settings.make(plan, changes | {"options": options})


def tutorial_settings(**changes) -> Settings:
    """A small network that learns SCAN in about a minute on one core; its accuracy on jump depends on its seed."""
    plan = {"split": "add_jump", "model": "syntactic_attention", "lr": 4e-3, "epochs": 5, "batch_size": 16}
    plan |= {"validation": "none", "options": {"syntax": 64, "semantics": 38} | changes.pop("options", {})}
    return Settings.make(plan, changes)


# Syntactic Attention: whole epochs until 200,000 iterations are passed, as the released code does, and a check every
# 5th epoch. GRU: the example in the README of Bastings et al., whose validation sets are a tenth of the training
# files. CNN: the best configurations of Dessi and Baroni, each chosen by them on the test set. Li: their scripts.
SCHEDULES: dict[str, dict[str, Any]] = {
    "syntactic_attention": {"lr": 1e-3, "epochs": 18, "batch_size": 1, "checks": (5, 10, 15)},
    "gru_attention": {"lr": 0.2, "epochs": 50, "batch_size": 32, "clip": 5.0, "checks": tuple(range(1, 50))}
    | {"validation": "random tenth"},
    "cnn": {"lr": 0.1, "epochs": 1, "batch_size": 500, "clip": 0.1, "validation": "none"},
    "li": {"lr": 0.01, "epochs": 5_000 // UPDATES, "batch_size": 4096, "clip": 1.0, "validation": "none"},
}
SCHEDULES_OF_SPLITS: dict[tuple[str, str], dict[str, Any]] = {
    ("syntactic_attention", "simple"): {"epochs": 15, "checks": (5, 10)},
    ("syntactic_attention", "length"): {"epochs": 15, "checks": (5, 10)},
    ("syntactic_attention", "add_turn_left"): {"epochs": 12, "checks": (5, 10)},
    ("cnn", "simple"): {"lr": 0.01, "batch_size": 25}
    | {"options": {"dim": 512, "kernel": 4, "layers": 7, "dropout": 0.0}},
    ("li", "add_turn_left"): {"options": {"primitive": 8}},
    ("li", "length"): {"epochs": 10_000 // UPDATES, "batch_size": 64}
    | {"options": {"primitive": 8, "units": 32, "strength": 0.01}},
}


class Parts(NamedTuple):
    """The examples of a run."""

    train: Examples
    validation: Examples | None  #: to choose among checkpoints.
    test: Examples


def build(settings: Settings, seed: int) -> TrainingRun:
    """One run, ready to be trained: its commands, its network, its loss and its test.

    Order, noise and validation set depend on the seed alone; initial weights on the seed and the model.
    """
    Settings.check_is(settings)
    parts, recipe = make_parts(settings, seed), RECIPES[settings.model]
    with seeded(seed, "weights", settings.model):
        model = settings.network()
    shown = recipe.sampler(parts.train, settings.batch_size, seed)
    per_epoch = math.ceil(shown["examples"] / shown["batch_size"])
    return settings.training_run(
        seed,
        model,
        **shown,
        loss=recipe.loss,
        evaluate=partial(evaluate, parts=parts),
        noise=partial(noise, model, seed),
        dedupe_batch=recipe.dedupe_batch,
        optimizer=recipe.optimizer,
        schedule=recipe.schedule and partial(recipe.schedule, per_epoch),
        clip=settings.clip,
        checks=settings.checks,
        report=best_and_last,
        stack=(PAPER, settings.model, settings.options, "dax" in settings.split),
    )


def make_parts(settings: Settings, seed: int) -> Parts:
    """Training, validation and test examples of a run."""
    train, test = get_split(settings.split)
    if settings.source == "released":
        train, test = (tuple(c for c, _ in scan_lines(settings.split, part)) for part in ("train", "test"))
    examples, kept = encode(train), int(VALIDATIONS[settings.validation] * len(train))
    if settings.validation == "none":
        return Parts(examples, None, encode(test))
    order = torch.arange(len(train))
    if settings.validation.startswith("random"):
        order = torch.randperm(len(train), generator=torch_rng(seed, "validation"))
    held_out = order[kept:].tolist()
    if settings.validation == "random tenth":  # Bastings et al. hold out a repeated command once
        held_out = list({train[number]: number for number in held_out}.values())
    return Parts(examples[order[:kept]], examples[torch.tensor(held_out)], encode(test))


def answers(model: Any, examples: Examples) -> Int[Tensor, "N L"]:
    """The network's actions for every command, for as many steps as are right; on the CPU."""
    device = next(model.parameters()).device
    predicted = torch.full_like(examples.actions, NO_ACTION)
    for part in examples.length_buckets():
        words, lengths, actions = examples[part].trimmed().to(device).tensors
        found = model.predict(words, lengths, actions.shape[1])
        predicted[part, : found.shape[1]] = found.cpu()
    return predicted


def accuracy(model: nn.Module, examples: Examples) -> float:
    """Percent of commands with every action, and the end, right."""
    return 100 * exactly_right(answers(model, examples), examples.actions).float().mean().item()


def evaluate(model: nn.Module, parts: Parts) -> dict[str, float]:
    """Exact-match accuracy on the test set, and on the validation set if there is one."""
    measured = {"test_accuracy": parts.test, "validation_accuracy": parts.validation}
    return {name: accuracy(model, part) for name, part in measured.items() if part is not None}


def best_and_last(checks: list[dict]) -> dict[str, float]:
    """The test accuracy where the validation accuracy was best (the first such checkpoint), and at the end."""
    best = {**max(checks, key=lambda check: check.get("validation_accuracy", check["epoch"]))}
    epoch = best.pop("epoch")
    return best | {"last_test_accuracy": checks[-1]["test_accuracy"], "best_epoch": epoch}
