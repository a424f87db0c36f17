"""What works on this machine, in about a minute: a line for each thing, "ok" or "FAIL"."""

import math
from collections.abc import Callable, Mapping
from functools import partial

import torch

from mini_lib import datasets
from mini_lib.devices import describe, use_precision
from mini_lib.training import TrainingRun, TrainingStack

Build = Callable[[dict, int], TrainingRun]

# Every network as small as it can be, on data that need no download; none takes longer than a second.
_ESBN = {"paper": "esbn", "task": "distribution_of_three", "m": 95, "tcn": True, "lr": 5e-4, "epochs": 1}
_ESBN |= {"train_size": 40, "test_size": 10, "batch_size": 4}
_SCAN = {"paper": "scan", "split": "add_jump", "lr": 1e-3, "epochs": 1, "batch_size": 4, "validation": "none"}
_FUNCTIONS = {"paper": "functions", "observed": 5, "epochs": 1, "batch_size": 4, "test_curves": 3}
_FUNCTIONS |= {"options": {"dim": 8, "layers": 2, "heads": 2}}
_KANERVA = {"paper": "kanerva", "task": "digits", "source": "distorted", "machines": 2, "total": 4, "dim": 4}
_KANERVA |= {"items": 3, "epochs": 1, "batch_size": 2, "test_episodes": 2, "encoder": "mlp", "decoder": "mlp"}
_SPRITES = {"task": "dsprites", "size": 14, "experiment": "full", "encoder": "stride2", "decoder": "conv"}
_GRID = {"paper": "grid", "task": "distribution_of_three", "m": 95, "lr": 1e-3, "updates": 3, "batch_size": 4}
_ESBN_SIZES = {
    **{
        model: {"hidden": 32, "key_size": 16}
        for model in ("esbn", "esbn_no_confidence", "esbn_default_memory")
    },
    **{model: {"hidden": 32} for model in ("transformer", "lstm", "rn", "trn")},
    **{"ntm": {"hidden": 32, "row_size": 16}, "mnm": {}, "predinet": {"heads": 4}},
}
_BY_MODEL: dict[str, dict[str, dict]] = {
    "esbn": {model: _ESBN | {"options": sizes} for model, sizes in _ESBN_SIZES.items()},
    "scan": {
        "syntactic_attention": _SCAN | {"options": {"syntax": 8, "semantics": 6}},
        "gru_attention": _SCAN | {"options": {"embedding": 6, "hidden": 8}},
        "cnn": _SCAN | {"options": {"dim": 8, "kernel": 3, "layers": 2}, "batch_size": 60},  # in words
        "li": _SCAN | {"options": {"primitive": 6, "function": 4, "units": 8}},
    },
    "functions": dict.fromkeys(
        ("one_d", "one_d_window", "one_d_level_hidden", "relational", "relational_window"), _FUNCTIONS
    ),
    "kanerva": {"product": _KANERVA, "mixture": _KANERVA | {"experiment": "mixture"}},
    "grid": dict.fromkeys(("corelnet fixed", "abstractor learned"), _GRID | {"options": {"hidden": 8}}),
}
TINY: dict[str, dict] = {
    f"{paper} {model}": settings | {"model": model}
    for paper, by_model in _BY_MODEL.items()
    for model, settings in by_model.items()
}
TINY["kanerva product on sprites"] = TINY["kanerva product"] | _SPRITES


def examine(builds: Mapping[str, Build], device: torch.device) -> bool:
    """Print a line for each thing that is examined; returns whether all of them work.

    `builds` has each paper's `build`.
    """
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    looks = {"device": partial(describe, device), "data": _data}
    for name, settings in TINY.items():
        looks[f"step of {name}"] = partial(_step, builds[settings["paper"]], settings, device)
    fine = True
    for name, look in looks.items():
        try:
            word, text = "ok", look()
        except Exception as error:  # whatever it is, the other things are examined all the same
            word, text, fine = "FAIL", str(error) or type(error).__name__, False
        print(f"{word:4} {name:32} {text}", flush=True)
    return fine


def _data() -> str:
    """Which data are here; ValueError if something is damaged. What is missing is fetched when it is needed."""
    found = datasets.verify()
    if damaged := [f"{file} ({detail})" for file, status, detail in found if status == "damaged"]:
        raise ValueError("; ".join(damaged))
    missing = dict.fromkeys(file.split("/")[0] for file, status, _ in found if status == "missing")
    return f"not here: {', '.join(missing)}; nothing needs them to start" if missing else "all here"


def _step(build: Build, settings: dict, device: torch.device) -> str:
    """The loss of a first update; ArithmeticError if it, or a weight after it, is not finite."""
    stack = TrainingStack([build(settings, 1)], device, stacked=False)
    with use_precision("fp32", device):
        (loss,), _ = stack.step(stack.batch(0))
    if not math.isfinite(loss) or not all(value.isfinite().all() for value in stack.params.values()):
        raise ArithmeticError(f"loss {loss:.4g}, or a weight after the update, is not finite")
    return f"loss {loss:.4g}"
