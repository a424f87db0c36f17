"""Runs of the ESBN paper: settings, and the problems, the network, the loss and the test that they make up (A.4)."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from mini_lib.datasets import glyphs
from mini_lib.errors import check_names
from mini_lib.esbn.esbn import ESBN
from mini_lib.esbn.network import ENCODERS, Network, TemporalContextNorm
from mini_lib.esbn.recurrent_baselines import LSTM, MNM, NTM
from mini_lib.esbn.relational_baselines import PrediNet, RelationNet, TemporalRelationNet, Transformer
from mini_lib.esbn.tasks import BALANCES, PROBLEMS, TASKS, Problems, check_regime, get_task, make_problems
from mini_lib.seeding import seeded, torch_rng
from mini_lib.settings import RunSettings
from mini_lib.training import Batch, TrainingRun

PAPER = "esbn"
MODELS: dict[str, Callable[..., nn.Module]] = {
    "esbn": ESBN,
    "esbn_no_confidence": partial(ESBN, confidence=False),
    "esbn_default_memory": partial(ESBN, confidence=False, default_memory=True),
    "transformer": Transformer,
    "ntm": NTM,
    "mnm": MNM,
    "lstm": LSTM,
    "predinet": PrediNet,
    "rn": RelationNet,
    "trn": TemporalRelationNet,
}
GIVEN = ("features", "classes", "length")  # arguments that the task or the encoder sets
TEST_BATCH = 100  # the paper's accuracy is the mean over test batches of this size


@dataclass(frozen=True)
class Settings(RunSettings):
    """Settings of a run, without its seed."""

    PAPER: ClassVar[str] = PAPER
    FROM_ZERO: ClassVar[tuple[str, ...]] = ("m",)

    task: str  #: "same_different", "rmts", "distribution_of_three" or "identity_rules".
    m: int  #: images withheld from training.
    #: "esbn", "lstm", "transformer", "ntm", "mnm", "rn", "trn", "predinet", "esbn_no_confidence" or
    #: "esbn_default_memory".
    model: str
    tcn: bool  #: with temporal context normalization.
    lr: float  #: learning rate.
    epochs: int  #: passes over the training set.
    encoder: str = "conv"  #: "conv", "mlp", or "rand" (not trained).
    images: str = "rendered"  #: "rendered" (embedded) or "released" (the authors', from the data folder).
    train_size: int = PROBLEMS  #: training problems wanted.
    test_size: int = PROBLEMS  #: test problems wanted.
    balance: str = "released"  #: "released" or "paper"; see `make_problems`.
    batch_size: int = 32  #: problems in a batch, B.
    options: dict = field(default_factory=dict)  #: arguments of the model's class, such as {"hidden": 64}.

    def __post_init__(self) -> None:
        """Raise UsageError for values with which no run can be made."""
        super().__post_init__()
        check_regime(get_task(self.task), self.m)
        self.check_known(("model", "model", MODELS), ("encoder", "encoder", ENCODERS))
        self.check_known(("images", "images", ("rendered", "released")), ("balance", "balance", BALANCES))
        self.fill_options(MODELS[self.model], GIVEN)

    def network(self) -> Network:
        """A fresh network, from torch's global generator."""
        task, make = get_task(self.task), MODELS[self.model]
        length = {"length": task.length} if "length" in inspect.signature(make).parameters else {}
        core = make(classes=task.classes, **length, **self.options)
        norm = TemporalContextNorm(core.features, task.windows) if self.tcn else nn.Identity()
        return Network(ENCODERS[self.encoder](core.features), norm, core)


def paper_settings(task: str, m: int, model: str, tcn: bool = True, **changes) -> Settings:
    """The paper's settings of a run (Tables 5-8); `changes` set further fields of `Settings`."""
    check_names("model", [model], MODELS)
    schedule = {"lr": learning_rate(task, model, tcn), "epochs": epochs(task, m, model)}
    return Settings.make({"task": task, "m": m, "model": model, "tcn": tcn} | schedule, changes)


def learning_rate(task: str, model: str, tcn: bool) -> float:
    """5e-4, but for some networks without TCN (Table 5)."""
    slow = {"esbn": {*TASKS}, "predinet": {"distribution_of_three", "identity_rules"}, "rn": {"rmts"}}
    return 5e-5 if not tcn and task in slow.get(model, ()) else 5e-4


def epochs(task: str, m: int, model: str) -> int:
    """Training epochs (Tables 6-8); an m between the paper's has those of the next smaller one."""
    check_regime(get_task(task), m)
    usual = {"same_different": (50, 100), "rmts": (50, 200), "distribution_of_three": (50, 150)}
    longer = {
        ("distribution_of_three", "predinet"): (100, 150),
        ("distribution_of_three", "rn"): (150, 800),
        ("identity_rules", "predinet"): (100, 150),
        ("identity_rules", "rn"): (100, 150),
        ("identity_rules", "transformer"): (100, 150),
    }
    below_95, from_95 = longer.get((task, model), usual.get(task, (50, 50)))
    return below_95 if m < 95 else from_95


def build(settings: Settings, seed: int) -> TrainingRun:
    """A run's problems, network, loss and test; the problems depend on task, m and seed alone."""
    Settings.check_is(settings)
    sizes = {"train_size": settings.train_size, "test_size": settings.test_size}
    data = make_problems(settings.task, settings.m, seed, balance=settings.balance, **sizes)
    with seeded(seed, "weights", settings.model):
        model = settings.network()
    images = glyphs(settings.images)
    kind = settings.task, settings.model, settings.options, settings.tcn, settings.encoder, settings.images
    return settings.training_run(
        seed,
        model,
        epoch=partial(shuffled, data.train, seed),
        examples=len(data.train),
        loss=loss,
        evaluate=partial(evaluate, images=images, problems=data.test),
        constants={"images": images},
        dedupe_batch=dedupe_batch,
        stack=(PAPER, *kind),
    )


def shuffled(problems: Problems, seed: int, epoch: int) -> Batch:
    """The training problems in the order of one epoch."""
    order = torch.randperm(len(problems), generator=torch_rng(seed, "order", epoch))
    return {"ids": problems.ids[order], "answers": problems.answers[order]}


def loss(model: Callable, batch: Batch) -> tuple[Tensor, Tensor]:
    """Cross-entropy, with the network's own extra loss if it has one; and the batch's accuracy in percent."""
    logits, extra = model.forward_with_loss(batch["images"], batch["ids"])
    cross_entropy, accuracy = loss_and_accuracy(logits, batch["answers"])
    return cross_entropy + extra, accuracy


def loss_and_accuracy(logits: Float[Tensor, "B C"], answers: Int[Tensor, "B"]) -> tuple[Tensor, Tensor]:
    """Mean cross-entropy, and accuracy in percent."""
    return F.cross_entropy(logits, answers), 100 * (logits.argmax(dim=-1) == answers).float().mean()


def dedupe_batch(batch: Batch) -> Batch:
    """Keep only the images that occur in the batch, so that each is encoded once."""
    shown, ids = torch.unique(batch["ids"], return_inverse=True)
    return batch | {"images": batch["images"][shown], "ids": ids}


def evaluate(model: nn.Module, images: Float[Tensor, "P ..."], problems: Problems) -> dict[str, float]:
    """Test accuracy in percent, as the mean over batches of 100, and mean cross-entropy."""
    logits, answers = predict(model, images, problems), problems.answers.cpu()
    right = 100 * (logits.argmax(dim=-1) == answers).float()
    batches = [batch.mean().item() for batch in right.split(TEST_BATCH)]
    test_loss = F.cross_entropy(logits, answers).item()
    return {"test_accuracy": sum(batches) / len(batches), "test_loss": test_loss}


@torch.no_grad()
def predict(
    model: nn.Module, images: Float[Tensor, "P ..."], problems: Problems, batch_size: int = 1000
) -> Float[Tensor, "N C"]:
    """The logits of every problem, on the CPU; the model runs on its own device."""
    device = next(model.parameters()).device
    images = images.to(device)
    return torch.cat([model(images, ids.to(device)).cpu() for ids in problems.ids.split(batch_size)])
