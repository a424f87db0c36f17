"""What works on this machine, in about a minute: a line for each thing, "ok" or "FAIL"."""

import math
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from inspect import signature
from pathlib import Path

import torch

from mini_lib import datasets
from mini_lib.devices import describe, use_precision
from mini_lib.reproduction.cells import PAPERS, STUDIES, paper_module
from mini_lib.reproduction.tables import load_json
from mini_lib.training import TrainingStack


def _tiny() -> Iterator[tuple[str, dict]]:
    """Each network as small as it can be, on data that need no download; none takes longer than a second.

    A paper's `tiny.json` has under "*" what its networks share: of the options each is given those that it has.
    """
    for paper in (*PAPERS, *STUDIES):
        own = load_json(Path(__file__).parent / paper / "tiny.json", dict)
        shared, models = own.pop("*", {}), import_module(f"mini_lib.{paper}.runs").MODELS
        for name, changes in ({each: {} for each in models if paper in PAPERS} | own).items():
            settings = {"paper": paper, "model": name, "options": {}} | shared | changes
            has = signature(models[settings["model"]]).parameters
            options = {each: size for each, size in settings["options"].items() if each in has}
            yield f"{paper} {name}", settings | {"options": options}


TINY = dict(_tiny())


def examine(device: torch.device) -> bool:
    """Print a line for each thing that is examined; returns whether all of them work."""
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    checks = {"device": partial(describe, device), "data": _data}
    checks |= {f"step of {name}": partial(_step, settings, device) for name, settings in TINY.items()}
    fine = True
    for name, check in checks.items():
        try:
            word, text = "ok", check()
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


def _step(settings: dict, device: torch.device) -> str:
    """The loss of a first update; ArithmeticError if it, or a weight after it, is not finite."""
    stack = TrainingStack([paper_module(settings["paper"]).build(settings, 1)], device, stacked=False)
    with use_precision("fp32", device):
        (loss,), _ = stack.step(stack.batch(0))
    if not math.isfinite(loss) or not all(value.isfinite().all() for value in stack.params.values()):
        raise ArithmeticError(f"loss {loss:.4g}, or a weight after the update, is not finite")
    return f"loss {loss:.4g}"
