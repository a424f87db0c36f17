"""A run of the ESBN paper: its settings, and the problems, the network and the loss that they make up (A.4)."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mini_lib.datasets import glyphs
from mini_lib.errors import check_names
from mini_lib.esbn.evaluation import evaluate
from mini_lib.esbn.models import ENCODERS, GIVEN, MODELS, build_network
from mini_lib.esbn.tasks import PROBLEMS, TASKS, Problems, check_regime, get_task, make_problems
from mini_lib.seeding import seeded, torch_rng
from mini_lib.settings import RunSettings
from mini_lib.training import Batch, TrainingRun

PAPER = "esbn"


@dataclass(frozen=True)
class Settings(RunSettings):
    """What a run of this paper is, but for its seed."""

    PAPER: ClassVar[str] = PAPER
    HIDDEN_IN_DESCRIPTION: ClassVar = frozenset({"task", "m", "model", "tcn", "lr", "epochs"})

    task: str  #: a key of `tasks.TASKS`.
    m: int  #: images withheld from training.
    model: str  #: a key of `models.MODELS`.
    tcn: bool  #: with temporal context normalisation.
    lr: float  #: learning rate.
    epochs: int  #: passes over the training set.
    encoder: str = "conv"  #: "conv", "mlp" or "rand".
    images: str = "rendered"  #: "rendered" (embedded) or "released" (the authors', from the data folder).
    train_size: int = PROBLEMS  #: training problems wanted.
    test_size: int = PROBLEMS  #: test problems wanted.
    balance: str = "released"  #: "released" or "paper"; see `tasks.make_problems`.
    batch_size: int = 32  #: problems in a batch, B.
    #: named options of the network, its sizes among them; see `models`.
    options: dict = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise UsageError for values with which no run can be made."""
        super().__post_init__()
        task = get_task(self.task)
        check_regime(task, self.m)
        self.check_known(
            ("model", "model", MODELS),
            ("encoder", "encoder", ENCODERS),
            ("image source", "images", ("rendered", "released")),
            ("balance", "balance", ("released", "paper")),
        )
        self.check_positive("lr")
        self.check_positive_int("epochs", "train_size", "test_size", "batch_size")
        self.fill_options(MODELS[self.model], GIVEN)

    def headline(self) -> str:
        """Network, task and withheld images."""
        return f"{self.model}{'' if self.tcn else ' without TCN'}, {self.task}, m={self.m}"

    def network(self) -> nn.Module:
        """A fresh network, from torch's global generator."""
        task = get_task(self.task)
        own = {"encoder": self.encoder, "tcn": self.tcn} | self.options
        return build_network(self.model, classes=task.classes, windows=task.windows, **own)


def paper_settings(task: str, m: int, model: str, tcn: bool = True, **changes) -> Settings:
    """The paper's settings of a run (Tables 5-8); `changes` set further fields of `Settings`."""
    own = {"task": task, "m": m, "model": model, "tcn": tcn}
    check_names("model", [model], MODELS)
    schedule = {"lr": learning_rate(task, model, tcn), "epochs": epochs(task, m, model)}
    return Settings.make(own | schedule, changes)


def learning_rate(task: str, model: str, tcn: bool) -> float:
    """5e-4, but for some networks without TCN (Table 5)."""
    slow = {"esbn": {*TASKS}, "predinet": {"distribution_of_three", "identity_rules"}, "rn": {"rmts"}}
    return 5e-5 if not tcn and task in slow.get(model, ()) else 5e-4


def epochs(task: str, m: int, model: str) -> int:
    """Training epochs (Tables 6-8). For an m between the paper's the next smaller one's are taken."""
    check_regime(get_task(task), m)
    default = {
        "same_different": {0: 50, 95: 100},
        "rmts": {0: 50, 95: 200},
        "distribution_of_three": {0: 50, 95: 150},
        "identity_rules": {0: 50},
    }
    longer = {
        ("distribution_of_three", "predinet"): {0: 100, 95: 150},
        ("distribution_of_three", "rn"): {0: 150, 95: 800},
        ("identity_rules", "predinet"): {0: 100, 95: 150},
        ("identity_rules", "rn"): {0: 100, 95: 150},
        ("identity_rules", "transformer"): {0: 100, 95: 150},
    }
    schedule = longer.get((task, model), default[task])
    return schedule[max(start for start in schedule if start <= m)]


# ------------------------------------------------------------------------------------------------ one run


def build(settings: Settings, seed: int) -> TrainingRun:
    """A run's problems, network, loss and test, ready to be trained.

    The problems depend on task, m and seed alone, so that networks of one seed meet the same problems.
    """
    Settings.check_is(settings)
    sizes = {"train_size": settings.train_size, "test_size": settings.test_size}
    data = make_problems(settings.task, settings.m, seed, balance=settings.balance, **sizes)
    with seeded(seed, "weights", settings.model):
        model = settings.network()
    images = glyphs(settings.images)
    return settings.training_run(
        seed,
        model,
        epoch=partial(shuffled, data.train, seed),
        examples=len(data.train.answers),
        loss=loss,
        evaluate=partial(evaluate, images=images, problems=data.test),
        constants={"images": images},
        dedupe_batch=dedupe_batch,
        stack=(
            PAPER,
            settings.task,
            settings.model,
            settings.options,
            settings.tcn,
            settings.encoder,
            settings.images,
        ),
    )


def data_source(settings: Settings) -> str:
    """Which pictures a run sees, as its record says it."""
    return settings.images


def shuffled(problems: Problems, seed: int, epoch: int) -> Batch:
    """The training problems in the order of one epoch."""
    order = torch.randperm(len(problems.answers), generator=torch_rng(seed, "order", epoch))
    return {"where": problems.ids[order], "answer": problems.answers[order]}


def loss(apply: Callable, batch: Batch) -> tuple[Tensor, Tensor]:
    """Cross-entropy, with the network's own extra loss if it has one; and the batch's accuracy in percent."""
    logits, extra = apply(batch["images"], batch["where"], aux=True)
    accuracy = 100 * (logits.argmax(dim=-1) == batch["answer"]).float().mean()
    return F.cross_entropy(logits, batch["answer"]) + extra, accuracy


def dedupe_batch(batch: Batch) -> Batch:
    """Keep only the images that the batch shows, so that each is encoded once."""
    shown, where = torch.unique(batch["where"], return_inverse=True)
    return batch | {"images": batch["images"][shown], "where": where}
