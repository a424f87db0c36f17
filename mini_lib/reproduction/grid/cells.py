"""The study as cells: which mechanism, on which task, with which learning rate, with how many seeds.

It reproduces no paper, so nothing here has a reported number.
"""

import json
from pathlib import Path
from typing import NamedTuple

from mini_lib.grid import runs
from mini_lib.grid.networks import FACTORIAL, STREAMS
from mini_lib.grid.runs import PAPER as PAPER, Settings
from mini_lib.reproduction.cells import Cell, CellTable
from mini_lib.training import TrainingRun

TUNING = "grid.tuning"
TUNING_SEEDS_AFTER = 900
# task -> set of twins -> learning rate, by the rule in `rates`
CHOSEN_RATES = Path(__file__).with_name("rates.json")
ENCODER = "trained encoder"
DESCRIBED = ("esbn", "pointer", "kanerva", "lstm", "transformer", "abstractor")
DIFFERENCES = ("differences", "differences, open")


class Task(NamedTuple):
    """A task of the study, and how its mechanisms are trained."""

    settings: dict  #: but for mechanism and learning rate.
    runs: dict[str, int]  #: seeds of every mechanism, by name.
    parts: tuple[str, ...] = ("familiar", "new")  #: what is asked: familiar content first.
    rates: tuple[float, ...] = (3e-4, 1e-3, 3e-3)  #: learning rates that are tried.
    tuning_runs: int = 2
    tuning_share: float = 1 / 3  #: of the updates, where a rate is tried.
    chosen_by: str = "familiar_loss"  #: the least mean of it: always of familiar content.
    rates_of: str = ""  #: another task, whose rates are taken over.


_FIVE = dict.fromkeys(("abstractor learned from fixed", *DIFFERENCES, *DESCRIBED), 5)
_TEN = dict.fromkeys(FACTORIAL, 10) | _FIVE
_NAMED = dict.fromkeys((*FACTORIAL, "esbn", "lstm", "transformer"), 5)
_POINTS = dict.fromkeys(DIFFERENCES, 8)
_POINTS |= dict.fromkeys(("esbn", "pointer", "lstm", "transformer"), 5) | {"kanerva": 1}
_LEARNED = ("abstractor learned", "abstractor learned, open", "differences", "lstm", "transformer")
# To the first three, all commands of n different words are alike; the fourth got less than 1 % right at every rate.
_ON_THE_FLOOR = ("abstractor fixed", "corelnet fixed", "esbn", "kanerva")
_SAID = dict.fromkeys(STREAMS, 30) | dict.fromkeys(_LEARNED, 5) | dict.fromkeys(_ON_THE_FLOOR, 2)
_D3 = {"task": "distribution_of_three", "m": 95, "updates": 2000}
_CURVES = ("familiar", "lifted", "stretched", "slowed")

TASKS: dict[str, Task] = {
    "d3, m=95": Task(_D3, _TEN),
    "d3, m=85": Task(_D3 | {"m": 85}, dict.fromkeys(_TEN, 5), rates_of="d3, m=95"),
    "rmts, m=95": Task({"task": "rmts", "m": 95, "updates": 2000}, _TEN),
    "match": Task({"task": "match", "updates": 2000}, _TEN),
    "name": Task({"task": "name", "updates": 2000}, _NAMED, ("familiar",), rates_of="match"),
    "curves": Task(
        {"task": "curves", "updates": 2000, "normalised": False}, _POINTS, _CURVES, chosen_by="familiar"
    ),
    "normalised curves": Task({"task": "curves", "updates": 2000}, _POINTS, _CURVES, rates_of="curves"),
    "commands": Task(
        {"task": "commands", "updates": 4500, "batch_size": 16},
        _SAID,
        ("familiar", "jump", "dax"),
        (1e-3, 2e-3, 4e-3),
        tuning_runs=3,
        tuning_share=1 / 2,
    ),
}
ENCODER_ROWS = (
    *("abstractor fixed", "abstractor tied", "corelnet fixed", "corelnet fixed, open"),
    *("esbn", "transformer"),
)


def build(settings: dict, seed: int) -> TrainingRun:
    """The run of a cell's settings."""
    return runs.build(Settings.from_dict(settings), seed)


def data_source(settings: dict) -> str:
    """Glyphs and curves are the project's own, commands are generated."""
    return "drawn"


def twins_of(model: str) -> str:
    """The set of networks that differ from a mechanism in its bottleneck or its relation alone.

    >>> twins_of("corelnet tied, open"), twins_of("sequential semantics"), twins_of("abstractor"), twins_of("lstm")
    ('corelnet, twins', 'syntactic attention, twins', 'abstractor', 'lstm')
    """
    if model in STREAMS:
        return "syntactic attention, twins"
    if model in DIFFERENCES:
        return "differences, twins"
    kind, _, how = model.partition(" ")
    return f"{kind}, twins" if how else model


def chosen_rates() -> dict[str, dict[str, float]]:
    """The learning rates that were chosen, as far as they were."""
    return json.loads(CHOSEN_RATES.read_text()) if CHOSEN_RATES.exists() else {}


def declare(rates: dict[str, dict[str, float]]) -> list[Cell]:
    """The runs that count, of tasks and mechanisms whose rates are known, and those that try learning rates."""
    cells = CellTable()
    for name, task in TASKS.items():
        known = rates.get(task.rates_of or name, {})
        for model in (each for each in task.runs if twins_of(each) in known):
            settings = _settings(task.settings, model, known[twins_of(model)])
            for part in task.parts:
                table = f"grid.{task.settings['task']}"
                cells.add(table, model, f"{name}: {part}", settings, task.runs[model], metric=part)
    if rates.get("d3, m=95"):
        task = TASKS["d3, m=95"]
        for model in ENCODER_ROWS:  # as the ESBN paper trains it
            settings = _settings(task.settings | {"trained_encoder": True}, model, 5e-4)
            for part in task.parts:
                more = {"metric": part, "variant": ENCODER}
                cells.add("grid.distribution_of_three", model, f"d3, m=95: {part}", settings, 3, **more)
    for name, task in TASKS.items():
        if task.rates_of:
            continue
        updates = round(task.settings["updates"] * task.tuning_share)
        short = task.settings | {"updates": updates, "seeds_after": TUNING_SEEDS_AFTER}
        for model in task.runs:
            for lr in task.rates:
                settings, more = _settings(short, model, lr), {"metric": task.chosen_by}
                cells.add(TUNING, model, f"{name}, {lr:g}", settings, task.tuning_runs, **more)
    return list(cells)


def _settings(plan: dict, model: str, lr: float) -> dict:
    return Settings.from_dict(plan | {"model": model, "lr": lr}).to_dict()


CELLS = declare(chosen_rates())
