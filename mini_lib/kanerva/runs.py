"""One training run of this paper: its settings, network, loss, episodes and test."""

from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import torch

from mini_lib.errors import UsageError, check_names
from mini_lib.kanerva import digits, tasks
from mini_lib.kanerva.assignment import GIVEN
from mini_lib.kanerva.evaluation import evaluate, run_episodes
from mini_lib.kanerva.images import DECODERS, ENCODERS
from mini_lib.kanerva.memory import columns_of
from mini_lib.kanerva.network import MODELS, Kanerva
from mini_lib.kanerva.objective import WEIGHTS, Loss, fade, temperature
from mini_lib.kanerva.tasks import TASKS
from mini_lib.module import Noise
from mini_lib.seeding import seeded, torch_rng
from mini_lib.settings import FrozenDict, RunSettings
from mini_lib.training import Batch, TrainingRun

PAPER = "kanerva"
LEARNED = ("learned", "unit prior")  # assignments of which a network learns the weights of machines
UPDATES = 10  # in an "epoch"; episodes are always fresh
GIVEN_BY_FIELDS = ("encoder", "decoder", "dim", "machines", "columns", "sample")  # not among the options


@dataclass(frozen=True)
class Settings(RunSettings):
    """What a run of this paper is, but for its seed."""

    PAPER: ClassVar[str] = PAPER
    FROM_ZERO: ClassVar[tuple[str, ...]] = ("ae_weight", "balance", "balance_until")

    task: str  #: "digits", "rgb" or "dsprites".
    machines: int  #: of a memory, K.
    model: str = "product"  #: or "mixture".
    experiment: str = "mean addresses"  #: divergences that count, and sampling; or "full", or "mixture".
    total: int = 30  #: K M, columns of all machines.
    items: int = 45  #: T of an episode.
    dim: int = 50  #: D, features of a code.
    source: str = (
        "mnist"  #: of digits; or "digits" (8 x 8 pixels), or "distorted" (14 x 14); unused for sprites.
    )
    size: int = 28  #: pixels a side of an image with sprites; unused for digits.
    encoder: str = "valid"  #: or "stride2", "residual" or "mlp".
    decoder: str = "conv"  #: or "mlp".
    epochs: int = 20_000  #: of 10 updates, each on fresh episodes.
    batch_size: int = 24  #: B, episodes in an update.
    lr: float = 1e-4  #: learning rate.
    clip: float = 10.0  #: the greatest norm of the gradient.
    kl_weight: float = 1.0  #: of all divergences, besides their own weights.
    ae_weight: float = 0.0  #: of the images decoded from their own codes.
    balance: float = 0.0  #: weight of the balance term; an addition, 0 in the paper.
    balance_until: int = 0  #: updates over which that weight falls to 0; it stays as it is for 0.
    kl: dict = field(default_factory=dict)  #: weights of divergences that differ from the experiment's.
    test_episodes: int = 100  #: how many.
    checks: tuple[int, ...] | list[int] = ()  #: epochs after which the test is made, besides the last.
    options: dict = field(default_factory=dict)  #: keyword arguments of the network's class.

    def __post_init__(self) -> None:
        """Raise UsageError for values with which no run can be made."""
        super().__post_init__()
        known = {"task": TASKS, "model": MODELS, "experiment": WEIGHTS}
        known |= {"source": digits.SIZES, "encoder": ENCODERS, "decoder": DECODERS}
        self.check_known(*((name, name, names) for name, names in known.items()))
        self.check_checks()
        columns_of(self.total, self.machines)
        self.fill_options(MODELS[self.model], GIVEN_BY_FIELDS)
        self.loss()  # checks its weights
        learned = self.options.get("assignment") in LEARNED and not self.options["stop_grad_r"]
        mixture, fades, halves = self.experiment == "mixture", self.balance_until, self.task == "dsprites"
        for right, message in (
            (mixture == (self.model == "mixture"), "a mixture, and only it, has experiment='mixture'"),
            (not fades or (fades > 0 and self.balance), "balance_until, from 0, needs a balance that fades"),
            (not self.balance or (learned and self.machines > 1), "balance needs 2 machines that learn"),
            (not halves or self.test_episodes > 1, "sprites are tested in halves: test_episodes from 2"),
            (not self.given or self.task == "rgb", "machines can be given on the task 'rgb' only"),
        ):
            if not right:
                raise UsageError(message)
        plain = WEIGHTS[self.experiment]
        self.keep(kl=FrozenDict({n: float(weight) for n, weight in self.kl.items() if weight != plain[n]}))

    @property
    def given(self) -> bool:
        """Whether machines are chosen by the red digit's class, in the place of an assignment network."""
        return self.options.get("assignment") == GIVEN

    @property
    def episode_options(self) -> dict[str, Any]:
        """What `tasks.sample` and `tasks.evaluation` take besides numbers."""
        return {"size": self.size} if self.task == "dsprites" else {"source": self.source}

    def loss(self) -> Loss:
        """The loss that is minimized."""
        changed, hide_green = tuple(sorted(self.kl.items())), self.task == "rgb"
        return Loss(self.experiment, self.ae_weight, changed, hide_green=hide_green, balance=self.balance)

    def network(self) -> Kanerva:
        """A fresh network, from torch's global generator."""
        size = self.size if self.task == "dsprites" else digits.SIZES[self.source]
        sizes = len(digits.COLORS) if self.task == "rgb" else 1, size, self.dim
        networks = ENCODERS[self.encoder](*sizes), DECODERS[self.decoder](*sizes)
        columns = columns_of(self.total, self.machines)
        sample = "full" if self.experiment == "full" else "mean"
        return MODELS[self.model](*networks, self.dim, self.machines, columns, sample=sample, **self.options)


# What each memory of the paper is trained on; `Settings` has the rest by default.
PAPERS = {
    "digits": {"task": "digits"},
    "mixture": {"task": "digits", "model": "mixture", "experiment": "mixture"},
    "binding": {"task": "rgb", "total": 60, "dim": 100, "lr": 1e-3},
    "sprites": {"task": "dsprites", "experiment": "full", "total": 20, "items": 15, "encoder": "residual"}
    | {"epochs": 25_000, "checks": (10_000, 15_000, 20_000), "test_episodes": 200},
}
# Half an hour of a core: the paper's numbers of columns, items and features, on smaller digits, with small networks
# for images and fewer episodes an update. Digits have a quarter of the paper's pixels: divergences weigh a quarter.
SMALL = {"batch_size": 8, "lr": 1e-3}
SMALL_DIGITS = SMALL | {"source": "distorted", "encoder": "mlp", "decoder": "mlp", "epochs": 1000}
SMALL_DIGITS |= {"kl_weight": 14**2 / 28**2}
TUTORIALS = {
    "digits": SMALL_DIGITS,
    "mixture": SMALL_DIGITS,
    "binding": SMALL_DIGITS | {"ae_weight": 1.0},  # in one trial the memory stayed unused without it
    "sprites": SMALL | {"encoder": "stride2", "epochs": 2000, "checks": (500, 1000, 1500)},
}


def paper_settings(name: str, machines: int, **changes) -> Settings:
    """The paper's settings of a memory, with changes, which are fields of `Settings`.

    Its name is "digits" (Figure 1E), "mixture" (Figure 4), "binding" (Figures 2 and 5) or "sprites"
    (Figures 3 and 6 to 8).

    >>> paper_settings("binding", machines=2, epochs=10).total
    60
    """
    check_names("memory", [name], PAPERS)
    return Settings.make({"machines": machines} | PAPERS[name], changes)


def tutorial_settings(name: str, machines: int, **changes) -> Settings:
    """Settings of a small memory: "digits", "mixture", "binding" or "sprites"; by default half an hour of a core."""
    check_names("memory", [name], PAPERS)
    return Settings.make({"machines": machines} | PAPERS[name] | TUTORIALS[name], changes)


def build(settings: Settings, seed: int) -> TrainingRun:
    """A training run; its episodes depend on the seed alone, so that networks of one seed learn from the same."""
    Settings.check_is(settings)
    with seeded(seed, "weights", settings.model, settings.machines):
        model = settings.network()
    kind = settings.task, settings.model, settings.options, settings.encoder, settings.decoder
    return settings.training_run(
        seed,
        model,
        epoch=partial(draw, settings, seed),
        examples=UPDATES * settings.batch_size,
        clip=settings.clip,
        loss=settings.loss(),
        noise=partial(_noise, model, seed),
        evaluate=partial(_test, settings),
        checks=settings.checks,
        stack=(PAPER, *kind, settings.loss()),
    )


def draw(s: Settings, seed: int, epoch: int) -> Batch:
    """The training episodes of one epoch, as bytes [N, T, C, H, W], and the weights of its updates."""
    count = UPDATES * s.batch_size
    episodes = tasks.sample(s.task, count, s.items, torch_rng(seed, "episodes", epoch), **s.episode_options)
    update = epoch * UPDATES + torch.arange(count) // s.batch_size
    batch = {"images": episodes.images.byte(), "kl_weight": torch.full((count,), s.kl_weight)}
    if s.balance:
        batch["balance"] = fade(update, s.balance_until)
    if s.given:
        batch["labels"] = episodes.labels
    if s.model == "mixture":
        batch["tau"] = temperature(update, s.epochs * UPDATES)
    return batch


def _noise(model: Kanerva, seed: int, update: int, batch: Batch) -> Noise:
    """The random tensors of one update, and the machines of its items where they are given."""
    images = batch["images"]
    noise = model.draw_noise(*images.shape[:2], torch_rng(seed, "noise", update, device=images.device))
    return noise | digits.routes(batch["labels"], model.machines) if "labels" in batch else noise


def _test(s: Settings, model: Kanerva) -> dict[str, float]:
    """Metrics on the test episodes, which are the same for every run.

    Of digits also ``nll_training``, the loss on episodes of training digits; sprites have no such split.
    """
    metrics = evaluate(model, tasks.evaluation(s.task, s.test_episodes, s.items, **s.episode_options))
    if s.task != "dsprites":
        generator = torch_rng(0, "training episodes", s.task, s.source)
        training = tasks.sample(s.task, s.test_episodes, s.items, generator, **s.episode_options)
        metrics["nll_training"] = run_episodes(model, training).parts["reconstruction"].mean().item()
    return metrics
