"""A run of the study: its settings, and the problems, the network and the loss that they make up."""

import math
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mini_lib.errors import UsageError
from mini_lib.esbn.models import ConvEncoder
from mini_lib.esbn.tasks import check_regime, get_task
from mini_lib.functions.tasks import sample
from mini_lib.grid.analysis import Exchanges, commands_exchanged, curves_exchanged, glyphs_exchanged
from mini_lib.grid.evaluation import accuracies, evaluate, exact_matches, extrapolation_errors
from mini_lib.grid.models import (
    MODELS,
    STREAMS,
    CommandNetwork,
    CurveNetwork,
    GlyphNetwork,
    build_core,
    context_norm,
    syntactic_attention,
)
from mini_lib.grid.models.commands import WORD_FEATURES
from mini_lib.grid.tasks import (
    ITEM_GLYPHS,
    ITEMS,
    OBSERVED,
    RULES,
    Problems,
    command_data,
    item_pools,
    item_tests,
    items,
    rules,
    transformed_curves,
)
from mini_lib.scan.recipes import RECIPES, noise
from mini_lib.scan.tasks import MOST_WORDS
from mini_lib.seeding import numpy_rng, seeded, torch_rng
from mini_lib.settings import RunSettings
from mini_lib.training import Batch, TrainingRun

PAPER = "grid"
ITEM_TASKS = ("match", "name")
TASKS = (*RULES, *ITEM_TASKS, "curves", "commands")
FEATURES = 128  # of a glyph's code, or of what is made of a curve's value
ITEM_FEATURES = 40  # of a glyph's code where three stand side by side
FRESH = 100  # updates of an epoch where problems are drawn afresh
TESTED = 2000  # problems of each test
TEST_CURVES = 750
PLACES = {"distribution_of_three": (5, 6, 7, 8), "rmts": (3, 5), "match": tuple(range(ITEMS))}


def mechanisms(task: str) -> list[str]:
    """The mechanisms that a task has, by name."""
    if task != "commands":
        return [*MODELS]
    return [*STREAMS, *(name for name in MODELS if not name.startswith("pointer"))]


@dataclass(frozen=True)
class Settings(RunSettings):
    """What a run of the study is, but for its seed."""

    PAPER: ClassVar[str] = PAPER
    HIDDEN_IN_DESCRIPTION: ClassVar = frozenset({"task", "model", "m", "lr", "updates"})

    task: str  #: of `TASKS`.
    model: str  #: a key of `models.MODELS`; of commands also one of `models.STREAMS`.
    lr: float  #: learning rate.
    updates: int  #: at least; an epoch that was begun is ended.
    m: int = 0  #: glyphs kept for the test; of rules only.
    batch_size: int = 32  #: problems in a batch, B.
    #: of rules: whether steps are normalised over a problem (see `models.context_norm`); of curves: over a curve.
    normalised: bool = True
    trained_encoder: bool = False  #: learn the encoder of glyphs with the rest; of rules only.
    #: added to the seed: runs that choose a learning rate share no seed with those that count.
    seeds_after: int = 0
    options: dict = field(default_factory=dict)  #: of the mechanism.

    def __post_init__(self) -> None:
        """Raise UsageError for values with which no run can be made."""
        super().__post_init__()
        self.check_known(("task", "task", TASKS))
        self.check_known((f"model for {self.task}", "model", mechanisms(self.task)))
        if self.task in RULES:
            check_regime(get_task(self.task), self.m)
        elif self.m or self.trained_encoder:
            raise UsageError(f"m and trained_encoder are of rules ({', '.join(RULES)}), not of {self.task}")
        if not self.normalised and self.task not in (*RULES, "curves"):
            raise UsageError(f"normalised is of rules and of curves; leave it out for {self.task}")
        self.check_positive("lr")
        self.check_positive_int("updates", "batch_size")
        if self.seeds_after < 0:
            raise UsageError(f"seeds_after is 0 or more, got {self.seeds_after}")
        given = ("features", "classes", "length", "places")
        self.check_options(MODELS.get(self.model, syntactic_attention), given)

    @property
    def features(self) -> int:
        """D, of each vector that the mechanism is given."""
        if self.task == "commands":
            return WORD_FEATURES
        return 3 * ITEM_FEATURES if self.task in ITEM_TASKS else FEATURES

    def headline(self) -> str:
        """The mechanism and the task."""
        return f"{self.model}, {self.task}{f', m={self.m}' if self.m else ''}"

    def network(self) -> nn.Module:
        """A fresh network, from torch's global generator."""
        if self.model in STREAMS:
            return syntactic_attention(sequential_semantics=STREAMS[self.model])
        if self.task == "commands":
            return CommandNetwork(lambda: self._core(1, MOST_WORDS))
        # What all mechanisms have in common is drawn first, so that one seed gives them the same of it.
        if self.task == "curves":
            read = nn.Linear(1, FEATURES)
            return CurveNetwork(read, self._core(1, OBSERVED), self.normalised)
        if self.task in ITEM_TASKS:
            encoder, answers = ConvEncoder(ITEM_FEATURES), ITEMS if self.task == "match" else ITEM_GLYPHS
            return GlyphNetwork(encoder, nn.Identity(), self._core(answers, ITEMS + 1))
        encoder, spec = ConvEncoder(FEATURES), get_task(self.task)
        norm = context_norm(FEATURES, spec.length) if self.normalised else nn.Identity()
        core = self._core(spec.classes, spec.length)
        return GlyphNetwork(encoder, norm, core, self.trained_encoder)

    def _core(self, classes: int, length: int) -> nn.Module:
        shape = {
            "features": self.features,
            "classes": classes,
            "length": length,
            "places": PLACES.get(self.task, ()),
        }
        return build_core(self.model, self.task, **shape, **self.options)


def build(settings: Settings, seed: int) -> TrainingRun:
    """One run: its problems, its network, its loss and its test.

    All mechanisms of a seed meet the same problems, and the same codes of glyphs; twins begin with the same numbers,
    but for those that only one of them has.
    """
    Settings.check_is(settings)
    drawn = seed + settings.seeds_after
    with seeded(drawn, "weights"):
        model = settings.network()
    kinds = {"curves": curve_parts, "commands": partial(command_parts, model)}
    kinds |= dict.fromkeys(ITEM_TASKS, item_parts)
    scores, exchanges, parts = kinds.get(settings.task, rule_parts)(settings, drawn)
    measure = partial(evaluate, scores=scores, exchanges=exchanges, untrained=deepcopy(model))
    epochs = math.ceil(settings.updates / math.ceil(parts["examples"] / settings.batch_size))
    shared = (
        PAPER,
        settings.task,
        settings.model,
        settings.options,
        settings.normalised,
        settings.trained_encoder,
    )
    return settings.training_run(seed, model, evaluate=measure, epochs=epochs, stack=shared, **parts)


Parts = tuple[Callable[[nn.Module], dict[str, float]], Exchanges, dict]

# Each of these says of a kind of task: what is scored, what is exchanged, and what else `TrainingRun` wants to know.


def rule_parts(settings: Settings, seed: int) -> Parts:
    """The same problems in every epoch, in another order."""
    data = rules(settings.task, settings.m, seed)
    tests = {"familiar": data.familiar[:TESTED], "new": data.new[:TESTED], "training": data.train[:TESTED]}
    examples = len(data.train.answers)
    parts = {
        "epoch": partial(shuffled, data.train, seed),
        "examples": examples,
        "loss": answer_loss,
        "dedupe_batch": shown_once if settings.trained_encoder else None,
    }
    return partial(accuracies, parts=tests), glyphs_exchanged(data.familiar, *data.images), parts


def item_parts(settings: Settings, seed: int) -> Parts:
    """Other problems in every epoch, of the same glyphs."""
    name = settings.task == "name"
    tests, pools = item_tests(seed, TESTED, name), item_pools(seed)
    examples = FRESH * settings.batch_size
    parts = {
        "epoch": partial(drawn_items, pools[0], seed, examples, name),
        "examples": examples,
        "loss": answer_loss,
    }
    return partial(accuracies, parts=tests), glyphs_exchanged(tests["familiar"], *pools), parts


def curve_parts(settings: Settings, seed: int) -> Parts:
    """Other curves in every epoch, those of the function paper."""
    parts = {
        "epoch": partial(drawn_curves, seed, FRESH * settings.batch_size),
        "examples": FRESH * settings.batch_size,
        "loss": step_loss,
    }
    return partial(extrapolation_errors, parts=transformed_curves(TEST_CURVES)), curves_exchanged(), parts


def command_parts(model: nn.Module, settings: Settings, seed: int) -> Parts:
    """All training commands in every epoch, as Syntactic Attention is trained."""
    data, recipe = command_data(seed), RECIPES["syntactic_attention"]
    sampler = recipe.sampler(data.train, settings.batch_size, seed)
    parts = {
        "epoch": sampler.epoch,
        "examples": sampler.examples,
        "loss": recipe.loss,
        "noise": partial(noise, model, seed, sampler),
        "dedupe_batch": recipe.dedupe_batch,
    }
    return partial(exact_matches, parts=data.tests), commands_exchanged(), parts


def shuffled(problems: Problems, seed: int, epoch: int) -> Batch:
    """The training problems in the order of one epoch."""
    order = torch.randperm(len(problems.answers), generator=torch_rng(seed, "order", epoch))
    return problems[order]._asdict()


def shown_once(batch: Batch) -> Batch:
    """Only the glyphs that a batch shows, so that each is encoded once."""
    shown, ids = torch.unique(batch["ids"], return_inverse=True)
    return batch | {"ids": ids, "shown": shown}


def drawn_items(pool: Tensor, seed: int, count: int, name: bool, epoch: int) -> Batch:
    """The training problems of items of one epoch."""
    return items(count, pool, numpy_rng(seed, "items", epoch), name)._asdict()


def drawn_curves(seed: int, count: int, epoch: int) -> Batch:
    """The training curves of one epoch: observed points and the next one. {"y": [N, 13]}"""
    return {"y": sample(count, OBSERVED + 1, torch_rng(seed, "curves", epoch)).y}


def answer_loss(apply: Callable, batch: Batch) -> tuple[Tensor, Tensor]:
    """Cross-entropy, and the batch's accuracy in percent."""
    logits = apply(batch["ids"], *([batch["shown"]] if "shown" in batch else []))
    accuracy = 100 * (logits.argmax(dim=-1) == batch["answers"]).float().mean()
    return F.cross_entropy(logits, batch["answers"]), accuracy


def step_loss(apply: Callable, batch: Batch) -> tuple[Tensor, Tensor]:
    """Mean squared error of the step from the last observed value to the next; the score is the same."""
    y = batch["y"]
    error = (apply(y[:, :-1]) - (y[:, -1] - y[:, -2])).square().mean()
    return error, error
