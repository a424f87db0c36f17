"""The figures of the Kanerva paper as cells: which memories, on which episodes, trained how."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

import torch

from mini_lib.errors import WrongUse
from mini_lib.kanerva import tasks, timing
from mini_lib.kanerva.analysis.scaling import memory_work
from mini_lib.kanerva.evaluation import evaluate, routes, see
from mini_lib.kanerva.memory import columns_of
from mini_lib.kanerva.models import (
    DECODERS,
    ENCODERS,
    MODELS,
    Kanerva,
    build_network,
    check_options,
)
from mini_lib.kanerva.models.noise import GIVEN
from mini_lib.kanerva.objective import SAMPLE, WEIGHTS, Loss, temperature, warm_up
from mini_lib.kanerva.tasks import TASKS
from mini_lib.results.cells import BenchCase, Cell, Declared, run_key
from mini_lib.results.compare import TUTORIAL
from mini_lib.seeding import seeded, torch_rng
from mini_lib.settings import RunSettings
from mini_lib.training import Batch, Replica

PAPER = "kanerva"
TITLE = "Product Kanerva Machines: Factorized Bayesian Memory"
RUNS = 3  # the paper does not say how many are behind its figures
UPDATES = 10  # in what the harness calls an epoch; no episode is ever seen twice


@dataclass(frozen=True)
class Settings(RunSettings):
    """What a run of this paper is, but for its seed.

    Attributes:
        task: of `tasks.TASKS`.
        machines: K.
        model: of `models.MODELS`.
        experiment: which divergences count, and whether addresses are drawn; of `objective.WEIGHTS`.
        total: K M, columns of all machines.
        items: T of an episode.
        dim: D, features of a code.
        source: of digits; see `tasks.digits.pictures`; unused for sprites.
        size: pixels a side of an image with sprites; unused for digits.
        encoder: of `models.ENCODERS`.
        decoder: of `models.DECODERS`.
        epochs: of 10 updates, each on fresh episodes.
        batch_size: B, episodes in an update.
        lr: learning rate.
        clip: the greatest norm of the gradient.
        kl_weight: of all divergences, besides their own weights.
        warm_up: updates over which that weight grows from 0.
        ae_weight: of the images decoded from their own codes.
        kl: weights of single divergences that differ from the experiment's.
        test_episodes: how many.
        checks: epochs after which the test is made, besides the last.
        options: of the network; see `models.options_of`.
    """

    PAPER: ClassVar[str] = PAPER

    task: str
    machines: int
    model: str = "product"
    experiment: str = "mean addresses"
    total: int = 30
    items: int = 45
    dim: int = 50
    source: str = "mnist"
    size: int = 28
    encoder: str = "valid"
    decoder: str = "conv"
    epochs: int = 20_000
    batch_size: int = 24
    lr: float = 1e-4
    clip: float = 10.0
    kl_weight: float = 1.0
    warm_up: int = 0
    ae_weight: float = 0.0
    kl: dict = field(default_factory=dict)
    test_episodes: int = 100
    checks: tuple[int, ...] | list[int] = ()
    options: dict = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise WrongUse for values with which no run can be made."""
        self.check_known(
            ("task", "task", TASKS),
            ("model", "model", MODELS),
            ("experiment", "experiment", WEIGHTS),
            ("source of digits", "source", tasks.digits.SIZES),
            ("encoder", "encoder", ENCODERS),
            ("decoder", "decoder", DECODERS),
        )
        self.check_whole("machines", "total", "items", "dim", "size", "epochs", "batch_size", "test_episodes")
        self.check_positive("lr", "clip", "kl_weight")
        columns_of(self.total, self.machines)
        if (self.experiment == "mixture") != (self.model == "mixture"):
            raise WrongUse(
                "a mixture, and only a mixture, is trained with experiment='mixture'; "
                f"got model={self.model!r} and experiment={self.experiment!r}"
            )
        if "sample" in self.options:
            raise WrongUse("the experiment says how addresses are sampled; leave 'sample' out of the options")
        if not isinstance(self.warm_up, int) or self.warm_up < 0:
            raise WrongUse(f"warm_up is a whole number of updates from 0, got {self.warm_up!r}")
        if self.task == "dsprites" and self.size not in tasks.dsprites.SIZES:
            known = ", ".join(map(str, tasks.dsprites.SIZES))
            raise WrongUse(f"sprites are drawn with {known} pixels a side, got size={self.size!r}")
        if self.task == "dsprites" and self.test_episodes < 2:
            raise WrongUse("tunings to sprites are measured in two halves; test_episodes has to be 2 or more")
        check_options(self.model, self.options)
        if self.given and self.task != "rgb":
            raise WrongUse("machines can be given by the red digit on the task 'rgb' only")
        self.loss()
        self.check_checks()

    @property
    def given(self) -> bool:
        """Whether machines are chosen by the red digit's class, in the place of an assignment network."""
        return self.options.get("assignment") == GIVEN

    @property
    def episode_options(self) -> dict:
        """What `tasks.sample` and `tasks.evaluation` take besides numbers."""
        return {"size": self.size} if self.task == "dsprites" else {"source": self.source}

    def loss(self) -> Loss:
        """What is minimised."""
        return Loss(self.experiment, self.ae_weight, tuple(sorted(self.kl.items())))

    def network(self) -> Kanerva:
        """A fresh network, from torch's global generator."""
        return build_network(
            self.model,
            channels=TASKS[self.task].CHANNELS,
            size=self.size if self.task == "dsprites" else tasks.digits.SIZES[self.source],
            dim=self.dim,
            machines=self.machines,
            total=self.total,
            encoder=self.encoder,
            decoder=self.decoder,
            sample=SAMPLE[self.experiment],
            **self.options,
        )

    def describe(self) -> str:
        """The settings in a line, without what is the paper's default."""
        kept = self.to_dict()
        shown = kept.keys() - {"paper", "task", "model", "machines", "checks", "epochs", "lr"}
        head = f"{self.model} of {self.machines} on {self.task}"
        return ", ".join([head] + [f"{name} {kept[name]}" for name in sorted(shown)])


def digits_settings(machines: int, **changes) -> Settings:
    """Digits, 45 in 30 columns (Figure 1E)."""
    return Settings("digits", machines, **changes)


def mixture_settings(machines: int, **changes) -> Settings:
    """The same with a mixture (Figure 4)."""
    return Settings("digits", machines, **({"model": "mixture", "experiment": "mixture"} | changes))


def binding_settings(machines: int, **changes) -> Settings:
    """Triplets of digits, 45 in 60 columns (Figures 2 and 5)."""
    return Settings("rgb", machines, **({"total": 60, "dim": 100, "lr": 1e-3} | changes))


def sprites_settings(machines: int, total: int = 20, **changes) -> Settings:
    """Two sprites that move, 15 images in 20 columns (Figures 3 and 6 to 8)."""
    own = {
        "experiment": "full",
        "total": total,
        "items": 15,
        "encoder": "residual",
        "epochs": 25_000,
        "checks": (10_000, 15_000, 20_000),
        "test_episodes": 200,
    }
    return Settings("dsprites", machines, **(own | changes))


# What a core learns in half an hour: the paper's numbers of columns, items and features, on smaller digits, with
# small networks for images and fewer episodes an update. A digit of 14 x 14 pixels has a quarter of the pixels of
# one of 28 x 28; so divergences weigh a quarter.
SMALL = {"batch_size": 8, "lr": 1e-3}
SMALL_DIGITS = SMALL | {
    "source": "distorted",
    "encoder": "mlp",
    "decoder": "mlp",
    "kl_weight": 14**2 / 28**2,
    "epochs": 1000,
}
SMALL_TRIPLETS = SMALL_DIGITS | {"ae_weight": 1.0}  # in one trial the memory stayed unused without it
SMALL_SPRITES = SMALL | {"encoder": "stride2", "epochs": 2000, "checks": (500, 1000, 1500)}


# ------------------------------------------------------------------------------------------------ one run


def build(settings: dict, seed: int) -> Replica:
    """The replica of a run: its episodes, its network, its loss and its test; of Figure 1D, a timing.

    Episodes depend on the seed alone, so that networks of one seed learn from the same; those of the test are the
    same for every run.
    """
    if "form" in settings:
        return timing.build(settings, seed)
    s = Settings.from_dict(settings)
    with seeded(seed, "weights", s.model, s.machines):
        model = s.network()
    return Replica(
        key=run_key(s.to_dict(), seed),
        name=f"{s.describe()}, seed {seed}",
        model=model,
        epoch=partial(draw, s, seed),
        examples=UPDATES * s.batch_size,
        batch_size=s.batch_size,
        epochs=s.epochs,
        lr=s.lr,
        clip=s.clip,
        loss=s.loss(),
        noise=partial(_noise, model.noise, seed),
        evaluate=partial(_test, s),
        checks=s.checks,
    )


def data_source(settings: dict) -> str:
    """The digits that episodes are made of, or "rendered" sprites, or the random codes of a timing, "drawn"."""
    if "form" in settings:
        return "drawn"
    s = Settings.from_dict(settings)
    return "rendered" if s.task == "dsprites" else s.source


def draw(s: Settings, seed: int, epoch: int) -> Batch:
    """The training episodes of one epoch, [N, T, C, H, W], each with the weight of divergences in its update."""
    count = UPDATES * s.batch_size
    episodes = tasks.sample(s.task, count, s.items, torch_rng(seed, "episodes", epoch), **s.episode_options)
    update = epoch * UPDATES + torch.arange(count) // s.batch_size
    batch = {"images": episodes.images, "warm_up": s.kl_weight * warm_up(update, s.warm_up)}
    if s.task == "rgb":
        batch["queries"] = episodes.queries
    if s.given:
        batch["labels"] = episodes.labels
    if s.model == "mixture":
        batch["tau"] = temperature(update, s.epochs * UPDATES)
    return batch


def _noise(drawn: Callable, seed: int, update: int, batch: Batch) -> Batch:
    """The random tensors of one update, as `Kanerva.noise` draws them, and what is given to some networks."""
    noise = drawn(*batch["images"].shape[:2], torch_rng(seed, "noise", update))
    if GIVEN in noise:
        noise |= routes(batch["labels"], noise[GIVEN].shape[-1])
    return noise


def _test(s: Settings, model: Kanerva) -> dict[str, float]:
    """What is measured on the test episodes, which are the same for every run.

    Of digits also ``nll_training``, the loss on episodes of training digits; sprites have no such split.
    """
    found = evaluate(model, tasks.evaluation(s.task, s.test_episodes, s.items, **s.episode_options))
    if s.task != "dsprites":
        generator = torch_rng(0, "training episodes", s.task, s.source)
        known = tasks.sample(s.task, s.test_episodes, s.items, generator, **s.episode_options)
        found["nll_training"] = see(model, known).parts["reconstruction"].mean().item()
    return found


# ------------------------------------------------------------------------------------------------ all cells

SCALING = (
    {f"R^2, m={m}": f"r2_{m}" for m in (400, 600, 100)}
    | {f"T(1)/T(2), m={m}": f"speedup_2_{m}" for m in (500, 600)}
    | {f"best k, m={m}": f"best_k_{m}" for m in (400, 600)}
)
LOSS = {"loss": "nll", "loss, nothing written": "nll_empty"}
LOSSES = LOSS | {"loss, training digits": "nll_training"}
COLUMNS = {
    "kanerva.fig1d": SCALING,
    "kanerva.fig1e": LOSSES,
    "kanerva.fig2a": {
        "largest gamma": "largest",
        "lesser machine": "least_used",
        "largest gamma, reading": "read_largest",
        "lesser machine, reading": "read_least_used",
        "green": "nll_green",
        "green, a machine forgotten": "nll_green_forgotten",
    },
    "kanerva.fig2b": {
        "loss": "nll",
        "dominant machine's loss": "dominant_nll",
        "idle variance": "idle_variance",
    },
    "kanerva.fig2c": LOSSES
    | {colour: f"nll_{colour}" for colour in tasks.rgb.COLOURS}
    | {"green, nothing written": "nll_empty_green"},
    "kanerva.fig2d": {"red or blue": "classes_shown", "red and blue": "classes_least_shown"}
    | {"most telling": "classes_most", "next": "classes_next"}
    | {colour: f"classes_{colour}" for colour in tasks.rgb.COLOURS}
    | {f"{colour}, reading": f"read_classes_{colour}" for colour in tasks.rgb.COLOURS},
    "kanerva.fig3b": {
        "contrast": "contrast",
        "contrast, other sprites": "contrast_shuffled",
        "contrast, mean images": "contrast_fixed",
        "one sprite": "one_sprite",
        "one sprite, other sprites": "one_sprite_shuffled",
        "one sprite, mean images": "one_sprite_fixed",
        "changes of gamma": "changes",
        "least used machine": "least_used",
    },
    "kanerva.fig3c": LOSS,
    "kanerva.fig4a": {"classes": "classes", "least used machine": "least_used"},
    "kanerva.fig4d": LOSSES,
    "kanerva.fig7": {name: f"tuned_{name}" for name in ("position", "shape", "orientation", "scale")}
    | {"position, mean images": "tuned_position_fixed", "position, lesser machines": "tuned_position_rest"},
    "kanerva.fig8": {"nearest": "nearest", "retrieved": "retrieved", "new": "new", "blank": "blank"},
}
DIVISORS = (1, 2, 3, 5, 6, 10, 15)  # of 30, the machines of Figure 1E
SPLITS = ((1, 20), (2, 10), (4, 5), (1, 5))  # machines and columns of each for sprites
TWO, FOUR = {"k = 2": partial(binding_settings, 2)}, {"k = 4": partial(sprites_settings, 4)}
ROWS: dict[str, dict[str, Callable[..., Settings]]] = {
    "kanerva.fig1e": {f"k = {k}": partial(digits_settings, k) for k in DIVISORS},
    "kanerva.fig2a": TWO,
    "kanerva.fig2b": TWO,
    "kanerva.fig2c": {"k = 1": partial(binding_settings, 1)}
    | TWO
    | {"k = 2, no gradient to r": partial(binding_settings, 2, options={"stop_grad_r": True})},
    "kanerva.fig2d": TWO,
    "kanerva.fig3b": FOUR | {"k = 1": partial(sprites_settings, 1)},
    "kanerva.fig3c": {f"k = {k}, {m} columns each": partial(sprites_settings, k, k * m) for k, m in SPLITS},
    "kanerva.fig4a": {f"k = {k}": partial(mixture_settings, k) for k in (2, 3)},
    "kanerva.fig4d": {f"k = {k}": partial(mixture_settings, k) for k in (1, 2, 3, 5)},
    "kanerva.fig7": FOUR,
    "kanerva.fig8": FOUR,
}
SMALLER = {
    digits_settings: SMALL_DIGITS,
    mixture_settings: SMALL_DIGITS,
    binding_settings: SMALL_TRIPLETS,
    sprites_settings: SMALL_SPRITES,
}


class _Declared(Declared):
    """Cells of this paper."""

    def row(self, table: str, row: str, settings: RunSettings, variant: str = "") -> None:
        """A cell for every column."""
        for column, metric in COLUMNS[table].items():
            self.add(table, row, column, settings.to_dict(), RUNS, metric=metric, variant=variant)


def _declare() -> list[Cell]:
    cells = _Declared()
    for form in ("loop", "batched"):
        cells.row("kanerva.fig1d", form, timing.Timing(form))
    for table, rows in ROWS.items():
        for row, settings in rows.items():
            cells.row(table, row, settings())
            cells.row(table, row, settings(**SMALLER[settings.func]), TUTORIAL)
    given = {"options": {"assignment": GIVEN}, "kl": {"assignment": 0.0, "assignment_read": 0.0}}
    cells.row("kanerva.fig2c", "k = 2", TWO["k = 2"](**SMALL_TRIPLETS, **given), f"{TUTORIAL}, machine given")
    for row, settings in ROWS["kanerva.fig2c"].items():
        changes = SMALL_TRIPLETS | {"ae_weight": 0.0}
        cells.row("kanerva.fig2c", row, settings(**changes), f"{TUTORIAL}, no autoencoder term")
    return list(cells)


CELLS = _declare()


def bench_cases() -> list[BenchCase]:
    """Passes of the memory, and a training step of each experiment; no code of the authors is public.

    Passes are those of Figure 1D, in both forms, and writing and reading with the sizes of Figure 1E. Training on
    sprites has the paper's sizes; on digits, the small scale's, since these need no data.
    """
    cases = []

    def memory(part: str, form: str, k: int, m: int, sizes: dict) -> None:
        timed = partial(memory_work, part, form, k, m, **sizes)
        name = f"memory {part if part != 'both' else form}"
        cases.append(BenchCase(name, f"k={k}, m={m}", {}, None, 20, False, timed))

    for form in ("loop", "batched"):
        for k in (1, 2, 5, 20):
            memory("both", form, k, 600, {"episodes": 2, "items": 3, "dim": 50})
    for part in ("write", "read"):
        for k in (1, 3, 15):
            memory(part, "batched", k, 30, {"episodes": 24, "items": 45, "dim": 50})
    trained = {
        "product digits": [digits_settings(k, **SMALL_DIGITS) for k in (1, 3, 15)],
        "mixture digits": [mixture_settings(3, **SMALL_DIGITS)],
        "product binding": [binding_settings(k, **SMALL_TRIPLETS) for k in (1, 2)],
        "product sprites": [sprites_settings(k) for k in (1, 4)],
    }
    for name, each in trained.items():
        for s in each:
            cases.append(BenchCase(name, f"k={s.machines}, m={s.total}", s.to_dict(), None, 3, False))
    return cases
