"""The study as cells: which mechanism, on which task, with which learning rate.

It reproduces no paper, so nothing here has a printed number; book/one_grid_protocol.md says what is asked, and when
it was written.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from mini_lib.grid import runs
from mini_lib.grid.models import MODELS
from mini_lib.grid.runs import PAPER as PAPER
from mini_lib.grid.runs import Settings, mechanisms
from mini_lib.reproduction.cells import BenchCase, Cell, CellTable
from mini_lib.training_run import TrainingRun

TITLE = "One grid"
TUNING = "grid.tuning"
RATES = (3e-4, 1e-3, 3e-3)  # learning rates that are tried
TUNING_RUNS = 2
TUNING_SEEDS_AFTER = 900
# task -> its settings but for mechanism and learning rate, and its runs. An update is one of 32 problems, or of 16
# commands; "points" are curves as they are, "curves" are normalised.
TASKS: dict[str, dict] = {
    "d3, m=95": {"task": "distribution_of_three", "m": 95, "updates": 2000},
    "d3, m=85": {"task": "distribution_of_three", "m": 85, "updates": 2000},
    "rmts, m=95": {"task": "rmts", "m": 95, "updates": 2000},
    "recall": {"task": "recall", "updates": 2000},
    "curves": {"task": "curves", "updates": 3000, "normalised": False},
    "normalised curves": {"task": "curves", "updates": 3000},
    "commands": {"task": "commands", "updates": 4500, "batch_size": 16},
}
RATE_OF = {
    "d3, m=85": "d3, m=95",
    "normalised curves": "curves",
}  # tasks that take over another's learning rate
RUNS = {"commands": 15}  # else 5
COLUMNS = {
    "curves": ("familiar", "lifted", "stretched", "slowed"),
    "normalised curves": ("familiar", "lifted", "stretched", "slowed"),
    "commands": ("familiar", "jump", "dax"),
}  # else familiar and new
# What a learning rate is chosen by, always of familiar content: the least loss or error, or the most that is right.
CHOSEN_BY = {"curves": ("familiar", min), "commands": ("familiar", max)}
CHOSEN_RATES = Path(__file__).with_name(
    "rates.json"
)  # task -> mechanism -> learning rate, by the rule in `rates`
ENCODER_ROWS = (
    "abstractor fixed",
    "abstractor learned",
    "corelnet fixed",
    "corelnet fixed, open",
    "esbn",
    "transformer",
)


def build(settings: dict, seed: int) -> TrainingRun:
    """The run of a cell's settings."""
    return runs.build(Settings.from_dict(settings), seed)


def data_source(settings: dict) -> str:
    """Glyphs and curves are the project's own, commands are generated."""
    return "drawn"


def rows_of(task: str) -> list[str]:
    """The mechanisms of a task: all but, on curves, those of the factorial of wall and relation with a content head.

    Curves have one mechanism of each kind: their contrast is that of differences and points.
    """
    known = mechanisms(TASKS[task]["task"])
    if TASKS[task]["task"] == "curves":
        return [name for name in known if not name.startswith(("corelnet ", "abstractor "))]
    return known


def chosen_rates() -> dict[str, dict[str, float]]:
    """The learning rates that were chosen, as far as they were."""
    return json.loads(CHOSEN_RATES.read_text()) if CHOSEN_RATES.exists() else {}


def _settings(task: str, model: str, lr: float, **changes) -> dict:
    return Settings.from_dict(TASKS[task] | {"model": model, "lr": lr} | changes).to_dict()


def _declare() -> Iterator[Cell]:
    cells = CellTable()
    for task, plan in TASKS.items():
        if task in RATE_OF:
            continue
        third = {"updates": plan["updates"] // 3, "seeds_after": TUNING_SEEDS_AFTER}
        metric, _ = CHOSEN_BY.get(task, ("familiar_loss", min))
        for model in rows_of(task):
            for lr in RATES:
                settings = _settings(task, model, lr, **third)
                cells.add(TUNING, model, f"{task}, {lr:g}", settings, TUNING_RUNS, metric=metric)
    rates = chosen_rates()
    for task in TASKS:
        by_model = rates.get(RATE_OF.get(task, task), {})
        for model in (name for name in rows_of(task) if name in by_model):
            for column in COLUMNS.get(task, ("familiar", "new")):
                settings = _settings(task, model, by_model[model])
                name = f"grid.{TASKS[task]['task']}"
                cells.add(name, model, f"{task}: {column}", settings, RUNS.get(task, 5), metric=column)
    for model in (name for name in ENCODER_ROWS if name in rates.get("d3, m=95", {})):
        for column in ("familiar", "new"):
            settings = _settings("d3, m=95", model, 5e-4, trained_encoder=True)
            more = {"metric": column, "variant": "trained encoder"}
            cells.add("grid.distribution_of_three", model, f"d3, m=95: {column}", settings, 3, **more)
    return iter(cells)


CELLS = list(_declare())


def bench_cases() -> list[BenchCase]:
    """Every mechanism on distribution-of-three; nothing of others was timed beside it."""
    return [BenchCase(f"grid {model}", "m=95", _settings("d3, m=95", model, 1e-3), None) for model in MODELS]
