"""What works on this machine, in about a minute: a line for each thing, "ok" or "FAIL"."""

import json
import platform
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import torch

from mini_lib import datasets
from mini_lib.devices import describe, use_precision
from mini_lib.files import write_atomically
from mini_lib.reproduction.bench import update_ms
from mini_lib.training import Batch, TrainingRun, TrainingStack

Build = Callable[[dict, int], TrainingRun]

STORED = Path(__file__).parent / "doctor.json"  # the numbers of `step_numbers` on a CPU
TOLERANCE = {"cpu": 1e-3, "cuda": 5e-3}  # relative, of these numbers
EXACT = 1e-5  # relative error of a product in full precision; in TF32 it is a thousand times larger
STACKED, UPDATES = 4, 3  # for throughput

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
    "functions": dict.fromkeys(("one_d", "one_d_window", "relational", "relational_window"), _FUNCTIONS),
    "kanerva": {"product": _KANERVA, "mixture": _KANERVA | {"experiment": "mixture"}},
    "grid": dict.fromkeys(("corelnet fixed", "abstractor learned"), _GRID | {"options": {"hidden": 8}}),
}
TINY: dict[str, dict] = {
    f"{paper} {model}": settings | {"model": model}
    for paper, by_model in _BY_MODEL.items()
    for model, settings in by_model.items()
}
TINY["kanerva product on sprites"] = TINY["kanerva product"] | _SPRITES


def run(
    builds: Mapping[str, Build], full_size: Mapping[str, dict], device: torch.device, store: bool = False
) -> bool:
    """Print a line for each thing that is examined; returns whether all of them work.

    `builds` has each paper's `build`, `full_size` the settings of the networks whose updates are timed; with `store`
    the numbers of this machine's CPU are kept as those that others are compared with.
    """
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    fine = True
    for name, examine in _examinations(builds, full_size, device, store):
        try:
            word, text = "ok", examine()
        except Exception as error:  # whatever it is, the other things are examined all the same
            word, text, fine = "FAIL", f"{type(error).__name__}: {error}", False
        print(f"{word:4} {name:36} {text}", flush=True)
    return fine


def _examinations(
    builds: Mapping[str, Build], full_size: Mapping[str, dict], device: torch.device, store: bool
) -> Iterator[tuple[str, Callable[[], str]]]:
    """What to examine, in order: its name, and what does it. That gives a text, or fails."""
    yield "python", lambda: f"{platform.python_version()} on {platform.platform()}"
    yield "torch", lambda: f"{torch.__version__}, CUDA {torch.version.cuda or 'not built in'}"
    yield "device", lambda: describe(device)
    yield "precision", lambda: _precision(device)
    yield "data", _data
    if store:
        numbers = {name: step_numbers(_tiny(builds, name), torch.device("cpu")) for name in TINY}
        text = json.dumps(numbers, indent=1) + "\n"
        write_atomically(STORED, lambda path: path.write_text(text))
    for name in TINY:
        yield f"step of {name}", lambda name=name: _step(_tiny(builds, name), device, name)
    for name, settings in full_size.items():
        build = builds[settings["paper"]]
        yield f"speed of {name}", lambda build=build, s=settings: _speed(build, s, device)


def _tiny(builds: Mapping[str, Build], name: str) -> TrainingRun:
    return builds[TINY[name]["paper"]](TINY[name], 1)


def _precision(device: torch.device) -> str:
    """The error of a product of matrices; RuntimeError if that is not in full precision."""
    a, b = torch.rand(2, 256, 256, generator=torch.Generator().manual_seed(1))
    with use_precision("fp32", device):
        product = (a.to(device) @ b.to(device)).cpu().double()
    exact = a.double() @ b.double()
    error = ((product - exact).abs().max() / exact.abs().max()).item()
    if not error < EXACT:
        raise RuntimeError(
            f"a product of matrices in fp32 is off by {error:.0e}; it should be below {EXACT:.0e}"
        )
    return f"fp32, products to {error:.0e}"


def _data() -> str:
    """Which data are here; ValueError if something is damaged. What is missing is fetched when it is needed."""
    found = datasets.verify()
    if damaged := [f"{file} ({detail})" for file, status, detail in found if status == "damaged"]:
        raise ValueError("; ".join(damaged))
    kinds = {}
    for file, status, _ in found:
        kinds.setdefault(file.split("/")[0], set()).add(status)
    each = ", ".join(f"{kind} {'/'.join(sorted(statuses))}" for kind, statuses in kinds.items())
    missing = any("missing" in statuses for statuses in kinds.values())
    hint = "; nothing needs them to start, and `mini-lib data fetch NAME` brings one" if missing else ""
    return f"{datasets.data_folder() or 'MINI_LIB_DATA is not set'}: {each}{hint}"


def step_numbers(run: TrainingRun, device: torch.device) -> list[float]:
    """The loss of a first update, the norm of its gradient, and the loss of the same batch after it.

    The batch and its noise are drawn on the CPU, so that every device computes with the same numbers.
    """
    batch = TrainingStack([run], torch.device("cpu"), stacked=False).batch(0)
    stack = TrainingStack([run], device, stacked=False)
    with use_precision("fp32", device):
        batch = to_device(batch, stack)
        before, _ = stack.gradients(batch)
        gradients = [p.grad.flatten() for p in stack.params.values() if p.grad is not None]
        norm = torch.cat(gradients).norm()  # now, since some optimizers write into gradients
        stack.optimizer_step()
        after, _ = stack.losses(batch)
    return [before.item(), norm.item(), after.item()]


def to_device(batch: Batch, stack: TrainingStack) -> Batch:
    """A batch where the stack is, the noise in it included."""
    return {
        name: to_device(value, stack) if isinstance(value, dict) else stack.move(value)
        for name, value in batch.items()
    }


def _step(run: TrainingRun, device: torch.device, name: str) -> str:
    """How far the numbers of a step are from the stored ones; RuntimeError if that is too far."""
    stored, numbers = json.loads(STORED.read_text())[name], step_numbers(run, device)
    off = max(abs(ours - right) / max(abs(right), 1e-3) for ours, right in zip(numbers, stored, strict=True))
    if not off <= TOLERANCE[device.type]:
        raise RuntimeError(f"loss, gradient and next loss are {numbers}, where {stored} are stored")
    return f"within {off:.0e} of the numbers stored"


def _speed(build: Build, settings: dict, device: torch.device) -> str:
    """Milliseconds of an update, alone and in a stack."""
    alone = update_ms([build(settings, 1)], device, stacked=False, updates=UPDATES)
    stack = [build(settings, seed) for seed in range(1, STACKED + 1)]
    each = update_ms(stack, device, stacked=True, updates=UPDATES) / STACKED
    return f"{alone:.1f} ms an update alone, {each:.1f} ms each in a stack of {STACKED}"
