"""A run of the SCAN paper: its settings, and the commands, the network and the loss that they make up."""

import math
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

import torch
from torch import nn

from mini_lib.datasets import SCAN_SPLITS, scan_lines
from mini_lib.errors import check_names
from mini_lib.scan.evaluation import Parts, best_and_last, evaluate
from mini_lib.scan.models import MODELS, build_network
from mini_lib.scan.recipes import RECIPES, UPDATES, noise
from mini_lib.scan.tasks import ACTION_IDS, WORD_IDS, encode, get_split
from mini_lib.seeding import seeded, torch_rng
from mini_lib.settings import RunSettings
from mini_lib.training import TrainingRun

PAPER = "scan"
VALIDATIONS = {"tail": 0.8, "random": 0.8, "random tenth": 0.9, "none": 1.0}  # the share that is trained on


@dataclass(frozen=True)
class Settings(RunSettings):
    """What a run of this paper is, but for its seed."""

    PAPER: ClassVar[str] = PAPER
    HIDDEN_IN_DESCRIPTION: ClassVar = frozenset({"split", "model", "lr", "epochs", "batch_size", "checks"})

    split: str  #: of `tasks.get_split`.
    model: str  #: a key of `models.MODELS`.
    lr: float  #: learning rate.
    #: passes over the training set; of `recipes.UPDATES` updates where batches are drawn with replacement.
    epochs: int
    batch_size: int  #: B, commands an update; for the CNN places, filled with as many commands as fit.
    #: epochs after which validation and test accuracy are measured, besides the last.
    checks: tuple[int, ...] | list[int] = ()
    #: what part of the training file chooses the checkpoint: its last 20 % ("tail"), a "random" 20 %, a
    #: "random tenth", or "none".
    validation: str = "tail"
    #: commands "generated" from the grammar, or the "released" files (only the paper's four splits).
    source: str = "generated"
    clip: float | None = None  #: the greatest norm of the gradient; none by default.
    #: named options of the network.
    options: dict = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise UsageError for values with which no run can be made."""
        super().__post_init__()
        get_split(self.split)
        self.check_known(
            ("validation", "validation", VALIDATIONS),
            ("source of commands", "source", ("generated", "released")),
        )
        if self.source == "released":
            self.check_known(("split with released files", "split", SCAN_SPLITS))
        self.check_positive("lr", *(["clip"] if self.clip is not None else []))
        self.check_positive_int("epochs", "batch_size")
        given = ("words", "actions")  # the split says how many
        self.check_known(("model", "model", MODELS))
        self.fill_options(MODELS[self.model], given)
        self.check_checks()

    def headline(self) -> str:
        """Network and split."""
        return f"{self.model}, {self.split}"

    def network(self) -> nn.Module:
        """A fresh network, from torch's global generator."""
        vocabulary = {"words": len(WORD_IDS), "actions": len(ACTION_IDS)} if "dax" in self.split else {}
        return build_network(self.model, **vocabulary, **self.options)


def paper_settings(split: str, model: str = "syntactic_attention", **changes) -> Settings:
    """The settings of a run of the paper's tables; `changes` set further fields of `Settings`."""
    own = {"split": split, "model": model}
    check_names("model", [model], SCHEDULES)
    schedule = SCHEDULES[model](split)
    options = schedule.get("options", {}) | changes.get("options", {})
    return Settings.make(own | schedule, changes | {"options": options})


def _syntactic_attention(split: str) -> dict:
    """Whole epochs until 200,000 iterations are passed, as the released code does; a check every 5th epoch."""
    epochs = {"simple": 15, "length": 15, "add_turn_left": 12}.get(split, 18)
    return {"lr": 1e-3, "epochs": epochs, "batch_size": 1, "checks": tuple(range(5, epochs, 5))}


def _gru_attention(split: str) -> dict:
    """The example in the README of Bastings et al.; their validation sets are a tenth of the training files."""
    schedule = {"lr": 0.2, "epochs": 50, "batch_size": 32, "clip": 5.0, "checks": tuple(range(1, 50))}
    return schedule | {"validation": "random tenth"}


def _cnn(split: str) -> dict:
    """The best configurations of Dessi and Baroni, each chosen by them on the test set."""
    shared = {"epochs": 1, "validation": "none", "clip": 0.1}
    if split == "simple":
        options = {"dim": 512, "kernel": 4, "layers": 7, "dropout": 0.0}
        return shared | {"lr": 0.01, "batch_size": 25, "options": options}
    return shared | {"lr": 0.1, "batch_size": 500}


def _li(split: str) -> dict:
    """The scripts of Li et al.: smaller embeddings for two splits, and for length a smaller network altogether."""
    shared = {"lr": 0.01, "clip": 1.0, "validation": "none"}
    if split == "length":
        options = {"primitive": 8, "units": 32, "strength": 0.01}
        return shared | {"epochs": 10_000 // UPDATES, "batch_size": 64, "options": options}
    options = {"primitive": 8} if split == "add_turn_left" else {}
    return shared | {"epochs": 5_000 // UPDATES, "batch_size": 4096, "options": options}


SCHEDULES = {
    "syntactic_attention": _syntactic_attention,
    "gru_attention": _gru_attention,
    "cnn": _cnn,
    "li": _li,
}


# ------------------------------------------------------------------------------------------------ one run


def build(settings: Settings, seed: int) -> TrainingRun:
    """One run, ready to be trained: its commands, its network, its loss and its test.

    Order, noise and validation set depend on the seed alone; initial weights on the seed and the model.
    """
    Settings.check_is(settings)
    parts = make_parts(settings, seed)
    with seeded(seed, "weights", settings.model):
        model = settings.network()
    recipe = RECIPES[settings.model]
    sampler = recipe.sampler(parts.train, settings.batch_size, seed)
    schedule = recipe.schedule and partial(recipe.schedule, math.ceil(sampler.examples / sampler.batch_size))
    return settings.training_run(
        seed,
        model,
        epoch=sampler.epoch,
        examples=sampler.examples,
        batch_size=sampler.batch_size,
        loss=recipe.loss,
        evaluate=partial(evaluate, parts=parts),
        constants=sampler.constants,
        noise=partial(noise, model, seed, sampler),
        dedupe_batch=recipe.dedupe_batch,
        optimizer=recipe.optimizer,
        schedule=schedule,
        clip=settings.clip,
        checks=settings.checks,
        report=best_and_last,
        stack=(PAPER, settings.model, settings.options, "dax" in settings.split),
    )


def make_parts(settings: Settings, seed: int) -> Parts:
    """Training, validation and test examples of a run."""
    if settings.source == "released":
        train, test = (
            [command for command, _ in scan_lines(settings.split, part)] for part in ("train", "test")
        )
    else:
        train, test = get_split(settings.split)
    examples, kept = encode(train), int(VALIDATIONS[settings.validation] * len(train))
    if settings.validation == "none":
        return Parts(examples, None, encode(test))
    order = torch.arange(len(train))
    if settings.validation.startswith("random"):
        order = torch.randperm(len(train), generator=torch_rng(seed, "validation"))
    held_out = order[kept:].tolist()
    if settings.validation == "random tenth":
        # As in Bastings et al., a command that is there many times counts once.
        held_out = list({train[number]: number for number in held_out}.values())
    return Parts(examples[order[:kept]], examples[torch.tensor(held_out)], encode(test))


def tutorial_settings(**changes) -> Settings:
    """A small network that learns SCAN in about a minute on one core; what it does with jump depends on its seed."""
    small = {"lr": 4e-3, "epochs": 5, "batch_size": 16, "validation": "none"}
    options = {"syntax": 64, "semantics": 38} | changes.pop("options", {})
    named = {"split": "add_jump", "model": "syntactic_attention", "options": options}
    return Settings.make(named | small, changes)
