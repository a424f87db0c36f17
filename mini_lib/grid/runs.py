"""Runs of the study: settings, and the problems, the network, the loss and the test that they make up."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mini_lib.errors import UsageError
from mini_lib.esbn.network import ConvEncoder, TemporalContextNorm
from mini_lib.esbn.runs import loss_and_accuracy, shuffled
from mini_lib.esbn.tasks import Problems, check_regime, get_task
from mini_lib.functions.tasks import STEPS, sample_curves
from mini_lib.grid import tasks
from mini_lib.grid.networks import (
    GIVEN,
    MODELS,
    STREAMS,
    WORD_FEATURES,
    CommandNetwork,
    CurveNetwork,
    GlyphNetwork,
    build_core,
    syntactic_attention,
)
from mini_lib.grid.tasks import ITEMS, OBSERVED, RULES
from mini_lib.scan.recipes import RECIPES, noise
from mini_lib.scan.runs import accuracy
from mini_lib.scan.syntactic_attention import loss as command_loss
from mini_lib.scan.tasks import MAX_WORDS, Examples
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
EVAL_BATCH = 500  # problems that a network is tested on at once
TEST_CURVES = 750
PLACES = {"distribution_of_three": (5, 6, 7, 8), "rmts": (3, 5), "match": tuple(range(ITEMS))}


def models_for(task: str) -> list[str]:
    """The mechanisms that a task has, by name."""
    if task != "commands":
        return [*MODELS]
    return [*STREAMS, *(name for name in MODELS if not name.startswith("pointer"))]


@dataclass(frozen=True)
class Settings(RunSettings):
    """Settings of a run, without its seed."""

    PAPER: ClassVar[str] = PAPER
    FROM_ZERO: ClassVar[tuple[str, ...]] = ("m", "seeds_after")

    task: str  #: "distribution_of_three", "rmts", "match", "name", "curves" or "commands".
    model: str  #: one of `models_for(task)`.
    lr: float  #: learning rate.
    updates: int  #: at least; an epoch that was begun is ended.
    m: int = 0  #: glyphs kept for the test; of rules only.
    batch_size: int = 32  #: problems in a batch, B.
    normalised: bool = True  #: of rules and curves: whether steps are normalized, over a problem or a curve.
    trained_encoder: bool = False  #: learn the encoder of glyphs with the rest; of rules only.
    seeds_after: int = 0  #: added to the seed: runs that choose a learning rate share none with the others.
    options: dict = field(default_factory=dict)  #: of the mechanism.

    def __post_init__(self) -> None:
        """Raise UsageError for values with which no run can be made."""
        super().__post_init__()
        self.check_known(("task", "task", TASKS))
        self.check_known((f"model for {self.task}", "model", models_for(self.task)))
        if self.task in RULES:
            check_regime(get_task(self.task), self.m)
        elif self.m or self.trained_encoder:
            raise UsageError(f"m and trained_encoder are of rules ({', '.join(RULES)}), not of {self.task}")
        if not self.normalised and self.task not in (*RULES, "curves"):
            raise UsageError(f"normalised is of rules and of curves; leave it out for {self.task}")
        if self.seeds_after < 0:
            raise UsageError(f"seeds_after is 0 or more, got {self.seeds_after}")
        self.check_options(MODELS.get(self.model, syntactic_attention), (*GIVEN, "sequential_semantics"))

    def network(self) -> nn.Module:
        """A fresh network, from torch's global generator."""
        if self.model in STREAMS:
            return syntactic_attention(sequential_semantics=STREAMS[self.model])
        if self.task == "commands":
            return CommandNetwork(lambda: self._core(WORD_FEATURES, 1, MAX_WORDS))
        # What all mechanisms share is drawn first, so that one seed gives them the same of it.
        if self.task == "curves":
            return CurveNetwork(nn.Linear(1, FEATURES), self._core(FEATURES, 1, OBSERVED), self.normalised)
        if self.task in ITEM_TASKS:
            encoder, answers = (
                ConvEncoder(ITEM_FEATURES),
                ITEMS if self.task == "match" else tasks.ITEM_GLYPHS,
            )
            return GlyphNetwork(encoder, nn.Identity(), self._core(3 * ITEM_FEATURES, answers, ITEMS + 1))
        encoder, norm, spec = ConvEncoder(FEATURES), nn.Identity(), get_task(self.task)
        if self.normalised:
            # To normalize each pair of RMTS by itself, as the ESBN paper does, would alone tell whether its objects
            # are equal; so the window is the problem. To learn gain and shift would be to learn the relation.
            norm = TemporalContextNorm(FEATURES, (spec.length,)).requires_grad_(False)
        core = self._core(FEATURES, spec.classes, spec.length)
        return GlyphNetwork(encoder, norm, core, self.trained_encoder)

    def _core(self, features: int, classes: int, length: int) -> nn.Module:
        shape = {"features": features, "classes": classes, "length": length}
        return build_core(self.model, self.task, **shape, places=PLACES.get(self.task, ()), **self.options)


def build(settings: Settings, seed: int) -> TrainingRun:
    """One run: its problems, its network, its loss and its test.

    All mechanisms of a seed have the same problems and codes of glyphs; twins share all initial weights they can.
    """
    Settings.check_is(settings)
    drawn = seed + settings.seeds_after
    with seeded(drawn, "weights"):
        model = settings.network()
    kinds = {"curves": curve_parts, "commands": partial(command_parts, model)}
    kinds |= dict.fromkeys(ITEM_TASKS, item_parts)
    scores, parts = kinds.get(settings.task, rule_parts)(settings, drawn)
    epochs = math.ceil(settings.updates / math.ceil(parts["examples"] / settings.batch_size))
    kind = (settings.task, settings.model, settings.options, settings.normalised, settings.trained_encoder)
    return settings.training_run(seed, model, evaluate=scores, epochs=epochs, stack=(PAPER, *kind), **parts)


# For each kind of task: the scores, and further arguments of `TrainingRun`.
Parts = tuple[Callable[[nn.Module], dict[str, float]], dict]


def rule_parts(settings: Settings, seed: int) -> Parts:
    """The same problems in every epoch, in another order."""
    data = tasks.rules(settings.task, settings.m, seed)
    tests = {"familiar": data.familiar, "new": data.new, "training": data.train}
    scores = partial(accuracies, parts={name: Problems(*part[:TESTED]) for name, part in tests.items()})
    parts = {"epoch": partial(shuffled, data.train, seed), "examples": len(data.train), "loss": answer_loss}
    if settings.trained_encoder:
        parts["dedupe_batch"] = shown_once
    return scores, parts


def item_parts(settings: Settings, seed: int) -> Parts:
    """Other problems in every epoch, of the same glyphs."""
    name, examples = settings.task == "name", FRESH * settings.batch_size
    familiar, _ = tasks.item_pools(seed)

    def epoch(number: int) -> Batch:
        return vars(tasks.items(examples, familiar, numpy_rng(seed, "items", number), name))

    scores = partial(accuracies, parts=tasks.item_tests(seed, TESTED, name))
    return scores, {"epoch": epoch, "examples": examples, "loss": answer_loss}


def curve_parts(settings: Settings, seed: int) -> Parts:
    """Other curves in every epoch, those of the function paper: observed points and the next one."""
    examples = FRESH * settings.batch_size

    def epoch(number: int) -> Batch:
        return {"y": sample_curves(examples, OBSERVED + 1, torch_rng(seed, "curves", number)).y}

    scores = partial(extrapolation_errors, parts=tasks.transformed_curves(TEST_CURVES))
    return scores, {"epoch": epoch, "examples": examples, "loss": step_loss}


def command_parts(model: nn.Module, settings: Settings, seed: int) -> Parts:
    """All training commands in every epoch, as Syntactic Attention is trained."""
    data, recipe = tasks.command_data(seed), RECIPES["syntactic_attention"]
    parts = recipe.sampler(data.train, settings.batch_size, seed) | {"loss": recipe.loss}
    parts |= {"noise": partial(noise, model, seed), "dedupe_batch": recipe.dedupe_batch}
    return partial(exact_matches, parts=data.tests), parts


def shown_once(batch: Batch) -> Batch:
    """Only the glyphs that a batch shows, so that each is encoded once."""
    shown, ids = torch.unique(batch["ids"], return_inverse=True)
    return batch | {"ids": ids, "shown": shown}


def answer_loss(model: Callable, batch: Batch) -> tuple[Tensor, Tensor]:
    """Cross-entropy, and the batch's accuracy in percent."""
    return loss_and_accuracy(model(batch["ids"], batch.get("shown")), batch["answers"])


def step_loss(model: Callable, batch: Batch) -> tuple[Tensor, Tensor]:
    """Mean squared error of the step from the last observed value to the next; the score is the same."""
    y = batch["y"]
    error = (model(y[:, :-1]) - (y[:, -1] - y[:, -2])).square().mean()
    return error, error


@torch.no_grad()
def accuracies(model: nn.Module, parts: Mapping[str, Problems]) -> dict[str, float]:
    """Accuracy in percent, and mean cross-entropy, of each part by name."""
    device, metrics = next(model.parameters()).device, {}
    for name, problems in parts.items():
        logits = torch.cat([model(ids.to(device)).cpu() for ids in problems.ids.split(EVAL_BATCH)])
        right = logits.argmax(dim=1) == problems.answers
        metrics[name] = 100 * right.float().mean().item()
        metrics[f"{name}_loss"] = F.cross_entropy(logits, problems.answers).item()
    return metrics


@torch.no_grad()
def extrapolation_errors(model: nn.Module, parts: Mapping[str, tasks.Transformed]) -> dict[str, float]:
    """Mean squared error over ten steps, by part and class of curves; and each part's geometric mean over classes.

    Each prediction becomes the last observation and the first one is dropped: the input is as long as in training.
    """
    device, metrics = next(model.parameters()).device, {}
    for name, part in parts.items():
        seen = part.y.to(device)
        observed = seen.shape[1]
        for _ in range(STEPS):
            context = seen[:, -observed:]
            seen = torch.cat([seen, (context[:, -1] + model(context))[:, None]], dim=1)
        errors = (seen[:, observed:].cpu() - part.truth).square().mean(dim=1)
        means = {kind: errors[rows].mean().item() for kind, rows in part.kinds.items()}
        metrics |= {f"{name}_{kind}": mean for kind, mean in means.items()}
        metrics[name] = math.prod(means.values()) ** (1 / len(means))
    return metrics


@torch.no_grad()
def exact_matches(model: nn.Module, parts: Mapping[str, Examples]) -> dict[str, float]:
    """Exact matches in percent of each part by name, and of familiar commands the loss."""
    device, familiar, total = next(model.parameters()).device, parts["familiar"], 0.0
    for part in familiar.length_buckets():
        words, lengths, actions = familiar[part].trimmed().to(device).tensors
        total += len(part) * command_loss(model(words, lengths, actions), actions).item()
    found = {name: accuracy(model, part) for name, part in parts.items()}
    return found | {"familiar_loss": total / len(familiar)}
