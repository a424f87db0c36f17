"""How long one training update takes, network by network, on this machine."""

import statistics
import time
from collections.abc import Callable

import torch
from torch import nn

from mini_lib.devices import set_precision
from mini_lib.errors import unknown
from mini_lib.results import BenchCase
from mini_lib.training import Replica, Trainee

WARM_UP, TIMED = 4, 20
STACKED = 10
REFERENCE_MS = 83.0  # what `reference` took where the authors' code was timed


def median_ms(work: Callable[[], object], device: torch.device, calls: int = TIMED) -> float:
    """Median milliseconds of so many calls, after 4 that do not count."""
    times = []
    for _ in range(WARM_UP + calls):
        started = time.perf_counter()
        work()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        times.append(1000 * (time.perf_counter() - started))
    return statistics.median(times[WARM_UP:])


def reference(device: torch.device) -> float:
    """Ten single steps of a 512-wide `nn.LSTM` on a batch of 32, forward and backward, in milliseconds.

    On the CPU it carries figures over from one machine to another: the authors' ESBN spends much of its time so.
    """
    lstm = nn.LSTM(257, 512, batch_first=True).to(device)
    x = torch.randn(32, 1, 257, device=device)

    def ten_steps():
        state, total = None, 0.0
        for _ in range(10):
            out, state = lstm(x, state)
            total = total + out.sum()
        total.backward()

    return median_ms(ten_steps, device)


def update_ms(replicas: list[Replica], device: torch.device, stacked: bool, updates: int = TIMED) -> float:
    """Milliseconds of one update of a stack, or of one network alone: data, forward, backward and optimiser."""
    trainee = Trainee(replicas, device, stacked)
    numbers = iter(range(10_000))
    return median_ms(lambda: trainee.step(trainee.batch(next(numbers))), device, updates)


def run(cases: list[tuple[Callable, BenchCase]], models: list[str] | None, device: torch.device) -> None:
    """Print the table, a line for each case with the `build` of its wing, on one CPU thread or on a GPU.

    With `models`, only these networks; WrongUse for one that is not among the cases.

    The authors' figures are from a CPU, and so is the reference that scales them: on a GPU "times faster" compares a
    GPU with a CPU.
    """
    known = dict.fromkeys(case.network for _, case in cases)
    for model in models or ():
        if model not in known:
            raise unknown("model", model, known)
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    set_precision("fp32", device)
    scale = reference(torch.device("cpu")) / REFERENCE_MS
    print(
        f"reference: ten steps of a 512-wide nn.LSTM {scale * REFERENCE_MS:.1f} ms here, {REFERENCE_MS:.0f} ms there"
    )
    head = "ms per update", "on", "alone", "authors, scaled", "times faster", f"in a stack of {STACKED}"
    print("{:22}{:>14}{:>9}{:>18}{:>14}{:>20}".format(*head))
    for build, case in cases:
        if not models or case.network in models:
            print(line(build, case, scale, device), flush=True)


def line(build: Callable, case: BenchCase, scale: float, device: torch.device) -> str:
    """One line of the table."""
    each = "-"
    if case.work is not None:
        alone = median_ms(case.work(device), device, case.updates)
    else:
        alone = update_ms([build(case.settings, 1)], device, stacked=False, updates=case.updates)
    if case.work is None and (case.stacked_on_cpu or device.type != "cpu"):
        stack = [build(case.settings, seed) for seed in range(1, STACKED + 1)]
        each = f"{update_ms(stack, device, stacked=True, updates=case.updates) / STACKED:.1f}"
    theirs = "-" if case.authors_ms is None else f"{case.authors_ms * scale:.1f}"
    faster = "-" if case.authors_ms is None else f"{case.authors_ms * scale / alone:.2f}"
    return f"{case.network:22}{case.setting:>14}{alone:9.1f}{theirs:>18}{faster:>14}{each:>20}"
