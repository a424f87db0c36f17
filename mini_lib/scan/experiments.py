"""Both tables of the SCAN paper as cells: which networks, on which splits, trained how."""

from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

import torch

from mini_lib.datasets import SCAN_SPLITS, scan_lines
from mini_lib.results.cells import Cell, run_key, settings_hash
from mini_lib.results.compare import TUTORIAL
from mini_lib.scan.models import MODELS, build_network
from mini_lib.scan.recipes import RECIPES, Parts, best_and_last, evaluate, noise
from mini_lib.scan.tasks import encode, get_split
from mini_lib.seeding import seeded, torch_rng
from mini_lib.settings import RunSettings
from mini_lib.training import Replica

PAPER = "scan"
TITLE = "Systematicity in a Recurrent Neural Network by Factorizing Syntax and Semantics"
TABLE1, TABLE2 = "scan.table1", "scan.table2"
COLUMNS = {"simple": "Simple", "length": "Length", "add_turn_left": "Add turn left", "add_jump": "Add jump"}
RUNS, STARRED_RUNS = 5, 25
VALIDATIONS = ("tail", "random", "none")


@dataclass(frozen=True)
class Settings(RunSettings):
    """What a run of this paper is, but for its seed.

    Attributes:
        split: of `tasks.get_split`.
        model: a key of `models.MODELS`.
        lr: learning rate.
        epochs: passes over the training set.
        batch_size: B, commands an update.
        checks: epochs after which validation and test accuracy are measured, besides the last.
        validation: what part of the training file chooses the checkpoint: its last 20 % ("tail"), a "random" 20 %,
            or "none".
        source: commands "generated" from the grammar, or the "released" files (only the paper's four splits).
        clip: the greatest norm of the gradient; none by default.
        options: named options of the network.
    """

    PAPER: ClassVar[str] = PAPER

    split: str
    model: str
    lr: float
    epochs: int
    batch_size: int
    checks: tuple[int, ...] = ()
    validation: str = "tail"
    source: str = "generated"
    clip: float | None = None
    options: dict = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise WrongUse for values with which no run can be made."""
        object.__setattr__(self, "checks", tuple(self.checks))
        get_split(self.split)
        self.check_known(
            ("model", "model", MODELS),
            ("validation", "validation", VALIDATIONS),
            ("source of commands", "source", ("generated", "released")),
        )
        if self.source == "released":
            self.check_known(("split with released files", "split", SCAN_SPLITS))
        self.check_positive("lr", "epochs", "batch_size")

    def describe(self) -> str:
        """The settings in a line, without what is the paper's default."""
        kept = self.to_dict()
        shown = {"validation", "source", "clip", "options"} & kept.keys()
        return ", ".join([self.model, self.split] + [f"{name} {kept[name]}" for name in sorted(shown)])

    def to_dict(self) -> dict:
        """The settings as a record keeps them, in the types of JSON."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in super().to_dict().items()}


def paper_settings(split: str, model: str = "syntactic_attention", **changes) -> Settings:
    """The settings of a run of the paper's tables; `changes` set further fields of `Settings`."""
    return Settings(split=split, model=model, **(SCHEDULES[model](split) | changes))


def _syntactic_attention(split: str) -> dict:
    """Whole epochs until 200,000 iterations are passed, as the released code does; a check every 5th epoch."""
    epochs = {"simple": 15, "length": 15, "add_turn_left": 12}.get(split, 18)
    return {"lr": 1e-3, "epochs": epochs, "batch_size": 1, "checks": tuple(range(5, epochs, 5))}


SCHEDULES = {"syntactic_attention": _syntactic_attention}


# ------------------------------------------------------------------------------------------------ one run


def build(settings: dict, seed: int) -> Replica:
    """The replica of a run: its commands, its network, its loss and its test.

    Order, noise and validation set depend on the seed alone; initial weights on the seed and the model.
    """
    s = Settings.from_dict(settings)
    parts = make_parts(s, seed)
    with seeded(seed, "weights", s.model):
        model = build_network(s.model, **s.options)
    recipe = RECIPES[s.model]
    return Replica(
        key=run_key(settings, seed),
        name=f"{s.describe()}, seed {seed}",
        model=model,
        epoch=partial(recipe.epoch, parts.train, seed),
        examples=len(parts.train.lengths),
        batch_size=s.batch_size,
        epochs=s.epochs,
        lr=s.lr,
        loss=recipe.loss,
        evaluate=partial(evaluate, parts=parts),
        noise=partial(noise, model, seed),
        compact=recipe.compact,
        optimiser=recipe.optimiser,
        schedule=recipe.schedule,
        clip=s.clip,
        checks=s.checks,
        report=best_and_last,
    )


def data_source(settings: dict) -> str:
    """Which commands a run saw, as its record says it."""
    return settings.get("source", "generated")


def make_parts(s: Settings, seed: int) -> Parts:
    """Training, validation and test examples of a run."""
    if s.source == "released":
        train, test = ([command for command, _ in scan_lines(s.split, part)] for part in ("train", "test"))
    else:
        train, test = get_split(s.split)
    examples, kept = encode(train), int(0.8 * len(train))
    if s.validation == "none":
        return Parts(examples, None, encode(test))
    order = torch.arange(len(train))
    if s.validation == "random":
        order = torch.randperm(len(train), generator=torch_rng(seed, "validation"))
    return Parts(examples[order[:kept]], examples[order[kept:]], encode(test))


# ------------------------------------------------------------------------------------------------ all cells


class _Declared(list):
    """Cells in order; the first table that names some settings is the home of their records."""

    def __init__(self):
        super().__init__()
        self.homes = {}

    def cell(self, table: str, row: str, settings: Settings, runs: int = RUNS, **more) -> None:
        """One cell; on add-jump the paper's own network has 25 runs."""
        kept = settings.to_dict()
        home = self.homes.setdefault(settings_hash(kept), table)
        self.append(Cell(table, row, COLUMNS[settings.split], kept, runs, home=home, **more))


def runs_of(split: str) -> int:
    """Runs of Syntactic Attention: 25 on add-jump, else 5."""
    return STARRED_RUNS if split == "add_jump" else RUNS


TABLE2_ROWS = {
    "Sequential semantics": {"sequential_semantics": True},
    "Syntax-action": {"syntax_action": True},
    "Syntactic Attention": {},
    "Nonlinear semantics": {"nonlinear_semantics": True},
}
OTHER_FORMS = {
    "neighbours at the top": {"surrounding": "top"},
    "ends are zero": {"ends": "zero"},
    "one-hot syntax": {"one_hot": True},
}


def _declare() -> list[Cell]:
    cells = _Declared()
    row = "Syntactic Attention"
    for split in ("add_jump", "add_turn_left", "length", "simple"):
        cells.cell(TABLE1, row, paper_settings(split), runs_of(split))
    for split in ("add_jump", "add_turn_left"):
        for name, options in TABLE2_ROWS.items():
            runs = RUNS if options else runs_of(split)
            cells.cell(TABLE2, name, paper_settings(split, options=options), runs)
    _declare_variants(cells, row)
    return list(cells)


def _declare_variants(cells: _Declared, row: str) -> None:
    last = {"metric": "last_test_accuracy", "variant": "last checkpoint"}
    for split in COLUMNS:
        cells.cell(TABLE1, row, paper_settings(split), runs_of(split), **last)
        cells.cell(TABLE1, row, paper_settings(split, source="released"), variant="released files")
    for name, options in TABLE2_ROWS.items():
        if options:
            cells.cell(TABLE2, name, paper_settings("add_jump", options=options), **last)
    cells.cell(TABLE1, row, paper_settings("length", validation="random"), variant="random validation set")
    cells.cell(TABLE1, row, paper_settings("add_jump", clip=5.0), variant="gradients clipped")
    for variant, options in OTHER_FORMS.items():
        cells.cell(TABLE1, row, paper_settings("add_jump", options=options), variant=variant)
    cells.cell(TABLE1, row, tutorial_settings(), STARRED_RUNS, variant=TUTORIAL)


def tutorial_settings(**changes) -> Settings:
    """A small network that reaches a clear result on add-jump in about a minute on one core."""
    small = {"lr": 4e-3, "epochs": 5, "batch_size": 16, "validation": "none"}
    options = {"syntax": 64, "semantics": 38}
    return Settings(
        **({"split": "add_jump", "model": "syntactic_attention", "options": options} | small | changes)
    )


CELLS = _declare()
